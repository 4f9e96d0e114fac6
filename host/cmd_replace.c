// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole server replace`: another server VM, say with a newer driver, takes over from one.
 * Programs of client VMs that start from then on find a worker of the new VM; those that run
 * stay with the old one, which ends after the last of them. The new VM may have been started
 * before, or is started here.
 *
 * What a program finds is decided by the permission of its VM, which KVM looks at when the
 * program attaches. So each client VM is allowed to call the new VM, and then the old one at
 * WH_NO_WINDOW alone, where nobody attaches any more. KVM takes a pair and looks at the
 * permission under one lock of the client VM, under which it also counts. So once the client
 * VM's counters were read, no program is on its way to the old VM that its counters lack.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tenant/channel.h"
#include "tenant/clock.h"
#include "views.h"

#define DOMAINS		"/run/wormhole/libvirt"
#define LOOK_MS		200
#define READY_S		300
#define END_MS		30000	/* what a VMM gets to end */

struct replace_args {
	uint64_t old, new;
	uint64_t ready_s;
	char **start;		/* words of `server start`; NULL: it is started by somebody else */
	int nstart;
	pid_t child;		/* which becomes the new VM's VMM */
};

static struct wh_host_allow allowed[WH_REGISTRY_ALLOWS];
static int nallowed;

static void rest(void)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000L };

	nanosleep(&pause, NULL);
}

/* --- The new VM ------------------------------------------------------------------------- */

/* Starts it as `server start` does. */
static void start(struct replace_args *a)
{
	char **argv = wh_must(calloc((size_t)a->nstart + 4, sizeof(*argv)));

	argv[0] = "wormhole server start";
	argv[1] = "--id";
	if (asprintf(&argv[2], "%" PRIu64, a->new) < 0)
		wh_no_memory();
	memcpy(argv + 3, a->start, (size_t)a->nstart * sizeof(*argv));
	a->child = fork();
	if (!a->child)
		exit(wh_server_start(a->nstart + 3, argv));
	if (a->child < 0)
		wh_no_memory();
	free(argv[2]);
	free(argv);
}

