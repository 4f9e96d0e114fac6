// SPDX-License-Identifier: Apache-2.0
/*
 * Handlers that load code: whUpload gathers an image in the worker's own memory, so that the driver
 * never parses bytes that the client can still change; then a module, library or linker input is
 * made from it.
 */
#include "session/output.h"
#include "session/handler.h"

#include <stdlib.h>

struct options {
	CUjit_option key[WH_MAX_JIT_OPTIONS + 4];
	void *value[WH_MAX_JIT_OPTIONS + 4];
	unsigned int n;
	int wall, threads, info, error;		/* indices, -1 if absent */
	char *info_log, *error_log;
};

static void drop_upload(struct wh_session *s)
{
	free(s->upload.buf);
	memset(&s->upload, 0, sizeof(s->upload));
}

static void look_at(struct wh_session *s)
{
	wh_output_look_at(s, s->upload.buf, s->upload.total);
	wh_look_at_code(s, s->upload.buf, s->upload.total);
}

CUresult wh_do_whUpload(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whUpload *q = f->req;

	if (f->req_size < sizeof(*q) || !wh_host_range(s, q->addr, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	if (q->offset == 0) {
		drop_upload(s);
		if (!q->total || q->total > WH_UPLOAD_MAX)
			return CUDA_ERROR_INVALID_VALUE;
		/* The zeros behind the image end a PTX text in any case. */
		s->upload.buf = calloc(1, q->total + 64);
		if (!s->upload.buf)
			return CUDA_ERROR_OUT_OF_MEMORY;
		s->upload.total = q->total;
	}
	if (q->offset != s->upload.got || q->size > s->upload.total - s->upload.got)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(s->upload.buf + q->offset, (const void *)q->addr, q->size);
	s->upload.got += q->size;
	if (s->upload.got == s->upload.total)
		look_at(s);
	return CUDA_SUCCESS;
}

/* --- Options -------------------------------------------------------------------- */

static int add(struct options *o, CUjit_option key, uint64_t value)
{
	o->key[o->n] = key;
	o->value[o->n] = (void *)(uintptr_t)value;
	return o->n++;
}

/*
 * Passes only options whose value is a number. Options with addresses are ours or refused. Options
 * of a driver newer than this header are refused too, since they may be either.
 */
static bool plain_option(uint32_t key)
{
	switch ((CUjit_option)key) {
	case CU_JIT_INFO_LOG_BUFFER:
	case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
	case CU_JIT_ERROR_LOG_BUFFER:
	case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
	case CU_JIT_GLOBAL_SYMBOL_NAMES:
	case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
	case CU_JIT_REFERENCED_KERNEL_NAMES:
	case CU_JIT_REFERENCED_VARIABLE_NAMES:
		return false;
	default:
		return key < CU_JIT_NUM_OPTIONS;
	}
}

static bool take_options(struct wh_frame *f, uint32_t count, struct options *o)
{
	const struct wh_jit_option *in = NULL;
	uint32_t i;

	*o = (struct options) { .wall = -1, .threads = -1, .info = -1, .error = -1 };
	if (count > WH_MAX_JIT_OPTIONS || !wh_request_take(f, count, sizeof(*in), (void **)&in))
		return false;
	for (i = 0; i < count; i++) {
		if (!plain_option(in[i].option))
			return false;
		if (in[i].option == CU_JIT_WALL_TIME)
			o->wall = o->n;
		if (in[i].option == CU_JIT_THREADS_PER_BLOCK)
			o->threads = o->n;
		add(o, (CUjit_option)in[i].option, in[i].value);
	}
	return true;
}

/* Log buffers lie in the response, behind its fixed part. */
static bool add_logs(struct wh_frame *f, struct options *o, uint32_t info, uint32_t error)
{
	if (info > WH_MAX_JIT_LOG || error > WH_MAX_JIT_LOG ||
	    !wh_room(f, info, 1, (void **)&o->info_log) ||
	    !wh_room(f, error, 1, (void **)&o->error_log))
		return false;
	if (info) {
		add(o, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)o->info_log);
		o->info = add(o, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, info);
	}
	if (error) {
		add(o, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)o->error_log);
		o->error = add(o, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, error);
	}
	return true;
}

