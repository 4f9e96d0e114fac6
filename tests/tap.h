/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TAP writer for C tests. Each point is one behaviour, named as a snake_case sentence.
 * A test calls tap_plan() first (or tap_done() at the end when the number of points is
 * computed), then ok()/ok_eq()/skip() once per behaviour, and returns tap_exit().
 */
#ifndef WORMHOLE_TESTS_TAP_H
#define WORMHOLE_TESTS_TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int tap_run, tap_failed, tap_planned;

static inline void tap_plan(int n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_planned = n;
	printf("TAP version 13\n1..%d\n", n);
}

__attribute__((format(printf, 1, 2)))
static inline void diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
}

/* Reports one behaviour; returns the condition so that a test can bail out. */
static inline int ok(int cond, const char *name)
{
	tap_run++;
	if (!cond)
		tap_failed++;
	printf("%s %d - %s\n", cond ? "ok" : "not ok", tap_run, name);
	return cond;
}

/* Does what ok() does, and prints both values when they differ. */
static inline int ok_eq(long long got, long long want, const char *name)
{
	int same = ok(got == want, name);

	if (!same)
		diag("expected %lld (0x%llx), got %lld (0x%llx)", want, want,
		     got, got);
	return same;
}

static inline void skip(const char *name, const char *reason)
{
	tap_run++;
	printf("ok %d - %s # SKIP %s\n", tap_run, name, reason);
}

/* Returns the exit status of the test: 0 only if the plan was met and all passed. */
static inline int tap_exit(void)
{
	if (!tap_planned)
		printf("1..%d\n", tap_run);
	else if (tap_planned != tap_run)
		diag("planned %d points, ran %d", tap_planned, tap_run);
	return tap_failed || (tap_planned && tap_planned != tap_run);
}

#endif
