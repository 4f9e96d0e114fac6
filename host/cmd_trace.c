// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole trace`, and the tracing of `wormhole run --trace`: asks the server for the
 * tenant's trace, reads it while a child runs, and ends with the child's status.
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenancy.h"
#include "trace.h"
#include "views.h"
#include "wormhole.h"

#define READ_MS		5	/* a ring is overwritten after 20 ms at the earliest */
#define DEFAULT_FILE	"wormhole-trace.json"

struct wh_tracing {
	struct wh_trace_reader *reader;
	struct wh_trace_file *file;
};

struct wh_tracing *wh_trace_start(const char *dir, const char *tenant, const char *path,
				  uint64_t most)
{
	struct wh_tracing *t;
	int server, fd;

	server = wh_server_connect(dir);
	if (server < 0)
		return NULL;
	fd = wh_server_ask_file(server, wh_request("trace", tenant));
	close(server);
	if (fd < 0)
		return NULL;
	t = wh_must(calloc(1, sizeof(*t)));
	t->file = wh_trace_file_open(path, most);
	t->reader = t->file ? wh_trace_reader_open(fd) : NULL;
	if (t->file && !t->reader)
		wh_error("the trace of tenant %s cannot be read: %s; the server is of another release?",
			 tenant, strerror(errno));
	close(fd);
	if (t->reader)
		return t;
	if (t->file)
		wh_trace_file_close(t->file, 0);
	free(t);
	return NULL;
}

/* --- While a child runs ---------------------------------------------------------------------- */

static pid_t running;

static void pass_on(int sig)
{
	kill(running, sig);
}

/* Passes signals to the child. The terminal's own signals reach the child anyway. */
static void pass_signals(pid_t child)
{
	const struct sigaction pass = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	running = child;
	sigaction(SIGTERM, &pass, NULL);
	sigaction(SIGHUP, &pass, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/*
 * Waits for READ_MS or until the child ends. @pidfd may be -1. Returns true if the child
 * has ended.
 */
static bool ended(pid_t child, int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	siginfo_t info = { 0 };

	poll(&p, pidfd < 0 ? 0 : 1, READ_MS);
	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static int status_of(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int wh_trace_while(struct wh_tracing *t, pid_t child)
{
	int pidfd = (int)syscall(SYS_pidfd_open, child, 0), status;
	uint64_t lost;
	bool good;

	pass_signals(child);
	while (!ended(child, pidfd))
		wh_trace_reader_read(t->reader, t->file);
	status = status_of(child);
	lost = wh_trace_reader_close(t->reader, t->file);
	good = wh_trace_file_close(t->file, lost);
	if (pidfd >= 0)
		close(pidfd);
	free(t);
	return status || good ? status : EXIT_FAILED;
}

/* --- The command ------------------------------------------------------------------------------ */

struct trace_args {
	const char *dir, *tenant, *path;
	uint64_t most;
	char **argv;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "where to (default: " DEFAULT_FILE ")", 0 },
	{ "trace-size", 's', "SIZE", 0, "how large it may become (default: 256M)", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct trace_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		return 0;
	case 'o':
		a->path = arg;
		return 0;
	case 's':
		if (wh_parse_size(arg, &a->most))
			wh_usage_error(state, "--trace-size: %s", wh_limit_bytes_why(arg));
		return 0;
	case ARGP_KEY_ARG:
		if (a->tenant)
			return ARGP_ERR_UNKNOWN;	/* the command and its words */
		a->tenant = arg;
		return 0;
	case ARGP_KEY_ARGS:
		a->argv = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!a->tenant || !a->argv)
			wh_usage_error(state, "name the tenant, and the command during which it is traced");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "TENANT [--] COMMAND [ARGUMENT...]",
	"While COMMAND runs, write what the tenant's programs do into a file that Perfetto "
	"(ui.perfetto.dev) opens: launches, copies, waits and other calls as the server sees them, and when "
	"the device worked. A program of its own is traced by `wormhole run --trace'.", wh_dir_only,
	NULL, NULL
};

int cmd_trace(int argc, char **argv)
{
	struct trace_args a = { .path = DEFAULT_FILE, .most = WH_TRACE_MOST };
	struct wh_tracing *t;
	pid_t child;

	wh_parse(&argp, argc, argv, ARGP_IN_ORDER, &a);
	if (wh_refuse_window(a.tenant, "traced"))
		return EXIT_FAILED;
	t = wh_trace_start(wh_server_dir(a.dir), a.tenant, a.path, a.most);
	if (!t)
		return EXIT_FAILED;
	child = fork();
	if (!child) {
		execvp(a.argv[0], a.argv);
		wh_error("cannot run '%s': %s", a.argv[0], strerror(errno));
		_exit(EXIT_FAILED);
	}
	if (child < 0)
		wh_no_memory();
	return wh_trace_while(t, child);
}
