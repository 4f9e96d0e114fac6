// SPDX-License-Identifier: Apache-2.0
/*
 * NPP in the worker: one handler for all of its functions. A request is a call's registers and
 * stack (cuda-api/wire_table.h). The handler checks each address that the function's shape names,
 * and puts its own copies in the place of host memory; nothing else of a request is an address.
 */
#define _GNU_SOURCE
#include "gen_npp_server.h"

#include "gen_npp_shapes.h"

#include <dlfcn.h>
#include <stdio.h>

/*
 * By the x86-64 calling convention, six integers and eight numbers of floating point are in
 * registers, and a struct that is larger than 16 bytes lies on the stack: what a function has more
 * than these.
 */
struct on_stack {
	uint64_t word[WH_TABLE_WORDS];
};
typedef NppStatus (*any_function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
				  double, double, double, double, double, double, double, double,
				  struct on_stack);

/* A call as it will be made. */
struct made {
	uint64_t at[WH_TABLE_PLACES];
	double real[WH_TABLE_FLOATS];
	CUstream stream;
	bool launches;
};

/* --- Finding a function ------------------------------------------------------------- */

/* Returns the part's file beside the library's own, or the library itself: both stay loaded. */
static void *open_part(const struct wh_npp_functions *l, unsigned int part)
{
	char path[4096];
	const char *end;
	Dl_info own;

	if (!dladdr((void *)l->nppGetLibVersion, &own))
		return NULL;
	if (!part)
		return dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	end = strrchr(own.dli_fname, '/');
	if (!end || snprintf(path, sizeof(path), "%.*s/%s", (int)(end - own.dli_fname),
			     own.dli_fname, wh_npp_parts[part]) >= (int)sizeof(path))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *find(struct wh_npp_functions *l, uint32_t number)
{
	const struct wh_npp_name *n = &wh_npp_names[number];

	if (l->looked[number])
		return l->call[number];
	if (!l->part[n->part])
		l->part[n->part] = open_part(l, n->part);
	if (l->part[n->part])
		l->call[number] = dlsym(l->part[n->part], n->name);
	/* A double of the library may be one file. */
	if (!l->call[number] && n->part) {
		if (!l->part[0])
			l->part[0] = open_part(l, 0);
		if (l->part[0])
			l->call[number] = dlsym(l->part[0], n->name);
	}
	l->looked[number] = 1;
	return l->call[number];
}

/* --- Checking ------------------------------------------------------------------------- */

/*
 * Only kernels and copies follow these, as far as sizes say, which mean another thing to each
 * function. In device memory the driver sees to their bounds. Behind host memory is the worker's
 * own, so none of the client's host memory passes either.
 */
static bool of_device(struct wh_session *s, uint64_t address)
{
	return !address || (wh_reach(s, address, 1) == CUDA_SUCCESS &&
			    !wh_host_range(s, address, 1));
}

static bool all_of_device(struct wh_session *s, const uint64_t *address, size_t n)
{
	while (n && of_device(s, address[n - 1]))
		n--;
	return !n;
}

static bool enter(struct wh_session *s, struct wh_frame *f, const struct wh_table_arg *a,
		  struct made *m)
{
	uint64_t *at = &m->at[a->place];
	void *bytes = NULL;

	switch (a->kind) {
	case WH_TABLE_DEVICE:
		m->launches = true;
		return of_device(s, *at);
	case WH_TABLE_DEVICES:
		m->launches = true;
		if (*at && (!wh_request_take(f, a->bytes, 1, &bytes) ||
			    !all_of_device(s, bytes, a->bytes / sizeof(uint64_t))))
			return false;
		break;
	case WH_TABLE_IN:
		if (*at && !wh_request_take(f, a->bytes, 1, &bytes))
			return false;
		break;
	case WH_TABLE_OUT:
		if (*at && !wh_room(f, a->bytes, 1, &bytes))
			return false;
		break;
	case WH_TABLE_STREAM:
		if (!wh_get(s, WH_H_CUstream, *at, (void **)&m->stream))
			return false;
		*at = (uintptr_t)m->stream;
		/* The stream is followed by the number of its device. */
		memcpy(&at[1], &wh_self.device, sizeof(int));
		return true;
	default:
		return false;
	}
	*at = (uintptr_t)bytes;
	return true;
}

static bool take(struct wh_session *s, struct wh_frame *f, const struct wh_table_shape *shape,
		 struct made *m)
{
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;
	const struct wh_req_table *q = f->req;
	void *stack;

	if (f->req_size < sizeof(*q))
		return false;
	f->pos = WH_WIRE_FIXED(struct wh_req_table);
	if (!wh_request_take(f, shape->words, sizeof(uint64_t), &stack))
		return false;
	memcpy(m->at, q->integer, sizeof(q->integer));
	memcpy(m->at + WH_TABLE_INTEGERS, stack, shape->words * sizeof(uint64_t));
	memcpy(m->real, q->real, sizeof(q->real));
	for (; a < end; a++)
		if (!enter(s, f, a, m))
			return false;
	return true;
}

/* --- The calls -------------------------------------------------------------------------- */

static NppStatus make(void *function, const struct made *m)
{
	const uint64_t *g = m->at;
	const double *x = m->real;
	struct on_stack stack;

	memcpy(stack.word, m->at + WH_TABLE_INTEGERS, sizeof(stack.word));
	return ((any_function)function)(g[0], g[1], g[2], g[3], g[4], g[5], x[0], x[1], x[2], x[3],
					x[4], x[5], x[6], x[7], stack);
}

int32_t wh_do_npp(struct wh_session *s, struct wh_frame *f)
{
	struct wh_npp_functions *l = (void *)wh_library_functions(s, WH_LIB_npp);
	const struct wh_req *q = f->req;
	uint32_t number = q->call & ((1u << WH_LIBRARY_SHIFT) - 1);
	struct made m = { 0 };
	void *function;
	int32_t res;

	wh_reply(f, sizeof(struct wh_rsp_table));
	function = find(l, number);
	if (!function)
		return wh_library_missing(s, wh_npp_names[number].name,
					  NPP_NOT_SUPPORTED_MODE_ERROR);
	if (!take(s, f, &wh_npp_shapes[wh_npp_shape[number]], &m))
		return NPP_BAD_ARGUMENT_ERROR;
	if (!m.launches)
		return make(function, &m);
	res = wh_launch_begin(s, m.stream);
	if (res != CUDA_SUCCESS)
		return res;
	res = make(function, &m);
	wh_launch_end(s, m.stream);
	return res;
}

int32_t wh_do_whNppVersion(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_npp_functions *l = wh_library_functions(s, WH_LIB_npp);
	struct wh_rsp_whNppVersion *r = wh_reply(f, sizeof(*r));
	const NppLibraryVersion *version = l->nppGetLibVersion();

	if (!version)
		return NPP_ERROR;
	r->version = *version;
	return NPP_NO_ERROR;
}
