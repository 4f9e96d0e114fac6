// SPDX-License-Identifier: Apache-2.0
/*
 * Gives a program of another user a terminal of its own. A program that has the caller's
 * terminal could type into it (TIOCSTI), change it, or read what is typed there after the
 * program has ended.
 *
 * There are three processes. The front stays in the caller's session and passes bytes
 * between the two terminals. The keeper leads the new session and is the program's parent
 * there; without it ^Z would stop nothing. The third is the program. The front tells the
 * keeper signals; the keeper reports when the program stops and ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "run.h"
#include "wormhole.h"

#define AWAY_MS		250	/* in the background: how often to look for the foreground */
#define STALLED_MS	5000	/* a terminal that accepts none of the rest for so long */
#define LAST_BYTES	(1 << 20)	/* of others that write after the program's end */

static const int passed_on[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP, SIGCONT, SIGWINCH,
};

/* A message between both: a signal to the keeper, or a status of waitpid() from it. */
struct word {
	int value;
};

/* --- The keeper ----------------------------------------------------------------------- */

struct keeper {
	int front, slave, signals;
	pid_t program;
	sigset_t mask;		/* the caller's signal mask, for the program */
};

__attribute__((noreturn))
static void be_program(const struct keeper *k, int (*fn)(const void *arg), const void *arg)
{
	int i;

	setpgid(0, 0);
	tcsetpgrp(k->slave, getpid());
	for (i = 0; i < 3; i++)
		if (isatty(i))
			dup2(k->slave, i);
	sigprocmask(SIG_SETMASK, &k->mask, NULL);
	_exit(fn(arg));
}

static void drop_standard_files(int n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), i;

	for (i = 0; i < n && null >= 0; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
}

/* The front has gone. The program gets the signals of a terminal that goes away. */
__attribute__((noreturn)) static void hang_up(const struct keeper *k)
{
	kill(-k->program, SIGHUP);
	kill(-k->program, SIGCONT);
	_exit(1);
}

/* The program has not been waited for yet, so its process id cannot belong to another process. */
static void hear(const struct keeper *k)
{
	struct word w;

	if (recv(k->front, &w, sizeof(w), 0) != sizeof(w))
		hang_up(k);
	kill(w.value == SIGCONT ? -k->program : k->program, w.value);
}

static bool tell(int fd, int value)
{
	struct word w = { value };

	return send(fd, &w, sizeof(w), MSG_NOSIGNAL) == sizeof(w);
}

/* The session's leader ends last: when it ends, unread output of the terminal is lost. */
__attribute__((noreturn)) static void wait_for_front(const struct keeper *k)
{
	struct word w;

	while (recv(k->front, &w, sizeof(w), 0) > 0)
		;
	_exit(0);
}

static void look(const struct keeper *k)
{
	struct signalfd_siginfo info;
	int status;

	if (read(k->signals, &info, sizeof(info)) != sizeof(info) ||
	    waitpid(k->program, &status, WNOHANG | WUNTRACED) != k->program)
		return;
	if (!tell(k->front, status))
		hang_up(k);
	if (!WIFSTOPPED(status))
		wait_for_front(k);
}

__attribute__((noreturn))
static void keep(struct keeper *k, int (*fn)(const void *arg), const void *arg)
{
	struct pollfd p[2] = { { k->front, POLLIN, 0 }, { -1, POLLIN, 0 } };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	p[1].fd = k->signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k->signals >= 0 && setsid() >= 0 && !ioctl(k->slave, TIOCSCTTY, 0))
		k->program = fork();
	if (!k->program)
		be_program(k, fn, arg);
	if (k->program < 0) {
		wh_error("--user: a session for the program: %s", strerror(errno));
		_exit(1);
	}
	setpgid(k->program, k->program);
	drop_standard_files(3);
	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			hang_up(k);
		if (p[0].revents)
			hear(k);
		if (p[1].revents)
			look(k);
	}
}

/* --- The caller's terminal ------------------------------------------------------------ */

struct bytes {
	char text[4096];
	size_t n;
};

struct front {
	int tty, master, keeper, signals;
	bool shows;		/* standard output is the terminal, so the program gets all keys */
	bool types;		/* the program gets what is typed */
	bool entered, away;	/* raw mode is set; in the background */
	bool ended;
	int status;
	struct termios before;	/* settings of the caller's terminal while entered */
	struct bytes in, out;
};

/* A terminal that belongs to no session has no background. */
static bool in_foreground(int tty)
{
	pid_t group = tcgetpgrp(tty);

	return group < 0 || group == getpgrp();
}

