// SPDX-License-Identifier: Apache-2.0
/*
 * wormhole-server: serves clients of this machine over shm. This file owns the command line, the
 * signals and the order of start and stop; server.h says where the rest is, and monitor.h which
 * processes there are. The program runs itself
 * again as a worker (--serve) and in the other roles that load vendor libraries. So none of them
 * inherits any of this process's memory, and this process loads no driver.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/front.h"
#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/keep.h"
#include "daemon/lend.h"
#include "daemon/monitor.h"
#include "daemon/parts.h"
#include "daemon/server.h"
#include "daemon/suspend.h"
#include "shm.h"
#include "daemon/worker.h"
#include "figures/figures.h"
#include "tenant/hami.h"

#define DEFAULT_PART	(256UL << 20)
#define DEFAULT_SLACK	(1ULL << 30)
#define DEFAULT_PERIOD	250

struct wh_server wh_server = {
	.self = "/proc/self/exe", .part_size = DEFAULT_PART,
	.slack = DEFAULT_SLACK, .period_ms = DEFAULT_PERIOD,
};

static const char help[] =
"usage: wormhole-server --backend LIBRARY [options]\n"
"Serves CUDA clients of this machine; each gets a worker process that loads LIBRARY.\n"
"`wormhole serve' starts it, too, and finds the library itself.\n"
"  --backend LIBRARY  the libcuda.so.1 that does the work\n"
"  --lib-path DIR     folders of the libraries over it, libcublas.so.13 and so on, with colons between\n"
"                     them; of each the one that a program asks for serves, else the newest\n"
"                     (default: $WORMHOLE_LIB_PATH, else as the\n"
"                     loader finds them)\n"
"  --dir DIR          folder of sockets and tenants (default: the socket's)\n"
"  --socket PATH      socket of the tenant \"default\" (default: $WORMHOLE_SOCKET;\n"
"                     root's " WH_SHM_RUN ", others' $XDG_RUNTIME_DIR/" WH_SHM_SOCKET ")\n"
"  --tenants DIR      folder of the administrator's files of tenants (default: root's\n"
"                     /etc/wormhole/tenants.d, others' ~/.config/wormhole/tenants.d; with a --dir of\n"
"                     one's own, its tenants.d)\n"
"  --state DIR        folder of the tenants that the server keeps (default: root's /var/lib/wormhole,\n"
"                     others' ~/.local/state/wormhole; with a --dir of one's own, its state); none:\n"
"                     it keeps none\n"
"  --part-size SIZE   memory that a client and its worker share (default 256M)\n"
"  --limit SPEC       of the tenant \"default\": [DEVICE:]mem=SIZE,sm=PERCENT,policy=POLICY,\n"
"                     sm-max=PERCENT,priority=CLASS; again for more.\n"
"                     Before it counts what HAMi-core's variables\n"
"                     CUDA_DEVICE_MEMORY_LIMIT[_N], CUDA_DEVICE_SM_LIMIT[_N] and\n"
"                     GPU_CORE_UTILIZATION_POLICY say\n"
"  --host-mem SIZE    of the tenant \"default\": host memory that workers may keep in place for its\n"
"                     programs, shared and pinned; none: no limit (default: half of the machine's)\n"
"  --max-kernel TIME  how long one launch of a tenant with a share of time may hold a device beyond\n"
"                     that share, in seconds or as 500ms; then its program ends; none: no limit\n"
"                     (default: 2), where nothing else is said of a tenant\n"
"  --sm-group SMS     shares of policy spatial in groups of so many SMs, a multiple of 2 (default: as\n"
"                     few as the driver's own groups have). In groups below that size no clusters of\n"
"                     more than 2 thread blocks run\n"
"  --overcommit TIME  quotas may sum up to more than a device has: tenants that do not call are\n"
"                     suspended when another's memory needs room, and a tenant that got room stays\n"
"                     so long, in seconds or as 500ms\n"
"  --nccl             workers of the tenant \"default\" may meet by sockets, in its own network\n"
"                     (by default, where there is one); --no-nccl: they may not\n"
"  --counters         programs of the tenant \"default\" may count by the hardware's counters, which\n"
"                     tell of other tenants' work, too (by default they may not)\n"
"  --nvml LIBRARY     where the driver's own figures are read (default: the\n"
"                     libnvidia-ml.so.1 beside the backend, or the loader's);\n"
"                     none: they are not\n"
"  --slack SIZE       memory of a tenant that the driver counts beyond the limit before a\n"
"                     worker of it is stopped (default 1G; what nobody knows of: 64M)\n"
"  --period MS        time between two such readings (default 250)\n"
"  --worker-uid N     (root) first of 257 numbers that nobody else has: each tenant's workers run as\n"
"                     one of them; none: as root. Default: $WORMHOLE_WORKER_UID, else such numbers\n"
"  --protection       say what workers would have and lack here, and end\n"
"  --daemon           go to the background once clients can connect; messages then go\n"
"                     to DIR/server.log\n"
"  --keep SECONDS     (in a unit of systemd) programs live through a restart: so long the server waits\n"
"                     for the next start after the end of this process\n"
"  --scope NAME       with --keep: the server runs in this scope of systemd's, which outlives the unit\n"
"  --journal UNIT     messages go to the journal of this unit of systemd\n";

/* --- Signals ------------------------------------------------------------------------ */

