// SPDX-License-Identifier: Apache-2.0
/*
 * The columns of `wormhole top`: how each is written and compared. Only a tenant's name can
 * be wider than its column.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "top.h"

/* --- Cells ------------------------------------------------------------------------- */

/* Writes a count with at most five characters: 99999, 123k, 1.23M. */
static void count(uint64_t n, char out[TOP_CELL])
{
	static const char units[] = " kMGTPE";
	double v = (double)n;
	int u = 0;

	if (n <= 99999) {
		snprintf(out, TOP_CELL, "%u", (unsigned int)n);
		return;
	}
	for (; v >= 999.5 && units[u + 1]; u++)
		v /= 1000;
	snprintf(out, TOP_CELL, v < 9.995 ? "%.2f%c" : v < 99.95 ? "%.1f%c" : "%.0f%c", v, units[u]);
}

/* Does the same for a value that may be less than one, or unknown. */
static void number(double v, char out[TOP_CELL])
{
	if (v < 0)
		strcpy(out, "-");
	else if (v > 0 && v < 9.95)
		snprintf(out, TOP_CELL, "%.1f", v);
	else
		count(v < 1.8e19 ? (uint64_t)(v + 0.5) : UINT64_MAX, out);
}

static void percentage(double v, char out[TOP_CELL])
{
	if (v <= 0)
		strcpy(out, v < 0 ? "-" : "0%");
	else
		snprintf(out, TOP_CELL, v < 99.95 ? "%.1f%%" : v < 99999 ? "%.0f%%" : ">99k%%", v);
}

static void bytes(uint64_t v, char out[TOP_CELL])
{
	char text[16];

	snprintf(out, TOP_CELL, "%s", wh_bytes_text(v, text));
}

static void rate_of_bytes(double v, char out[TOP_CELL])
{
	if (v < 0)
		strcpy(out, "-");
	else
		bytes(v < 1.8e19 ? (uint64_t)v : UINT64_MAX, out);
}

void top_time_text(uint64_t ns, char out[TOP_CELL])
{
	double s = (double)ns / 1e9;

	if (s < 9999.5)
		snprintf(out, TOP_CELL, s < 99.95 ? "%.1fs" : "%.0fs", s);
	else if (s < 9999.5 * 3600)
		snprintf(out, TOP_CELL, "%.0fh", s / 3600);
	else
		snprintf(out, TOP_CELL, "%.0fd", s / 86400 < 9999 ? s / 86400 : 9999);
}

#define TEXT(name, how) \
	static void text_##name(const struct top_row *r, char out[TOP_CELL]) { how; }
#define VALUE(name, what) \
	static double value_##name(const struct top_row *r) { return what; }
#define FIGURE(name, how, what) TEXT(name, how(what, out)) VALUE(name, (double)(what))

TEXT(name, snprintf(out, TOP_CELL, "%s", r->v->limits.name))
TEXT(state, snprintf(out, TOP_CELL, "%s", wh_suspension_text(r->v->limits.state)))
TEXT(device, snprintf(out, TOP_CELL, "%d", r->device))
VALUE(device, -(double)r->device)
FIGURE(workers, count, r->workers)
FIGURE(calls, number, r->calls)
FIGURE(requests, number, r->requests)
FIGURE(waited, number, r->waited)
FIGURE(launches, number, r->launches)
FIGURE(memory, bytes, r->memory)
TEXT(quota, if (r->quota) bytes(r->quota, out); else strcpy(out, "-"))
VALUE(quota, (double)r->quota)
TEXT(asked, if (r->asked < 0) strcpy(out, "-"); else snprintf(out, TOP_CELL, "%.0f%%", r->asked))
VALUE(asked, r->asked)
TEXT(most, if (r->most < 0) strcpy(out, "-"); else if (r->most >= 100) strcpy(out, "none");
     else snprintf(out, TOP_CELL, "%.0f%%", r->most))
VALUE(most, r->most)
TEXT(class, snprintf(out, TOP_CELL, "%s", r->class ? r->class : "-"))
FIGURE(got, percentage, r->got)
FIGURE(beyond, percentage, r->beyond)
FIGURE(throttled, percentage, r->throttled)
FIGURE(cpu, percentage, r->cpu)
TEXT(policy, snprintf(out, TOP_CELL, "%s", r->policy ? r->policy : "-"))
TEXT(sms, if (r->sms) snprintf(out, TOP_CELL, "%u", r->sms < 9999 ? r->sms : 9999); else strcpy(out, "all"))
VALUE(sms, r->sms ? r->sms : 1e9)
FIGURE(peak, bytes, r->peak)
FIGURE(driver, bytes, r->driver)
FIGURE(refused, count, r->refused)
FIGURE(to_device, rate_of_bytes, r->to_device)
FIGURE(from_device, rate_of_bytes, r->from_device)
FIGURE(host, bytes, r->v->sum.total.host_memory)
TEXT(host_limit, if (r->v->limits.host_memory) bytes(r->v->limits.host_memory, out); else strcpy(out, "-"))
VALUE(host_limit, (double)r->v->limits.host_memory)
FIGURE(gpu_time, top_time_text, r->gpu_ns)
FIGURE(all_beyond, top_time_text, r->beyond_ns)
FIGURE(all_throttled, top_time_text, r->throttled_ns)
FIGURE(all_calls, count, r->v->sum.total.calls)
FIGURE(all_requests, count, r->v->sum.total.waited + r->v->sum.total.posted)
FIGURE(all_waited, count, r->v->sum.total.waited)
FIGURE(all_to_device, bytes, r->v->sum.total.bytes_to_device)
FIGURE(all_from_device, bytes, r->v->sum.total.bytes_from_device)
FIGURE(all_launches, count, r->all_launches)

