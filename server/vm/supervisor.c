// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-supervisor: keeps one worker waiting for each part of each window of this server VM, on
 * the CPUs that it is given. This file owns the processes: when a worker ends, in whatever way, it
 * starts the next one. Windows are tenants (windows.c). The host changes their limits (channel.c)
 * and suspends them (suspend.c), and the driver's figures show whether they keep to them (judge.c).
 * The supervisor itself touches neither windows nor GPU.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "vm/judge.h"
#include "vm/channel.h"
#include "vm/cpulist.h"
#include "vm/groups.h"
#include "vm/suspend.h"
#include "vm/windows.h"
#include "hypercall.h"

#define MAX_PAIRS	511
#define MAX_ARGS	48
#define DEFAULT_SLACK	(1ULL << 30)
/*
 * If a worker ends sooner than this, its successor waits before it starts, and the successor's
 * successor waits longer. A worker that was ready is ended by its client. The next client, which
 * looks for a worker for some seconds, must not suffer for that, so the wait is then short.
 */
#define SHORT_LIFE_MS	1000
#define BACKOFF_MIN_MS	100
#define BACKOFF_MAX_MS	10000
#define BACKOFF_READY_MS 800

struct worker {
	unsigned int window, part, cpu;
	uint64_t part_size;
	pid_t pid;		/* 0: none now */
	int ready;		/* gets a byte when the worker is prepared */
	int64_t started;
	int64_t start_at;	/* when pid is 0 */
	int64_t backoff;	/* pause before the next start */
};

static struct {
	const char *device, *backend, *worker, *cpus;
	unsigned int windows, parts;
	uint64_t part_size, memory;
	unsigned int uid;
	const char *tenants;	/* folder of the tenants' files */
	const char *channel;	/* the host's port; NULL: found by its name */
	const char *nvml;
	uint64_t slack;
	char **more;		/* options passed on to the workers */
	int nmore;
} opt = {
	.device = "/dev/wormhole-server",
	.tenants = "/run/wormhole-tenants",
	.parts = 1,
	.slack = DEFAULT_SLACK,
};

static struct worker workers[MAX_PAIRS];
static unsigned int nworkers;
static struct wh_devices_report devices;

__attribute__((format(printf, 2, 3)))
static void say(const char *level, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	fprintf(stderr, "%s: %s\n", level, line);
}

__attribute__((format(printf, 3, 4)))
static void say_of(const struct worker *w, const char *level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say(level, "window %u part %u: %s", w->window, w->part, text);
}

/* --- One worker ------------------------------------------------------------ */

struct args {
	char text[10][32];
	char *argv[MAX_ARGS];
	int n, used;
};

static void push(struct args *a, const char *name, const char *value)
{
	a->argv[a->n++] = (char *)name;
	if (value)
		a->argv[a->n++] = (char *)value;
}

static void push_number(struct args *a, const char *name, unsigned long long value)
{
	char *s = a->text[a->used++];

	snprintf(s, sizeof(a->text[0]), "%llu", value);
	push(a, name, s);
}

static void fill_args(struct args *a, const struct worker *w, pid_t parent, int ready)
{
	int i;

	push(a, opt.worker, NULL);
	push(a, "--device", opt.device);
	push(a, "--backend", opt.backend);
	push_number(a, "--window", w->window);
	push_number(a, "--part", w->part);
	push_number(a, "--cpu", w->cpu);
	push_number(a, "--parent", (unsigned long long)parent);
	push_number(a, "--ready", (unsigned long long)ready);
	push_number(a, "--part-size", w->part_size);
	/* Each worker gets a user of its own, so that one worker cannot signal another. */
	if (opt.uid)
		push_number(a, "--uid", opt.uid + (unsigned int)(w - workers));
	if (wh_window_tenant(w->window)) {
		push(a, "--tenant", wh_window_tenant(w->window));
		push_number(a, "--account", w->part);
	}
	for (i = 0; i < opt.nmore; i++)
		push(a, opt.more[i], NULL);
}

