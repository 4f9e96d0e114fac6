/* SPDX-License-Identifier: Apache-2.0 */
/* What finalized backend descriptors are (content.c), for descriptor.c. */
#ifndef WORMHOLE_CUDNN_CONTENT_H
#define WORMHOLE_CUDNN_CONTENT_H

#include "cudnn_stub.h"

/* One attribute that was set, its elements behind it, padded to 8 bytes. */
struct wh_noted {
	int32_t name;
	int32_t type;
	int64_t count;
};

/* As they were set. Elements that are descriptors are pointers to contents, and hold them. */
struct wh_records {
	uint8_t *bytes;
	size_t size;
	size_t room;
};

struct wh_memo;

/* A finalized descriptor of the worker's, for all that were made alike. */
struct wh_content {
	struct wh_content *next;		/* in a bucket, or on its way out */
	struct wh_content *older, *newer;	/* idle ones */
	uint64_t hash;		/* the same for all that are made alike, also later */
	uint64_t real;		/* the worker's number */
	uint64_t ctx;		/* that was current */
	struct wh_records records;
	struct wh_memo *memo;
	uint32_t memos;
	uint32_t refs;		/* of the program's, of contents and of memos */
	int32_t type;
	bool listed;		/* it is found by its records, and stays when nobody refers to it */
	bool constant;		/* what is asked about it stays true */
};

/* What of a question about a content decides about the answer. */
struct wh_question {
	int32_t name;
	int32_t type;
	int64_t n;
	bool elements;		/* not only how many there are */
};

static inline uint64_t wh_cudnn_mix(uint64_t h, uint64_t w)
{
	h = (h ^ w) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 29;
}

static inline size_t wh_noted_bytes(const struct wh_noted *r)
{
	size_t n = r->count * wh_cudnn_attribute_size((cudnnBackendAttributeType_t)r->type);

	return sizeof(*r) + ((n + 7) & ~(size_t)7);
}

/* The record behind; NULL: the first. NULL when there is none. */
static inline struct wh_noted *wh_next_record(const struct wh_records *l, struct wh_noted *r)
{
	uint8_t *p = r ? (uint8_t *)r + wh_noted_bytes(r) : l->bytes;

	return p && p < l->bytes + l->size ? (struct wh_noted *)p : NULL;
}

/* Has the library taken what leads to this hash before? It takes it again, then. */
bool wh_steps_known(uint64_t hash);
void wh_steps_learn(uint64_t hash);

void wh_content_hold(struct wh_content *c);
void wh_content_release(struct wh_content *c);
/* Ends what the records hold, and them. */
void wh_records_end(struct wh_records *l);

/* The finalized one that was made alike, held for the caller, or NULL. */
struct wh_content *wh_content_find(const struct wh_content *like);
/*
 * One of `like`'s kind, its records included, held for the caller; where another thread was
 * faster it is that one's, and the worker's descriptor of `like` ends. NULL: no memory.
 */
struct wh_content *wh_content_new(const struct wh_content *like);

/*
 * What finalizing one that is made alike failed with, CUDNN_STATUS_SUCCESS where nobody knows.
 * Kept is only what lies in the content: a library that lacks memory may have it next time.
 */
cudnnStatus_t wh_failure_recall(const struct wh_content *like);
void wh_failure_keep(const struct wh_content *like, cudnnStatus_t res);

/* The number of elements that there are; < 0: not known. What was asked for comes to `out`. */
int64_t wh_memo_recall(const struct wh_content *c, const struct wh_question *q, uint64_t *came,
		       void *out);
void wh_memo_keep(struct wh_content *c, const struct wh_question *q, int64_t count,
		  uint64_t came, const void *elements);

#endif