/* The server's own children are those that a next server would start anew. */
static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (!wh_lend_reap(pid))
			wh_judge_reap(pid, status);
}

static void on_ended(const struct wh_ended *e)
{
	if (wh_uid_range_reap(e->pid) || wh_uids_reap(e->pid) || wh_parts_reap(e->pid) ||
	    wh_suspend_reap(e->pid))
		return;
	wh_usage_ended(e->pid, &e->usage);
	wh_tenants_reap(e->pid, e->status);
}

static void on_signal(int fd, void *arg)
{
	struct signalfd_siginfo info;

	(void)arg;
	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGCHLD)
		reap();
	else
		wh_loop_stop();
}

static bool watch_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGIO, SIG_IGN);	/* opening a part by its name breaks a lease (parts.c) */
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 && wh_loop_add(fd, on_signal, NULL) && wh_monitor_listen(on_ended);
}

/* --- In the background ------------------------------------------------------------ */

/*
 * Returns in the child, with a descriptor for its word that it is ready. The parent ends when it
 * has got the word.
 */
static int leave_terminal(void)
{
	int fds[2];
	pid_t pid;
	char word;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		close(fds[0]);
		setsid();
		return fds[1];
	}
	close(fds[1]);
	/* Without a word, the child has said why it failed. */
	_exit(read(fds[0], &word, 1) == 1 ? 0 : 1);
}

static void say_ready(int fd)
{
	if (write(fd, "", 1) != 1)
		wh_say("warn", "nobody waits for the start any more");
	close(fd);
}

static void close_terminal(int ready, int null)
{
	dup2(null, 0);
	dup2(null, 1);
	wh_log_file(null);
	wh_log_times();
	say_ready(ready);
	if (null > 2)
		close(null);
}

/* --- Start and stop --------------------------------------------------------------- */

static bool answers(const char *path)
{
	int fd = wh_dial(path);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* A tenant has up to eight descriptors open here, and one for each worker. */
static void raise_files(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur >= WH_MAX_FILES)
		return;
	r.rlim_cur = r.rlim_max < WH_MAX_FILES ? r.rlim_max : WH_MAX_FILES;
	setrlimit(RLIMIT_NOFILE, &r);
}

/*
 * A server that goes on knows of its devices and libraries what the one before it knew. That the
 * driver cannot be asked now ends no program.
 */
static bool ask(char *err, size_t err_size)
{
	bool good = wh_probe(&wh_server, err, err_size);

	if (!good && !wh_devices_take())
		return false;
	if (!good)
		wh_say("warn", "%s; devices are taken to be as they were", err);
	if (wh_versions_start(err, err_size))
		return true;
	if (!wh_handed("devices"))
		return false;
	wh_say("warn", "%s; new programs get the newest libraries", err);
	return true;
}

static bool tell_devices(char *err, size_t err_size)
{
	if (wh_move_tell_devices())
		return true;
	snprintf(err, err_size, "out of memory");
	return false;
}

