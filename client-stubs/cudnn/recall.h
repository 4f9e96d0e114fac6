/* SPDX-License-Identifier: Apache-2.0 */
/* Remembered facts about backend descriptors (recall.c), for descriptor.c. */
#ifndef WORMHOLE_CUDNN_RECALL_H
#define WORMHOLE_CUDNN_RECALL_H

#include "cudnn_stub.h"

/*
 * Returns the status with which finalizing failed after the same steps, or CUDNN_STATUS_SUCCESS
 * if that is not known. Only failures that lie in the steps are kept: a library that lacks
 * memory may have it next time.
 */
cudnnStatus_t wh_failure_recall(uint64_t hash);
void wh_failure_keep(uint64_t hash, cudnnStatus_t res);

/*
 * Returns the number of elements that there are; < 0: not known. `out` gets those that were
 * asked for; descriptors are the worker's, held for the caller.
 */
int64_t wh_memo_recall(const struct wh_made *m, const struct wh_question *q, uint64_t *came,
		       void *out);
void wh_memo_keep(struct wh_made *m, const struct wh_question *q, int64_t count, uint64_t came,
		  const void *elements);
void wh_memos_end(struct wh_made *m);

#endif
