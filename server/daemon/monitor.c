// SPDX-License-Identifier: Apache-2.0
/*
 * See monitor.h. Monitor and server share one table of open files (CLONE_FILES): what the server
 * opens is open in the monitor under the same number, so nothing has to be sent, and what it closes
 * is closed for whoever waits for that. The state is in memory that both map.
 *
 * The monitor is told only by signals, which no program of a tenant may send it, and tells the
 * server of ends by a pipe. It reports a child before it reaps it. So who has read all reports
 * knows of each pid whether it is still that child's (wh_monitor_kill()).
 */
#define _GNU_SOURCE
#include "daemon/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/server.h"
#include "tenant/clock.h"

#define READY		SIGUSR1	/* clients can connect */
#define MAX_STATE	(16u << 20)
#define MOST_DEATHS	10	/* one after the other, each less than SOON_MS after a start */
#define SOON_MS		1000
#define TRY_MS		10000	/* servers that cannot go on are followed by others for so long */
#define FULL_MS		10	/* until the pipe of reports may have room again */
#define STUCK_MS	10000	/* until a killed process that does not end is named */

/*
 * Written by the server. The state that `current` names is whole: the next one is written into the
 * other place first.
 */
struct shared {
	uint32_t current;	/* 0: none yet, else 1 + the number of its place */
	int become;		/* file with the state for the installed program; 0: none */
	char state[2][MAX_STATE];
};

static struct {
	struct shared *shared;
	int report[2];
	pid_t self, server;
	bool stop;		/* somebody wants the server to end */
	int died, failure;
	sigset_t signals;
} m = { .report = { -1, -1 } };

static bool changed;
static void (*on_ended)(const struct wh_ended *e);	/* in the server */

/*
 * Ends that were reported while something else was waited for, in their order. The loop is woken
 * for them by a byte in a pipe of its own.
 */
static struct {
	struct wh_ended *e;
	unsigned int n;
	int wake[2];
} late = { .wake = { -1, -1 } };

/* --- The monitor ------------------------------------------------------------------------ */

static bool prepare(void)
{
	m.self = getpid();
	m.shared = mmap(NULL, sizeof(*m.shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m.shared == MAP_FAILED || pipe2(m.report, O_CLOEXEC | O_NONBLOCK))
		return false;
	sigemptyset(&m.signals);
	sigaddset(&m.signals, SIGCHLD);
	sigaddset(&m.signals, SIGTERM);
	sigaddset(&m.signals, SIGINT);
	sigaddset(&m.signals, READY);
	return !sigprocmask(SIG_BLOCK, &m.signals, NULL);
}

/*
 * The state of the program before is the first that is saved. So a server that is killed while it
 * starts with it is followed by another one, too.
 */
static bool inherit(int file)
{
	struct stat st;
	size_t n;

	if (fstat(file, &st))
		return false;
	n = (size_t)st.st_size;
	if (!n || n >= MAX_STATE || pread(file, m.shared->state[0], n, 0) != (ssize_t)n) {
		errno = EINVAL;
		return false;
	}
	close(file);
	m.shared->current = 1;
	return true;
}

/* Runs the server in a child that shares this process's open files. */
static bool start_server(int (*server)(void))
{
	fflush(NULL);
	m.server = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, NULL);
	if (m.server)
		return m.server > 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != m.self)
		_exit(1);
	prctl(PR_SET_NAME, "wormhole-server");
	if (pipe2(late.wake, O_CLOEXEC | O_NONBLOCK)) {
		wh_say("error", "a pipe: %s", strerror(errno));
		exit(1);
	}
	exit(server());
}

/* Has the server ended? It is asked for by its own pid: another zombie may come before it. */
static bool server_ended(int *status)
{
	return waitpid(m.server, status, WNOHANG) == m.server;
}

/* Finds a worker or another child of the server's that has ended. */
static bool has_ended(struct wh_ended *e)
{
	siginfo_t info = { 0 };

	*e = (struct wh_ended){ 0 };
	if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, &e->usage) ||
	    !info.si_pid || info.si_pid == m.server)
		return false;
	e->pid = info.si_pid;
	e->status = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status;
	return true;
}

/* False: there is no room for more reports now. */
static bool report_all(void)
{
	struct wh_ended e;

	while (has_ended(&e)) {
		if (write(m.report[1], &e, sizeof(e)) != sizeof(e))
			return false;
		waitpid(e.pid, NULL, 0);
	}
	return true;
}

static void on_signal(int sig)
{
	if (sig == SIGTERM || sig == SIGINT) {
		m.stop = true;
		kill(m.server, SIGTERM);
	} else if (sig == READY) {
		wh_service_ready();
	}
}

