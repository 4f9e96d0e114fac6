// SPDX-License-Identifier: Apache-2.0
/*
 * What a worker says when it crashes: in which files it was, innermost first, and where in them.
 * So an administrator sees whether the driver, a library or this program is at fault, without a
 * dump of the core, which holds the tenant's memory.
 */
#define _GNU_SOURCE
#include "daemon/worker.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES		16
#define PATIENCE_S	2	/* a thread whose memory is destroyed may get stuck */

struct line {
	char text[1024];
	size_t used;
};

static void add(struct line *l, const char *format, ...)
{
	size_t room = sizeof(l->text) - 1 - l->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(l->text + l->used, room, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < room)
		l->used += (size_t)n;
}

/* Adds the file that an address is in and its place there, without a lock (glibc 2.35). */
static void add_place(struct line *l, const void *at)
{
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object o;
	const char *name = "";

	if (!_dl_find_object((void *)at, &o)) {
		if (o.dlfo_link_map && o.dlfo_link_map->l_name)
			name = o.dlfo_link_map->l_name;
		if (strrchr(name, '/'))
			name = strrchr(name, '/') + 1;
		add(l, " %s+0x%zx", *name ? name : "wormhole-server",
		    (size_t)((uintptr_t)at - (uintptr_t)o.dlfo_map_start));
		return;
	}
#endif
	add(l, " %p", at);
}

/* Adds where the signal came and who had called, innermost first. */
static void add_frames(struct line *l, const greg_t *reg)
{
	const void *ip = (const void *)reg[REG_RIP];
	void *frame[FRAMES];
	int i = 0, n = backtrace(frame, FRAMES);

	/* The first frames are the handler's and the signal's own. */
	while (i < n && frame[i] != ip)
		i++;
	add_place(l, ip);
	/*
	 * A call through a pointer into what is no code leaves nothing to unwind. On top of
	 * the stack lies the address to return to, which is the caller's.
	 */
	if (i + 1 >= n)
		add_place(l, *(const void *const *)reg[REG_RSP]);
	while (++i < n)
		add_place(l, frame[i]);
}

/* The handler is gone when this runs, so that a second fault, or the return, ends the process. */
static void on_crash(int sig, siginfo_t *info, void *context)
{
	struct line line = { .used = 0 };

	alarm(PATIENCE_S);
	add(&line, "error: worker %d: signal %d at", getpid(), sig);
	add_frames(&line, ((const ucontext_t *)context)->uc_mcontext.gregs);
	line.text[line.used++] = '\n';
	/* A fault comes again when this returns; a signal that somebody sent does not. */
	if (write(STDERR_FILENO, line.text, line.used) < 0 || info->si_code <= 0)
		raise(sig);
}

void wh_crashes_say(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct sigaction a = { .sa_sigaction = on_crash,
			       .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_NODEFER };
	void *frame[1];
	size_t i;

	/* The first call loads what unwinds; in a handler that would be too late. */
	backtrace(frame, 1);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &a, NULL);
}
