// SPDX-License-Identifier: Apache-2.0
/*
 * Credit and debt of shares of time over a restart: a tenant that owes a device's time owes it
 * after a restart, too, less what has passed meanwhile. They are in one file, a line for each
 * tenant and device, written at the server's end and every few seconds while they change.
 *
 * What workers wrote into their tenant's bucket is believed here as much as it is while they live:
 * within the bounds that a share can have saved up or owe (tenant.c).
 */
#define _GNU_SOURCE
#include "daemon/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/server.h"
#include "daemon/tenant.h"
#include "tenant/control.h"
#include "tenant/clock.h"
#include "tenant/text.h"

#define NAME		"shares"
#define HEAD		"wormhole-shares 1 "
#define PERIOD_S	5
#define MOST		(1u << 20)	/* bytes: 256 tenants, 16 devices */

static struct {
	uint64_t tsc, ns;	/* when this server began, by both clocks */
	uint64_t written;	/* a sum over all buckets, as they were written last */
	int timer;
	bool told;		/* that they cannot be written */
} shares = { .timer = -1 };

static bool is_kept(const struct wh_tenant *t)
{
	return t->kept != WH_KEPT_NOT || !strcmp(t->name, WH_DEFAULT);
}

/* A device has another number after a boot, perhaps, but the same UUID. */
static const char *name_of(unsigned int d, char number[16])
{
	snprintf(number, 16, "%u", d);
	return wh_server.device[d].uuid[0] ? wh_server.device[d].uuid : number;
}

/* --- Writing ---------------------------------------------------------------------------- */

static uint64_t mix(uint64_t sum, uint64_t word)
{
	return (sum ^ word) * 0x100000001b3ull + (word >> 32);
}

/* Time between a count of the time stamp counter and now. */
static uint64_t since(uint64_t tsc)
{
	uint64_t now = __builtin_ia32_rdtsc(), ns = wh_now_ns() - shares.ns;

	if (tsc >= now || now <= shares.tsc)
		return 0;
	return (uint64_t)((double)(now - tsc) * (double)ns / (double)(now - shares.tsc));
}

static void print_bucket(FILE *out, const struct wh_tenant *t, unsigned int d, uint64_t *sum)
{
	const struct wh_sm_bucket *b = &t->file.usage->bucket[wh_device_index(t->file.limits, d)];
	int64_t tokens = __atomic_load_n(&b->tokens_ns, __ATOMIC_RELAXED);
	uint64_t filled = __atomic_load_n(&b->refilled_tsc, __ATOMIC_RELAXED);
	char number[16];

	if (!filled || !wh_has_share(&t->limit[d], WH_SM_TEMPORAL))
		return;
	*sum = mix(mix(mix(*sum, t->id * WH_TENANT_DEVICES + d), (uint64_t)tokens), filled);
	fprintf(out, "%s %s %" PRId64 "\n", t->name, name_of(d, number),
		wh_bucket_after(tokens, since(filled), t->limit[d].sm_percent));
}

static uint64_t print_all(FILE *out)
{
	struct wh_tenant *t = NULL;
	uint64_t sum = 0;
	unsigned int d;

	fprintf(out, HEAD "%" PRIu64 "\n", wh_wall_ns());
	while ((t = wh_tenant_next(t)))
		for (d = 0; is_kept(t) && d < wh_server.devices; d++)
			print_bucket(out, t, d, &sum);
	return sum;
}

static void tell(const char *why)
{
	if (!shares.told)
		wh_say("warn", "credit and debt of shares will not outlive the server: %s", why);
	shares.told = true;
}

static void write_text(const char *text, size_t n, bool any, bool sync)
{
	char err[WH_CONTROL_ERROR];
	int dir = wh_keep_state(any, err, sizeof(err));

	if (dir < 0) {
		if (*err)
			tell(err);
	} else if (any ? !wh_keep_write(dir, NAME, text, n, sync) :
		   unlinkat(dir, NAME, 0) && errno != ENOENT) {
		tell(strerror(errno));
	} else {
		shares.told = false;
	}
}