static bool start(char *err, size_t err_size)
{
	wh_faults_start();
	if (!wh_lock_dir(wh_server.dir, err, err_size) || !wh_isolation_start(err, err_size))
		return false;
	wh_drain_take();
	if (!wh_handed("lock") && answers(wh_server.socket)) {
		snprintf(err, err_size, "%s: another server answers there", wh_server.socket);
		return false;
	}
	return wh_service_journal(wh_server.unit, err, err_size) &&
	       ask(err, err_size) && tell_devices(err, err_size) &&
	       wh_tenants_start(err, err_size) && wh_keep_start(err, err_size) &&
	       wh_room_start() &&
	       wh_control_start(err, err_size) && watch_signals();
}

static void stop(void)
{
	wh_control_stop();
	wh_judge_stop();
	wh_tenants_stop();
	wh_uids_stop();
	wh_log_stop();
	wh_isolation_stop();
}

/* --- Command line ----------------------------------------------------------------- */

enum role { SERVER, WORKER, PROBE, VERSIONS, FIGURES, PROTECTION, CHECKPOINT };

enum {
	OPT_BACKEND = 256, OPT_LIBS, OPT_DIR, OPT_SOCKET, OPT_TENANTS, OPT_STATE,
	OPT_PART, OPT_LIMIT, OPT_HOST, OPT_KERNEL,
	OPT_SM_GROUP, OPT_OVERCOMMIT, OPT_NCCL, OPT_NO_NCCL, OPT_COUNTERS, OPT_NVML,
	OPT_SLACK, OPT_PERIOD, OPT_WORKER_UID, OPT_PROTECTION, OPT_DAEMON, OPT_JOURNAL,
	OPT_PROTECT, OPT_STARTED, OPT_PART_FILE, OPT_LENT,
	OPT_CHECKPOINT, OPT_WORKERS, OPT_SUSPENSION, OPT_WAIT, OPT_RESULT,
	OPT_SWAP, OPT_PLACES, OPT_STAYS, OPT_PAGE_OUT, OPT_MOVES_OUT, OPT_UUIDS,
	 OPT_RESUME, OPT_RESUMES,
	OPT_KEEP, OPT_SCOPE, OPT_BEHIND,
	OPT_SERVE, OPT_PARENT, OPT_TENANT_LIMITS, OPT_TENANT_USAGE, OPT_TENANT_SEATS,
	OPT_TENANT_SEAT, OPT_TENANT_ACCOUNT, OPT_TENANT_TRACE, OPT_PROBE, OPT_VISIBLE, OPT_VERSIONS,
	OPT_FIGURES,
};

