// SPDX-License-Identifier: Apache-2.0
/*
 * Writes records as a Chrome trace: an array of JSON objects, which Perfetto and
 * chrome://tracing open. Each client is a process in it; the slots of its calls and the
 * streams of its work are threads. Whatever a record says, the output is valid JSON, is not
 * longer than the given limit, and needs a bounded amount of memory: further names and
 * tracks stay numbers.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "wormhole.h"

#define NAMES		16384u	/* powers of two */
#define NAME_MAX_BYTES	2048u
#define TRACKS		8192u
#define FIRST_STREAM	1000u	/* smaller track numbers are slots */
#define ROOM		65536u	/* bytes reserved for the end of the file */

struct name {
	uint32_t client;
	uint64_t id;
	char *text;
	uint32_t n;
};

/* A stream of a client. A stream of all ones is its slot. */
struct track {
	uint32_t client, slot, number;
	uint64_t stream;
	bool used, is_stream;
};

struct wh_trace_file {
	FILE *f;
	char *path;
	uint64_t written, most;
	bool full, failed;
	uint32_t streams;
	struct name name[NAMES];
	struct track track[TRACKS];
};

/* --- Text ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3)))
static void say(struct wh_trace_file *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vfprintf(t->f, fmt, ap);
	va_end(ap);
	t->failed = t->failed || n < 0;
	t->written += n > 0 ? (uint64_t)n : 0;
}

static void say_char(struct wh_trace_file *t, char c)
{
	t->failed = t->failed || putc_unlocked(c, t->f) == EOF;
	t->written++;
}

/* Escapes bytes that are not ASCII, since they may be invalid UTF-8. */
static void say_string(struct wh_trace_file *t, const char *s)
{
	say(t, "\"");
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			say(t, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || (unsigned char)*s > '~')
			say(t, "\\u%04x", (unsigned char)*s);
		else
			say_char(t, *s);
	}
	say(t, "\"");
}