__attribute__((noreturn))
static void run_worker(const struct worker *w, pid_t parent, int ready)
{
	struct args a = { .n = 0 };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent || fcntl(ready, F_SETFD, 0))
		_exit(1);
	wh_window_worker_is(w->window, w->part, getpid());
	if (wh_worker_group_enter((unsigned int)(w - workers))) {
		say_of(w, "error", "its cgroup: %s", strerror(errno));
		_exit(127);
	}
	fill_args(&a, w, parent, ready);
	execv(opt.worker, a.argv);
	say_of(w, "error", "%s: %s", opt.worker, strerror(errno));
	_exit(127);
}

static void start_later(struct worker *w, const char *why)
{
	say_of(w, "warn", "%s; again in %d ms", why, BACKOFF_MAX_MS);
	w->start_at = wh_now_ms() + BACKOFF_MAX_MS;
}

static void start(struct worker *w)
{
	pid_t parent = getpid(), pid;
	int ready[2] = { -1, -1 };
	char err[400];

	if (wh_worker_group_open((unsigned int)(w - workers), err, sizeof(err))) {
		start_later(w, err);
		return;
	}
	wh_window_worker_starts(w->window, w->part);
	pid = pipe2(ready, O_CLOEXEC | O_NONBLOCK) ? -1 : fork();
	if (!pid)
		run_worker(w, parent, ready[1]);
	if (pid < 0)
		snprintf(err, sizeof(err), "no process: %s", strerror(errno));
	if (ready[1] >= 0)
		close(ready[1]);
	if (pid < 0) {
		if (ready[0] >= 0)
			close(ready[0]);
		start_later(w, err);
		return;
	}
	wh_window_worker_is(w->window, w->part, pid);
	w->ready = ready[0];
	w->pid = pid;
	w->started = wh_now_ms();
	say_of(w, "info", "worker %d on CPU %u", pid, w->cpu);
}

static bool was_ready(struct worker *w)
{
	char c;
	bool ready = read(w->ready, &c, 1) == 1;

	close(w->ready);
	return ready;
}

/* The pause grows while workers end at once; there is none after a worker that served. */
static void plan_restart(struct worker *w, int served)
{
	int64_t now = wh_now_ms(), most = was_ready(w) ? BACKOFF_READY_MS : BACKOFF_MAX_MS;

	if (served || now - w->started >= SHORT_LIFE_MS)
		w->backoff = 0;
	else if (!w->backoff)
		w->backoff = BACKOFF_MIN_MS;
	else
		w->backoff = w->backoff * 2 < most ? w->backoff * 2 : most;
	w->start_at = now + w->backoff;
}

static void ended(struct worker *w, int status, const struct rusage *used)
{
	pid_t pid = w->pid;
	int served = WIFEXITED(status) && !WEXITSTATUS(status);

	w->pid = 0;
	wh_worker_group_close((unsigned int)(w - workers));
	if (wh_window_worker_ended(w->window, w->part, used))
		say_of(w, "warn", "its tenant's locks: %s", strerror(errno));
	plan_restart(w, served);
	if (served)
		say_of(w, "info", "worker %d ended with its client", pid);
	else if (WIFSIGNALED(status))
		say_of(w, "warn", "worker %d died of signal %d; next in %lld ms", pid,
		       WTERMSIG(status), (long long)w->backoff);
	else
		say_of(w, "warn", "worker %d failed with status %d; next in %lld ms", pid,
		       WEXITSTATUS(status), (long long)w->backoff);
}

/* --- All of them -------------------------------------------------------------- */

static struct worker *find(pid_t pid)
{
	unsigned int i;

	for (i = 0; i < nworkers; i++)
		if (workers[i].pid == pid)
			return &workers[i];
	return NULL;
}

static void reap(void)
{
	struct rusage used;
	struct worker *w;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &used)) > 0) {
		w = wh_judge_reap(pid, status) ? NULL : find(pid);
		if (w)
			ended(w, status, &used);
	}
}

/* Starts workers that are due. Returns the milliseconds until the next start, or -1. */
static int64_t start_due(void)
{
	int64_t left, next = -1;
	unsigned int i;

	for (i = 0; i < nworkers; i++) {
		left = workers[i].start_at - wh_now_ms();
		if (!workers[i].pid && left <= 0) {
			start(&workers[i]);
			left = workers[i].start_at - wh_now_ms();
		}
		if (!workers[i].pid && (next < 0 || left < next))
			next = left < 0 ? 0 : left;
	}
	return next;
}