void wh_shares_save(bool sync)
{
	struct wh_text text;
	FILE *out = wh_text_open(&text);
	uint64_t sum = out ? print_all(out) : 0;
	char *whole = out ? wh_text_close(out, &text) : NULL;

	if (!whole) {
		tell(strerror(errno));
		return;
	}
	if (sync || sum != shares.written)
		write_text(whole, text.n, sum, sync);
	shares.written = sum;
	free(whole);
}

/* A power cut may take this one back; a wait for the disk would hold up all clients. */
static void on_time(void)
{
	wh_shares_save(false);
}

/* --- Reading ---------------------------------------------------------------------------- */

static void resume(const char *tenant, const char *device, int64_t tokens, uint64_t away)
{
	struct wh_tenant *t = wh_tenant_find(tenant);
	struct wh_sm_bucket *b;
	char number[16];
	unsigned int d;

	for (d = 0; t && d < wh_server.devices; d++) {
		if (strcmp(device, name_of(d, number)) ||
		    !wh_has_share(&t->limit[d], WH_SM_TEMPORAL))
			continue;
		b = &t->file.usage->bucket[wh_device_index(t->file.limits, d)];
		b->tokens_ns = wh_bucket_after(tokens, away, t->limit[d].sm_percent);
		b->ceiling_ns = b->guarantee_ns = b->tokens_ns;
		b->refilled_tsc = __builtin_ia32_rdtsc();
		b->sequence = t->file.limits->sequence;
		return;
	}
}

static bool take_line(char *line, uint64_t away)
{
	char *save = NULL, *name = strtok_r(line, " ", &save), *device = strtok_r(NULL, " ", &save);
	char *number = device ? strtok_r(NULL, " \n", &save) : NULL, *end;
	long long tokens;

	if (!number)
		return false;
	errno = 0;
	tokens = strtoll(number, &end, 10);
	if (errno || *end || strtok_r(NULL, "\n", &save))
		return false;
	resume(name, device, tokens, away);
	return true;
}

static bool take_head(const char *line, uint64_t *away)
{
	uint64_t then, now = wh_wall_ns();
	char *end;

	if (strncmp(line, HEAD, sizeof(HEAD) - 1))
		return false;
	errno = 0;
	then = strtoull(line + sizeof(HEAD) - 1, &end, 10);
	/* If the clock was set back, no time has passed. */
	*away = now > then ? now - then : 0;
	return !errno && *end == '\n';
}

/* Returns the number of the first bad line; 0: all are good. */
static unsigned int take_all(FILE *f)
{
	char line[256];
	unsigned int n = 1;
	uint64_t away;

	if (!fgets(line, sizeof(line), f) || !take_head(line, &away))
		return 1;
	while (fgets(line, sizeof(line), f)) {
		n++;
		if (!strchr(line, '\n') || !take_line(line, away))
			return n;
	}
	return 0;
}

static FILE *open_file(int dir)
{
	int fd = openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	FILE *f = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= (off_t)MOST)
		f = fdopen(fd, "r");
	else
		errno = EINVAL;
	if (!f)
		close(fd);
	return f;
}

static void read_all(int dir)
{
	FILE *f = open_file(dir);
	unsigned int bad;

	if (!f) {
		if (errno != ENOENT)
			wh_say("warn", NAME ": %s; credit and debt of shares begin anew", strerror(errno));
		return;
	}
	bad = take_all(f);
	fclose(f);
	if (bad)
		wh_say("warn", NAME ":%u: not a line of this server's; credit and debt of shares begin anew from "
		       "there on", bad);
}

/* --- Start -------------------------------------------------------------------------------- */

static bool start_timer(void)
{
	shares.timer = wh_timer_new(on_time);
	return shares.timer >= 0 && wh_timer_set(shares.timer, PERIOD_S * 1000, true);
}

void wh_shares_start(bool handed)
{
	char err[WH_CONTROL_ERROR];
	int dir = wh_keep_state(false, err, sizeof(err));

	shares.tsc = __builtin_ia32_rdtsc();
	shares.ns = wh_now_ns();
	if (dir >= 0 && !handed)
		read_all(dir);
	if (!start_timer())
		wh_say("warn", "credit and debt of shares are kept at an orderly end alone: a timer: %s",
		       strerror(errno));
}