/* Writes microseconds, which the format requires. */
static void say_us(struct wh_trace_file *t, const char *key, uint64_t ns)
{
	say(t, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

/* --- Names of kernels ------------------------------------------------------------------------ */

static struct name *name_of(struct wh_trace_file *t, uint32_t client, uint64_t id)
{
	uint64_t hash = (id ^ (uint64_t)client << 40) * 0x9e3779b97f4a7c15ULL;
	struct name *n;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		n = &t->name[((hash >> 40) + i) % NAMES];
		if (!n->id || (n->id == id && n->client == client))
			return n;
	}
	return NULL;
}

/* A name comes in consecutive pieces. If a name is sent again, it starts anew. */
static void add_name(struct wh_trace_file *t, const struct wh_trace_record *r)
{
	struct name *n = r->name ? name_of(t, r->client, r->name) : NULL;

	if (!n || r->value >= NAME_MAX_BYTES || (r->value && r->value != n->n))
		return;
	if (!n->text)
		n->text = wh_must(calloc(1, NAME_MAX_BYTES + WH_TRACE_TEXT + 1));
	n->id = r->name;
	n->client = r->client;
	memcpy(n->text + r->value, r->text, WH_TRACE_TEXT);
	n->n = (uint32_t)r->value + WH_TRACE_TEXT;
	n->text[n->n] = 0;
}

/* --- Tracks ---------------------------------------------------------------------------------- */

static void begin_event(struct wh_trace_file *t, const char *phase, uint32_t client, uint32_t track)
{
	say(t, ",\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", phase, client, track);
}

static void name_process(struct wh_trace_file *t, uint32_t client)
{
	char path[64], comm[64] = "client";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/comm", client);
	f = client ? fopen(path, "r") : NULL;
	if (f && !fgets(comm, sizeof(comm), f))
		comm[0] = 0;
	if (f)
		fclose(f);
	comm[strcspn(comm, "\n")] = 0;
	begin_event(t, "M", client, 0);
	say(t, ",\"name\":\"process_name\",\"args\":{\"name\":");
	say_string(t, comm);
	say(t, "}}");
}

static void name_track(struct wh_trace_file *t, const struct track *k)
{
	begin_event(t, "M", k->client, k->number);
	say(t, ",\"name\":\"thread_name\",\"args\":{\"name\":");
	if (!k->is_stream)
		say(t, "\"calls, slot %u\"}}", k->slot);
	else if (k->stream <= 2)
		say(t, "\"device, %s\"}}", k->stream == 2 ? "per-thread default stream" :
							    "default stream");
	else
		say(t, "\"device, stream 0x%" PRIx64 "\"}}", k->stream);
}

static bool process_known(const struct wh_trace_file *t, uint32_t client)
{
	uint32_t i;

	for (i = 0; i < TRACKS; i++)
		if (t->track[i].used && t->track[i].client == client)
			return true;
	return false;
}

/* Returns the track's number. If there is no room for another track, streams share one. */
static uint32_t track_of(struct wh_trace_file *t, struct track want)
{
	uint64_t hash = (want.stream ^ (uint64_t)want.client << 32 ^ want.slot) *
			0x9e3779b97f4a7c15ULL;
	struct track *k;
	uint32_t i;

	for (i = 0; i < 64; i++) {
		k = &t->track[((hash >> 40) + i) % TRACKS];
		if (!k->used)
			break;
		if (k->client == want.client && k->slot == want.slot && k->stream == want.stream &&
		    k->is_stream == want.is_stream)
			return k->number;
	}
	if (i == 64)
		return FIRST_STREAM - 1;
	if (!process_known(t, want.client))
		name_process(t, want.client);
	*k = want;
	k->used = true;
	k->number = want.is_stream ? FIRST_STREAM + t->streams++ : want.slot + 1;
	name_track(t, k);
	return k->number;
}

/* --- Events ---------------------------------------------------------------------------------- */

static const char *const categories[WH_TRACE_KINDS] = {
	[WH_TRACE_CALL] = "call", [WH_TRACE_LAUNCH] = "launch", [WH_TRACE_COPY] = "copy",
	[WH_TRACE_FILL] = "fill", [WH_TRACE_WAIT] = "wait", [WH_TRACE_HELD] = "held",
	[WH_TRACE_DEVICE] = "device",
};

static void say_name(struct wh_trace_file *t, const struct wh_trace_record *r, unsigned int kind)
{
	static const char *const ways[] = { "copy", "copy to device", "copy to host" };
	const struct name *n = r->name ? name_of(t, r->client, r->name) : NULL;
	const char *call = wh_call_name(r->call);
	char text[64];

	snprintf(text, sizeof(text), "call 0x%x", r->call);
	if (kind == WH_TRACE_LAUNCH && n && n->text)
		call = n->text;
	else if (kind == WH_TRACE_COPY && r->way < 3)
		call = ways[r->way];
	else if (kind == WH_TRACE_FILL)
		call = "fill";
	else if (kind == WH_TRACE_WAIT)
		call = "wait";
	else if (kind == WH_TRACE_HELD)
		call = "held back by the share of time";
	say(t, ",\"name\":");
	say_string(t, call ? call : text);
}

static void say_arguments(struct wh_trace_file *t, const struct wh_trace_record *r,
			  unsigned int kind)
{
	const char *call = wh_call_name(r->call);

	say(t, ",\"args\":{\"stream\":%" PRIu64, r->stream);
	if (call)
		say(t, ",\"call\":\"%s\"", call);
	if (kind == WH_TRACE_COPY || kind == WH_TRACE_FILL)
		say(t, ",\"bytes\":%" PRIu64, r->value);
	if (kind == WH_TRACE_LAUNCH && r->grid[0])
		say(t, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", r->grid[0], r->grid[1],
		    r->grid[2], r->block[0], r->block[1], r->block[2]);
	say(t, "}}");
}

static void put_event(struct wh_trace_file *t, const struct wh_trace_record *r)
{
	bool device = r->kind == WH_TRACE_DEVICE;
	unsigned int kind = device ? r->of : r->kind;
	struct track want = { .client = r->client, .is_stream = device,
			      .stream = device ? r->stream : UINT64_MAX,
			      .slot = device ? 0 : r->slot };
	uint32_t track = track_of(t, want);

	begin_event(t, "X", r->client, track);
	say_us(t, "ts", r->begin_ns);
	say_us(t, "dur", r->end_ns - r->begin_ns);
	say_name(t, r, kind);
	say(t, ",\"cat\":\"%s\"", categories[r->kind]);
	say_arguments(t, r, kind);
}

void wh_trace_file_put(struct wh_trace_file *t, const struct wh_trace_record *r)
{
	if (r->kind == WH_TRACE_NAME)
		add_name(t, r);
	if (r->kind <= WH_TRACE_NAME || r->kind >= WH_TRACE_KINDS || r->of >= WH_TRACE_KINDS ||
	    r->end_ns < r->begin_ns || t->full)
		return;
	/* One event needs room for its strings and those of its track. */
	t->full = t->written + ROOM > t->most;
	if (!t->full)
		put_event(t, r);
}

/* --- The file -------------------------------------------------------------------------------- */

struct wh_trace_file *wh_trace_file_open(const char *path, uint64_t most)
{
	struct wh_trace_file *t = wh_must(calloc(1, sizeof(*t)));

	t->most = most;
	t->path = wh_must(strdup(path));
	t->f = wh_file_anew(path, 0666);
	if (!t->f) {
		wh_error("%s: %s", path, strerror(errno));
		free(t->path);
		free(t);
		return NULL;
	}
	say(t, "[\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"trace\",\"args\":{\"by\":\"wormhole "
	    WH_VERSION "\",\"clock\":\"monotonic\"}}");
	return t;
}

static void last_words(struct wh_trace_file *t, uint64_t lost)
{
	if (t->full)
		say(t, ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"truncated\",\"args\":{\"bytes\":%"
		    PRIu64 "}}", t->most);
	if (lost)
		say(t, ",\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"lost\",\"args\":{\"records\":%"
		    PRIu64 "}}", lost);
	say(t, "\n]\n");
}

bool wh_trace_file_close(struct wh_trace_file *t, uint64_t lost)
{
	bool good;
	uint32_t i;

	last_words(t, lost);
	good = !fclose(t->f) && !t->failed;
	if (!good)
		wh_error("%s: %s", t->path, strerror(errno));
	else if (t->full)
		wh_warn("%s is truncated: it has what fits into %" PRIu64 " bytes (--trace-size)", t->path,
			t->most);
	if (lost)
		wh_warn("%s lacks %" PRIu64 " records, which came faster than they were read", t->path,
			lost);
	for (i = 0; i < NAMES; i++)
		free(t->name[i].text);
	free(t->path);
	free(t);
	return good;
}
