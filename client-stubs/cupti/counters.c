// SPDX-License-Identifier: Apache-2.0
/* The message of counters: how a call goes to the worker, and what comes back of it. */
#include "counters.h"

#include <stdlib.h>

/* Copied first: the program may change its names meanwhile, and their lengths are told once. */
static bool join_names(struct cu_count *c, char **joined)
{
	size_t i, n = 0, *length = calloc(c->q.names + 1, sizeof(*length));
	char *to;

	*joined = NULL;
	for (i = 0; length && i < c->q.names; i++) {
		length[i] = strlen(c->name[i]);
		n += length[i] + 1;
	}
	to = length ? malloc(n + 1) : NULL;
	*joined = to;
	for (i = 0; to && i < c->q.names; i++) {
		memcpy(to, c->name[i], length[i]);
		to += length[i];
		*to++ = 0;
	}
	free(length);
	c->q.names_bytes = n;
	return *joined;
}

static bool are_there(const struct cu_count *c)
{
	size_t i;

	for (i = 0; i < c->q.names; i++)
		if (!c->name || !c->name[i])
			return false;
	return c->q.names <= WH_CUPTI_NAMES;
}

static size_t bytes_of(const struct wh_req_whCuptiCounters *q)
{
	size_t i, n = WH_WIRE_FIXED(*q);

	n = wh_wire_more(n, wh_wire_bytes(q->names_bytes, 1));
	n = wh_wire_more(n, wh_wire_bytes(q->text_bytes, 1));
	for (i = 0; i < WH_CUPTI_IMAGES; i++)
		n = wh_wire_more(n, wh_wire_bytes(q->image_bytes[i], 1));
	return n;
}

/* The text has as many bytes as there is room for, whatever it is by now. */
static void put_text(struct wh_call *c, const char *text, size_t bytes)
{
	char *to;

	if (!bytes)
		return;
	to = wh_request_put(c, text, bytes, 1);
	to[bytes - 1] = 0;
}

static void fill(struct wh_call *call, const struct cu_count *c, const char *names)
{
	const size_t head = sizeof(struct wh_req);
	size_t i;

	memcpy(call->msg + head, (const char *)&c->q + head, sizeof(c->q) - head);
	call->pos = WH_WIRE_FIXED(c->q);
	wh_request_put(call, names, c->q.names_bytes, 1);
	put_text(call, c->text, c->q.text_bytes);
	for (i = 0; i < WH_CUPTI_IMAGES; i++)
		if (c->q.image_bytes[i])
			wh_request_put(call, c->image[i], c->q.image_bytes[i], 1);
}

static CUptiResult take_back(struct wh_call *call, struct cu_count *c)
{
	const size_t at = WH_WIRE_FIXED(c->r);

	if (!c->r.follows || !c->r.bytes)
		return CUPTI_SUCCESS;
	if (c->r.hdr.size < at || c->r.bytes > c->r.hdr.size - at)
		return CUPTI_ERROR_UNKNOWN;
	c->back = malloc(c->r.bytes);
	if (!c->back)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	memcpy(c->back, (const char *)call->rsp + at, c->r.bytes);
	return CUPTI_SUCCESS;
}

static CUptiResult send(struct cu_count *c, const char *names)
{
	struct wh_call call;
	CUptiResult res;

	if (!wh_cupti_begin_long(&call, WH_CALL_whCuptiCounters, bytes_of(&c->q),
				 wh_wire_more(WH_WIRE_FIXED(c->r), wh_wire_bytes(c->room, 1))))
		return wh_cupti_lost(call.result);
	fill(&call, c, names);
	res = wh_cupti_run(&call, sizeof(c->r));
	if (res == CUPTI_SUCCESS) {
		memcpy(&c->r, call.rsp, sizeof(c->r));
		res = take_back(&call, c);
	}
	wh_end(&call);
	return res;
}

CUptiResult cu_count(struct cu_count *c)
{
	CUptiResult res;
	char *names;

	if (!are_there(c))
		return cu_count_wrong(c->function);
	c->q.text_bytes = c->text ? strlen(c->text) + 1 : 0;
	if (!join_names(c, &names))
		return cu_ret(CUPTI_ERROR_OUT_OF_MEMORY);
	res = send(c, names);
	/* It is longer than a message: the second time it is told how long. */
	if (res == CUPTI_SUCCESS && !c->r.follows && c->r.bytes &&
	    c->r.bytes <= WH_CUPTI_IMAGE_MOST) {
		c->room = c->r.bytes;
		res = send(c, names);
		if (res == CUPTI_SUCCESS && !c->r.follows)
			res = CUPTI_ERROR_UNKNOWN;
	}
	free(names);
	if (res == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || res == CUPTI_ERROR_NOT_SUPPORTED)
		wh_refuse(c->function);
	return cu_ret(res);
}

CUptiResult cu_count_bytes(struct cu_count *c, void *to, size_t size)
{
	CUptiResult res = cu_count(c);

	if (res != CUPTI_SUCCESS)
		return res;
	if (c->r.bytes == size)
		memcpy(to, c->back, size);
	else
		res = cu_ret(CUPTI_ERROR_UNKNOWN);
	free(c->back);
	return res;
}

CUptiResult cu_count_wrong(const char *function)
{
	struct cu_count c = { .function = function, .q.op = WH_CUPTI_MAY };
	CUptiResult res = cu_count(&c);

	return res == CUPTI_SUCCESS ? cu_ret(CUPTI_ERROR_INVALID_PARAMETER) : res;
}

/* --- Names ------------------------------------------------------------------------------ */

static size_t names_in(const char *bytes, size_t n)
{
	size_t i, found = 0;

	for (i = 0; i < n; i++)
		found += !bytes[i];
	return n && bytes[n - 1] ? 0 : found;
}

CUptiResult cu_count_names(struct cu_count *c, size_t least, const char ***names)
{
	CUptiResult res = cu_count(c);
	const char *at;
	size_t i, n;

	if (res != CUPTI_SUCCESS)
		return res;
	n = names_in(c->back, c->r.bytes);
	if (n != c->r.r[0] || n < least) {
		free(c->back);
		return cu_ret(CUPTI_ERROR_UNKNOWN);
	}
	*names = calloc(n + 1, sizeof(**names));
	for (i = 0, at = c->back; *names && i < n; i++, at += strlen(at) + 1)
		(*names)[i] = cu_keep_text(at);
	free(c->back);
	c->back = NULL;
	return *names ? CUPTI_SUCCESS : cu_ret(CUPTI_ERROR_OUT_OF_MEMORY);
}