static void copy_size(const struct front *f)
{
	struct winsize w;

	if (!ioctl(f->tty, TIOCGWINSZ, &w))
		ioctl(f->master, TIOCSWINSZ, &w);
}

/*
 * Sets raw mode: all keys pass unchanged, and the program's terminal interprets them. If
 * standard output is a pipe to other programs, they use the terminal, too, so it stays as
 * it is.
 */
static void enter(struct front *f)
{
	struct termios raw;

	f->away = !in_foreground(f->tty);
	if (f->away)
		return;
	copy_size(f);
	if (!f->shows || f->entered || tcgetattr(f->tty, &f->before))
		return;
	raw = f->before;
	cfmakeraw(&raw);
	f->entered = !tcsetattr(f->tty, TCSANOW, &raw);
}

static void leave(struct front *f)
{
	if (f->entered)
		tcsetattr(f->tty, TCSANOW, &f->before);
	f->entered = false;
}

/* The program has stopped. So the caller's job stops, too, and both continue together. */
static void stop(struct front *f, int sig)
{
	sigset_t set;

	leave(f);
	sigemptyset(&set);
	sigaddset(&set, SIGTSTP);
	signal(SIGTSTP, SIG_DFL);
	kill(0, sig == SIGSTOP ? SIGSTOP : SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	enter(f);
	tell(f->keeper, SIGCONT);
}

/*
 * A signal of the terminal goes to the foreground group of the program's terminal. Other
 * signals go to the program.
 */
static void pass_on(struct front *f)
{
	struct signalfd_siginfo info;
	int sig;

	if (read(f->signals, &info, sizeof(info)) != sizeof(info))
		return;
	sig = (int)info.ssi_signo;
	switch (sig) {
	case SIGWINCH:
		copy_size(f);
		return;
	case SIGCONT:
		enter(f);
		break;
	case SIGINT:
	case SIGQUIT:
	case SIGTSTP:
		if (info.ssi_code == SI_KERNEL && !ioctl(f->master, TIOCSIG, sig))
			return;
		break;
	}
	tell(f->keeper, sig);
}

static void hear_keeper(struct front *f)
{
	struct word w;

	if (recv(f->keeper, &w, sizeof(w), 0) != sizeof(w)) {
		f->ended = true;
		f->status = EXIT_FAILED << 8;
	} else if (WIFSTOPPED(w.value)) {
		stop(f, WSTOPSIG(w.value));
	} else {
		f->ended = true;
		f->status = w.value;
	}
}

/* --- Between the two -------------------------------------------------------------------- */

/* If the caller's terminal reads lines, its ^D becomes the other terminal's. */
static void take_typed(struct front *f)
{
	ssize_t n = read(f->tty, f->in.text, sizeof(f->in.text));
	struct termios t;

	if (n > 0) {
		f->in.n = (size_t)n;
	} else if (!n && !f->entered && !tcgetattr(f->master, &t)) {
		f->in.text[0] = (char)t.c_cc[VEOF];
		f->in.n = 1;
	} else if (n < 0 && errno == EIO) {
		f->away = true;
	}
}

static void take_shown(struct front *f)
{
	ssize_t n = read(f->master, f->out.text, sizeof(f->out.text));

	if (n > 0)
		f->out.n = (size_t)n;
}

static bool put(int fd, struct bytes *b)
{
	ssize_t n = write(fd, b->text, b->n);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	b->n -= (size_t)n;
	memmove(b->text, b->text + n, b->n);
	return true;
}

/* The caller's terminal has gone. The program may continue, but nobody sees its output. */
static void lose_terminal(struct front *f)
{
	close(f->tty);
	f->tty = -1;
	f->entered = f->types = false;
	f->in.n = f->out.n = 0;
}

static void move_bytes(struct front *f, const struct pollfd *master, const struct pollfd *tty)
{
	if (master->revents & POLLOUT)
		put(f->master, &f->in);
	if (master->revents & POLLIN)
		take_shown(f);
	if (tty->revents & (POLLHUP | POLLERR | POLLNVAL)) {
		lose_terminal(f);
		return;
	}
	if (tty->revents & POLLIN)
		take_typed(f);
	if (tty->revents & POLLOUT && !put(f->tty, &f->out))
		lose_terminal(f);
	if (f->tty < 0)
		f->out.n = 0;
}

static int step(struct front *f, int ms)
{
	struct pollfd p[4] = {
		{ .fd = f->signals, .events = POLLIN },
		{ .fd = f->ended ? -1 : f->keeper, .events = POLLIN },
		{ .fd = f->master }, { .fd = f->tty },
	};
	int n;

	p[2].events = f->out.n ? 0 : POLLIN;
	p[2].events |= f->in.n ? POLLOUT : 0;
	p[3].events = f->out.n ? POLLOUT : 0;
	p[3].events |= f->types && !f->away && !f->in.n ? POLLIN : 0;
	n = poll(p, 4, ms);
	if (n <= 0)
		return n;
	move_bytes(f, &p[2], &p[3]);
	if (p[1].revents)
		hear_keeper(f);
	if (p[0].revents)
		pass_on(f);
	return n;
}

/* Shows what the program had written, and a limited amount from others that still write. */
static void show_rest(struct front *f)
{
	size_t left = LAST_BYTES / sizeof(f->out.text);

	f->types = false;
	f->in.n = 0;
	while (left-- && step(f, f->out.n ? STALLED_MS : 0) > 0)
		;
}

static void pass_until_end(struct front *f)
{
	enter(f);
	while (!f->ended) {
		step(f, f->away && f->tty >= 0 ? AWAY_MS : -1);
		if (f->away && f->tty >= 0)
			enter(f);
	}
	show_rest(f);
	leave(f);
}

/* Ends as the program did, so that the process that waits sees the same status. */
static int end_as(int status, const sigset_t *mask)
{
	const struct rlimit none = { 0, 0 };
	int sig = WTERMSIG(status);

	sigprocmask(SIG_SETMASK, mask, NULL);
	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &none);
	signal(sig, SIG_DFL);
	raise(sig);
	return 128 + sig;
}