static const struct option table[] = {
	{ "backend", required_argument, NULL, OPT_BACKEND },
	{ "lib-path", required_argument, NULL, OPT_LIBS },
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "socket", required_argument, NULL, OPT_SOCKET },
	{ "tenants", required_argument, NULL, OPT_TENANTS },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "part-size", required_argument, NULL, OPT_PART },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "host-mem", required_argument, NULL, OPT_HOST },
	{ "max-kernel", required_argument, NULL, OPT_KERNEL },
	{ "sm-group", required_argument, NULL, OPT_SM_GROUP },
	{ "overcommit", required_argument, NULL, OPT_OVERCOMMIT },
	{ "nccl", no_argument, NULL, OPT_NCCL },
	{ "no-nccl", no_argument, NULL, OPT_NO_NCCL },
	{ "counters", no_argument, NULL, OPT_COUNTERS },
	{ "nvml", required_argument, NULL, OPT_NVML },
	{ "slack", required_argument, NULL, OPT_SLACK },
	{ "period", required_argument, NULL, OPT_PERIOD },
	{ "worker-uid", required_argument, NULL, OPT_WORKER_UID },
	{ "protection", no_argument, NULL, OPT_PROTECTION },
	{ "daemon", no_argument, NULL, OPT_DAEMON },
	{ "keep", required_argument, NULL, OPT_KEEP },
	{ "scope", required_argument, NULL, OPT_SCOPE },
	{ "journal", required_argument, NULL, OPT_JOURNAL },
	{ "help", no_argument, NULL, 'h' },
	/* Options that this program passes to itself. */
	{ "behind", required_argument, NULL, OPT_BEHIND },
	{ "resume", required_argument, NULL, OPT_RESUME },
	{ "resumes", required_argument, NULL, OPT_RESUMES },
	{ "started", required_argument, NULL, OPT_STARTED },
	{ "lent", required_argument, NULL, OPT_LENT },
	{ "protect", required_argument, NULL, OPT_PROTECT },
	{ "serve", required_argument, NULL, OPT_SERVE },
	{ "part", required_argument, NULL, OPT_PART_FILE },
	{ "parent", required_argument, NULL, OPT_PARENT },
	{ "tenant-limits", required_argument, NULL, OPT_TENANT_LIMITS },
	{ "tenant-usage", required_argument, NULL, OPT_TENANT_USAGE },
	{ "tenant-seats", required_argument, NULL, OPT_TENANT_SEATS },
	{ "tenant-seat", required_argument, NULL, OPT_TENANT_SEAT },
	{ "tenant-trace", required_argument, NULL, OPT_TENANT_TRACE },
	{ "tenant-account", required_argument, NULL, OPT_TENANT_ACCOUNT },
	{ "probe", no_argument, NULL, OPT_PROBE },
	{ "visible", required_argument, NULL, OPT_VISIBLE },
	{ "versions", no_argument, NULL, OPT_VERSIONS },
	{ "figures", no_argument, NULL, OPT_FIGURES },
	{ "checkpoint", required_argument, NULL, OPT_CHECKPOINT },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "suspension", required_argument, NULL, OPT_SUSPENSION },
	{ "wait", required_argument, NULL, OPT_WAIT },
	{ "result", required_argument, NULL, OPT_RESULT },
	{ "swap", required_argument, NULL, OPT_SWAP },
	{ "places", required_argument, NULL, OPT_PLACES },
	{ "stays", no_argument, NULL, OPT_STAYS },
	{ "page-out", no_argument, NULL, OPT_PAGE_OUT },
	{ "moves-out", no_argument, NULL, OPT_MOVES_OUT },
	{ "uuids", required_argument, NULL, OPT_UUIDS },
	{ 0 },
};

static struct {
	enum role role;
	bool background;
	int state;		/* of the program that this process was before; -1: none */
	struct wh_shm_worker worker;
	struct wh_checkpoint checkpoint;
	const char *visible;	/* of a probe: the one device, by its UUID; "": all */
} opt = { .state = -1, .visible = "", .worker = { .started = -1, .lent = -1, .tenant = WH_NO_TENANT } };

__attribute__((noreturn, format(printf, 1, 2)))
static void wrong(const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wh_say("error", "%s (`wormhole-server --help' lists the options)", text);
	exit(2);
}

static uint64_t size(const char *option, const char *text, uint64_t min)
{
	uint64_t v;

	if (wh_limit_bytes(text, &v) || v < min)
		wrong("%s: %s, of at least %llu bytes", option, wh_limit_bytes_why(text),
		      (unsigned long long)min);
	return v;
}

static int number(const char *option, const char *text, long max)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (*end || end == text || v < 0 || v > max)
		wrong("%s: '%s' is not a number from 0 to %ld", option, text, max);
	return (int)v;
}

static uint32_t sm_group(const char *text)
{
	int v = number("--sm-group", text, 4096);

	if (!v || v % 2)
		wrong("--sm-group: '%s' SMs: a group has a multiple of 2", text);
	return (uint32_t)v;
}

static void path(char out[WH_SOCKET_PATH], const char *option, const char *text)
{
	if (!*text || snprintf(out, WH_SOCKET_PATH, "%s", text) >= (int)WH_SOCKET_PATH)
		wrong("%s: '%.120s': no path, or too long for a socket", option, text);
}

static void add_limit(const char *text)
{
	char err[300];

	if (wh_limit_parse(&wh_server.limits, text, err, sizeof(err)))
		wrong("--limit: %s", err);
}

static enum wh_protect protect(const char *text)
{
	return (enum wh_protect)number("--protect", text, WH_PROTECT_ALL);
}

/* Shows what a server would find here, without one. */
static int show_protection(void)
{
	char err[300];

	if (!wh_isolation_start(err, sizeof(err))) {
		wh_say("error", "%s", err);
		return 1;
	}
	wh_isolation_print(stdout);
	wh_uids_stop();
	wh_isolation_stop();
	return 0;
}

