// SPDX-License-Identifier: Apache-2.0
/*
 * The way of the other stub libraries into the one connection of this process. Owns what a
 * library's first call needs: the connection, a context, and a worker that has loaded the
 * genuine library and was built from the same description.
 */
#include "order.h"
#include "stubs.h"
#include "own.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { LIBRARY_NEW, LIBRARY_OPEN, LIBRARY_REFUSED };

/* NVIDIA's libraries are programs of the runtime, so they start the first device. */
static CUresult make_current(void)
{
	CUcontext ctx;
	CUresult res = cuDevicePrimaryCtxRetain(&ctx, 0);

	return res == CUDA_SUCCESS ? cuCtxSetCurrent(ctx) : res;
}

static CUresult refuse(struct wh_library *lib, CUresult res, uint64_t theirs)
{
	switch (res) {
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		wh_complain("client library %s has calls %016llx; the worker has calls %016llx: "
			    "install the same release on both sides", lib->soname,
			    (unsigned long long)lib->hash, (unsigned long long)theirs);
		break;
	case CUDA_ERROR_SHARED_OBJECT_INIT_FAILED:
		wh_complain("the worker cannot load its %s; its log says why", lib->soname);
		break;
	default:
		return res;
	}
	lib->refused = res;
	__atomic_store_n(&lib->state, LIBRARY_REFUSED, __ATOMIC_RELEASE);
	return res;
}

/* --- Versions ------------------------------------------------------------------- */

/* A wanted version, and the source of the wish. */
struct wish {
	uint32_t version;	/* 0: none but the major of the soname */
	char file[512];		/* the program's own library; "": the user */
};

/* Returns the wish for any version of the major that the soname has. */
static uint32_t any_of_major(const char *soname)
{
	const char *so = strstr(soname, ".so.");

	return so ? WH_LIB_VERSION(strtoul(so + strlen(".so."), NULL, 10), 0, 0) | WH_ANY_OF_MAJOR : 0;
}

/*
 * Reads $WORMHOLE_CUDNN_VERSION=9.19 for "cudnn": the version that the program was built for.
 * It is for cases where neither the program's own library nor the newest of the server gives
 * the right version.
 */
static bool named(const struct wh_library *lib, struct wish *w)
{
	unsigned int major = 0, minor = 0, patch = 0;
	const char *value;
	char name[64];
	char *c, end;
	int n;

	snprintf(name, sizeof(name), "WORMHOLE_%s_VERSION", lib->name);
	for (c = name; *c; c++)
		*c = toupper((unsigned char)*c);
	value = getenv(name);
	if (!value || !*value)
		return false;
	n = sscanf(value, "%u.%u.%u%c", &major, &minor, &patch, &end);
	if ((n == 2 || n == 3) && major < 256 && minor < 4096 && patch < 4096)
		w->version = WH_LIB_VERSION(major, minor, patch);
	else
		wh_warn("%s=%s is no version, such as 9.19 or 9.19.0; it does not count", name, value);
	return w->version;
}

static void find_wish(const struct wh_library *lib, struct wish *w)
{
	w->version = 0;
	w->file[0] = 0;
	if (!named(lib, w))
		w->version = wh_own_version(lib->soname, w->file, sizeof(w->file));
}

#define SPELL(v)	(v) >> 24, (v) >> 12 & 0xfff, (v) & 0xfff

/*
 * A newer version is right: of another major only what has the same functions in the same shapes is
 * served (`older` in cuda-api/README.md). The program judges an older version.
 */
static void compare(const struct wh_library *lib, const struct wish *w, uint32_t got)
{
	char wished[700];

	if (!w->version || !got || w->version >> 12 == got >> 12)
		return;
	if (w->file[0])
		snprintf(wished, sizeof(wished), "the program has %u.%u.%u (%s)", SPELL(w->version),
			 w->file);
	else
		snprintf(wished, sizeof(wished), "%u.%u was wished", w->version >> 24,
			 w->version >> 12 & 0xfff);
	if (got > w->version)
		wh_log("%s: %s; the server has %u.%u.%u", lib->soname, wished, SPELL(got));
	else
		wh_warn("%s: %s; the newest that the server has is %u.%u.%u (its --libraries)",
			lib->soname, wished, SPELL(got));
}

