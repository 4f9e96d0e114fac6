// SPDX-License-Identifier: Apache-2.0
/*
 * The terminal of `wormhole top`: single keys, the alternate screen, its size. It uses
 * sequences that every terminal has known for decades, so no library is needed. However the
 * command ends, it leaves the terminal as it was.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "top.h"

static struct termios before;
static volatile sig_atomic_t entered, wanted_end, wanted_stop;

void term_leave(void)
{
	static const char out[] = "\033[?25h\033[?1049l";

	if (!entered)
		return;
	entered = 0;
	if (write(STDOUT_FILENO, out, sizeof(out) - 1) < 0)
		wanted_end = 1;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
}

static void on_end(int sig)
{
	(void)sig;
	wanted_end = 1;
}

static void on_stop(int sig)
{
	(void)sig;
	wanted_stop = 1;
}

/* The handler does nothing: the signal only makes poll() return. */
static void on_resize(int sig)
{
	(void)sig;
}

static void take_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	/* With SA_RESTART poll() returns nevertheless, but a write is completed. */
	struct sigaction a = { .sa_handler = on_end, .sa_flags = SA_RESTART };
	size_t i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &a, NULL);
	a.sa_handler = on_resize;
	sigaction(SIGWINCH, &a, NULL);
	a.sa_handler = on_stop;
	sigaction(SIGTSTP, &a, NULL);
}

bool term_enter(void)
{
	static bool registered;
	struct termios t;

	if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &before))
		return false;
	take_signals();
	t = before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &t))
		return false;
	if (!registered)
		atexit(term_leave);
	registered = true;
	entered = 1;
	fputs("\033[?1049h\033[?25l\033[H\033[J", stdout);
	fflush(stdout);
	return true;
}

static int from_environment(const char *name, int otherwise)
{
	const char *text = getenv(name);
	uint64_t v;

	return text && !wh_parse_u64(text, 20, 1000, &v) ? (int)v : otherwise;
}

/* If there is no terminal, $COLUMNS gives the width. */
void term_size(int *columns, int *lines)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || !w.ws_col) {
		*columns = from_environment("COLUMNS", 80);
		*lines = 0;
		return;
	}
	*columns = w.ws_col < 20 ? 20 : w.ws_col > 500 ? 500 : w.ws_col;
	*lines = w.ws_row;
}

/* Overwrites the screen line by line, so that nothing flickers. */
void term_show(const char *text)
{
	const char *end;

	fputs("\033[H", stdout);
	for (; *text; text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fwrite(text, 1, (size_t)(end - text), stdout);
		fputs("\033[K", stdout);
		if (*end && end[1])
			fputs("\r\n", stdout);
	}
	fputs("\033[J", stdout);
	fflush(stdout);
}

/* Characters that were typed but not handled yet: several may arrive at once. */
static struct {
	char text[64];
	size_t n;
} typed;

static int take(size_t bytes, int key)
{
	typed.n -= bytes;
	memmove(typed.text, typed.text + bytes, typed.n);
	return key;
}

/* Returns 0 if there is no key. */
static int next_key(void)
{
	static const int arrows[] = { TERM_UP, TERM_DOWN, TERM_RIGHT, TERM_LEFT };
	const char *p = typed.text;

	if (!typed.n)
		return 0;
	if (typed.n >= 3 && p[0] == '\033' && (p[1] == '[' || p[1] == 'O') && p[2] >= 'A' &&
	    p[2] <= 'D')
		return take(3, arrows[p[2] - 'A']);
	return take(1, (unsigned char)p[0] > ' ' && p[0] != '\033' ? (unsigned char)p[0] : ' ');
}

/*
 * Handles ^Z: restores the terminal for the shell, and sets it up again when the command
 * continues.
 */
static void suspend(void)
{
	wanted_stop = 0;
	term_leave();
	raise(SIGSTOP);
	if (!term_enter())
		wanted_end = 1;
}

int term_key(int ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	int key = wanted_end ? -1 : next_key();
	ssize_t n;

	if (key)
		return key;
	n = poll(&p, 1, ms);
	if (wanted_stop) {
		suspend();
		return wanted_end ? -1 : 0;
	}
	if (n > 0)
		n = read(STDIN_FILENO, typed.text, sizeof(typed.text));
	if (wanted_end)
		return -1;
	/* The terminal has gone: it is readable, but there is nothing to read. */
	if (n == 0 && p.revents)
		return -1;
	typed.n = n > 0 ? (size_t)n : 0;
	return next_key();
}