/* Returns the server's status when it has ended. */
static int watch(void)
{
	static const struct timespec full = { .tv_nsec = FULL_MS * 1000000L };
	int status, sig;

	while (!server_ended(&status)) {
		sig = report_all() ? sigwaitinfo(&m.signals, NULL) :
				     sigtimedwait(&m.signals, NULL, &full);
		if (sig > 0)
			on_signal(sig);
	}
	return status;
}

static bool could_not_go_on(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == WH_MONITOR_AGAIN && m.shared->current;
}

/* What is missing, such as memory or a process, may be there in a moment. */
static bool tries_again(int64_t since)
{
	const struct timespec pause = { .tv_sec = 1 };

	if (m.stop)
		return false;
	if (wh_now_ms() - since >= TRY_MS) {
		wh_say("error", "no server could go on within %u s; all programs end", TRY_MS / 1000);
		return false;
	}
	nanosleep(&pause, NULL);
	return true;
}

/*
 * The server is killed by what it was asked for, perhaps, and then so is each that follows: after
 * some deaths in a row nobody goes on.
 */
static bool goes_on(int status, int64_t started, unsigned int *deaths)
{
	if (!WIFSIGNALED(status) || m.stop)
		return false;
	m.died = WTERMSIG(status);
	*deaths = wh_now_ms() - started < SOON_MS ? *deaths + 1 : 1;
	if (m.shared->current && *deaths < MOST_DEATHS)
		return true;
	wh_say("error", "the server was killed by signal %d%s; all programs end", m.died,
	       m.shared->current ? ", and so were those that went on for it" : " while it started");
	return false;
}

/* Runs the installed program. If that fails, a server of this one goes on. */
static void become(void)
{
	int state = m.shared->become;

	m.shared->become = 0;
	/* Whoever wants an end gets it from the next program: a blocked signal passes the exec. */
	if (m.stop)
		raise(SIGTERM);
	wh_handover_exec(state);
	m.failure = errno;
	close(state);
}

int wh_monitor(int (*server)(void), int state)
{
	unsigned int deaths = 0;
	int64_t started, since = 0;	/* the first of those that could not go on; 0: none */
	int status;

	if (!prepare()) {
		wh_say("error", "the monitor of the server: %s", strerror(errno));
		return 1;
	}
	if (state >= 0 && !inherit(state)) {
		wh_say("error", "the state of the server before: %s; all programs end", strerror(errno));
		return 1;
	}
	prctl(PR_SET_NAME, "wormhole-monitor");
	for (;;) {
		started = wh_now_ms();
		if (!start_server(server)) {
			wh_say("error", "a process for the server: %s", strerror(errno));
			return 1;
		}
		status = watch();
		since = !could_not_go_on(status) ? 0 : since ? since : started;
		if (since && tries_again(since))
			continue;
		m.died = m.failure = 0;
		if (m.shared->become)
			become();
		else if (!goes_on(status, started, &deaths))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	}
}

/* --- Children of the monitor's ----------------------------------------------------------- */

pid_t wh_monitor_pid(void)
{
	return m.self;
}

int wh_monitor_died(void)
{
	return m.died;
}

int wh_monitor_failure(void)
{
	return m.failure;
}

pid_t wh_monitor_fork(int cgroup)
{
	struct clone_args a = { .flags = CLONE_PARENT };
	pid_t pid;

	if (cgroup >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)cgroup;
	}
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid >= 0 || cgroup >= 0)
		return pid;
	/* Before Linux 5.3, or if a filter refuses clone3(). */
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
}

static bool take(struct wh_ended *e)
{
	return read(m.report[0], e, sizeof(*e)) == sizeof(*e);
}

static void keep_for_later(const struct wh_ended *e)
{
	struct wh_ended *more = reallocarray(late.e, late.n + 1, sizeof(*late.e));

	if (!more) {
		wh_say("warn", "out of memory: the end of process %d goes unnoticed", e->pid);
		return;
	}
	late.e = more;
	late.e[late.n++] = *e;
	if (write(late.wake[1], "", 1) != 1 && errno != EAGAIN)
		wh_say("warn", "the end of process %d: %s", e->pid, strerror(errno));
}

/* Takes one of those that were kept. */
static void take_late(unsigned int i, struct wh_ended *e)
{
	*e = late.e[i];
	late.n--;
	memmove(&late.e[i], &late.e[i + 1], (late.n - i) * sizeof(*e));
}

static void on_late(int fd, void *arg)
{
	struct wh_ended e;
	char bytes[64];

	(void)arg;
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	while (late.n) {
		take_late(0, &e);
		on_ended(&e);
	}
}

/* Earlier ends come first. */
static void on_report(int fd, void *arg)
{
	struct wh_ended e;

	(void)fd;
	(void)arg;
	if (late.n)
		on_late(late.wake[0], NULL);
	if (take(&e))
		on_ended(&e);
}

bool wh_monitor_listen(void (*ended)(const struct wh_ended *e))
{
	on_ended = ended;
	return wh_loop_add(m.report[0], on_report, NULL) &&
	       wh_loop_add(late.wake[0], on_late, NULL);
}