/* What waits for the server to be ready, if it goes to the background (leave_terminal()). */
static struct {
	bool on;
	int ready, null;
} background = { .ready = -1 };

static void set(int c)
{
	struct wh_tenant_files *tenant = &opt.worker.tenant;

	switch (c) {
	case OPT_BACKEND:	wh_server.backend = optarg; break;
	case OPT_LIBS:		setenv("WORMHOLE_LIB_PATH", optarg, 1); break;	/* for workers */
	case OPT_DIR:		path(wh_server.dir, "--dir", optarg); break;
	case OPT_SOCKET:	path(wh_server.socket, "--socket", optarg); break;
	case OPT_TENANTS:	wh_server.tenants = optarg; break;
	case OPT_STATE:		wh_server.state = optarg; break;
	case OPT_PART:		wh_server.part_size = size("--part-size", optarg, 1 << 20); break;
	case OPT_LIMIT:		add_limit(optarg); break;
	case OPT_HOST:
		wh_server.limits.has_host = 1;
		wh_server.limits.host = size("--host-mem", optarg, 0);
		break;
	case OPT_KERNEL:
		if (wh_limit_time(optarg, &wh_server.max_kernel_ms))
			wrong("--max-kernel: '%s' is not a time such as 2 or 500ms, or none", optarg);
		break;
	case OPT_SM_GROUP:	wh_server.sm_group = sm_group(optarg); break;
	case OPT_OVERCOMMIT:
		if (wh_limit_time(optarg, &wh_server.overcommit_ms) || !wh_server.overcommit_ms)
			wrong("--overcommit: '%s' is not a time such as 30 or 500ms", optarg);
		break;
	case OPT_NCCL:		wh_server.limits.nccl = WH_NCCL_YES; break;
	case OPT_NO_NCCL:	wh_server.limits.nccl = WH_NCCL_NO; break;
	case OPT_COUNTERS:	wh_server.limits.counters = WH_COUNTERS_YES; break;
	case OPT_NVML:		wh_server.nvml = optarg; break;
	case OPT_SLACK:		wh_server.slack = size("--slack", optarg, 0); break;
	case OPT_PERIOD:	wh_server.period_ms = number("--period", optarg, 60000); break;
	case OPT_WORKER_UID:	wh_server.worker_uid = optarg; break;
	case OPT_PROTECTION:	opt.role = PROTECTION; break;
	case OPT_RESUME:	opt.state = number("--resume", optarg, INT_MAX); break;
	case OPT_RESUMES:	exit(!wh_handover_knows(optarg));
	case OPT_STARTED:	opt.worker.started = number("--started", optarg, INT_MAX); break;
	case OPT_LENT:		opt.worker.lent = number("--lent", optarg, INT_MAX); break;
	case OPT_PART_FILE:	opt.worker.part = number("--part", optarg, INT_MAX); break;
	case OPT_PROTECT:	opt.worker.protect = protect(optarg); break;
	case OPT_DAEMON:	opt.background = true; break;
	case OPT_KEEP:		wh_server.keep_s = (unsigned int)number("--keep", optarg, 86400); break;
	case OPT_SCOPE:		wh_server.scope = optarg; break;
	case OPT_BEHIND:	background.ready = number("--behind", optarg, INT_MAX); break;
	case OPT_JOURNAL:	wh_server.unit = optarg; break;
	case 'h':		fputs(help, stdout); exit(0);
	case OPT_SERVE:
		opt.role = WORKER;
		opt.worker.conn = number("--serve", optarg, INT_MAX);
		break;
	case OPT_PARENT:	opt.worker.parent = number("--parent", optarg, INT_MAX); break;
	case OPT_TENANT_LIMITS:	tenant->limits = number("--tenant-limits", optarg, INT_MAX); break;
	case OPT_TENANT_USAGE:	tenant->usage = number("--tenant-usage", optarg, INT_MAX); break;
	case OPT_TENANT_SEATS:	tenant->seats = number("--tenant-seats", optarg, INT_MAX); break;
	case OPT_TENANT_SEAT:	tenant->seat = number("--tenant-seat", optarg, INT_MAX); break;
	case OPT_TENANT_TRACE:	tenant->trace = number("--tenant-trace", optarg, INT_MAX); break;
	case OPT_TENANT_ACCOUNT:	tenant->account = number("--tenant-account", optarg, INT_MAX); break;
	case OPT_PROBE:		opt.role = PROBE; break;
	case OPT_VISIBLE:	opt.visible = optarg; break;
	case OPT_VERSIONS:	opt.role = VERSIONS; break;
	case OPT_FIGURES:	opt.role = FIGURES; break;
	case OPT_CHECKPOINT:
		opt.role = CHECKPOINT;
		opt.checkpoint.job = !strcmp(optarg, "resume") ? WH_JOB_RESUME :
				     !strcmp(optarg, "move") ? WH_JOB_MOVE :
				     !strcmp(optarg, "further") ? WH_JOB_FURTHER : WH_JOB_SUSPEND;
		break;
	case OPT_WORKERS:	opt.checkpoint.workers = optarg; break;
	case OPT_SUSPENSION:	opt.checkpoint.number = (uint32_t)number("--suspension", optarg, INT_MAX); break;
	case OPT_WAIT:		opt.checkpoint.wait_ms = (unsigned int)number("--wait", optarg, INT_MAX); break;
	case OPT_SWAP:		opt.checkpoint.swap = optarg; break;
	case OPT_PLACES:	opt.checkpoint.places = number("--places", optarg, INT_MAX); break;
	case OPT_STAYS:		opt.checkpoint.stays = true; break;
	case OPT_PAGE_OUT:	opt.checkpoint.page_out = true; break;
	case OPT_MOVES_OUT:	opt.checkpoint.moves_out = true; break;
	case OPT_UUIDS:		opt.checkpoint.uuids = optarg; break;
	case OPT_RESULT:	opt.checkpoint.result = number("--result", optarg, INT_MAX); break;
	}
}

