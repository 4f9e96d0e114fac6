// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole allow`, `deny` and `kill`: the host decides here which client VM may attach to
 * which server VM, and KVM enforces it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "wormhole.h"

#define MAX_PAIRS	511	/* entries of an EPTP list, less the VM's own */

static const struct argp_option allow_options[] = {
	{ "window", 'w', "N", 0, "the server VM's window that the client's is (default 0)", 0 },
	{ "barrier", 'b', "KIND", 0, "between pairs of a CPU: none (default), ibpb or strict", 0 },
	{ "max-pairs", 'p', "N", 0, "client processes attached at a time, 1 to 511 (default 8)", 0 },
	{ 0 }
};

static uint32_t parse_barrier(struct argp_state *state, const char *kind)
{
	if (!strcmp(kind, "none"))
		return 0;
	if (!strcmp(kind, "ibpb"))
		return WH_ALLOW_IBPB;
	if (!strcmp(kind, "strict"))
		return WH_ALLOW_STRICT;
	wh_usage_error(state, "--barrier: '%s' is none of none, ibpb and strict", kind);
	return 0;
}

static error_t parse_allow(int key, char *arg, struct argp_state *state)
{
	struct wh_host_allow *a = state->input;

	switch (key) {
	case 'w':
		a->window = wh_arg_u64(state, "--window", arg, 0, 15);
		return 0;
	case 'p':
		a->max_pairs = wh_arg_u64(state, "--max-pairs", arg, 1, MAX_PAIRS);
		return 0;
	case 'b':
		a->flags = parse_barrier(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			a->client_id = wh_arg_u64(state, "CLIENT", arg, 1, UINT64_MAX);
		else if (state->arg_num == 1)
			a->server_id = wh_arg_u64(state, "SERVER", arg, 1, UINT64_MAX);
		else
			return ARGP_ERR_UNKNOWN;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!a->server_id)
			wh_usage_error(state, "name CLIENT and SERVER by their ids");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Parses the id, which is the only argument. */
static error_t parse_id(int key, char *arg, struct argp_state *state)
{
	uint64_t *id = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (state->arg_num)
			return ARGP_ERR_UNKNOWN;
		*id = wh_arg_u64(state, "ID", arg, 1, UINT64_MAX);
		return 0;
	case ARGP_KEY_NO_ARGS:
		wh_usage_error(state, "name the VM by its id");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp allow_argp = {
	allow_options, parse_allow, "CLIENT SERVER",
	"Let the client VM attach to workers of the server VM. Either may start later. "
	"Replaces what was allowed to this client of this server before; several servers are "
	"allowed one by one.", NULL, NULL, NULL
};
static const struct argp deny_argp = {
	NULL, parse_id, "CLIENT",
	"Take back what was allowed to the client VM, and detach it.", NULL, NULL, NULL
};
static const struct argp kill_argp = {
	NULL, parse_id, "ID",
	"Detach every pair of a client or server VM, as if it had died.", NULL, NULL, NULL
};

static int finish(int rc, const char *what, uint64_t id)
{
	if (!rc)
		return EXIT_DONE;
	if (rc == -ENOENT)
		wh_error("%s: no VM has id %" PRIu64 "; `wormhole stat' lists the living", what, id);
	else
		wh_error("%s %" PRIu64 ": %s", what, id, strerror(-rc));
	return EXIT_FAILED;
}

int cmd_allow(int argc, char **argv)
{
	struct wh_host_allow a = { .max_pairs = 8 };
	int fd, rc;

	wh_parse(&allow_argp, argc, argv, 0, &a);
	fd = wh_control_open_checked();
	if (fd < 0)
		return EXIT_FAILED;
	rc = wh_control_allow(fd, &a);
	close(fd);
	if (rc == -EOPNOTSUPP) {
		wh_error("allow %" PRIu64 ": this processor lacks %s; say --barrier=%s, or get newer microcode",
			 (uint64_t)a.client_id, a.flags == WH_ALLOW_STRICT ? "IBPB or the L1D flush" : "IBPB",
			 a.flags == WH_ALLOW_STRICT ? "ibpb" : "none");
		return EXIT_FAILED;
	}
	if (rc)
		return finish(rc, "allow", a.client_id);
	rc = wh_registry_allow(&a);
	if (rc)
		wh_warn("cannot note the permission of VM %" PRIu64 " in /run/wormhole: %s; `wormhole server replace' will not move it",
			(uint64_t)a.client_id, strerror(-rc));
	return EXIT_DONE;
}

static int deny(int fd, uint64_t client)
{
	int rc = wh_control_deny(fd, client);

	wh_registry_deny(client, 0);
	return rc;
}

static int one_vm(const struct argp *argp, const char *what, int (*act)(int, uint64_t),
		  int argc, char **argv)
{
	uint64_t id = 0;
	int fd, rc;

	wh_parse(argp, argc, argv, 0, &id);
	fd = wh_control_open_checked();
	if (fd < 0)
		return EXIT_FAILED;
	rc = act(fd, id);
	close(fd);
	return finish(rc, what, id);
}

int cmd_deny(int argc, char **argv)
{
	return one_vm(&deny_argp, "deny", deny, argc, argv);
}

int cmd_kill(int argc, char **argv)
{
	return one_vm(&kill_argp, "kill", wh_control_kill, argc, argv);
}