/* SIGKILL is needed: a worker has every other signal blocked. */
static void kill_all(void)
{
	unsigned int i;

	for (i = 0; i < nworkers; i++)
		if (workers[i].pid)
			kill(workers[i].pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static int watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Returns the signal that ends the supervisor, or 0. */
static int take_signal(int signals)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return 0;
	if (info.ssi_signo != SIGCHLD)
		return (int)info.ssi_signo;
	reap();
	return 0;
}

static void serve_host(void)
{
	/*
	 * A lower limit is compared with what is held already, and a host that looks sees fresh
	 * figures.
	 */
	if (wh_channel_serve())
		wh_judge_wanted();
}

static int64_t sooner(int64_t a, int64_t b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Does what is due. Returns the milliseconds until the next of it; -1: there is none. */
static int due(void)
{
	return (int)sooner(start_due(), sooner(wh_judge_due(), wh_suspends_due()));
}

static void supervise(int channel)
{
	struct pollfd fds[] = {
		{ .fd = watch_signals(), .events = POLLIN },
		{ .fd = channel, .events = POLLIN },
		{ .events = POLLIN },
		{ .events = POLLIN },
	};
	int sig = 0;

	do {
		fds[2].fd = wh_judge_fd();
		fds[3].fd = wh_suspends_fd();
		if (poll(fds, 4, due()) < 1)
			continue;
		if (fds[1].revents)
			serve_host();
		if (fds[2].revents)
			wh_judge_read();
		if (fds[3].revents)
			wh_suspends_read();
		if (fds[0].revents)
			sig = take_signal(fds[0].fd);
	} while (!sig);
	say("info", "supervisor: signal %d: ending all workers", sig);
	wh_judge_stop();
	wh_suspends_stop();
	kill_all();
	wh_worker_groups_stop();
}

/* --- Setup ---------------------------------------------------------------------- */

static const char help[] =
"usage: wormhole-supervisor --backend LIB [options] [-- WORKER OPTIONS]\n"
"Keeps a worker that waits for each part of each window of this server VM.\n"
"  --backend LIB     the libcuda.so.1 that does the work\n"
"  --windows N       serve the first N windows (default: all)\n"
"  --parts N         workers for each window, default 1\n"
"  --part-size SIZE  bytes (default: the window divided by --parts)\n"
"  --cpus LIST       CPUs that workers run on, in turn, like 1-3,5\n"
"                    (default: /sys/devices/system/cpu/isolated)\n"
"  --uid N           workers run as users N, N+1, ... (default: not changed)\n"
"  --memory BYTES    of this VM's that each worker may take\n"
"                    (default: an equal part of seven eighths of them)\n"
"  --limit WINDOW:mem=SIZE,sm=PERCENT,policy=POLICY\n"
"                    of the client of a window, until the host changes it; also sm-max=PERCENT\n"
"                    and priority=CLASS; again for more\n"
"  --nvml LIBRARY    where the driver's own figures are read (default: the libnvidia-ml.so.1\n"
"                    beside the backend, or the loader's); none: they are not\n"
"  --slack BYTES     of a tenant that the driver counts beyond the limit before it is\n"
"                    stopped (default 1 GiB)\n"
"  --channel FILE    by which the host changes limits (default: the port of virtio named\n"
"                    " WH_CHANNEL_PORT ", if there is one)\n"
"  --tenants DIR     limits and counters (default /run/wormhole-tenants)\n"
"  --device FILE     default /dev/wormhole-server\n"
"  --worker FILE     default: wormhole-worker beside this program\n";

enum {
	OPT_BACKEND = 256, OPT_WINDOWS, OPT_PARTS, OPT_PART_SIZE, OPT_CPUS, OPT_UID,
	OPT_MEMORY, OPT_LIMIT, OPT_NVML, OPT_SLACK, OPT_CHANNEL, OPT_TENANTS, OPT_DEVICE,
	OPT_WORKER,
};

static const struct option table[] = {
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "windows", required_argument, NULL, OPT_WINDOWS },
	{ "parts", required_argument, NULL, OPT_PARTS },
	{ "part-size", required_argument, NULL, OPT_PART_SIZE },
	{ "cpus", required_argument, NULL, OPT_CPUS },
	{ "uid", required_argument, NULL, OPT_UID },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "nvml", required_argument, NULL, OPT_NVML },
	{ "slack", required_argument, NULL, OPT_SLACK },
	{ "channel", required_argument, NULL, OPT_CHANNEL },
	{ "tenants", required_argument, NULL, OPT_TENANTS },
	{ "device", required_argument, NULL, OPT_DEVICE },
	{ "worker", required_argument, NULL, OPT_WORKER },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

__attribute__((noreturn)) static void usage(const char *what)
{
	say("error", "wormhole-supervisor: %s (--help lists the options)", what);
	exit(2);
}

static uint64_t number(const char *s, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(s, &end, 0);
	if (errno || end == s || *end || *s == '-' || n < min || n > max)
		usage("a number is out of range");
	return n;
}

static void add_limit(const char *text)
{
	char err[300];

	if (wh_window_limit(text, err, sizeof(err)))
		usage(err);
}

static void set(int c)
{
	switch (c) {
	case OPT_BACKEND:	opt.backend = optarg; break;
	case OPT_WINDOWS:	opt.windows = (unsigned int)number(optarg, 1, 16); break;
	case OPT_PARTS:		opt.parts = (unsigned int)number(optarg, 1, MAX_PAIRS); break;
	case OPT_PART_SIZE:
		opt.part_size = number(optarg, WH_PAGE_SIZE, WH_MAX_PART_SIZE);
		break;
	case OPT_CPUS:		opt.cpus = optarg; break;
	case OPT_UID:
		opt.uid = (unsigned int)number(optarg, 1, INT_MAX - MAX_PAIRS);
		break;
	case OPT_MEMORY:	opt.memory = number(optarg, WH_PAGE_SIZE, INT64_MAX); break;
	case OPT_LIMIT:		add_limit(optarg); break;
	case OPT_NVML:		opt.nvml = optarg; break;
	case OPT_SLACK:		opt.slack = number(optarg, 0, INT64_MAX); break;
	case OPT_CHANNEL:	opt.channel = optarg; break;
	case OPT_TENANTS:	opt.tenants = optarg; break;
	case OPT_DEVICE:	opt.device = optarg; break;
	case OPT_WORKER:	opt.worker = optarg; break;
	case 'h':		fputs(help, stdout); exit(0);
	default:		usage("bad option");
	}
}

static void parse(int argc, char **argv)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "+h", table, NULL)) != -1)
		set(c);
	opt.more = argv + optind;
	opt.nmore = argc - optind;
	if (opt.nmore && strcmp(argv[optind - 1], "--"))
		usage("unexpected argument");
	if (opt.nmore > MAX_ARGS / 2)
		usage("too many worker options");
	if (!opt.backend)
		usage("--backend is missing");
}