static void default_socket(void)
{
	const char *named = getenv("WORMHOLE_SOCKET"), *dir = getenv("XDG_RUNTIME_DIR");
	char text[PATH_MAX];

	if (wh_server.dir[0])
		snprintf(text, sizeof(text), "%s/server.sock", wh_server.dir);
	else if (named && *named)
		snprintf(text, sizeof(text), "%s", named);
	else if (geteuid() && dir && *dir)
		snprintf(text, sizeof(text), "%s/" WH_SHM_SOCKET, dir);
	else
		snprintf(text, sizeof(text), WH_SHM_RUN);
	path(wh_server.socket, "--socket", text);
}

/* Takes the folder of the socket; a bare name means the current folder. */
static void default_dir(void)
{
	char *slash;

	path(wh_server.dir, "--socket", wh_server.socket);
	slash = strrchr(wh_server.dir, '/');
	if (slash)
		slash[slash == wh_server.dir] = 0;
	else
		snprintf(wh_server.dir, sizeof(wh_server.dir), ".");
}

/* Limits of the tenant "default", as HAMi's users write them. */
static void take_hami(void)
{
	char err[300], names[200];

	if (wh_hami_limits(&wh_server.environment, environ, err, sizeof(err)))
		wrong("%s", err);
	if (wh_hami_idle(environ, names, sizeof(names)))
		wh_say("warn", WH_HAMI_IDLE, names);
}

static void parse(int argc, char **argv)
{
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
		if (c == ':')
			wrong("%s: a value is missing", argv[optind - 1]);
		if (c == '?')
			wrong("%s: there is no such option, or it takes no value", argv[optind - 1]);
		set(c);
	}
	if (optind != argc)
		wrong("'%s': unexpected argument", argv[optind]);
	if (!wh_server.worker_uid)
		wh_server.worker_uid = getenv("WORMHOLE_WORKER_UID");
	if (opt.role == PROTECTION)
		return;
	if (!wh_server.backend)
		wrong("--backend is missing");
	wh_server.part_size = (wh_server.part_size + 4095) & ~4095UL;
	if (opt.role != SERVER)
		return;
	if (wh_server.keep_s && opt.background)
		wrong("--keep: not with --daemon: the process that is started stands for the server");
	if (!wh_places_from_root())
		wrong("out of memory for the names of libraries");
	take_hami();
	if (!wh_server.socket[0])
		default_socket();
	if (!wh_server.dir[0])
		default_dir();
}

