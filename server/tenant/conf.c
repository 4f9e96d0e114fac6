// SPDX-License-Identifier: Apache-2.0
/* See conf.h. Owns the text; where the files are and who may write them is conf_files.c's. */
#define _GNU_SOURCE
#include "tenant/conf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tenant/file.h"

#define LINE_MOST	1024u

/* What is being read. */
struct reader {
	struct wh_conf_file *file;
	const char *label;
	unsigned int line;
	uint32_t seen;		/* keys of the section: bits by the table's order */
	char *err;
	size_t err_size;
};

__attribute__((format(printf, 2, 3)))
static bool wrong(struct reader *r, const char *fmt, ...)
{
	int n = snprintf(r->err, r->err_size, "%s:%u: ", r->label, r->line);
	va_list ap;

	va_start(ap, fmt);
	if (n >= 0 && (size_t)n < r->err_size)
		vsnprintf(r->err + n, r->err_size - (size_t)n, fmt, ap);
	va_end(ap);
	return false;
}

/* --- Keys ------------------------------------------------------------------------- */

static bool take_user(struct reader *r, struct wh_conf *c, const char *value)
{
	if (strlen(value) >= sizeof(c->user) || strpbrk(value, " \t"))
		return wrong(r, "user: '%.80s' is no user's name or number", value);
	strcpy(c->user, value);
	return true;
}

static bool take_devices(struct reader *r, struct wh_conf *c, const char *value)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
	const char *at = value;
	size_t n;

	if (strlen(value) >= sizeof(c->devices))
		return wrong(r, "devices: '%.80s...' names more than there may be", value);
	do {
		n = strspn(at, word);
		if (!n || (at[n] && at[n] != ','))
			return wrong(r, "devices: '%.80s' is not numbers or UUIDs with commas, such as 0,2",
				     value);
		at += n;
	} while (*at++);
	strcpy(c->devices, value);
	return true;
}

static bool take_mem(struct reader *r, struct wh_conf *c, const char *value)
{
	struct wh_limit_spec *all = wh_limit_of(&c->limits, WH_ALL_DEVICES);

	return !wh_limit_memory(value, all) ||
	       wrong(r, "mem: '%.80s' is not a size such as 2G, or none", value);
}

static bool take_sm(struct reader *r, struct wh_conf *c, const char *value)
{
	struct wh_limit_spec *all = wh_limit_of(&c->limits, WH_ALL_DEVICES);

	all->has_sm = 1;
	return !wh_limit_percent(value, &all->sm_percent) ||
	       wrong(r, "sm: '%.80s' is not a percentage from 1 to 100, or none", value);
}

static bool take_max(struct reader *r, struct wh_conf *c, const char *value)
{
	struct wh_limit_spec *all = wh_limit_of(&c->limits, WH_ALL_DEVICES);

	all->has_max = 1;
	return !wh_limit_ceiling(value, &all->sm_max) ||
	       wrong(r, "sm-max: %s", wh_limit_ceiling_why(value));
}

static bool take_class(struct reader *r, struct wh_conf *c, const char *value)
{
	struct wh_limit_spec *all = wh_limit_of(&c->limits, WH_ALL_DEVICES);

	all->has_class = 1;
	return !wh_limit_class(value, &all->sm_class) ||
	       wrong(r, "priority: %s", wh_limit_class_why(value));
}

static bool take_policy(struct reader *r, struct wh_conf *c, const char *value)
{
	struct wh_limit_spec *all = wh_limit_of(&c->limits, WH_ALL_DEVICES);

	all->has_policy = 1;
	return !wh_limit_policy(value, &all->sm_policy) ||
	       wrong(r, "sm-policy: '%.80s' is neither temporal, spatial nor both", value);
}

static bool take_host(struct reader *r, struct wh_conf *c, const char *value)
{
	c->limits.has_host = 1;
	return !wh_limit_bytes(value, &c->limits.host) ||
	       wrong(r, "host-mem: '%.80s' is not a size such as 2G, or none", value);
}

static bool take_kernel(struct reader *r, struct wh_conf *c, const char *value)
{
	c->limits.has_kernel = 1;
	return !wh_limit_time(value, &c->limits.kernel_ms) ||
	       wrong(r, "max-kernel: '%.80s' is not a time such as 2 or 500ms, of a day at most, or none",
		     value);
}

static bool take_nccl(struct reader *r, struct wh_conf *c, const char *value)
{
	c->limits.nccl = !strcmp(value, "yes") ? WH_NCCL_YES : WH_NCCL_NO;
	return c->limits.nccl == WH_NCCL_YES || !strcmp(value, "no") ||
	       wrong(r, "nccl: '%.80s' is neither yes nor no", value);
}

static bool take_counters(struct reader *r, struct wh_conf *c, const char *value)
{
	c->limits.counters = !strcmp(value, "yes") ? WH_COUNTERS_YES : WH_COUNTERS_NO;
	return c->limits.counters == WH_COUNTERS_YES || !strcmp(value, "no") ||
	       wrong(r, "counters: '%.80s' is neither yes nor no", value);
}

