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
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FRAMES		16
#define PATIENCE_S	2	/* a thread whose memory is destroyed may get stuck */

/* Adds the file that an address is in and its place there, without a lock (glibc 2.35). */
static size_t add_place(char *line, size_t used, size_t size, const void *at)
{
	int n;
#ifdef DLFO_STRUCT_HAS_EH_DBASE
	struct dl_find_object o;
	const char *name = "";

	if (!_dl_find_object((void *)at, &o)) {
		if (o.dlfo_link_map && o.dlfo_link_map->l_name)
			name = o.dlfo_link_map->l_name;
		if (strrchr(name, '/'))
			name = strrchr(name, '/') + 1;
		n = snprintf(line + used, size - used, " %s+0x%zx", *name ? name : "wormhole-server",
			     (size_t)((uintptr_t)at - (uintptr_t)o.dlfo_map_start));
		return n > 0 && used + (size_t)n < size ? used + (size_t)n : used;
	}
#endif
	n = snprintf(line + used, size - used, " %p", at);
	return n > 0 && used + (size_t)n < size ? used + (size_t)n : used;
}

/* The handler is gone when this runs, so that a second fault, or the return, ends the process. */
static void on_crash(int sig, siginfo_t *info, void *context)
{
	void *frame[FRAMES];
	char line[1024];
	size_t used;
	int i, n;

	(void)context;
	alarm(PATIENCE_S);
	used = (size_t)snprintf(line, sizeof(line), "error: worker %d: signal %d at", getpid(), sig);
	/* The first two frames are this function's and the signal's own. */
	n = backtrace(frame, FRAMES);
	for (i = 2; i < n; i++)
		used = add_place(line, used, sizeof(line) - 1, frame[i]);
	line[used++] = '\n';
	/* A fault comes again when this returns; a signal that somebody sent does not. */
	if (write(STDERR_FILENO, line, used) < 0 || info->si_code <= 0)
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