/* --- Columns ----------------------------------------------------------------------- */

static bool by_device(const struct top_rows *r)
{
	return r->n && r->row[0].device >= 0;
}

static bool some_driver(const struct top_rows *r)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (r->row[i].driver)
			return true;
	return false;
}

/* Does the share of any row differ from a hard one of the normal class? */
static bool some_guarantee(const struct top_rows *r)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (r->row[i].class &&
		    (r->row[i].most > r->row[i].asked || strcmp(r->row[i].class, "normal")))
			return true;
	return false;
}

static bool guarantee_rates(const struct top_rows *r)
{
	return !r->counters && some_guarantee(r);
}

static bool some_suspended(const struct top_rows *r)
{
	int i;

	for (i = 0; i < r->n; i++)
		if (r->row[i].v->limits.state != WH_RUNS)
			return true;
	return false;
}

static bool rates(const struct top_rows *r)
{
	return !r->counters;
}

#define COLUMN(key, name, width, rank, wanted, fn) \
	{ key, name, width, rank, wanted, text_##fn, value_##fn }

const struct top_column top_columns[] = {
	{ 'n', "TENANT", 6, 0, NULL, text_name, NULL },
	COLUMN(0, "DEV", 3, 0, by_device, device),
	{ 0, "STATE", 10, 0, some_suspended, text_state, NULL },
	COLUMN('k', "WORK", 4, 3, NULL, workers),
	COLUMN('c', "CALL/S", 6, 1, rates, calls),
	COLUMN('r', "REQ/S", 5, 1, rates, requests),
	COLUMN('w', "WAIT/S", 6, 1, rates, waited),
	COLUMN('l', "LNCH/S", 6, 1, rates, launches),
	COLUMN('m', "MEM", 5, 0, NULL, memory),
	COLUMN(0, "QUOTA", 5, 0, NULL, quota),
	COLUMN(0, "PEAK", 5, 6, NULL, peak),
	COLUMN(0, "DRIVER", 6, 6, some_driver, driver),
	COLUMN(0, "REFUSED", 7, 5, NULL, refused),
	{ 0, "POLICY", 8, 4, NULL, text_policy, NULL },
	COLUMN(0, "ASKED", 5, 0, NULL, asked),
	COLUMN(0, "MAX", 4, 3, some_guarantee, most),
	{ 0, "CLASS", 6, 3, some_guarantee, text_class, NULL },
	COLUMN('s', "GOT", 5, 0, NULL, got),
	COLUMN('b', "BEYOND", 6, 3, guarantee_rates, beyond),
	COLUMN(0, "SMS", 4, 5, NULL, sms),
	COLUMN('t', "THROT", 5, 1, rates, throttled),
	COLUMN('u', "CPU", 5, 1, rates, cpu),
	COLUMN(0, "TO-DEV/S", 8, 7, rates, to_device),
	COLUMN(0, "FROM-DEV/S", 10, 7, rates, from_device),
	COLUMN(0, "HOST-MEM", 8, 7, NULL, host),
	COLUMN(0, "HOST-LIM", 8, 8, NULL, host_limit),
	COLUMN(0, "GPU-TIME", 8, 8, NULL, gpu_time),
	COLUMN(0, "BEYOND-TIME", 11, 8, some_guarantee, all_beyond),
	COLUMN(0, "THROTTLED", 9, 8, NULL, all_throttled),
	COLUMN(0, "CALLS", 5, 9, NULL, all_calls),
	COLUMN(0, "REQUESTS", 8, 9, NULL, all_requests),
	COLUMN(0, "WAITED", 6, 9, NULL, all_waited),
	COLUMN(0, "LAUNCHES", 8, 9, NULL, all_launches),
	COLUMN(0, "TO-DEV", 6, 9, NULL, all_to_device),
	COLUMN(0, "FROM-DEV", 8, 9, NULL, all_from_device),
};
const int top_ncolumns = sizeof(top_columns) / sizeof(*top_columns);

int top_column_of(const char *name)
{
	int i;

	for (i = 0; i < top_ncolumns; i++)
		if (!strcasecmp(top_columns[i].name, name) ||
		    (top_columns[i].key && name[0] == top_columns[i].key && !name[1]))
			return i;
	return -1;
}

/* --- Order ----------------------------------------------------------------------------- */

static int sort_column;
static bool sort_reverse;

static int by_name(const struct top_row *a, const struct top_row *b)
{
	int c = strverscmp(a->v->limits.name, b->v->limits.name);

	return c ? c : a->device - b->device;
}

static int compare(const void *x, const void *y)
{
	const struct top_column *c = &top_columns[sort_column];
	const struct top_row *a = x, *b = y;
	char ta[TOP_CELL], tb[TOP_CELL];
	int order;

	if (c->value) {
		order = (c->value(b) > c->value(a)) - (c->value(b) < c->value(a));
	} else {
		c->text(a, ta);
		c->text(b, tb);
		order = strverscmp(ta, tb);
	}
	if (order)
		return sort_reverse ? -order : order;
	return by_name(a, b);
}

void top_sort(struct top_rows *r, int column, bool reverse)
{
	sort_column = column;
	sort_reverse = reverse;
	qsort(r->row, r->n, sizeof(*r->row), compare);
}