/* Amends nothing that was said: of each device there is one line. */
static bool take_device(struct reader *r, struct wh_conf *c, const char *value)
{
	char err[300 + LINE_MOST];
	int had = c->limits.n;

	if (!strchr(value, ':'))
		return wrong(r, "device: '%.80s' has no device's number and colon", value);
	if (wh_limit_parse(&c->limits, value, err, sizeof(err)))
		return wrong(r, "device: %.300s", err);
	return c->limits.n > had || wrong(r, "device: '%.80s': this device has a line already", value);
}

static const struct {
	const char *name;
	bool (*take)(struct reader *r, struct wh_conf *c, const char *value);
	bool again;		/* may stand more than once */
} keys[] = {
	{ "user", take_user, false }, { "devices", take_devices, false },
	{ "mem", take_mem, false }, { "sm", take_sm, false }, { "sm-max", take_max, false },
	{ "sm-policy", take_policy, false }, { "priority", take_class, false },
	{ "host-mem", take_host, false }, { "max-kernel", take_kernel, false },
	{ "nccl", take_nccl, false }, { "counters", take_counters, false },
	{ "device", take_device, true },
};
#define KEYS	(sizeof(keys) / sizeof(*keys))

static bool unknown_key(struct reader *r, const char *key)
{
	char all[200];
	size_t i, n = 0;

	for (i = 0; i < KEYS; i++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i ? ", " : "", keys[i].name);
	return wrong(r, "'%.80s': unknown; there are %s", key, all);
}

static bool take_key(struct reader *r, const char *key, const char *value)
{
	struct wh_conf *c = r->file->n ? &r->file->tenant[r->file->n - 1] : NULL;
	size_t i;

	for (i = 0; i < KEYS && strcmp(keys[i].name, key); i++)
		;
	if (i == KEYS)
		return unknown_key(r, key);
	if (!c)
		return wrong(r, "'%.80s' stands before the first tenant's [NAME]", key);
	if (!*value)
		return wrong(r, "%s: no value; leave the line out, or say none where there is to be no limit",
			     key);
	if (r->seen & 1u << i && !keys[i].again)
		return wrong(r, "%s: '%.80s': said twice", key, value);
	r->seen |= 1u << i;
	return keys[i].take(r, c, value);
}

/* --- Lines ------------------------------------------------------------------------ */

static bool begin_tenant(struct reader *r, const char *name)
{
	struct wh_conf_file *f = r->file;
	struct wh_conf *more;
	unsigned int i;

	if (!wh_tenant_name_ok(name))
		return wrong(r, "'%.80s' is no name for a tenant: a letter, then letters, digits, '.', '_', "
			     "'-', fewer than %d", name, WH_TENANT_NAME);
	if (!strcmp(name, "default"))
		return wrong(r, "'default' is the server's own tenant: its limits are options of `wormhole serve'");
	for (i = 0; i < f->n; i++)
		if (!strcmp(f->tenant[i].name, name))
			return wrong(r, "'%s' stands in line %u already", name, f->tenant[i].line);
	if (f->n == WH_CONF_TENANTS)
		return wrong(r, "'%s': a file has at most %u tenants", name, WH_CONF_TENANTS);
	more = reallocarray(f->tenant, f->n + 1, sizeof(*more));
	if (!more)
		return wrong(r, "'%s': out of memory", name);
	f->tenant = more;
	more[f->n] = (struct wh_conf){ .line = r->line };
	strcpy(more[f->n++].name, name);
	r->seen = 0;
	return true;
}

/* Cuts off blanks at both ends. */
static char *trimmed(char *text)
{
	char *end;

	text += strspn(text, " \t");
	for (end = text + strlen(text); end > text && strchr(" \t", end[-1]); end--)
		;
	*end = 0;
	return text;
}

static bool take_line(struct reader *r, char *text)
{
	char *line = trimmed(text), *eq = strchr(line, '=');
	size_t n = strlen(line);

	if (!n || *line == '#')
		return true;
	if (*line == '[' && line[n - 1] == ']') {
		line[n - 1] = 0;
		return begin_tenant(r, trimmed(line + 1));
	}
	if (!eq)
		return wrong(r, "'%.80s' is neither [NAME] nor KEY = VALUE", line);
	*eq = 0;
	return take_key(r, trimmed(line), trimmed(eq + 1));
}

/* Finds the first byte that belongs into no text. */
static bool is_text(struct reader *r, const char *line, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (((unsigned char)line[i] < ' ' && line[i] != '\t') || line[i] == 0x7f)
			return wrong(r, "byte 0x%02x in column %zu: this is no line of text",
				     (unsigned char)line[i], i + 1);
	return true;
}

static bool copy_line(struct reader *r, const char *line, size_t n)
{
	char copy[LINE_MOST + 1];

	if (!is_text(r, line, n))
		return false;
	if (n > LINE_MOST)
		return wrong(r, "'%.40s...' has %zu characters; a line has at most %u", line, n, LINE_MOST);
	memcpy(copy, line, n);
	copy[n] = 0;
	return take_line(r, copy);
}

