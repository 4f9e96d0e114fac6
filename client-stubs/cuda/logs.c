// SPDX-License-Identifier: Apache-2.0
/*
 * The log of errors (cuLogs*). To the program this library is the driver, so its log is kept
 * here: an entry for each call that the worker has answered with an error, and for each function
 * that is not supported. Callbacks run in the thread whose call failed, when it has left the
 * call, so that they may make calls themselves.
 */
#include "stubs.h"
#include "slots.h"
#include "gen_call_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#define ENTRIES		100	/* as many as NVIDIA's driver keeps */
#define TEXT		160

struct callback {
	struct callback *next;
	CUlogsCallback function;
	void *data;
};

static struct {
	pthread_mutex_t lock;
	uint32_t next;			/* the number of the next entry, which is its iterator */
	uint32_t told;			/* callbacks were told of all entries before this one */
	int callbacks;
	struct callback *callback;
	char entry[ENTRIES][TEXT];
} logs WH_PAIR = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- Entries ------------------------------------------------------------------------ */

/* Requests that are no call of the program's by name: what they most likely were. */
static const char *name_of(uint32_t call)
{
	const char *p = gen_call_text, *end = gen_call_text + sizeof(gen_call_text);

	if (call == WH_CALL_whLaunch)
		return "cuLaunchKernel";
	if (call == WH_CALL_whGraphNode)
		return "cuGraphAddNode";
	if (call == WH_CALL_whEventCreate)
		return "cuEventCreate";
	for (; call > 1 && p < end; call--)
		p += strlen(p) + 1;
	return p < end && strncmp(p, "wh", 2) ? p : "";
}

/* Call this with the lock held. */
static void add(const char *what, const char *more, const char *name)
{
	struct timespec now = { 0 };
	struct tm t = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &t);
	snprintf(logs.entry[logs.next++ % ENTRIES], TEXT, "[%02d:%02d:%02d.%03ld][%ld][CUDA][E] %s%s%s",
		 t.tm_hour, t.tm_min, t.tm_sec, now.tv_nsec / 1000000, syscall(SYS_gettid), what,
		 more, name);
}

void wh_logs_failed(uint32_t call, CUresult res)
{
	const char *name = name_of(call), *error = NULL;
	char what[TEXT];

	/* It is an answer, and no error. */
	if (res == CUDA_ERROR_NOT_READY)
		return;
	cuGetErrorName(res, &error);
	snprintf(what, sizeof(what), "Returning %d (%s)", res, error ? error : "unknown");
	pthread_mutex_lock(&logs.lock);
	add(what, *name ? " from " : "", name);
	wh_slots[wh_thread.slot].logged |= logs.callbacks;
	pthread_mutex_unlock(&logs.lock);
}

void wh_logs_refused(const char *name)
{
	bool deliver;

	pthread_mutex_lock(&logs.lock);
	add(name, " is not supported", "");
	deliver = logs.callbacks;
	pthread_mutex_unlock(&logs.lock);
	if (deliver && wh_slot_is_mine(&wh_thread))
		wh_slots[wh_thread.slot].logged = true;
	else if (deliver)
		wh_logs_deliver();
}

/* --- Callbacks ------------------------------------------------------------------------ */

/* Copies the next entry that callbacks have not seen. */
static bool take(char text[TEXT])
{
	bool any;

	pthread_mutex_lock(&logs.lock);
	if (logs.next - logs.told > ENTRIES)
		logs.told = logs.next - ENTRIES;
	any = logs.told != logs.next;
	if (any)
		memcpy(text, logs.entry[logs.told++ % ENTRIES], TEXT);
	pthread_mutex_unlock(&logs.lock);
	return any;
}

/* The @n-th callback. False: there are no more. */
static bool callback_at(int n, struct callback *out)
{
	struct callback *c;

	pthread_mutex_lock(&logs.lock);
	for (c = logs.callback; c && n; c = c->next)
		n--;
	if (c)
		*out = *c;
	pthread_mutex_unlock(&logs.lock);
	return c;
}