static const char *beside_this_program(const char *name)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - strlen(name) - 2);

	while (n > 0 && path[n - 1] != '/')
		n--;
	strcpy(path + (n > 0 ? n : 0), name);
	return path;
}

/* Reads how many windows there are, and the size of each. */
static int read_windows(struct wh_srv_info *info)
{
	int rc, fd = open(opt.device, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		say("error", "%s: %s (is the module wormhole_server loaded?)", opt.device,
		    strerror(errno));
		return -1;
	}
	rc = ioctl(fd, WH_SRV_INFO, info);
	close(fd);
	if (rc || info->abi_version != WH_ABI_VERSION) {
		say("error", "%s: not the module of ABI version %u", opt.device, WH_ABI_VERSION);
		return -1;
	}
	if (!info->windows || info->windows > 16 || opt.windows > info->windows) {
		say("error", "%s: has %u windows, %u wanted", opt.device, info->windows,
		    opt.windows ? opt.windows : 1);
		return -1;
	}
	if (!opt.windows)
		opt.windows = info->windows;
	return 0;
}

static uint64_t part_size_of(uint64_t window_size)
{
	uint64_t size = window_size / opt.parts;

	if (opt.part_size)
		return opt.part_size;
	if (size > WH_MAX_PART_SIZE)
		size = WH_MAX_PART_SIZE;
	return size & ~(uint64_t)(WH_PAGE_SIZE - 1);
}

