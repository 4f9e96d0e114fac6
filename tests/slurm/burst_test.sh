#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that each of many jobs at once gets its share, and that nothing is left of any
# at the end.
WH_TOP=@TOP@
WH_BUILD=@BUILD@
. "$WH_TOP/tests/slurm/lib.sh"

plan 4

start_cluster
jobs=200
# shellcheck disable=SC2016
as_user sbatch --parsable --array=1-$jobs -o "$tmp/out/%a" --gpu-mem=128M --gpu-sm=25 \
	--wrap "exec $client info" >/dev/null
patience=$(($(date +%s) + 300))
until no_jobs || [ "$(date +%s)" -ge $patience ]; do sleep 0.5; done
is all_jobs_have_ended "$(squeue -h | wc -l)" 0
is each_had_its_memory "$(cat "$tmp/out/"* | grep -c "^total $((128 << 20)) ")" $jobs
is nothing_is_left_of_any "$(left)" ""
is all_nodes_serve_on "$(sinfo -h -N -o %t | sort -u)" idle
finish
