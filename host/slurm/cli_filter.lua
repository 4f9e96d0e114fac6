-- SPDX-License-Identifier: Apache-2.0
-- Translates --gpu-mem and --gpu-sm into requests to Slurm: gres/gpumem in MiB and
-- gres/gpusm in percent. This is only a convenience of srun, sbatch and salloc: --gres has
-- the same effect, and the node trusts neither. The plugin itself checks --gpu-priority.
local unit = { [""] = 1, M = 1, G = 1024, T = 1048576 }

local function mib(text)
	local n, u = string.match(text, "^(%d+)([MGTmgt]?)$")
	return n and string.format("%d", tonumber(n) * unit[string.upper(u)])
end

function slurm_cli_setup_defaults(options, early_pass)
	return slurm.SUCCESS
end

function slurm_cli_pre_submit(options, pack_offset)
	local spank = options["spank"]
	local ours = spank and spank["wormhole"]
	if not ours then
		return slurm.SUCCESS
	end
	local gres = options["gres"] or ""
	local function add(what)
		gres = gres .. (gres ~= "" and "," or "") .. what
	end
	if ours["gpu-mem"] then
		local n = mib(ours["gpu-mem"])
		if not n then
			slurm.log_error("--gpu-mem: not a size such as 4G")
			return slurm.ERROR
		end
		add("gpumem:" .. n)
	end
	if ours["gpu-sm"] then
		if not ours["gpu-mem"] then
			slurm.log_error("--gpu-sm needs --gpu-mem")
			return slurm.ERROR
		end
		add("gpusm:" .. ours["gpu-sm"])
	end
	-- sbatch brings it to the job's node in the environment, under a name that only ALL has.
	local export = options["type"] == "sbatch" and options["export"]
	if ours["gpu-priority"] and export and not string.find("," .. export .. ",", ",ALL,", 1, true) then
		slurm.log_error("--gpu-priority: --export=" .. export .. " keeps it from the job: say --export=ALL")
		return slurm.ERROR
	end
	-- A step has what its job has.
	if ours["gpu-priority"] and not os.getenv("SLURM_JOB_ID") and not string.find(gres, "gpumem", 1, true) then
		slurm.log_error("--gpu-priority needs --gpu-mem")
		return slurm.ERROR
	end
	if gres ~= "" then
		options["gres"] = gres
	end
	return slurm.SUCCESS
end

function slurm_cli_post_submit(offset, job_id, step_id)
	return slurm.SUCCESS
end
