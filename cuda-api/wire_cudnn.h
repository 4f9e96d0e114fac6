/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of cuDNN that both ends share beside the generated messages: sizes that depend on a
 * type, and the messages of calls that are handwritten at both ends.
 */
#ifndef WORMHOLE_WIRE_CUDNN_H
#define WORMHOLE_WIRE_CUDNN_H

#include <cudnn.h>
#include <stdbool.h>

#include "gen_cudnn_objects.h"
#include "wire.h"

/* --- Values in the program's memory ------------------------------------------- */

/* A scaling factor: float or double, as the descriptor's type says. */
typedef uint64_t wh_cudnn_scale_t;

/* One element of any type, the vectors of 32 included. */
#define WH_CUDNN_ELEMENT	32
typedef struct {
	uint8_t b[WH_CUDNN_ELEMENT];
} __attribute__((aligned(16))) wh_cudnn_element_t;

/* Returns the bytes of one element; 0: the type is not known here, so no byte of it is sent. */
static inline size_t wh_cudnn_size(cudnnDataType_t type)
{
	switch (type) {
	case CUDNN_DATA_INT8:
	case CUDNN_DATA_UINT8:
	case CUDNN_DATA_BOOLEAN:
	case CUDNN_DATA_FP8_E4M3:
	case CUDNN_DATA_FP8_E5M2:
	case CUDNN_DATA_FP8_E8M0:
	case CUDNN_DATA_FP4_E2M1:
	case CUDNN_DATA_INT4:
	case CUDNN_DATA_UINT4:
		return 1;
	case CUDNN_DATA_HALF:
	case CUDNN_DATA_BFLOAT16:
		return 2;
	case CUDNN_DATA_FLOAT:
	case CUDNN_DATA_INT32:
	case CUDNN_DATA_UINT32:
	case CUDNN_DATA_INT8x4:
	case CUDNN_DATA_UINT8x4:
	case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
		return 4;
	case CUDNN_DATA_DOUBLE:
	case CUDNN_DATA_INT64:
	case CUDNN_DATA_COMPLEX_FP32:
		return 8;
	case CUDNN_DATA_COMPLEX_FP64:
		return 16;
	case CUDNN_DATA_INT8x32:
		return 32;
	default:
		return 0;
	}
}

/* --- The library ------------------------------------------------------------ */

struct wh_req_whCudnnInfo {
	struct wh_req hdr;
};
struct wh_rsp_whCudnnInfo {
	struct wh_rsp hdr;
	uint64_t version;
	uint64_t max_device_version;
	uint64_t cudart_version;
};

#define WH_CUDNN_MESSAGE	1024
struct wh_req_cudnnGetLastErrorString {
	struct wh_req hdr;
};
struct wh_rsp_cudnnGetLastErrorString {
	struct wh_rsp hdr;
	char text[WH_CUDNN_MESSAGE];
};

/* --- Attributes of the backend API -------------------------------------------- */

/* Returns the bytes of one element of an attribute's type; 0: the type is not known here. */
static inline size_t wh_cudnn_attribute_size(cudnnBackendAttributeType_t type)
{
	switch (type) {
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CHAR:
		return 1;
	case CUDNN_TYPE_HANDLE:
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_DOUBLE:
	case CUDNN_TYPE_VOID_PTR:
	case CUDNN_TYPE_BACKEND_DESCRIPTOR:
		return 8;
	case CUDNN_TYPE_FRACTION:
		return sizeof(cudnnFraction_t);
	default:
		/* All other types are enums, float and int32_t. */
		return type <= CUDNN_TYPE_MOE_GROUPED_MATMUL_MODE ? 4 : 0;
	}
}

/* More bytes than this go through the data area. */
#define WH_CUDNN_INLINE		16384

/*
 * A request of both directions. Behind it: the elements to set, or the descriptors to fill;
 * handles and descriptors by their numbers. If `area` is not 0, they are there instead.
 */
struct wh_req_cudnnAttribute {
	struct wh_req hdr;	/* null: bit 0 the elements, bit 1 the count */
	uint64_t descriptor;
	int32_t name;
	int32_t type;
	int64_t count;
	uint64_t area;		/* address in the data area; 0: none */
};
/* Behind it: the elements that came, at most as many as were asked for. */
struct wh_rsp_cudnnAttribute {
	struct wh_rsp hdr;
	int64_t count;		/* as the library says */
	uint64_t elements;	/* number that follows */
};

