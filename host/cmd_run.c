// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole run`: gives the next VM of this process a role, then becomes the
 * VMM. The role rides on a file of /dev/kvm-wormhole that stays open across
 * exec, so any VMM that uses KVM will do, unmodified.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wormhole.h"

static int explain_role(int err, const struct wh_vm *vm)
{
	switch (-err) {
	case EEXIST:
		wh_error("a VM with id %" PRIu64 " is alive; choose another --id", vm->id);
		break;
	case EOPNOTSUPP:
	case ENODEV:
		wh_error("this processor has no VMFUNC EPTP switching; see `wormhole check'");
		break;
	default:
		wh_error("cannot set role %s for id %" PRIu64 ": %s", wh_name_role(vm->role),
			 vm->id, strerror(-err));
	}
	return EXIT_FAILED;
}

int wh_run_exec(const struct wh_vm *vm, char **argv)
{
	struct wh_vm self = *vm;
	int fd = wh_control_open_checked();
	int rc;

	if (fd < 0)
		return EXIT_FAILED;
	rc = wh_control_set_role(fd, vm->id, vm->role);
	if (rc)
		return explain_role(rc, vm);
	self.pid = getpid();
	rc = wh_registry_add(&self);
	if (rc)
		wh_warn("cannot note VM %" PRIu64 " in /run/wormhole: %s; `wormhole stat' without an id will not show it",
			vm->id, strerror(-rc));
	execvp(argv[0], argv);
	wh_error("cannot run '%s': %s", argv[0], strerror(errno));
	wh_registry_remove(vm->id);
	return EXIT_FAILED;
}

static const struct argp_option options[] = {
	{ "role", 'r', "ROLE", 0, "server or client", 0 },
	{ "id", 'i', "ID", 0, "the VM's number, not zero, unique among living VMs", 0 },
	{ "name", 'n', "NAME", 0, "what `wormhole stat' calls the VM", 0 },
	{ 0 }
};

struct run_args {
	struct wh_vm vm;
	char **argv;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *a = state->input;

	switch (key) {
	case 'r':
		if (wh_role_by_name(arg, &a->vm.role))
			argp_error(state, "--role: '%s' is neither server nor client", arg);
		return 0;
	case 'i':
		a->vm.id = wh_arg_u64(state, "--id", arg, 1, UINT64_MAX);
		return 0;
	case 'n':
		snprintf(a->vm.name, sizeof(a->vm.name), "%s", arg);
		return 0;
	case ARGP_KEY_ARGS:
		a->argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "name the VMM to run, such as qemu-system-x86_64");
		return 0;
	case ARGP_KEY_END:
		if (!a->vm.role || !a->vm.id)
			argp_error(state, "--role and --id are needed");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "[--] VMM [ARGUMENT...]",
	"Run a VMM whose next VM gets a role and an identity.", NULL, NULL, NULL
};

int cmd_run(int argc, char **argv)
{
	struct run_args a = { 0 };

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &a);
	return wh_run_exec(&a.vm, a.argv);
}