void wh_logs_deliver(void)
{
	struct callback c;
	char text[TEXT];
	int i;

	while (take(text))
		for (i = 0; callback_at(i, &c); i++)
			c.function(c.data, CU_LOG_LEVEL_ERROR, text, strlen(text));
}

CUresult cuLogsRegisterCallback(CUlogsCallback callbackFunc, void *userData,
				CUlogsCallbackHandle *callback_out)
{
	struct callback *c;

	if (!callbackFunc)
		return CUDA_ERROR_INVALID_VALUE;
	c = malloc(sizeof(*c));
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&logs.lock);
	*c = (struct callback){ logs.callback, callbackFunc, userData };
	logs.callback = c;
	/* Only what is logged from now on is told. */
	if (!logs.callbacks++)
		logs.told = logs.next;
	pthread_mutex_unlock(&logs.lock);
	if (callback_out)
		*callback_out = (CUlogsCallbackHandle)c;
	return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback)
{
	struct callback **at, *c;

	pthread_mutex_lock(&logs.lock);
	for (at = &logs.callback; *at && *at != (struct callback *)callback; at = &(*at)->next)
		;
	c = *at;
	if (c) {
		*at = c->next;
		logs.callbacks--;
	}
	pthread_mutex_unlock(&logs.lock);
	free(c);
	return c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* --- Dumps --------------------------------------------------------------------------- */

static const char lost[] = "Some earlier entries of the log are not here\n";

CUresult cuLogsCurrent(CUlogIterator *iterator_out, unsigned int flags)
{
	if (!iterator_out || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&logs.lock);
	*iterator_out = logs.next;
	pthread_mutex_unlock(&logs.lock);
	return CUDA_SUCCESS;
}

/*
 * Puts the entries from @first on into @buffer, @room bytes with a NUL. If not all fit, the last
 * ones do, behind a line that says so. Returns the bytes. Call this with the lock held.
 */
static size_t dump(uint32_t first, char *buffer, size_t room)
{
	size_t need = 1, n = 0;
	bool missing = false;
	uint32_t i = logs.next;

	if (logs.next - first > ENTRIES) {
		missing = true;
		first = logs.next - ENTRIES;
	}
	for (; i != first; i--) {
		size_t more = strlen(logs.entry[(i - 1) % ENTRIES]) + 1;

		if (need + more > room)
			break;
		need += more;
	}
	missing |= i != first;
	/* The line may cost the first entries their place. */
	for (; missing && i != logs.next && need + sizeof(lost) - 1 > room; i++)
		need -= strlen(logs.entry[i % ENTRIES]) + 1;
	if (missing && i != logs.next)
		n = (size_t)sprintf(buffer, "%s", lost);
	for (; i != logs.next; i++)
		n += (size_t)sprintf(buffer + n, "%s\n", logs.entry[i % ENTRIES]);
	buffer[n] = 0;
	return n;
}

CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size, unsigned int flags)
{
	uint32_t first;
	size_t n;

	if (!buffer || !size || !*size || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&logs.lock);
	/* An iterator that was never given names all there is. */
	first = iterator && *iterator <= logs.next ? *iterator : 0;
	n = dump(first, buffer, *size);
	if (iterator)
		*iterator = logs.next;
	pthread_mutex_unlock(&logs.lock);
	*size = n;
	return n || first == logs.next ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *pathToFile, unsigned int flags)
{
	size_t size = sizeof(logs.entry) + sizeof(lost);
	CUresult res;
	char *text;
	FILE *f;

	if (!pathToFile || flags)
		return CUDA_ERROR_INVALID_VALUE;
	text = malloc(size);
	if (!text)
		return CUDA_ERROR_OUT_OF_MEMORY;
	res = cuLogsDumpToMemory(iterator, text, &size, 0);
	f = res ? NULL : fopen(pathToFile, "we");
	if (!res && (!f || fwrite(text, 1, size, f) != size))
		res = CUDA_ERROR_INVALID_VALUE;
	if (f && fclose(f))
		res = CUDA_ERROR_INVALID_VALUE;
	free(text);
	return res;
}
