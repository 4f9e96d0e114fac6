// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that the log of errors names calls that failed and functions that are not
 * supported, that callbacks hear of each, and that dumps begin where their iterator says.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tap.h"

#define BAD	((CUdeviceptr)0x1230)

static char text[32768];

static const char *dumped(CUlogIterator *it, size_t room)
{
	size_t n = room;

	memset(text, 'x', sizeof(text));
	if (cuLogsDumpToMemory(it, text, &n, 0))
		return "refused";
	return n == strlen(text) ? text : "wrong length";
}

static int lines(const char *p)
{
	int n = 0;

	for (; *p; p++)
		n += *p == '\n';
	return n;
}

struct heard {
	int times;
	CUlogLevel level;
	size_t length;
	CUdeviceptr made;
	char last[256];
};

/* Like a program's own log, which also makes a call. */
static void CUDA_CB hear(void *data, CUlogLevel level, char *message, size_t length)
{
	struct heard *h = data;

	h->times++;
	h->level = level;
	h->length = length;
	snprintf(h->last, sizeof(h->last), "%s", message);
	if (!h->made)
		cuMemAlloc_v2(&h->made, 4096);
}

static void callbacks(void)
{
	CUlogsCallbackHandle a, b;
	struct heard one = { 0 }, two = { 0 };

	ok(!cuLogsRegisterCallback(hear, &one, &a) && !one.times,
	   "a_callback_is_not_told_of_earlier_errors");
	cuMemFree_v2(BAD);
	ok_eq(one.times, 1, "a_callback_is_told_of_a_failed_call");
	ok(one.level == CU_LOG_LEVEL_ERROR && one.length == strlen(one.last) &&
	   strstr(one.last, "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2"),
	   "its_message_has_the_error_and_the_function");
	ok(one.made && !cuMemFree_v2(one.made), "a_callback_may_make_calls");
	cuLogsRegisterCallback(hear, &two, &b);
	cuCoredumpGetAttribute(CU_COREDUMP_FILE, NULL, NULL);
	ok(one.times == 2 && two.times == 1 &&
	   strstr(two.last, "cuCoredumpGetAttribute is not supported"),
	   "all_callbacks_are_told_of_what_is_not_supported");
	ok(!cuLogsUnregisterCallback(a) && cuMemFree_v2(BAD) && one.times == 2 && two.times == 2,
	   "an_unregistered_callback_is_told_nothing");
	ok(cuLogsUnregisterCallback(a) == CUDA_ERROR_INVALID_VALUE && !cuLogsUnregisterCallback(b),
	   "it_is_unregistered_once");
	cuMemFree_v2(two.made);
}

static void dumps(void)
{
	CUlogIterator it, again;
	char path[] = "/tmp/logs-XXXXXX", kept[512];
	int fd = mkstemp(path), i;
	ssize_t n;

	ok(!cuLogsCurrent(&it, 0) && !*dumped(&it, sizeof(text)), "nothing_is_dumped_at_the_end");
	again = it;
	cuMemFree_v2(BAD);
	cuMemcpyDtoH_v2(text, BAD, 4);
	dumped(&it, sizeof(text));
	ok(lines(text) == 2 && strstr(text, "from cuMemFree_v2\n") && strstr(text, "[CUDA][E] "),
	   "a_dump_has_an_entry_for_each_failed_call");
	snprintf(kept, sizeof(kept), "%.400s", text);
	ok(!*dumped(&it, sizeof(text)), "an_iterator_advances");
	it = again;
	ok(!cuLogsDumpToFile(&it, path, 0), "a_dump_goes_to_a_file");
	n = read(fd, text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = 0;
	ok(!strcmp(text, kept), "it_has_the_same_text");
	it = again;
	ok(!strcmp(dumped(&it, 8), "refused"), "a_buffer_for_no_entry_is_refused");
	for (i = 0; i < 120; i++)
		cuMemFree_v2(BAD);
	ok(lines(dumped(NULL, sizeof(text))) == 101 && strstr(text, "earlier"),
	   "the_last_hundred_are_kept_and_the_dump_says_so");
	dumped(NULL, 400);
	ok(lines(text) >= 3 && strlen(text) < 400 &&
	   !strncmp(text, "Some earlier", 12),
	   "a_small_buffer_has_the_last_entries");
	ok(cuLogsDumpToMemory(NULL, NULL, NULL, 0) && cuLogsCurrent(&it, 1) &&
	   cuLogsCurrent(NULL, 0) && cuLogsRegisterCallback(NULL, NULL, NULL) &&
	   cuLogsDumpToFile(NULL, NULL, 0),
	   "what_is_not_valid_is_refused");
	close(fd);
	unlink(path);
}

int main(void)
{
	CUcontext ctx;

	tap_plan(16);
	cuInit(0);
	cuDevicePrimaryCtxRetain(&ctx, 0);
	cuCtxSetCurrent(ctx);
	callbacks();
	dumps();
	return tap_exit();
}
