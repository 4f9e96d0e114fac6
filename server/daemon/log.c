// SPDX-License-Identifier: Apache-2.0
/*
 * The server's messages. Those that clients and workers can cause at will are limited: for each
 * kind of message about each subject BURST lines at once, then one a second. Lines that are left
 * out are counted, and the count is reported.
 *
 * Workers write into a pipe of their tenant, never into the log: their lines come out as text
 * behind the tenant's name, under the same limit.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/server.h"
#include "tenant/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BURST		10
#define FLUSH_MS	5000	/* after this time at most, left-out lines are reported */
#define KINDS		(4 * WH_MAX_TENANTS)	/* so many that no tenant takes another's place */
#define READ_BYTES	4096

/* One kind of message about one subject. */
struct kind {
	const char *fmt;
	char subject[WH_TENANT_NAME];
	unsigned int left;	/* lines that may still be said now */
	int64_t filled_ms;
	unsigned int left_out;
	char last[160];		/* the last line that was left out */
};

static struct kind kinds[KINDS];
static uint64_t keys[KINDS];	/* key of each kind, so that a search touches little memory */
static unsigned int used;	/* number of kinds in use, which are the first ones */

static bool times, levels;
static bool starting;	/* a user of the command reads, and no log has begun */

void wh_log_starts(bool now)
{
	starting = now;
}

void wh_log_times(void)
{
	times = true;
}

void wh_log_levels(void)
{
	levels = true;
}

static const char *time_text(void)
{
	static char text[32];
	time_t now = time(NULL);

	strftime(text, sizeof(text), "%FT%T%z ", localtime(&now));
	return text;
}

/* The journal has its own times, and takes levels as syslog numbers them. */
static const char *prefix(const char *level)
{
	if (!levels)
		return starting ? "wormhole: " : times ? time_text() : "";
	return !strcmp(level, "error") ? "<3>" : !strcmp(level, "warn") ? "<4>" : "<6>";
}

void wh_say(const char *level, const char *fmt, ...)
{
	char text[1400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	wh_log_file_bound();
	fprintf(stderr, "%s%s: %s\n", prefix(level), level, text);
}

/* --- Limits ------------------------------------------------------------------------- */

static void say_left_out(struct kind *k)
{
	if (k->left_out)
		wh_say("warn", "tenant %s: left out: %u lines; the last: %s", k->subject, k->left_out,
		       k->last);
	k->left_out = 0;
}

static void flush(void)
{
	unsigned int i;

	for (i = 0; i < used; i++)
		say_left_out(&kinds[i]);
	wh_loop_every(0, NULL);
}

void wh_log_stop(void)
{
	flush();
}

static void refill(struct kind *k, int64_t now)
{
	int64_t seconds = (now - k->filled_ms) / 1000;

	k->filled_ms += seconds * 1000;
	k->left = seconds + k->left < BURST ? (unsigned int)seconds + k->left : BURST;
}

static uint64_t key_of(const char *subject, const char *fmt)
{
	uint64_t key = (uintptr_t)fmt;

	while (*subject)
		key = (key ^ (unsigned char)*subject++) * 0x100000001b3ull;
	return key;
}

/* If there are too many kinds, the one that has been silent for longest makes room. */
static struct kind *new_kind(void)
{
	struct kind *k, *oldest = kinds;

	if (used < KINDS)
		return &kinds[used++];
	for (k = kinds; k < kinds + KINDS; k++)
		if (k->filled_ms < oldest->filled_ms)
			oldest = k;
	say_left_out(oldest);
	return oldest;
}

static struct kind *kind_of(const char *subject, const char *fmt, int64_t now)
{
	uint64_t key = key_of(subject, fmt);
	struct kind *k;
	unsigned int i;

	for (i = 0; i < used; i++)
		if (keys[i] == key && kinds[i].fmt == fmt && !strcmp(kinds[i].subject, subject))
			return &kinds[i];
	k = new_kind();
	*k = (struct kind){ .fmt = fmt, .left = BURST, .filled_ms = now };
	snprintf(k->subject, sizeof(k->subject), "%s", subject);
	keys[k - kinds] = key;
	return k;
}

void wh_say_of(const char *subject, const char *level, const char *fmt, ...)
{
	int64_t now = wh_now_ms();
	struct kind *k = kind_of(subject, fmt, now);
	char text[700];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	refill(k, now);
	if (k->left) {
		k->left--;
		say_left_out(k);
		wh_say(level, "%s", text);
		return;
	}
	if (!k->left_out++)
		wh_loop_every(FLUSH_MS, flush);
	snprintf(k->last, sizeof(k->last), "%.159s", text);
}

/* --- Workers' lines ------------------------------------------------------------------- */

/* Makes the line printable, so that no worker's line is taken for one of ours. */
static void say_line(struct wh_log_pipe *p)
{
	char level[WH_TENANT_NAME + 16];
	unsigned int i;

	for (i = 0; i < p->n; i++)
		if (p->line[i] < ' ' || p->line[i] > '~')
			p->line[i] = '?';
	p->line[p->n] = 0;
	snprintf(level, sizeof(level), "worker of %s", p->name);
	if (p->n)
		wh_say_of(p->name, level, "%s", p->line);
	p->n = 0;
}

static void on_text(int fd, void *arg)
{
	struct wh_log_pipe *p = arg;
	char text[READ_BYTES];
	ssize_t n = read(fd, text, sizeof(text)), i;

	for (i = 0; i < n; i++) {
		if (text[i] == '\n')
			say_line(p);
		else if (p->n < sizeof(p->line) - 1)
			p->line[p->n++] = text[i];
	}
}

/* A worker never waits for the server: text that does not fit into the pipe is lost. */
bool wh_log_pipe_open(struct wh_log_pipe *p, const char *name)
{
	int saved;

	*p = (struct wh_log_pipe){ .name = name, .in = -1 };
	if (pipe2(p->fd, O_CLOEXEC | O_NONBLOCK))
		return false;
	p->in = p->fd[1];
	if (wh_loop_add(p->fd[0], on_text, p))
		return true;
	saved = errno;
	close(p->fd[0]);
	close(p->fd[1]);
	p->in = -1;
	errno = saved;
	return false;
}

bool wh_log_pipe_take(struct wh_log_pipe *p, const char *name, int out, int in)
{
	*p = (struct wh_log_pipe){ .name = name, .in = in, .fd = { out, in } };
	return wh_loop_add(out, on_text, p);
}

void wh_log_flush(void)
{
	void *arg;
	int at = 0;

	while (wh_loop_next(&at, on_text, &arg) >= 0)
		say_line(arg);
	flush();
}

void wh_log_leave(cJSON *o)
{
	cJSON_AddBoolToObject(o, "times", times);
}

void wh_log_pipe_close(struct wh_log_pipe *p)
{
	int pending;

	if (p->in < 0)
		return;
	/* Read what was written before the end, but no more than the pipe holds. */
	for (pending = 0; pending < (64 << 10); pending += READ_BYTES)
		on_text(p->fd[0], p);
	say_line(p);
	wh_loop_remove(p->fd[0]);
	close(p->fd[0]);
	close(p->fd[1]);
	p->in = -1;
}