/* Runs in the monitor's child, and again in the next one if this one is killed. */
static int serve(void)
{
	bool first = !wh_monitor_state();
	char err[600] = "";

	wh_log_starts(first);
	if (!wh_handover_read(err, sizeof(err))) {
		wh_say("error", "%s", err);
		return 1;
	}
	/* The terminal was left by the server before. */
	if (wh_taken_flag(wh_handed("log"), "times")) {
		wh_log_times();
		wh_log_file_taken();
	}
	if (!start(err, sizeof(err))) {
		wh_say("error", "%s", err[0] ? err : strerror(errno));
		/* All is still open for another one, which may succeed. */
		if (!first)
			return WH_MONITOR_AGAIN;
		stop();
		return 1;
	}
	if (first)
		printf("wormhole-server: listening on %s\n", wh_server.socket);
	fflush(stdout);
	if (first && background.on)
		close_terminal(background.ready, background.null);
	else if (first && background.ready >= 0)
		say_ready(background.ready);
	wh_log_starts(false);
	wh_monitor_ready();
	/* This child lives on and inherits our standard error, which is the log from here on. */
	if (!wh_judge_start())
		wh_say("warn", "nothing reads the driver's figures: %s", strerror(errno));
	if (wh_handed("next"))
		wh_keep_again();
	wh_handover_done();
	wh_monitor_changed();
	wh_monitor_save();
	wh_loop_after(wh_monitor_save);
	/* Reap children that ended before anybody listened for that. */
	reap();
	wh_loop_run();
	stop();
	/* Unlock before the end of a connection tells a client that we are gone. */
	wh_unlock_dir();
	wh_control_farewell();
	return 0;
}

static int start_monitor(int (*run)(void))
{
	/*
	 * Readers of the caller's open files wait for the caller's end, and must not wait for ours.
	 */
	if (background.on) {
		wh_close_others(-1);
		background.null = open("/dev/null", O_RDWR | O_CLOEXEC);
		background.ready = background.null < 0 ? -1 : leave_terminal();
	}
	if (background.on && background.ready < 0) {
		wh_say("error", "--daemon: cannot go to the background: %s", strerror(errno));
		return 1;
	}
	raise_files();
	/* The server is in the monitor's cgroup, which must have no process if it is divided. */
	if (opt.state < 0)
		wh_isolation_place();
	return wh_monitor(run, opt.state);
}

static int serve_behind(int ready)
{
	background.ready = ready;
	return start_monitor(serve);
}

int main(int argc, char **argv)
{
	wh_server.max_kernel_ms = WH_MAX_KERNEL_NS / 1000000;
	wh_server.host_memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE) / 2;
	wh_log_starts(true);
	parse(argc, argv);
	wh_log_starts(opt.state < 0 && (opt.role == SERVER || opt.role == PROTECTION));
	switch (opt.role) {
	case WORKER:
		opt.worker.backend = wh_server.backend;
		opt.worker.part_size = wh_server.part_size;
		return wh_shm_serve(&opt.worker);
	case PROBE:
		return wh_probe_main(wh_server.backend, wh_server.nvml, wh_server.sm_group,
				     opt.visible, opt.worker.protect, 3);
	case VERSIONS:
		return wh_versions_main(wh_server.backend, opt.worker.protect, 3);
	case CHECKPOINT:
		opt.checkpoint.backend = wh_server.backend;
		opt.checkpoint.nvml = wh_server.nvml;
		opt.checkpoint.parent = opt.worker.parent;
		opt.checkpoint.usage = opt.worker.tenant.usage;
		return wh_checkpoint_main(&opt.checkpoint);
	case PROTECTION:
		return start_monitor(show_protection);
	case FIGURES:
		return wh_figures_main(wh_server.nvml, wh_server.backend, wh_server.period_ms, 3,
				       wh_say);
	default:
		wh_handover_start(argv);
		background.on = opt.background && opt.state < 0;
		if (wh_server.keep_s && opt.state < 0 && background.ready < 0)
			return wh_front(argv, serve_behind);
		return start_monitor(serve);
	}
}