static uint32_t number_at(const struct options *o, int i)
{
	return i < 0 ? 0 : (uint32_t)(uintptr_t)o->value[i];
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void report(const struct options *o, const struct wh_req_load *q, struct wh_rsp_load *r)
{
	uint32_t wall = number_at(o, o->wall);

	r->info_log = least(number_at(o, o->info), q->info_log);
	r->error_log = least(number_at(o, o->error), q->error_log);
	r->threads_per_block = number_at(o, o->threads);
	memcpy(&r->wall_time, &wall, sizeof(wall));
}

/* --- Images ---------------------------------------------------------------------- */

/* NVIDIA's fatbin wrapper; version 2 has an array of prelinked images. */
struct wrapper {
	uint32_t magic;
	uint32_t version;
	const void *data;
	void *extra;
};

struct image {
	struct wrapper wrapper;
	void **prelinked;
	const void *code;
};

static bool part_ok(const struct wh_session *s, const struct wh_image_part *p)
{
	return p->offset <= s->upload.total && p->size <= s->upload.total - p->offset;
}

/* Makes one `image` argument again from what the client sent. */
static CUresult make_image(struct wh_session *s, struct wh_frame *f, const struct wh_req_load *q,
			   struct image *im)
{
	const struct wh_image_part *part;
	uint32_t i;

	if (!s->upload.buf || s->upload.got != s->upload.total || !q->parts ||
	    q->parts > WH_MAX_IMAGE_PARTS ||
	    !wh_request_take(f, q->parts, sizeof(*part), (void **)&part))
		return CUDA_ERROR_INVALID_IMAGE;
	for (i = 0; i < q->parts; i++)
		if (!part_ok(s, &part[i]))
			return CUDA_ERROR_INVALID_IMAGE;
	im->code = s->upload.buf + part[0].offset;
	if (q->kind != WH_IMAGE_WRAPPED)
		return CUDA_SUCCESS;
	im->prelinked = calloc(q->parts, sizeof(void *));
	if (!im->prelinked)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 1; i < q->parts; i++)
		im->prelinked[i - 1] = s->upload.buf + part[i].offset;
	im->wrapper = (struct wrapper) {
		.magic = 0x466243b1,
		.version = q->parts > 1 ? 2 : 1,
		.data = im->code,
		.extra = q->parts > 1 ? im->prelinked : NULL,
	};
	im->code = &im->wrapper;
	return CUDA_SUCCESS;
}

