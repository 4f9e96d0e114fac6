// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a worker may write anything into its ring: whatever it writes,
 * the command makes JSON of it, within its size, and comes to an end.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"
#include "tenant/clock.h"
#include "trace.h"

static char path[] = "/tmp/wormhole-trace-XXXXXX";
static uint64_t seed = 42;

void wh_error(const char *fmt, ...)
{
	(void)fmt;
}

void wh_warn(const char *fmt, ...)
{
	(void)fmt;
}

void *wh_must(void *p)
{
	if (!p)
		abort();
	return p;
}

static uint64_t next_random(void)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return seed >> 16;
}

static void fill_random(void *p, size_t n)
{
	uint8_t *b = p;

	while (n--)
		*b++ = next_random();
}

/* Returns a list of objects, or NULL. */
static cJSON *parsed(void)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	cJSON *o;
	char *text;

	fstat(fd, &st);
	text = calloc(1, st.st_size + 1);
	if (read(fd, text, st.st_size) != st.st_size)
		abort();
	close(fd);
	o = strlen(text) == (size_t)st.st_size ? cJSON_ParseWithOpts(text, NULL, 1) : NULL;
	free(text);
	return cJSON_IsArray(o) ? o : NULL;
}

static bool has(cJSON *list, const char *name)
{
	const char *other;
	cJSON *e;

	cJSON_ArrayForEach(e, list) {
		other = cJSON_GetStringValue(cJSON_GetObjectItem(e, "name"));
		if (other && !strcmp(other, name))
			return true;
	}
	return false;
}

static void test_garbage(void)
{
	struct wh_trace_file *f = wh_trace_file_open(path, 64 << 20);
	struct wh_trace_record r;
	cJSON *o;
	int i;

	for (i = 0; i < 100000; i++) {
		fill_random(&r, sizeof(r));
		r.kind = next_random() % (WH_TRACE_KINDS + 1);
		r.of %= WH_TRACE_KINDS + 1;
		/* Some records belong together, and most of these are possible ones. */
		if (i % 3) {
			r.name = 1 + next_random() % 50;
			r.client = next_random() % 5;
			r.stream = next_random() % 9;
			r.value = next_random() % 4 * WH_TRACE_TEXT;
			r.end_ns = r.begin_ns + next_random() % 1000;
		}
		wh_trace_file_put(f, &r);
	}
	ok(wh_trace_file_close(f, 3), "records_of_garbage_are_written");
	o = parsed();
	ok(o && cJSON_GetArraySize(o) > 10000, "as_json");
	ok(has(o, "lost"), "lost_records_are_told");
	cJSON_Delete(o);
}

static void test_size(void)
{
	struct wh_trace_record r = { .kind = WH_TRACE_NAME, .name = 1 };
	struct wh_trace_file *f = wh_trace_file_open(path, 1 << 20);
	struct stat st;
	cJSON *o;
	int i;

	/* This is the longest possible event: each byte becomes six. */
	memset(r.text, 1, sizeof(r.text));
	for (i = 0; i < 100; i++, r.value += WH_TRACE_TEXT)
		wh_trace_file_put(f, &r);
	r = (struct wh_trace_record) { .kind = WH_TRACE_LAUNCH, .name = 1, .grid = { 1 } };
	for (i = 0; i < 10000; i++)
		wh_trace_file_put(f, &r);
	wh_trace_file_close(f, 0);
	stat(path, &st);
	o = parsed();
	ok(o && has(o, "truncated") && st.st_size <= 1 << 20, "a_file_keeps_to_its_size");
	ok(st.st_size > 900 << 10, "and_uses_it");
	cJSON_Delete(o);
}

static struct wh_trace_record *place(struct wh_trace_head *h, int ring, uint64_t n)
{
	return &wh_trace_ring(h, ring)[n % WH_TRACE_RECORDS];
}

static void put(struct wh_trace_head *h, int ring)
{
	uint64_t n = h->ring[ring].next++;

	*place(h, ring, n) = (struct wh_trace_record) { .number = n + 1, .kind = WH_TRACE_CALL,
							.begin_ns = n, .end_ns = n + 1 };
}

static int events(void)
{
	cJSON *o = parsed(), *e;
	int n = 0;

	cJSON_ArrayForEach(e, o)
		n += !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(e, "ph")), "X");
	cJSON_Delete(o);
	return n;
}

static void test_rings(void)
{
	int fd = wh_trace_create(), i;
	struct wh_trace_head *h = wh_trace_map(fd);
	struct wh_trace_file *f = wh_trace_file_open(path, 64 << 20);
	struct wh_trace_reader *r = wh_trace_reader_open(fd);
	uint64_t lost;

	ok(r && h->on == 1 && h->until_ns > wh_now_ns(), "who_traces_turns_it_on_for_a_while");
	for (i = 0; i < 100; i++)
		put(h, 5);
	wh_trace_reader_read(r, f);
	for (i = 0; i < 100; i++)
		put(h, 5);
	place(h, 5, 150)->number = 0;	/* its worker died in the middle of it */
	for (i = 0; i < (int)WH_TRACE_RECORDS + 10; i++)
		put(h, 6);
	h->ring[7].next = UINT64_MAX;	/* lies */
	fill_random(wh_trace_ring(h, 8), WH_TRACE_RING);
	h->ring[8].next = next_random();
	for (i = 0; i < 3; i++)
		wh_trace_reader_read(r, f);
	h->ring[7].next = 3;
	for (i = 0; i < 300; i++)
		wh_trace_reader_read(r, f);
	lost = wh_trace_reader_close(r, f);
	wh_trace_file_close(f, lost);
	ok_eq(events(), 199 + WH_TRACE_RECORDS, "whole_records_are_read_once_and_no_others");
	ok(lost > 11, "others_are_counted");
	ok_eq(h->on, 0, "afterwards_nobody_traces");
	munmap(h, WH_TRACE_SIZE);
	close(fd);
}

static void test_other_files(void)
{
	int fd = memfd_create("other", MFD_CLOEXEC);

	ok(!wh_trace_map(fd) && errno == EINVAL, "a_file_of_another_size_is_none");
	if (ftruncate(fd, WH_TRACE_SIZE))
		abort();
	ok(!wh_trace_map(fd) && errno == EINVAL, "nor_is_one_without_its_head");
	close(fd);
	fd = wh_trace_create();
	ok(ftruncate(fd, 4096) && errno == EPERM, "nobody_makes_a_trace_smaller");
	close(fd);
}

int main(void)
{
	int fd = mkstemp(path);

	close(fd);
	tap_plan(12);
	test_garbage();
	test_size();
	test_rings();
	test_other_files();
	unlink(path);
	return tap_exit();
}