/* Enough bytes of a value in the program's memory for any element. */
#define WH_CUDNN_VALUE		16
struct wh_cudnn_value {
	uint64_t pointer;	/* index of the pack's pointer to it */
	uint64_t resv;
	uint8_t bytes[WH_CUDNN_VALUE];
};

/* If there are more pointers, they are sent as attributes. */
#define WH_CUDNN_POINTERS	256
#define WH_CUDNN_WORKSPACE	(1u << 8)	/* in `null`: the pack has a workspace */

/*
 * An execution with a variant pack of the worker, or with the contents of one. In the second
 * case there are behind it: the unique ids, as many pointers, and the values in the program's
 * memory, whose pointers are 0.
 */
struct wh_req_cudnnBackendExecute {
	struct wh_req hdr;
	struct wh_obj_cudnnHandle_t handle;
	uint64_t plan;
	uint64_t pack;		/* 0: its contents follow */
	uint64_t workspace;
	/* The client's hash of ids and pointers, on which the status may depend. */
	uint64_t about;
	uint32_t pointers;
	uint32_t values;
};

/* --- Parameters of fused operations ------------------------------------------- */

enum wh_cudnn_param {
	WH_CUDNN_PARAM_NONE,		/* no such label */
	WH_CUDNN_PARAM_TENSOR,
	WH_CUDNN_PARAM_FILTER,
	WH_CUDNN_PARAM_ACTIVATION,
	WH_CUDNN_PARAM_CONVOLUTION,
	WH_CUDNN_PARAM_WORD,		/* 4 bytes in the program's memory */
	WH_CUDNN_PARAM_LONG,		/* 8 bytes in the program's memory */
	WH_CUDNN_PARAM_DEVICE,		/* an address of the device */
};

static inline enum wh_cudnn_param wh_cudnn_const_param(cudnnFusedOpsConstParamLabel_t label)
{
	switch (label) {
	case CUDNN_PARAM_XDESC:
	case CUDNN_PARAM_BN_EQSCALEBIAS_DESC:
	case CUDNN_PARAM_YDESC:
	case CUDNN_PARAM_DYDESC:
	case CUDNN_PARAM_YSTATS_DESC:
	case CUDNN_PARAM_BN_SCALEBIAS_MEANVAR_DESC:
	case CUDNN_PARAM_ZDESC:
	case CUDNN_PARAM_BN_Z_EQSCALEBIAS_DESC:
	case CUDNN_PARAM_ACTIVATION_BITMASK_DESC:
	case CUDNN_PARAM_DXDESC:
	case CUDNN_PARAM_DZDESC:
		return WH_CUDNN_PARAM_TENSOR;
	case CUDNN_PARAM_WDESC:
	case CUDNN_PARAM_DWDESC:
		return WH_CUDNN_PARAM_FILTER;
	case CUDNN_PARAM_ACTIVATION_DESC:
		return WH_CUDNN_PARAM_ACTIVATION;
	case CUDNN_PARAM_CONV_DESC:
		return WH_CUDNN_PARAM_CONVOLUTION;
	default:
		/* These are placeholders, and the mode of a batch normalisation. */
		return label <= CUDNN_PARAM_BN_DBIAS_PLACEHOLDER ? WH_CUDNN_PARAM_WORD :
								   WH_CUDNN_PARAM_NONE;
	}
}

static inline enum wh_cudnn_param wh_cudnn_variant_param(cudnnFusedOpsVariantParamLabel_t label)
{
	if (label <= CUDNN_PTR_BN_DBIAS)
		return WH_CUDNN_PARAM_DEVICE;
	if (label >= CUDNN_SCALAR_SIZE_T_WORKSPACE_SIZE_IN_BYTES &&
	    label <= CUDNN_SCALAR_DOUBLE_BN_EPSILON)
		return WH_CUDNN_PARAM_LONG;
	return WH_CUDNN_PARAM_NONE;
}

/* A request of all four functions. */
struct wh_req_cudnnFusedParam {
	struct wh_req hdr;	/* null: bit 0 the parameter, bit 1 isNULL */
	uint64_t pack;
	uint64_t value;		/* handle, address or bytes */
	uint32_t label;
	uint32_t resv;
};
struct wh_rsp_cudnnFusedParam {
	struct wh_rsp hdr;
	uint64_t value;
	int32_t is_null;
	int32_t resv;
};

#endif
