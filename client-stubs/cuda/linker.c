// SPDX-License-Identifier: Apache-2.0
/*
 * The JIT linker. Inputs go to the worker like images. The finished image comes back piece by
 * piece into memory of this process, where the program expects it until cuLinkDestroy(). There
 * is one linker at a time, as in the worker.
 */
#include "stubs.h"

#include <stdlib.h>

static struct {
	uint64_t state;
	void *image;
	char *info, *error;	/* the program's log buffers, given at creation */
	uint32_t info_size, error_size;
	void **info_value, **error_value;
} lnk WH_PAIR;

static uint32_t number_options(struct wh_jit_option *out, unsigned int n, const CUjit_option *keys,
			       void **values)
{
	uint32_t used = 0;
	unsigned int i;

	for (i = 0; i < n && used < WH_MAX_JIT_OPTIONS; i++) {
		switch (keys[i]) {
		case CU_JIT_INFO_LOG_BUFFER:
		case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		case CU_JIT_ERROR_LOG_BUFFER:
		case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
			break;
		default:
			out[used++] = (struct wh_jit_option) { keys[i], 0, (uintptr_t)values[i] };
		}
	}
	return used;
}

static void note_logs(unsigned int n, const CUjit_option *keys, void **values)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (keys[i] == CU_JIT_INFO_LOG_BUFFER)
			lnk.info = values[i];
		if (keys[i] == CU_JIT_ERROR_LOG_BUFFER)
			lnk.error = values[i];
		if (keys[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES) {
			lnk.info_size = (uint32_t)(uintptr_t)values[i];
			lnk.info_value = &values[i];
		}
		if (keys[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
			lnk.error_size = (uint32_t)(uintptr_t)values[i];
			lnk.error_value = &values[i];
		}
	}
}

static void forget(void)
{
	free(lnk.image);
	memset(&lnk, 0, sizeof(lnk));
}

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
			 CUlinkState *stateOut)
{
	struct wh_jit_option opt[WH_MAX_JIT_OPTIONS];
	const struct wh_rsp_load *r;
	struct wh_req_link *q;
	struct wh_call c;
	CUresult res;
	uint32_t n;

	if (!stateOut || (numOptions && (!options || !optionValues)))
		return CUDA_ERROR_INVALID_VALUE;
	n = number_options(opt, numOptions, options, optionValues);
	q = wh_begin(&c, WH_CALL_cuLinkCreate_v2,
		     WH_WIRE_FIXED(*q) + wh_wire_bytes(n, sizeof(*opt)));
	if (!q)
		return c.result;
	c.pos = WH_WIRE_FIXED(*q);
	q->options = n;
	wh_request_put(&c, opt, n, sizeof(*opt));
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUDA_SUCCESS) {
		forget();
		lnk.state = r->handle;
		note_logs(numOptions, options, optionValues);
		*stateOut = (CUlinkState)r->handle;
	}
	wh_end(&c);
	return res;
}

CUresult cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues,
		      CUlinkState *stateOut)
{
	return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

static CUresult add_uploaded(CUlinkState state, CUjitInputType type, const char *name,
			     const struct wh_jit_option *opt, uint32_t n)
{
	struct wh_req_link *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_cuLinkAddData_v2, WH_WIRE_FIXED(*q) +
		     wh_wire_bytes(n, sizeof(*opt)) + wh_string_bytes(name));
	if (!q)
		return c.result;
	c.pos = WH_WIRE_FIXED(*q);
	q->state = (uint64_t)state;
	q->type = type;
	q->options = n;
	wh_request_put(&c, opt, n, sizeof(*opt));
	q->name_size = wh_request_put_string(&c, name);
	res = wh_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	return res;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
			  const char *name, unsigned int numOptions, CUjit_option *options,
			  void **optionValues)
{
	struct wh_jit_option opt[WH_MAX_JIT_OPTIONS];
	uint32_t n;
	CUresult res;

	if (!data || !size || (numOptions && (!options || !optionValues)))
		return CUDA_ERROR_INVALID_VALUE;
	n = number_options(opt, numOptions, options, optionValues);
	res = wh_lock(WH_LOCK_LINK);
	if (res != CUDA_SUCCESS)
		return res;
	res = wh_upload(data, size);
	if (res == CUDA_SUCCESS)
		res = add_uploaded(state, type, name, opt, n);
	wh_unlock(WH_LOCK_LINK);
	return res;
}

CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
		       const char *name, unsigned int numOptions, CUjit_option *options,
		       void **optionValues)
{
	return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
			  unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	size_t size;
	void *data;
	CUresult res = wh_read_file(path, &data, &size);

	if (res != CUDA_SUCCESS)
		return res;
	/* The NUL behind the file ends a PTX text. */
	res = cuLinkAddData_v2(state, type, data, type == CU_JIT_INPUT_PTX ? size + 1 : size, path,
			       numOptions, options, optionValues);
	free(data);
	return res;
}

CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
		       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

/* --- The result --------------------------------------------------------------------- */

static void return_log(struct wh_call *c, uint32_t got, char *to, uint32_t room, void **value)
{
	size_t pos = c->pos;

	if (to && room)
		wh_reply_take(c, to, got < room ? got : room, 1);
	c->pos = pos + wh_wire_bytes(got, 1);
	if (value)
		*value = (void *)(uintptr_t)(got < room ? got : room);
}

static CUresult fetch(CUlinkState state, uint64_t offset, uint8_t *to, uint64_t room,
		      uint64_t *total, uint64_t *copied)
{
	const struct wh_rsp_link_complete *r;
	struct wh_req_link_complete *q;
	struct wh_call c;
	CUresult res;

	q = wh_begin(&c, WH_CALL_cuLinkComplete, sizeof(*q));
	if (!q)
		return c.result;
	q->state = (uint64_t)state;
	q->offset = offset;
	q->addr = (uintptr_t)to;
	q->size = room;
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (offset == 0 && r->hdr.size >= sizeof(*r)) {
		c.pos = WH_WIRE_FIXED(*r);
		return_log(&c, r->info_log, lnk.info, lnk.info_size, lnk.info_value);
		return_log(&c, r->error_log, lnk.error, lnk.error_size, lnk.error_value);
	}
	if (res == CUDA_SUCCESS) {
		*total = r->total;
		*copied = r->copied;
	}
	wh_end(&c);
	return res;
}

static CUresult fetch_piece(CUlinkState state, uint64_t offset, uint64_t *total, uint64_t *copied)
{
	CUresult res;
	uint8_t *buf;
	size_t room;
	void *p;

	res = wh_staging_get(&buf, &room);
	if (res != CUDA_SUCCESS)
		return res;
	res = fetch(state, offset, buf, room, total, copied);
	if (res == CUDA_SUCCESS && (*copied > room || offset + *copied > *total))
		res = CUDA_ERROR_UNKNOWN;
	if (res == CUDA_SUCCESS && offset == 0) {
		p = realloc(lnk.image, *total);
		lnk.image = p ? p : lnk.image;
		res = p ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res == CUDA_SUCCESS)
		memcpy((uint8_t *)lnk.image + offset, buf, *copied);
	wh_staging_put();
	return res;
}

CUresult cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	uint64_t offset = 0, total = 0, first = 0, copied = 0;
	CUresult res = wh_usable();

	if (res == CUDA_SUCCESS && !cubinOut)
		res = CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS)
		res = wh_lock(WH_LOCK_LINK);
	if (res != CUDA_SUCCESS)
		return res;
	do {
		res = fetch_piece(state, offset, &total, &copied);
		if (offset == 0)
			first = total;
		offset += copied;
	} while (res == CUDA_SUCCESS && copied && total == first && offset < total);
	if (res == CUDA_SUCCESS && offset != total)
		res = CUDA_ERROR_UNKNOWN;
	if (res == CUDA_SUCCESS)
		*cubinOut = lnk.image;
	if (res == CUDA_SUCCESS && sizeOut)
		*sizeOut = total;
	wh_unlock(WH_LOCK_LINK);
	return res;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	CUresult res = wh_raw_cuLinkDestroy(state);

	if (res == CUDA_SUCCESS && (uint64_t)state == lnk.state)
		forget();
	return res;
}
