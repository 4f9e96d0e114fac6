// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole slurm conf`: what Slurm has to know of this node's devices. Slurm counts for
 * a node, in MiB of device memory and percent of SMs, a hundred of a device.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tenancy.h"
#include "wormhole.h"

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp_child dir_only[] = { { &wh_dir_argp, 0, NULL, 0 }, { 0 } };
static const struct argp conf_argp = {
	NULL, parse, NULL,
	"Print the lines that Slurm's configuration needs for the devices of the server on this "
	"node.", dir_only, NULL, NULL
};

static void print_conf(const cJSON *devices)
{
	uint64_t memory = 0;
	unsigned int n = 0;
	const cJSON *d;

	cJSON_ArrayForEach(d, devices) {
		memory += (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(d, "memory")) >> 20;
		n++;
	}
	printf("# slurm.conf: once, and in the node's NodeName line\n"
	       "GresTypes=gpumem,gpusm\n"
	       "Gres=gpumem:%" PRIu64 ",gpusm:%u\n"
	       "# gres.conf of this node\n"
	       "Name=gpumem Count=%" PRIu64 " Flags=CountOnly\n"
	       "Name=gpusm Count=%u Flags=CountOnly\n", memory, 100 * n, memory, 100 * n);
}

static int conf(int argc, char **argv)
{
	const char *dir = NULL;
	cJSON *answer;
	int fd;

	wh_parse(&conf_argp, argc, argv, 0, &dir);
	fd = wh_server_connect(wh_server_dir(dir));
	answer = fd < 0 ? NULL : wh_server_ask(fd, wh_request("info", NULL));
	if (!answer)
		return EXIT_FAILED;
	print_conf(cJSON_GetObjectItem(answer, "devices"));
	cJSON_Delete(answer);
	return EXIT_DONE;
}

int cmd_slurm(int argc, char **argv)
{
	static const struct command table[] = {
		{ "conf", conf, "print what Slurm has to know of this node" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
