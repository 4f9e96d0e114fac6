// SPDX-License-Identifier: Apache-2.0
/*
 * The program's buffers for records: one is filled at a time. A record is what its struct in the
 * headers of the worker's CUPTI is. Each kind has one size, that of its first record, by which the
 * walk over a buffer finds the next one.
 */
#include "cupti_stub.h"

#define ALIGN	8u	/* ACTIVITY_RECORD_ALIGNMENT */

static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t *buffer;
static size_t size, used, most, count, dropped;
static uint32_t size_of[CUPTI_ACTIVITY_KIND_COUNT];

void cu_buffer_functions(CUpti_BuffersCallbackRequestFunc requested,
			 CUpti_BuffersCallbackCompleteFunc completed)
{
	request = requested;
	complete = completed;
}

bool cu_buffer_usable(void)
{
	return request && complete;
}

void cu_buffer_ready(void)
{
	if (buffer || !request)
		return;
	size = used = most = count = 0;
	request(&buffer, &size, &most);
	if ((uintptr_t)buffer % ALIGN)
		buffer = NULL;
}

void cu_buffer_complete(void)
{
	uint8_t *b = buffer;

	if (!b || !used)
		return;
	buffer = NULL;
	complete(NULL, 0, b, size, used);
}

void cu_buffer_put(const void *record, size_t n)
{
	uint32_t kind = ((const CUpti_Activity *)record)->kind;
	size_t has = n;

	if (kind >= CUPTI_ACTIVITY_KIND_COUNT) {
		dropped++;
		return;
	}
	if (!size_of[kind])
		size_of[kind] = n;
	n = size_of[kind];
	if (buffer && (size - used < n || (most && count == most)))
		cu_buffer_complete();
	cu_buffer_ready();
	if (!buffer || size - used < n) {
		dropped++;
		return;
	}
	memset(buffer + used, 0, n);
	memcpy(buffer + used, record, has < n ? has : n);
	used += n;
	count++;
}

size_t cu_buffer_dropped(void)
{
	size_t n = dropped;

	dropped = 0;
	return n;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *from, size_t valid, CUpti_Activity **record)
{
	uint8_t *at;

	if (!from || !record)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	at = from;
	if (*record) {
		at = (uint8_t *)*record;
		if (at < from || at >= from + valid ||
		    (uint32_t)(*record)->kind >= CUPTI_ACTIVITY_KIND_COUNT ||
		    !size_of[(*record)->kind])
			return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
		at += size_of[(*record)->kind];
	}
	if (at + sizeof(CUpti_Activity) > from + valid)
		return cu_ret(CUPTI_ERROR_MAX_LIMIT_REACHED);
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}