/* Has it ended, if it was started here? */
static bool has_ended(const struct replace_args *a)
{
	siginfo_t info = { .si_pid = 0 };

	return a->child &&
	       (waitid(P_PID, (id_t)a->child, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid);
}

/* Its VMM stays in the foreground, as that of `server start`. Returns its exit status. */
static int await_end(const struct replace_args *a, bool kill_it)
{
	int status = 0;

	if (kill_it)
		kill(a->child, SIGTERM);
	while (waitpid(a->child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Do all of its workers wait for programs? KVM says which wait, and the supervisor how many there
 * are. A VM may have no port for that; then those that wait are enough.
 */
static bool is_ready(int fd, const struct wh_vm *vm, int *windows)
{
	struct wh_host_stat stat;
	char why[WH_CHANNEL_TEXT + 1];
	unsigned int workers;

	if (wh_control_stat(fd, vm->id, &stat) || !stat.pairs || stat.parked < stat.pairs)
		return false;
	*windows = wh_vm_windows(vm, &workers, why, sizeof(why));
	if (*windows < 0)
		wh_warn("how many windows server VM %" PRIu64 " has is not known: %s", vm->id, why);
	return *windows < 0 || stat.pairs >= workers;
}

/* Waits for the VM, which may be about to start. *windows is then how many it has; -1: unknown. */
static int await_ready(int fd, const struct replace_args *a, int *windows)
{
	int64_t deadline = wh_now_ms() + (int64_t)a->ready_s * 1000;
	const char *why;
	struct wh_vm vm;

	do {
		if (!wh_registry_find(a->new, &vm)) {
			why = "`wormhole' has not started it, or it has ended";
		} else if (vm.role != WH_ROLE_SERVER) {
			wh_error("VM %" PRIu64 " is no server VM", a->new);
			return -1;
		} else if (is_ready(fd, &vm, windows)) {
			return 0;
		} else {
			why = "its workers do not wait for programs yet";
		}
		rest();
	} while (wh_now_ms() < deadline && !has_ended(a));
	if (has_ended(a))
		wh_error("server VM %" PRIu64 " has ended before it was ready; VM %" PRIu64 " goes on as it was",
			 a->new, a->old);
	else
		wh_error("server VM %" PRIu64 " is not ready within %" PRIu64 " s: %s; VM %" PRIu64 " goes on as it was",
			 a->new, a->ready_s, why, a->old);
	return -1;
}

/* --- Permissions ------------------------------------------------------------------------ */

static int allow(int fd, const struct wh_host_allow *p, uint64_t server, uint32_t window)
{
	struct wh_host_allow changed = *p;
	int rc;

	changed.server_id = server;
	changed.window = window;
	rc = wh_control_allow(fd, &changed);
	if (!rc)
		rc = wh_registry_allow(&changed);
	if (rc)
		wh_error("the permission of VM %" PRIu64 " for VM %" PRIu64 ": %s",
			 (uint64_t)p->client_id, server, strerror(-rc));
	return rc;
}

/* Windows of both VMs have the same numbers. */
static int check_windows(const struct replace_args *a, int windows)
{
	int i;

	for (i = 0; i < nallowed; i++) {
		if (windows < 1 || allowed[i].window == WH_NO_WINDOW ||
		    allowed[i].window < (uint32_t)windows)
			continue;
		wh_error("VM %" PRIu64 " has window %u of VM %" PRIu64 ", but VM %" PRIu64
			 " has %d: start it with as many", (uint64_t)allowed[i].client_id,
			 allowed[i].window, a->old, a->new, windows);
		return -1;
	}
	return 0;
}

/* A client VM that is not there yet will start with its new permissions. */
static int move_permissions(int fd, const struct replace_args *a)
{
	struct wh_host_stat stat;
	int i;

	for (i = 0; i < nallowed; i++) {
		const struct wh_host_allow *p = &allowed[i];

		/* An earlier try has moved it. */
		if (p->window == WH_NO_WINDOW)
			continue;
		if (allow(fd, p, a->new, p->window) || allow(fd, p, a->old, WH_NO_WINDOW))
			return -1;
	}
	for (i = 0; i < nallowed; i++)
		wh_control_stat(fd, allowed[i].client_id, &stat);
	return 0;
}

/* --- The old VM ------------------------------------------------------------------------- */

/* Waits until no program is attached to it, and says how many are whenever this has changed. */
static int await_programs(int fd, const struct replace_args *a)
{
	uint64_t left, said = 0;
	struct wh_host_stat stat;
	int rc;

	for (;;) {
		rc = wh_control_stat(fd, a->old, &stat);
		if (rc == -ENOENT)
			return 0;
		if (rc) {
			wh_error("VM %" PRIu64 ": %s", a->old, strerror(-rc));
			return -1;
		}
		left = stat.attaches - stat.detaches;
		if (!left)
			return 0;
		if (left != said)
			wh_info("server VM %" PRIu64 " ends with the last of %" PRIu64 " program%s",
				a->old, left, left > 1 ? "s" : "");
		said = left;
		rest();
	}
}

static int end_vm(const struct replace_args *a)
{
	struct wh_vm vm;
	int fd = wh_registry_open(a->old, &vm), rc = 0;
	struct pollfd ended = { .fd = fd, .events = POLLIN };

	if (fd == -ESRCH)
		return 0;
	if (fd < 0)
		rc = fd;
	else if (syscall(SYS_pidfd_send_signal, fd, SIGTERM, NULL, 0) && errno != ESRCH)
		rc = -errno;
	else if (poll(&ended, 1, END_MS) != 1)
		rc = -ETIMEDOUT;
	if (fd >= 0)
		close(fd);
	if (rc)
		wh_error("server VM %" PRIu64 ", process %d, does not end: %s; no program uses it, kill it",
			 a->old, vm.pid, strerror(-rc));
	return rc;
}

/* --- The command ------------------------------------------------------------------------ */

static const struct argp_option options[] = {
	{ "timeout", 't', "SECONDS", 0, "how long the new VM may take until its workers wait for programs (default 300)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct replace_args *a = state->input;

	switch (key) {
	case 't': a->ready_s = wh_arg_u64(state, "--timeout", arg, 1, 86400); return 0;
	case ARGP_KEY_ARG:
		/* The words after the ids are for `server start`. */
		if (state->arg_num > 1)
			return ARGP_ERR_UNKNOWN;
		*(state->arg_num ? &a->new : &a->old) =
			wh_arg_u64(state, state->arg_num ? "NEW" : "OLD", arg, 1, UINT64_MAX);
		return 0;
	case ARGP_KEY_ARGS:
		a->start = state->argv + state->next;
		a->nstart = state->argc - state->next;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!a->new)
			wh_usage_error(state, "name OLD and NEW by their ids");
		if (a->new == a->old)
			wh_usage_error(state, "OLD and NEW are the same VM");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "OLD NEW [-- NAME START-OPTION...]",
	"Let a server VM take over from another: when its workers wait, new programs of all client VMs go to "
	"NEW, and OLD ends after its last program. Waits for both. What follows -- starts NEW as `wormhole "
	"server start' does, in the foreground.", NULL, NULL, NULL
};

/* Has the hook of packaging/libvirt noted this VM as a domain's? */
static bool is_domain(uint64_t id)
{
	DIR *d = opendir(DOMAINS);
	unsigned long long noted;
	bool found = false;
	struct dirent *e;
	char path[300];
	FILE *f;

	while (d && !found && (e = readdir(d))) {
		snprintf(path, sizeof(path), DOMAINS "/%s", e->d_name);
		f = strstr(e->d_name, ".role") ? fopen(path, "re") : NULL;
		found = f && fscanf(f, "%*s %llu", &noted) == 1 && noted == id;
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* Is there something to replace? */
static int look_at_old(const struct replace_args *a)
{
	struct wh_vm vm;

	if (!wh_registry_find(a->old, &vm) || vm.role != WH_ROLE_SERVER) {
		wh_error("VM %" PRIu64 " is no living server VM that `wormhole' has started", a->old);
		return -1;
	}
	if (is_domain(a->old)) {
		wh_error("VM %" PRIu64 " is a domain of libvirt, whose hook denies its client VMs all servers when it ends: let their domains name server VM %" PRIu64 ", and start them anew",
			 a->old, a->new);
		return -1;
	}
	nallowed = wh_registry_allowed(a->old, allowed);
	if (nallowed)
		return 0;
	wh_error("no client VM was let to VM %" PRIu64 " by `wormhole allow': there is nothing to move", a->old);
	return -1;
}

static int replace(int fd, struct replace_args *a)
{
	int windows;

	if (look_at_old(a))
		return EXIT_FAILED;
	if (a->start)
		start(a);
	if (await_ready(fd, a, &windows) || check_windows(a, windows)) {
		/* No program goes there yet. */
		if (a->child)
			await_end(a, true);
		return EXIT_FAILED;
	}
	if (move_permissions(fd, a) || await_programs(fd, a) || end_vm(a))
		return EXIT_FAILED;
	wh_registry_deny(0, a->old);
	wh_info("server VM %" PRIu64 " has ended; VM %" PRIu64 " serves in its place", a->old, a->new);
	return a->child ? await_end(a, false) : EXIT_DONE;
}

int wh_server_replace(int argc, char **argv)
{
	struct replace_args a = { .ready_s = READY_S };
	int fd, rc;

	wh_parse(&argp, argc, argv, 0, &a);
	fd = wh_control_open_checked();
	if (fd < 0)
		return EXIT_FAILED;
	rc = replace(fd, &a);
	close(fd);
	return rc;
}
