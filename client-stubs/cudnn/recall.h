/* SPDX-License-Identifier: Apache-2.0 */
/* What is remembered about backend descriptors (recall.c), for descriptor.c. */
#ifndef WORMHOLE_CUDNN_RECALL_H
#define WORMHOLE_CUDNN_RECALL_H

#include "cudnn_stub.h"

/*
 * What finalizing one to which all that was done failed with, CUDNN_STATUS_SUCCESS where nobody
 * knows. Kept is only what lies in that: a library that lacks memory may have it next time.
 */
cudnnStatus_t wh_failure_recall(uint64_t hash);
void wh_failure_keep(uint64_t hash, cudnnStatus_t res);

/*
 * The number of elements that there are; < 0: not known. What was asked for comes to `out`, of
 * descriptors the worker's, held for the caller.
 */
int64_t wh_memo_recall(const struct wh_made *m, const struct wh_question *q, uint64_t *came,
		       void *out);
void wh_memo_keep(struct wh_made *m, const struct wh_question *q, int64_t count, uint64_t came,
		  const void *elements);
void wh_memos_end(struct wh_made *m);

#endif
