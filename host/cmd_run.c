// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole run`: with --role it gives the next VM of this process a role, then becomes the
 * VMM. A role descriptor that stays open across exec carries the role, so any VMM that uses
 * KVM works unmodified. The VMM gets nothing else: the control device is closed, and its
 * requests need a capability that the VMM does not have. Without --role the process becomes
 * a program of a tenant (run_tenant.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tenancy.h"
#include "trace.h"
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

int wh_run_role(const struct wh_vm *vm)
{
	int fd = wh_control_open_checked();
	int rc;

	if (fd < 0)
		return EXIT_FAILED;
	rc = wh_control_create_role(fd, vm->id, vm->role);
	close(fd);
	return rc < 0 ? explain_role(rc, vm) : EXIT_DONE;
}

/*
 * No program that this process executes can have CAP_SYS_ADMIN, even if it is root's or
 * set-user-ID.
 */
static int drop_control(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) == 1 &&
	    prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN))
		return -errno;
	if (syscall(SYS_capget, &head, data))
		return -errno;
	/* A capability that is not inheritable cannot be ambient. */
	data[0].inheritable &= ~CAP_TO_MASK(CAP_SYS_ADMIN);
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

char *wh_run_find(const char *program)
{
	const char *path = getenv("PATH");
	char *copy, *rest, *dir, *file = NULL;

	if (strchr(program, '/'))
		return access(program, X_OK) ? NULL : wh_must(strdup(program));
	copy = wh_must(strdup(path ? path : "/bin:/usr/bin"));
	rest = copy;
	while (!file && (dir = strsep(&rest, ":"))) {
		if (asprintf(&file, "%s/%s", *dir ? dir : ".", program) < 0)
			wh_no_memory();
		if (access(file, X_OK)) {
			free(file);
			file = NULL;
		}
	}
	free(copy);
	return file;
}

int wh_run_exec(const struct wh_vm *vm, char **argv)
{
	struct wh_vm self = *vm;
	int rc;

	rc = drop_control();
	if (rc) {
		wh_error("cannot drop CAP_SYS_ADMIN for '%s': %s; run as root with CAP_SETPCAP",
			 argv[0], strerror(-rc));
		return EXIT_FAILED;
	}
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

enum { KEY_TENANT = 0x300, KEY_USER, KEY_TRACE, KEY_TRACE_SIZE };

static const struct argp_option options[] = {
	{ "tenant", KEY_TENANT, "TENANT", 0, "the tenant: without a limit an existing one to join, with one (such as --mem none) a new one's name", 1 },
	{ "user", KEY_USER, "USER", 0, "(root) run the program as this user", 1 },
	{ "trace", KEY_TRACE, "FILE", 0, "write what the tenant does meanwhile there, as a Chrome trace", 1 },
	{ "trace-size", KEY_TRACE_SIZE, "SIZE", 0, "how large that may become (default: 256M)", 1 },
	{ NULL, 0, NULL, 0, "A VM with a role:", 3 },
	{ "role", 'r', "ROLE", 0, "server or client", 3 },
	{ "id", 'i', "ID", 0, "the VM's number, not zero, unique among living VMs", 3 },
	{ "name", 'n', "NAME", 0, "what `wormhole stat' calls the VM", 3 },
	{ 0 }
};

struct run_args {
	struct wh_vm vm;
	struct wh_run_tenant tenant;
};

static void check_args(const struct run_args *a, struct argp_state *state)
{
	bool vm = a->vm.role || a->vm.id || a->vm.name[0];

	if (vm && (!a->vm.role || !a->vm.id))
		wh_usage_error(state, "--role and --id are needed for a VM");
	if (vm && (wh_limit_said(&a->tenant.limits) || a->tenant.tenant || a->tenant.devices ||
		   a->tenant.user || a->tenant.dir || a->tenant.trace))
		wh_usage_error(state, "a VM with --role is no tenant of this machine: limits are its server VM's (wormhole server start --limit)");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->tenant.limits;
		state->child_inputs[1] = &a->tenant.dir;
		state->child_inputs[2] = &a->tenant.devices;
		return 0;
	case KEY_TENANT:
		a->tenant.tenant = arg;
		return 0;
	case KEY_USER:
		a->tenant.user = arg;
		return 0;
	case KEY_TRACE:
		a->tenant.trace = arg;
		return 0;
	case KEY_TRACE_SIZE:
		if (wh_parse_size(arg, &a->tenant.trace_size))
			wh_usage_error(state, "--trace-size: %s", wh_limit_bytes_why(arg));
		return 0;
	case 'r':
		if (wh_role_by_name(arg, &a->vm.role))
			wh_usage_error(state, "--role: '%s' is neither server nor client", arg);
		return 0;
	case 'i':
		a->vm.id = wh_arg_u64(state, "--id", arg, 1, UINT64_MAX);
		return 0;
	case 'n':
		snprintf(a->vm.name, sizeof(a->vm.name), "%s", arg);
		return 0;
	case ARGP_KEY_ARGS:
		a->tenant.argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		wh_usage_error(state, "name the program to run, or the VMM");
		return 0;
	case ARGP_KEY_END:
		check_args(a, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wh_limit_argp, 0, "Limits of a new tenant:", 2 }, { &wh_dir_argp, 0, NULL, 1 },
	{ &wh_devices_argp, 0, NULL, 2 }, { 0 }
};

static const struct argp argp = {
	options, parse, "[--] PROGRAM [ARGUMENT...]",
	"Run an unmodified CUDA program as a tenant of the server on this machine: with limits "
	"in a tenant of its own, which ends with it; without in the tenant `default'. With "
	"--role, run a VMM whose next VM gets a role and an identity.", children, NULL, NULL
};

int cmd_run(int argc, char **argv)
{
	struct run_args a = { .tenant.trace_size = WH_TRACE_MOST };

	wh_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
	if (!a.vm.role)
		return wh_run_tenant(&a.tenant);
	if (wh_run_role(&a.vm))
		return EXIT_FAILED;
	return wh_run_exec(&a.vm, a.tenant.argv);
}