/* Several threads may ask at once; the worker opens the library once. */
static CUresult open_library(struct wh_library *lib)
{
	const struct wh_rsp_whLibraryOpen *r;
	struct wh_req_whLibraryOpen *q;
	uint64_t theirs = 0;
	uint32_t got = 0, edition = 0;
	struct wh_call c;
	struct wish w;
	CUresult res;

	/*
	 * Finding the wish takes no slot: a thread that loads a library has the loader's lock,
	 * and may want a slot.
	 */
	find_wish(lib, &w);
	q = wh_begin_connected(&c, WH_CALL_whLibraryOpen, sizeof(*q));
	if (!q)
		return c.result;
	q->hash = lib->hash;
	q->library = lib->number;
	q->wish = w.version ? w.version : any_of_major(lib->soname);
	res = wh_run(&c, sizeof(*r));
	r = c.rsp;
	if (r->hdr.size >= sizeof(*r)) {
		theirs = r->hash;
		got = r->version;
		edition = r->edition << WH_EDITION_SHIFT;
	}
	wh_end(&c);
	if (res != CUDA_SUCCESS)
		return refuse(lib, res, theirs);
	lib->edition = edition;
	/* It is said once, by the thread whose answer came first. */
	if (__atomic_exchange_n(&lib->state, LIBRARY_OPEN, __ATOMIC_ACQ_REL) == LIBRARY_NEW)
		compare(lib, &w, got);
	return CUDA_SUCCESS;
}

CUresult wh_library_prepare(struct wh_library *lib)
{
	CUresult res = lib->bare ? wh_connect(false) : cuInit(0);

	if (res == CUDA_SUCCESS && !lib->bare && !wh_thread.ctx)
		res = make_current();
	if (res != CUDA_SUCCESS)
		return res;
	if (lib->state == LIBRARY_REFUSED)
		return lib->refused;
	return lib->state == LIBRARY_NEW ? open_library(lib) : CUDA_SUCCESS;
}

void *wh_library_begin(struct wh_call *c, struct wh_library *lib, uint32_t call, size_t size)
{
	struct wh_req *q;

	if (WH_UNLIKELY(lib->state != LIBRARY_OPEN || (!lib->bare && !wh_thread.ctx))) {
		c->result = wh_library_prepare(lib);
		if (c->result != CUDA_SUCCESS)
			return NULL;
	}
	q = lib->bare ? wh_begin_connected(c, call, size) : wh_begin(c, call, size);
	if (q)
		q->call |= lib->edition;
	return q;
}

/* Also makes void what is known of statuses of the library's other calls: these wait again. */
bool wh_library_run(struct wh_call *c, size_t fixed)
{
	bool answered;

	wh_post_library_changes();
	answered = wh_library_answer(c, fixed);
	/* Another thread may have asked meanwhile, so what it learned is void, too. */
	wh_post_library_changes();
	return answered;
}

bool wh_library_answer(struct wh_call *c, size_t fixed)
{
	struct wh_rsp *r = c->rsp;

	if (c->head)
		return wh_long_answer(c, fixed);
	c->result = wh_run_on(c, WH_HANDLER_LIBRARY);
	if (c->result != CUDA_SUCCESS)
		return false;
	if (r->result == 0 && r->size < fixed) {
		c->result = CUDA_ERROR_UNKNOWN;
		return false;
	}
	return true;
}

uint64_t wh_library_stream(CUstream stream)
{
	return wh_stream(stream);
}

bool wh_library_in_data(const void *p, size_t n)
{
	return wh_in_data(p, n);
}
