/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libcudnn.so.9. */
#ifndef WORMHOLE_CUDNN_STUB_H
#define WORMHOLE_CUDNN_STUB_H

/* The library exports what NVIDIA's header declares; its export map says the same. */
#pragma GCC visibility push(default)
#include "wire_cudnn.h"
#pragma GCC visibility pop

/* --- values.c: host values whose size a descriptor's type says ---------------- */

cudnnDataType_t wh_cudnn_tensor_type(cudnnTensorDescriptor_t desc);
cudnnDataType_t wh_cudnn_filter_type(cudnnFilterDescriptor_t desc);

#define wh_cudnn_type_of(desc)	_Generic((desc),				\
	cudnnTensorDescriptor_t: wh_cudnn_tensor_type,			\
	cudnnFilterDescriptor_t: wh_cudnn_filter_type)(desc)

/*
 * Copies the value. It may make a call, so it must not run between begin and end. NULL becomes
 * 0.
 */
wh_cudnn_scale_t wh_cudnn_copy_scale(const void *p, cudnnDataType_t type);
wh_cudnn_element_t wh_cudnn_copy_element(const void *p, cudnnDataType_t type);
#define wh_cudnn_scale(p, desc)		wh_cudnn_copy_scale(p, wh_cudnn_type_of(desc))
#define wh_cudnn_element(p, desc)	wh_cudnn_copy_element(p, wh_cudnn_type_of(desc))

/* --- answers.c: lengths of host arrays, for cudnn.api ------------------------- */

size_t wh_count_windows(const int *window, cudnnSeqDataDescriptor_t desc);
size_t wh_count_sequences(cudnnTensorDescriptor_t probs);
size_t wh_count_labels(cudnnTensorDescriptor_t probs, const int *lengths);

/* --- byvalue.c: host values that a variant pack points to --------------------- */

/*
 * Finds the address at which the worker sees what a variant pack's pointer points to. For
 * memory of the device and of the data area that is the pointer itself. Otherwise it is a copy
 * in the data area, which follows the program's value until the pack is destroyed. False: out
 * of memory.
 */
bool wh_cudnn_by_value(uint64_t pack, const void *p, uint64_t *out);
/* Reads the program's values again, before the pack is used. */
void wh_cudnn_refresh(uint64_t pack);
void wh_cudnn_forget_values(uint64_t pack);
/* Copies WH_CUDNN_VALUE bytes, or fewer before the end of a page. */
void wh_cudnn_copy_value(uint8_t *to, const void *p);

/* --- pack.c: variant packs that only the client knows ------------------------- */

cudnnStatus_t wh_cudnn_pack_create(cudnnBackendDescriptor_t *descriptor);
/* Returns whether it is a variant pack of the client that has noted this attribute. */
bool wh_cudnn_pack_set(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
		       cudnnBackendAttributeType_t type, int64_t count, const void *elements);
/* These take packs of the client, and packs that only the worker has. */
cudnnStatus_t wh_cudnn_pack_finalize(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t wh_cudnn_pack_destroy(cudnnBackendDescriptor_t descriptor);
cudnnStatus_t wh_cudnn_pack_real(cudnnBackendDescriptor_t descriptor, uint64_t *real);

/* --- descriptor.c: all other backend descriptors ------------------------------ */

/*
 * Finds the number of a descriptor in the worker. A descriptor that only the client knew, or
 * such a variant pack, is made in the worker.
 */
cudnnStatus_t wh_cudnn_real(cudnnBackendDescriptor_t descriptor, uint64_t *real);

/* --- backend.c: calls about the worker's descriptor with this number ---------- */

/* Handles and addresses among the elements are the program's, descriptors the worker's. */
cudnnStatus_t wh_cudnn_set(uint64_t descriptor, int32_t name, int32_t type, int64_t count,
			   const void *elements);
/* All elements are the worker's. */
cudnnStatus_t wh_cudnn_send_set(uint64_t descriptor, int32_t name, int32_t type, int64_t count,
				const void *elements);
/* The parts of a question that decide about its answer. */
struct wh_question {
	int32_t name;
	int32_t type;
	int64_t n;
	bool elements;		/* the elements are asked for, too, not only their number */
};
/* `came` elements came. Descriptors to fill are in `out`, by the worker's numbers. */
cudnnStatus_t wh_cudnn_send_get(uint64_t descriptor, const struct wh_question *q, int64_t *count,
				uint64_t *came, void *out);

#include "gen_cudnn_client.h"

#endif