/*
 * Takes the next report, and waits for it, timeout_ms at most (-1: for ever). If the monitor were
 * gone, so would this process be.
 */
static bool await(struct wh_ended *e, int timeout_ms)
{
	struct pollfd p = { .fd = m.report[0], .events = POLLIN };
	int n;

	while (!take(e)) {
		n = poll(&p, 1, timeout_ms);
		if (!n || (n < 0 && errno != EINTR))
			return false;
	}
	return true;
}

bool wh_monitor_next(struct wh_ended *e)
{
	if (!late.n)
		return await(e, -1);
	take_late(0, e);
	return true;
}

static unsigned int late_of(pid_t pid)
{
	unsigned int i = 0;

	while (i < late.n && late.e[i].pid != pid)
		i++;
	return i;
}

/* False: the time was over between two reports. */
static bool wait_for(pid_t pid, int timeout_ms)
{
	unsigned int i = late_of(pid);
	struct wh_ended e = { 0 };

	if (i < late.n) {
		take_late(i, &e);
		return true;
	}
	while (e.pid != pid && await(&e, timeout_ms))
		if (e.pid != pid)
			keep_for_later(&e);
	return e.pid == pid;
}

void wh_monitor_wait(pid_t pid)
{
	wait_for(pid, -1);
}

void wh_monitor_kill(pid_t pid)
{
	struct wh_ended e;

	while (take(&e))
		keep_for_later(&e);
	if (late_of(pid) == late.n)
		kill(pid, SIGKILL);
}

/* --- After a server that was killed ------------------------------------------------------ */

static bool is_child(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	/* That one cannot look says nothing of it. */
	if (!f)
		return errno != ENOENT && errno != ESRCH;
	while (!parent && fgets(line, sizeof(line), f))
		sscanf(line, "PPid: %d", &parent);
	fclose(f);
	return parent == m.self;
}

/*
 * A child that was reaped has been reported: to this server, or to the one before, which may have
 * ended before it read that.
 */
void wh_monitor_missing(pid_t pid)
{
	const struct wh_ended unknown = { .pid = pid };
	struct wh_ended e;

	if (pid <= 0 || is_child(pid))
		return;
	while (take(&e))
		keep_for_later(&e);
	if (late_of(pid) == late.n)
		keep_for_later(&unknown);
}

/*
 * Returns how many it has killed. The kernel counts its list from the begin at each read, so that
 * it may leave out as many others then.
 */
static unsigned int kill_unknown(bool (*known)(pid_t pid))
{
	unsigned int n = 0;
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", m.self, m.self);
	f = fopen(path, "re");
	if (!f)
		wh_say("warn", "%s: %s; workers that nobody knows may be left", path, strerror(errno));
	while (f && fscanf(f, "%d", &pid) == 1) {
		if (pid == getpid() || known(pid))
			continue;
		kill(pid, SIGKILL);
		n++;
		if (wait_for(pid, STUCK_MS))
			continue;
		wh_say("warn", "process %d was killed and does not end: the driver keeps it; the server starts "
		       "when it has ended, since its user is not free before", pid);
		wh_monitor_wait(pid);
	}
	if (f)
		fclose(f);
	return n;
}

void wh_monitor_kill_unknown(bool (*known)(pid_t pid))
{
	while (kill_unknown(known))
		;
}

void wh_monitor_ready(void)
{
	/* Only the monitor is whom systemd knows. */
	unsetenv("NOTIFY_SOCKET");
	kill(m.self, READY);
}

/* --- The state ---------------------------------------------------------------------------- */

void wh_monitor_changed(void)
{
	changed = true;
}

bool wh_monitor_put(const char *text)
{
	uint32_t place = m.shared->current == 1;
	size_t n = strlen(text);

	if (n >= MAX_STATE) {
		errno = EFBIG;
		return false;
	}
	memcpy(m.shared->state[place], text, n + 1);
	__atomic_store_n(&m.shared->current, 1 + place, __ATOMIC_RELEASE);
	return true;
}

void wh_monitor_save(void)
{
	char *text;

	if (!changed || !m.shared)
		return;
	text = wh_handover_text();
	changed = !text || !wh_monitor_put(text);
	if (changed)
		wh_say_of("", "warn", "the state of the server: %s; what was changed last would not outlive it",
			  strerror(text ? errno : ENOMEM));
	else
		wh_uids_saved();
	free(text);
}

const char *wh_monitor_state(void)
{
	return m.shared && m.shared->current ? m.shared->state[m.shared->current - 1] : NULL;
}

bool wh_monitor_has(int fd)
{
	return fd == m.report[0] || fd == m.report[1] || fd == late.wake[0] || fd == late.wake[1];
}

void wh_monitor_become(int state)
{
	m.shared->become = state;
	_exit(0);
}