/* --- Both --------------------------------------------------------------------------------- */

int wh_terminal_of_caller(void)
{
	const int flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
	char path[32];
	int fd = open("/dev/tty", flags), i;

	/* Opens the terminal anew, since changes of a shared descriptor would affect the caller. */
	for (i = 0; i < 3 && fd < 0; i++)
		if (isatty(i)) {
			snprintf(path, sizeof(path), "/proc/self/fd/%d", i);
			fd = open(path, flags);
		}
	return fd;
}

static int block(sigset_t *before)
{
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		sigaddset(&set, passed_on[i]);
	sigaddset(&set, SIGTTOU);
	sigaddset(&set, SIGTTIN);
	sigprocmask(SIG_BLOCK, &set, before);
	sigdelset(&set, SIGTTOU);
	sigdelset(&set, SIGTTIN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Makes a terminal with the settings of the caller's. It has no echo if the caller's
 * terminal shows what is typed.
 */
static int make_terminal(struct front *f, uid_t uid, int *slave)
{
	struct winsize w = { 0 };
	struct termios t;

	if (tcgetattr(f->tty, &t))
		return -1;
	ioctl(f->tty, TIOCGWINSZ, &w);
	if (!f->shows)
		t.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	if (openpty(&f->master, slave, NULL, &t, &w))
		return -1;
	fcntl(*slave, F_SETFD, FD_CLOEXEC);
	fcntl(f->master, F_SETFD, FD_CLOEXEC);
	fcntl(f->master, F_SETFL, O_RDWR | O_NONBLOCK);
	return fchown(*slave, uid, (gid_t)-1);
}

int wh_terminal_run(int tty, uid_t uid, int (*fn)(const void *arg), const void *arg)
{
	struct front f = { .tty = tty, .shows = isatty(1), .types = isatty(0) || isatty(1) };
	struct keeper k = { .program = -1 };
	int pair[2];
	pid_t pid;

	if (make_terminal(&f, uid, &k.slave) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		wh_error("--user: a terminal for the program: %s; without one it runs as `setsid wormhole run ... </dev/null >FILE 2>&1'",
			 strerror(errno));
		return EXIT_FAILED;
	}
	f.keeper = pair[0];
	k.front = pair[1];
	f.signals = block(&k.mask);
	pid = f.signals < 0 ? -1 : fork();
	if (!pid) {
		close(f.master);
		close(f.tty);
		close(f.keeper);
		close(f.signals);
		keep(&k, fn, arg);
	}
	close(k.slave);
	close(k.front);
	if (pid < 0)
		wh_no_memory();
	drop_standard_files(2);
	pass_until_end(&f);
	close(f.keeper);
	waitpid(pid, NULL, 0);
	return end_as(f.status, &k.mask);
}