CUresult wh_do_cuModuleLoadDataEx(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_load *q = f->req;
	struct wh_rsp_load *r = wh_reply(f, sizeof(*r));
	struct image im = { 0 };
	struct wh_charge charge;
	CUmodule mod = NULL;
	struct options o;
	CUresult res;

	if (!s->drv.cuModuleLoadDataEx)
		return wh_missing(s, "cuModuleLoadDataEx");
	if (f->req_size < sizeof(*q) || q->library_options)
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	res = make_image(s, f, q, &im);
	if (res == CUDA_SUCCESS &&
	    (!take_options(f, q->options, &o) || !add_logs(f, &o, q->info_log, q->error_log)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS) {
		res = wh_code_charge(s, &charge);
	}
	if (res == CUDA_SUCCESS) {
		res = s->drv.cuModuleLoadDataEx(&mod, im.code, o.n, o.key, o.value);
		report(&o, q, r);
		wh_code_charged(s, &charge, res);
	}
	if (res == CUDA_SUCCESS && !wh_reconciled_as(s, &charge, WH_H_CUmodule, (uintptr_t)mod)) {
		s->drv.cuModuleUnload(mod);
		wh_uncharge(s, WH_H_CUmodule, (uintptr_t)mod);
		res = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (res == CUDA_SUCCESS)
		r->handle = wh_new(s, WH_H_CUmodule, mod, q->hdr.ctx);
	free(im.prelinked);
	drop_upload(s);
	return res;
}

/*
 * Takes library options. The image is the worker's own copy and is freed, so "binary is preserved"
 * is not passed on; host function tables are refused.
 */
static bool take_library_options(struct wh_frame *f, uint32_t count)
{
	const struct wh_jit_option *in;
	uint32_t i;

	if (count > WH_MAX_JIT_OPTIONS || !wh_request_take(f, count, sizeof(*in), (void **)&in))
		return false;
	for (i = 0; i < count; i++)
		if (in[i].option != CU_LIBRARY_BINARY_IS_PRESERVED)
			return false;
	return true;
}

/*
 * The driver loads a library into a context when some of it is first used, and that cannot be
 * undone alone. So under a memory limit it is loaded into the current context at once; an error
 * comes back where the program uses it.
 */
static void load_now(struct wh_session *s, CUlibrary lib)
{
	CUmodule unused;

	if (wh_mem_limited(s) && s->drv.cuLibraryGetModule)
		s->drv.cuLibraryGetModule(&unused, lib);
}

CUresult wh_do_cuLibraryLoadData(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_load *q = f->req;
	struct wh_rsp_load *r = wh_reply(f, sizeof(*r));
	struct image im = { 0 };
	struct wh_charge charge;
	CUlibrary lib = NULL;
	struct options o;
	CUresult res;

	if (!s->drv.cuLibraryLoadData)
		return wh_missing(s, "cuLibraryLoadData");
	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	res = make_image(s, f, q, &im);
	if (res == CUDA_SUCCESS &&
	    (!take_options(f, q->options, &o) || !take_library_options(f, q->library_options) ||
	     !add_logs(f, &o, q->info_log, q->error_log)))
		res = CUDA_ERROR_INVALID_VALUE;
	if (res == CUDA_SUCCESS) {
		res = wh_code_charge(s, &charge);
	}
	if (res == CUDA_SUCCESS) {
		res = s->drv.cuLibraryLoadData(&lib, im.code, o.key, o.value, o.n, NULL, NULL, 0);
		report(&o, q, r);
		if (res == CUDA_SUCCESS)
			load_now(s, lib);
		wh_code_charged(s, &charge, res);
	}
	if (res == CUDA_SUCCESS && !wh_reconciled_as(s, &charge, WH_H_CUlibrary, (uintptr_t)lib)) {
		s->drv.cuLibraryUnload(lib);
		wh_uncharge(s, WH_H_CUlibrary, (uintptr_t)lib);
		res = CUDA_ERROR_OUT_OF_MEMORY;
	}
	/* Libraries belong to no context. */
	if (res == CUDA_SUCCESS)
		r->handle = wh_new(s, WH_H_CUlibrary, lib, 0);
	free(im.prelinked);
	drop_upload(s);
	return res;
}

/* --- Linker ------------------------------------------------------------------------ */

/* The driver keeps pointers to the options until the link is destroyed. */
struct link_state {
	struct options options;
	char info[WH_MAX_JIT_LOG], error[WH_MAX_JIT_LOG];
};

static void forget_link(struct wh_session *s)
{
	free(s->link);
	s->link = NULL;
	s->link_state = 0;
	s->link_image = NULL;
	s->link_size = 0;
}

/* There is one linker at a time, since there is one place for its logs and its image. */
CUresult wh_do_cuLinkCreate_v2(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_link *q = f->req;
	struct wh_rsp_load *r = wh_reply(f, sizeof(*r));
	struct link_state *l;
	CUlinkState state;
	CUresult res;

	if (!s->drv.cuLinkCreate_v2)
		return wh_missing(s, "cuLinkCreate_v2");
	if (f->req_size < sizeof(*q))
		return CUDA_ERROR_INVALID_VALUE;
	if (wh_handles_get(&s->handles, s->link_state, WH_H_CUlinkState))
		return CUDA_ERROR_NOT_SUPPORTED;
	forget_link(s);
	l = s->link = calloc(1, sizeof(*l));
	f->pos = WH_WIRE_FIXED(*q);
	if (!l || !take_options(f, q->options, &l->options))
		return l ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	add(&l->options, CU_JIT_INFO_LOG_BUFFER, (uintptr_t)l->info);
	l->options.info = add(&l->options, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, sizeof(l->info));
	add(&l->options, CU_JIT_ERROR_LOG_BUFFER, (uintptr_t)l->error);
	l->options.error = add(&l->options, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, sizeof(l->error));
	res = s->drv.cuLinkCreate_v2(l->options.n, l->options.key, l->options.value, &state);
	if (res != CUDA_SUCCESS)
		return res;
	r->handle = wh_new(s, WH_H_CUlinkState, state, q->hdr.ctx);
	s->link_state = r->handle;
	return CUDA_SUCCESS;
}

CUresult wh_do_cuLinkAddData_v2(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_link *q = f->req;
	CUlinkState state;
	struct options o;
	const char *name;
	CUresult res;

	if (!s->drv.cuLinkAddData_v2)
		return wh_missing(s, "cuLinkAddData_v2");
	if (f->req_size < sizeof(*q) || !s->upload.buf || s->upload.got != s->upload.total)
		return CUDA_ERROR_INVALID_VALUE;
	f->pos = WH_WIRE_FIXED(*q);
	if (!wh_get(s, WH_H_CUlinkState, q->state, (void **)&state) || !state)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!take_options(f, q->options, &o) || !wh_request_take_string(f, q->name_size, &name))
		return CUDA_ERROR_INVALID_VALUE;
	res = s->drv.cuLinkAddData_v2(state, (CUjitInputType)q->type, s->upload.buf,
				      s->upload.total, name, o.n, o.key, o.value);
	drop_upload(s);
	return res;
}

/* The logs go with the first answer, good or bad; the image goes out in pieces. */
CUresult wh_do_cuLinkComplete(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_link_complete *q = f->req;
	struct wh_rsp_link_complete *r = wh_reply(f, sizeof(*r));
	struct link_state *l = s->link;
	CUresult res = CUDA_SUCCESS;
	CUlinkState state;
	void *log;

	if (!s->drv.cuLinkComplete)
		return wh_missing(s, "cuLinkComplete");
	if (f->req_size < sizeof(*q) || !wh_host_range(s, q->addr, q->size))
		return CUDA_ERROR_INVALID_VALUE;
	if (!q->state || q->state != s->link_state ||
	    !wh_get(s, WH_H_CUlinkState, q->state, (void **)&state))
		return CUDA_ERROR_INVALID_HANDLE;
	if (q->offset == 0) {
		s->link_size = 0;
		res = s->drv.cuLinkComplete(state, &s->link_image, &s->link_size);
		r->info_log = least(number_at(&l->options, l->options.info), sizeof(l->info));
		r->error_log = least(number_at(&l->options, l->options.error), sizeof(l->error));
		if (wh_room(f, r->info_log, 1, &log))
			memcpy(log, l->info, r->info_log);
		if (wh_room(f, r->error_log, 1, &log))
			memcpy(log, l->error, r->error_log);
	}
	if (res != CUDA_SUCCESS || q->offset > s->link_size)
		return res ? res : CUDA_ERROR_INVALID_VALUE;
	r->total = s->link_size;
	r->copied = s->link_size - q->offset < q->size ? s->link_size - q->offset : q->size;
	memcpy((void *)q->addr, (const char *)s->link_image + q->offset, r->copied);
	return CUDA_SUCCESS;
}