bool wh_conf_parse(struct wh_conf_file *f, const char *label, const char *text, size_t n,
		   char *err, size_t err_size)
{
	struct reader r = { .file = f, .label = label, .err = err, .err_size = err_size };
	const char *end;
	size_t length;

	*f = (struct wh_conf_file){ .n = 0 };
	while (n) {
		end = memchr(text, '\n', n);
		length = end ? (size_t)(end - text) : n;
		r.line++;
		if (!copy_line(&r, text, length)) {
			wh_conf_free(f);
			return false;
		}
		text += length + (end != NULL);
		n -= length + (end != NULL);
	}
	return true;
}

void wh_conf_free(struct wh_conf_file *f)
{
	free(f->tenant);
	*f = (struct wh_conf_file){ .n = 0 };
}

/* --- Writing ---------------------------------------------------------------------- */

/* The largest unit that says the number exactly. */
static void print_bytes(FILE *out, uint64_t bytes)
{
	static const char units[] = "TGMK";
	int i;

	for (i = 0; i < 4 && bytes; i++)
		if (!(bytes & ((1ull << (40 - 10 * i)) - 1))) {
			fprintf(out, "%" PRIu64 "%c", bytes >> (40 - 10 * i), units[i]);
			return;
		}
	fprintf(out, bytes ? "%" PRIu64 "B" : "none", bytes);
}

static void print_size(FILE *out, const char *before, uint64_t bytes, const char *after)
{
	fputs(before, out);
	print_bytes(out, bytes);
	fputs(after, out);
}

static void print_percent(FILE *out, const char *before, uint32_t percent, const char *after)
{
	if (percent < 100)
		fprintf(out, "%s%u%s", before, percent, after);
	else
		fprintf(out, "%snone%s", before, after);
}

static void print_ceiling(FILE *out, const char *before, uint32_t percent, const char *after)
{
	if (percent)
		print_percent(out, before, percent, after);
	else
		fprintf(out, "%shard%s", before, after);
}

/* Writes a size, a percentage or both, as wh_limit_memory() reads them. */
static void print_memory(FILE *out, const char *before, const struct wh_limit_spec *s,
			 const char *after)
{
	fputs(before, out);
	if (s->memory || !s->memory_percent)
		print_bytes(out, s->memory);
	if (s->memory_percent)
		fprintf(out, "%s%u%%", s->memory ? "/" : "", s->memory_percent);
	fputs(after, out);
}

static void print_all(FILE *out, const struct wh_limit_spec *s)
{
	if (s->has_memory)
		print_memory(out, "mem = ", s, "\n");
	if (s->has_sm)
		print_percent(out, "sm = ", s->sm_percent, "\n");
	if (s->has_max)
		print_ceiling(out, "sm-max = ", s->sm_max, "\n");
	if (s->has_policy)
		fprintf(out, "sm-policy = %s\n", wh_limit_policy_name(s->sm_policy));
	if (s->has_class)
		fprintf(out, "priority = %s\n", wh_limit_class_name(s->sm_class));
}

static void print_device(FILE *out, const struct wh_limit_spec *s)
{
	const char *comma = "";

	fprintf(out, "device = %d:", s->device);
	if (s->has_memory) {
		print_memory(out, "mem=", s, "");
		comma = ",";
	}
	if (s->has_sm) {
		fputs(comma, out);
		print_percent(out, "sm=", s->sm_percent, "");
		comma = ",";
	}
	if (s->has_max) {
		fputs(comma, out);
		print_ceiling(out, "sm-max=", s->sm_max, "");
		comma = ",";
	}
	if (s->has_policy) {
		fprintf(out, "%spolicy=%s", comma, wh_limit_policy_name(s->sm_policy));
		comma = ",";
	}
	if (s->has_class)
		fprintf(out, "%spriority=%s", comma, wh_limit_class_name(s->sm_class));
	fputc('\n', out);
}

static void print_limits(FILE *out, const struct wh_limit_list *l)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (l->spec[i].device == WH_ALL_DEVICES)
			print_all(out, &l->spec[i]);
	if (l->has_host)
		print_size(out, "host-mem = ", l->host, "\n");
	if (l->has_kernel && l->kernel_ms)
		fprintf(out, "max-kernel = %" PRIu64 "ms\n", l->kernel_ms);
	else if (l->has_kernel)
		fputs("max-kernel = none\n", out);
	if (l->nccl != WH_NCCL_UNSAID)
		fprintf(out, "nccl = %s\n", l->nccl == WH_NCCL_YES ? "yes" : "no");
	if (l->counters != WH_COUNTERS_UNSAID)
		fprintf(out, "counters = %s\n", l->counters == WH_COUNTERS_YES ? "yes" : "no");
	for (i = 0; i < l->n; i++)
		if (l->spec[i].device != WH_ALL_DEVICES &&
		    wh_spec_said(&l->spec[i]))
			print_device(out, &l->spec[i]);
}

void wh_conf_print(FILE *out, const struct wh_conf *c)
{
	fprintf(out, "[%s]\n", c->name);
	if (c->user[0])
		fprintf(out, "user = %s\n", c->user);
	if (c->devices[0])
		fprintf(out, "devices = %s\n", c->devices);
	print_limits(out, &c->limits);
}
