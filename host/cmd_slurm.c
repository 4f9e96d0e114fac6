// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole slurm conf`: prints the lines about this machine's devices that Slurm's
 * configuration needs. Slurm counts MiB of device memory and percent of SMs per node. If
 * there are several devices, each device is a node of its own, so that Slurm counts for
 * each.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tenancy.h"
#include "wormhole.h"

#define FIRST_PORT	17001	/* port of the first daemon, if a machine has several */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_INIT)
		return ARGP_ERR_UNKNOWN;
	state->child_inputs[0] = state->input;
	return 0;
}

static const struct argp conf_argp = {
	NULL, parse, NULL,
	"Print the lines that Slurm's configuration needs for the devices of the server on this "
	"node.", wh_dir_only, NULL, NULL
};

static uint64_t mib(const cJSON *device)
{
	return (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(device, "memory")) >> 20;
}

static void print_one(const cJSON *device)
{
	printf("# slurm.conf: once, and in the node's NodeName line\n"
	       "GresTypes=gpumem,gpusm\n"
	       "Gres=gpumem:%" PRIu64 ",gpusm:100\n"
	       "# gres.conf of this node\n"
	       "Name=gpumem Count=%" PRIu64 " Flags=CountOnly\n"
	       "Name=gpusm Count=100 Flags=CountOnly\n", mib(device), mib(device));
}

/* Divides the machine's processors equally among the nodes. */
static void print_nodes(const cJSON *devices, const char *host)
{
	int n = cJSON_GetArraySize(devices), i;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) / n;

	printf("# slurm.conf: once, and a node for each device\nGresTypes=gpumem,gpusm\n");
	for (i = 0; i < n; i++)
		printf("NodeName=%s-gpu%d NodeHostname=%s Port=%d CPUs=%ld Gres=gpumem:%" PRIu64 ",gpusm:100\n",
		       host, i, host, FIRST_PORT + i, cpus < 1 ? 1 : cpus,
		       mib(cJSON_GetArrayItem(devices, i)));
	printf("# gres.conf\n");
	for (i = 0; i < n; i++)
		printf("NodeName=%s-gpu%d Name=gpumem Count=%" PRIu64 " Flags=CountOnly\n"
		       "NodeName=%s-gpu%d Name=gpusm Count=100 Flags=CountOnly\n",
		       host, i, mib(cJSON_GetArrayItem(devices, i)), host, i);
	printf("# Start on this machine\n");
	for (i = 0; i < n; i++)
		printf("# slurmd -N %s-gpu%d\n", host, i);
}

static void print_conf(const cJSON *devices)
{
	char host[256] = "";

	gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	if (cJSON_GetArraySize(devices) == 1)
		print_one(cJSON_GetArrayItem(devices, 0));
	else
		print_nodes(devices, host);
}

static int conf(int argc, char **argv)
{
	const char *dir = NULL;
	cJSON *answer, *devices;
	int n;

	wh_parse(&conf_argp, argc, argv, 0, &dir);
	answer = wh_server_answer(wh_server_dir(dir), wh_request("info", NULL));
	if (!answer)
		return EXIT_FAILED;
	devices = cJSON_GetObjectItem(answer, "devices");
	n = cJSON_GetArraySize(devices);
	if (n)
		print_conf(devices);
	else
		wh_error("the server has no devices");
	cJSON_Delete(answer);
	return n ? EXIT_DONE : EXIT_FAILED;
}

int cmd_slurm(int argc, char **argv)
{
	static const struct command table[] = {
		{ "conf", conf, "print what Slurm has to know of this node" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
