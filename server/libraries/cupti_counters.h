/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of the hardware in the worker: what the files of them share. */
#ifndef WORMHOLE_CUPTI_COUNTERS_H
#define WORMHOLE_CUPTI_COUNTERS_H

#include "gen_cupti_server.h"

/* What an image is of. */
enum wh_seal { WH_SEAL_CONFIG = 1, WH_SEAL_DATA, WH_SEAL_AVAILABILITY };

/* cupti_seal.c: writes the seal of an image behind its `size` bytes. False: there is no key. */
bool wh_seal_put(enum wh_seal kind, uint8_t *image, size_t size);
/* Has this worker made these `size` bytes, and the seal behind them? */
bool wh_seal_good(enum wh_seal kind, const uint8_t *image, size_t size);

/* A request, and its answer. */
struct wh_counting {
	struct wh_session *s;
	struct wh_frame *f;
	const struct wh_cupti_functions *l;
	const struct wh_req_whCuptiCounters *q;
	const char **name;	/* q->names of them */
	const char *text;
	uint8_t *image[WH_CUPTI_IMAGES];
	struct wh_rsp_whCuptiCounters *r;
};
typedef CUptiResult wh_counting_fn(struct wh_counting *c);

/* Calls a function of the genuine library. */
#define WH_COUNT(c, function, params) ((c)->l->function ? (c)->l->function(params) :		\
	(CUptiResult)wh_library_missing((c)->s, #function, CUPTI_ERROR_NOT_SUPPORTED))
/* Its parameters, which have their size in front. */
#define WH_COUNT_PARAMS(type, var)	type var = { .structSize = type##_STRUCT_SIZE }

/* Types of handles: the numbers behind those of the description (`types`). */
enum { WH_H_CUPTI_HOST = WH_H_cupti_END, WH_H_CUPTI_RANGE, WH_H_CUPTI_TYPES };

/* cupti_counters.c: puts bytes, or the names, into the answer, if there is room. */
CUptiResult wh_count_back(struct wh_counting *c, const void *bytes, size_t n);
CUptiResult wh_count_names(struct wh_counting *c, const char *const *name, size_t n);
/* Makes room for an image and its seal. False: there is none. */
bool wh_count_image(struct wh_counting *c, size_t size, uint8_t **image);
/* Is it an image of that kind that this worker has made? Its size without the seal is in *size. */
bool wh_count_given(const struct wh_counting *c, unsigned int i, enum wh_seal kind, size_t *size);
/* Returns a copy of an image of `size` bytes, with room for its seal; NULL: no memory. */
uint8_t *wh_count_keep(const uint8_t *image, size_t size);
/* Finds a context of the client; 0 is NULL. */
bool wh_count_context(const struct wh_counting *c, CUcontext *ctx);

/*
 * cupti_range.c: is the first image one of data, which has a range of the number n[0]? Its size
 * without the seal is in *size.
 */
CUptiResult wh_count_range(struct wh_counting *c, size_t *size);

/* cupti_host.c and cupti_range.c: by enum wh_cupti_op; NULL: it is none of theirs. */
wh_counting_fn *wh_counting_host(uint32_t op);
wh_counting_fn *wh_counting_range(uint32_t op);

#endif