static int plan_window(unsigned int window, uint64_t window_size, const unsigned int *cpus)
{
	uint64_t size = part_size_of(window_size);
	unsigned int i;

	if (!size || size > window_size / opt.parts) {
		say("error", "window %u has %llu bytes: too small for %u parts", window,
		    (unsigned long long)window_size, opt.parts);
		return -1;
	}
	for (i = 0; i < opt.parts; i++)
		workers[nworkers++] = (struct worker){
			.window = window, .part = i, .part_size = size, .cpu = cpus[i],
		};
	return 0;
}

static int plan(const struct wh_srv_info *info)
{
	static unsigned int cpus[MAX_PAIRS];
	unsigned int i, n, wanted = opt.windows * opt.parts;

	n = opt.cpus ? wh_cpulist_parse(opt.cpus, cpus, MAX_PAIRS) :
		       wh_cpulist_isolated(cpus, MAX_PAIRS);
	if (!n || n > MAX_PAIRS || wanted > MAX_PAIRS) {
		say("error", "%u workers, of %u at most, on %u CPUs: which CPUs? (isolcpus=, --cpus)",
		    wanted, MAX_PAIRS, n);
		return -1;
	}
	/* Workers sleep most of the time, so a CPU may have several. */
	for (i = n; i < wanted; i++)
		cpus[i] = cpus[i - n];
	for (i = 0; i < opt.windows; i++)
		if (plan_window(i, info->window_size[i], cpus + nworkers))
			return -1;
	return 0;
}

static int check_machine(void)
{
	uint32_t version, role = wh_detect(&version);

	if (role == WH_ROLE_SERVER)
		return 0;
	if (role == WH_ROLE_NONE && version)
		say("error", "the host has ABI version %u, this program %u", version,
		    WH_ABI_VERSION);
	else
		say("error", "this machine is no Wormhole server VM: the host starts it with a role (wormhole server start)");
	return -1;
}

/* If there are more workers than a tenant may have, the windows have no limits, and get none. */
static bool start_tenants(void)
{
	char err[400];

	if (opt.parts > WH_WINDOW_WORKERS && !wh_window_limits_said()) {
		say("warn", "--parts %u: windows of more than %u workers have no limits and are not counted",
		    opt.parts, WH_WINDOW_WORKERS);
		return true;
	}
	if (opt.parts > WH_WINDOW_WORKERS) {
		say("error", "--parts %u: a window with limits has %u workers at most", opt.parts,
		    WH_WINDOW_WORKERS);
		return false;
	}
	if (!wh_window_tenants_start(opt.tenants, opt.windows, devices.device, devices.devices, err,
				     sizeof(err)))
		return true;
	say("error", "%s", err);
	return false;
}

static void start_judge(void)
{
	const struct wh_judge_options o = {
		.worker = opt.worker, .backend = opt.backend, .nvml = opt.nvml, .slack = opt.slack,
		.device = devices.device, .devices = devices.devices, .say = say,
	};

	if (wh_window_tenant(0))
		wh_judge_start(&o);
}

static void start_suspends(void)
{
	const struct wh_suspend_options o = {
		.worker = opt.worker, .backend = opt.backend, .nvml = opt.nvml, .parts = opt.parts,
		.device = devices.device, .devices = devices.devices, .say = say,
	};

	wh_suspends_start(&o);
}

static int open_channel(void)
{
	int fd = wh_channel_open(opt.channel);

	if (fd < 0 && (opt.channel || errno != ENOENT))
		say("error", "%s: %s", opt.channel ? opt.channel : WH_CHANNEL_PORT, strerror(errno));
	else if (fd < 0)
		say("info", "no port %s: the host cannot change limits", WH_CHANNEL_PORT);
	return fd;
}

int main(int argc, char **argv)
{
	struct wh_srv_info info = { 0 };
	char err[400];
	int channel;

	parse(argc, argv);
	if (!opt.worker)
		opt.worker = beside_this_program("wormhole-worker");
	if (check_machine() || read_windows(&info) || plan(&info))
		return 1;
	if (!wh_judge_devices(opt.worker, opt.backend, &devices)) {
		say("error", "%s", devices.error);
		return 1;
	}
	wh_devices_warn(&devices, say);
	if (!start_tenants())
		return 1;
	channel = open_channel();
	if (channel < 0 && opt.channel)
		return 1;
	say(wh_worker_groups_start(nworkers, opt.memory, err, sizeof(err)) ? "info" : "warn",
	    "%s", err);
	start_judge();
	start_suspends();
	supervise(channel);
	return 0;
}
