/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of the calls that are handwritten at both ends. This text is part
 * of WH_API_HASH: any change here makes a new client refuse an old worker.
 */
#ifndef WORMHOLE_WIRE_CALLS_H
#define WORMHOLE_WIRE_CALLS_H

#include <cuda.h>

#include "wire.h"

/*
 * cuMemExportToShareableHandle() and its counterpart use 64 bytes in place of a descriptor.
 * They hold the worker's number for it, which the client writes to a file of its own; or, in
 * one process, the driver's descriptor behind this word.
 */
#define WH_SHAREABLE_BYTES	64
#define WH_SHAREABLE_OWN	0x44465f4e574f4857ULL	/* "WHOWN_FD" */
struct wh_shareable {
	uint64_t magic;
	int32_t fd;
	uint32_t zero[13];
};

/* --- whHello: versions, the client's CUDA_* environment, cuInit ------------- */

#define WH_HELLO_ENV_MAX	4096
struct wh_req_whHello {
	struct wh_req hdr;
	uint32_t abi_version;
	uint32_t env_size;	/* "NAME=value\0" ... behind the fixed part */
	uint64_t api_hash;
};
struct wh_rsp_whHello {
	struct wh_rsp hdr;
	int32_t driver_version;
	int32_t devices;
};

/* --- whLibraryOpen: load a library behind a stub of ours --------------------- */

struct wh_req_whLibraryOpen {
	struct wh_req hdr;
	uint64_t hash;		/* WH_<LIBRARY>_HASH of the client */
	uint32_t library;	/* WH_LIB_* */
	uint32_t wish;		/* major 8 bits, minor 12 and patch 12, or WH_ANY_OF_MAJOR */
};
struct wh_rsp_whLibraryOpen {
	struct wh_rsp hdr;
	uint64_t hash;		/* the worker's, also if they differ; 0: no such library */
	uint32_t version;	/* of the library; 0: it says none */
	uint32_t edition;	/* of the file: below WH_EDITIONS */
};

/* --- whDeviceInfo: everything about a device that never changes -------------- */

#define WH_DEVICE_ATTRIBUTES	256
struct wh_device_info {
	char name[256];
	CUuuid uuid;
	uint64_t total_mem;
	uint32_t instance;	/* 1: a MIG instance, whose UUID is written "MIG-..." */
	uint32_t resv;
	int32_t value[WH_DEVICE_ATTRIBUTES];
	int32_t result[WH_DEVICE_ATTRIBUTES];	/* CUresult of the query */
};
struct wh_req_whDeviceInfo {
	struct wh_req hdr;
	int32_t device;
	int32_t resv;
};
struct wh_rsp_whDeviceInfo {
	struct wh_rsp hdr;
	struct wh_device_info info;
};

/* --- whUpload: a piece of a blob from the data area into the worker ---------- */

#define WH_UPLOAD_MAX		(2ULL << 30)
struct wh_req_whUpload {
	struct wh_req hdr;
	uint64_t total;		/* bytes of the blob; offset 0 starts a new one */
	uint64_t offset;
	uint64_t addr;		/* address of the piece, in the data area */
	uint64_t size;
};

/* --- Loading images. The blob uploaded last is used up. ---------------------- */

struct wh_jit_option {
	uint32_t option;	/* CUjit_option or CUlibraryOption */
	uint32_t resv;
	uint64_t value;
};
/* An image inside the blob. */
struct wh_image_part {
	uint64_t offset;
	uint64_t size;
};
#define WH_IMAGE_RAW		0	/* part 0 as it is */
#define WH_IMAGE_WRAPPED	1	/* part 0 behind a fatbin wrapper, the others prelinked */
#define WH_MAX_JIT_OPTIONS	64
#define WH_MAX_IMAGE_PARTS	1024
#define WH_MAX_JIT_LOG		16384
/*
 * A request of cuModuleLoadDataEx and cuLibraryLoadData. Behind it: parts, options, library
 * options.
 */
struct wh_req_load {
	struct wh_req hdr;
	uint32_t kind;
	uint32_t parts;
	uint32_t options;
	uint32_t library_options;
	uint32_t info_log;	/* wanted sizes; 0: none */
	uint32_t error_log;
};
/* Behind it: the two logs, each padded. It is also sent with an error. */
struct wh_rsp_load {
	struct wh_rsp hdr;
	uint64_t handle;
	uint32_t info_log;	/* bytes written */
	uint32_t error_log;
	uint32_t threads_per_block;
	float wall_time;
};

/* A request of cuLinkCreate_v2 and cuLinkAddData_v2 (type, name). Behind it: options, name. */
struct wh_req_link {
	struct wh_req hdr;
	uint64_t state;
	uint32_t type;
	uint32_t options;
	uint32_t info_log;
	uint32_t error_log;
	uint64_t name_size;
};
/* cuLinkComplete: offset 0 links. Each call copies one piece to addr. */
struct wh_req_link_complete {
	struct wh_req hdr;
	uint64_t state;
	uint64_t offset;
	uint64_t addr;
	uint64_t size;
};
struct wh_rsp_link_complete {
	struct wh_rsp hdr;
	uint64_t total;
	uint64_t copied;
	uint32_t info_log;
	uint32_t error_log;
};

/* --- Variables ------------------------------------------------------------------ */

#define WH_GLOBAL_MODULE	0	/* cuModuleGetGlobal */
#define WH_GLOBAL_LIBRARY	1	/* cuLibraryGetGlobal */
#define WH_GLOBAL_MANAGED	2	/* cuLibraryGetManaged */
/* Behind it: the name. Null bits: 0 address, 1 size; both: neither is asked for. */
struct wh_req_whGlobal {
	struct wh_req hdr;
	uint64_t owner;		/* module or library */
	uint64_t name_size;
	uint32_t kind;		/* WH_GLOBAL_* */
	uint32_t resv;
};
struct wh_rsp_whGlobal {
	struct wh_rsp hdr;
	uint64_t addr;
	uint64_t size;
	uint32_t managed;
	uint32_t resv;
};

#define WH_MANAGED_IN		0	/* from the buffer to the variables */
#define WH_MANAGED_OUT		1
#define WH_MANAGED_PIECES	1024
/* A part of one variable that whGlobal has named. */
struct wh_managed_piece {
	uint64_t addr;
	uint32_t size;
	uint32_t at;		/* offset in the buffer */
};
/*
 * Behind it: the pieces. It returns when all are copied. It does not wait for other work of the
 * device.
 */
struct wh_req_whManaged {
	struct wh_req hdr;
	uint64_t buffer;	/* in the data area */
	uint64_t size;
	uint32_t op;		/* WH_MANAGED_* */
	uint32_t pieces;
};
/* CUDA_ERROR_NOT_FOUND: that piece is in no variable, or its owner is gone. */
struct wh_rsp_whManaged {
	struct wh_rsp hdr;
	uint32_t piece;
	uint32_t resv;
};

/* --- Launch ------------------------------------------------------------------- */

/* The struct is padded, since the worker appends parameters one by one. */
struct wh_param {
	uint32_t offset;
	uint32_t size;
	uint32_t resv[2];
};
struct wh_req_whParamLayout {
	struct wh_req hdr;
	uint64_t function;
};
/* Behind it: struct wh_param for each parameter. */
struct wh_rsp_whParamLayout {
	struct wh_rsp hdr;
	uint32_t count;
	uint32_t total;		/* bytes of all parameters */
};

#define WH_MAX_LAUNCH_ATTRS	32
#define WH_MAX_PARAM_BYTES	32768
/*
 * Behind it: attributes, parameter bytes. The two cluster occupancy calls use it, too. From
 * `grid` on it has the layout of CUlaunchConfig, which the worker makes of its copy in place.
 */
struct wh_req_whLaunch {
	struct wh_req hdr;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared;
	uint32_t param_bytes;
	uint64_t stream;
	uint64_t function;
	uint32_t attrs;		/* number of CUlaunchAttribute */
	uint32_t resv;		/* 0 */
};
struct wh_rsp_cluster {
	struct wh_rsp hdr;
	int32_t value;
	int32_t resv;
};

/* --- Copies through staging, waits, host functions ------------------------------ */

#define WH_FENCES		16
#define WH_COPY_TO_DEVICE	0
#define WH_COPY_TO_HOST		1
#define WH_COPY_TO_ARRAY	2
#define WH_COPY_FROM_ARRAY	3
struct wh_req_whStageCopy {
	struct wh_req hdr;
	uint64_t stream;
	uint64_t device;	/* device address, or array handle */
	uint64_t offset;	/* in the array */
	uint64_t host;		/* in the data area */
	uint64_t size;
	uint32_t kind;		/* WH_COPY_* */
	uint32_t fence;		/* below WH_FENCES: signalled if the copy is done */
};

/* Copies a few bytes from the client's memory to the device. They follow, padded. */
#define WH_SMALL_BYTES		(32U << 10)
struct wh_req_whSmallIn {
	struct wh_req hdr;
	uint64_t device;
	uint64_t stream;	/* if the copy is asynchronous */
	uint32_t size;
	uint32_t async;
};

/*
 * An event. A client that knows a reserved handle gives it to the event, and need not wait for an
 * answer (client-stubs/cuda/event.c). Otherwise the answer has the handle, and behind it so many
 * more that are reserved for later.
 */
#define WH_EVENT_SPARES		1024
struct wh_req_whEventCreate {
	struct wh_req hdr;
	uint64_t flags;		/* CUevent_flags */
	uint64_t event;		/* a reserved handle; 0: none */
	uint32_t spares;	/* how many handles to reserve, at most WH_EVENT_SPARES */
	uint32_t resv;
};
/* Behind it: `spares` handles. */
struct wh_rsp_whEventCreate {
	struct wh_rsp hdr;
	uint64_t event;
	uint32_t spares;
	uint32_t resv;
};

#define WH_WAIT_STREAM		0
#define WH_WAIT_EVENT		1
#define WH_WAIT_CONTEXT		2
#define WH_WAIT_FENCE		3
struct wh_req_whWait {
	struct wh_req hdr;
	uint64_t handle;	/* or the fence's number */
	uint32_t kind;		/* WH_WAIT_* */
	uint32_t slice_us;	/* CUDA_ERROR_NOT_READY after that; 0: as long as it takes */
};

/*
 * A callback: 64 bytes of the data area. A thread of the worker that reaches it adds one to
 * `reached`, and stops until the client has raised `done` to the number that the thread got.
 * Many graphs may reach one callback at the same time.
 *
 * These are plain shared words: the client's dispatch thread polls them from another VM or
 * process. Callbacks are in aligned areas. The first cell of each area is a bell: its `reached`
 * changes whenever something happened to one of the area's callbacks.
 */
struct wh_callback {
	uint32_t reached;
	uint32_t done;
	int32_t status;		/* CUresult for cuStreamAddCallback */
	uint32_t gone;		/* nothing in the worker refers to it any more */
	uint32_t resv[12];
};
#define WH_CALLBACK_AREA	65536
struct wh_req_whHostFunc {
	struct wh_req hdr;
	uint64_t stream;
	uint64_t callback;	/* address, 64-byte aligned */
	uint32_t with_status;	/* cuStreamAddCallback rather than cuLaunchHostFunc */
	uint32_t resv;
};

/* --- Pinned memory besides the data area --------------------------------------------- */

/*
 * The program's own memory has pages of the far area in its place. Registrations may share pages,
 * so these are mapped at the program's addresses first, and then the very bytes are registered.
 */
#define WH_HOST_PIN		0	/* registers far pages, or bytes of the client's */
#define WH_HOST_ALIAS		1	/* maps pages of it at the client's address `at`, too */
#define WH_HOST_UNPIN		2	/* ends the registration that starts at addr, or a KEEP */
#define WH_HOST_UNALIAS		3	/* ends the mapping of some pages of one ALIAS */
/* A block of cuMemCreate(): first it counts and nothing more, then it lies in a reservation. */
#define WH_HOST_KEEP		4	/* [addr, addr + size), not for the device */
#define WH_HOST_PLACE		5	/* a kept block, for the device, at reserved addresses */
#define WH_HOST_BACK		6	/* a placed block is only kept again */
/* Maps a file that the client has lent (shm.h): `flags` is its number, `addr` the place in it. */
#define WH_HOST_FILE		7
#define WH_MAX_HOST_BLOCKS	65536
struct wh_req_whHostBlock {
	struct wh_req hdr;
	uint64_t addr;
	uint64_t size;
	uint64_t at;		/* in one process: addr, which is the client's own */
	uint32_t op;		/* WH_HOST_* */
	uint32_t flags;		/* CU_MEMHOSTREGISTER_READ_ONLY */
};

/* --- Graph nodes -------------------------------------------------------------------- */

#define WH_NODE_ADD	0	/* adds to `graph` */
#define WH_NODE_SET	1
#define WH_NODE_EXEC	2	/* in the executable graph `graph` */
#define WH_NODE_CAPTURE	3	/* adds to the graph that the stream `graph` captures */
/*
 * Behind it: dependencies, edge data if any, then what the parameters point to: a kernel's
 * parameter bytes, access descriptors, memory operations. In `params` pointers are NULL and
 * handles are the client's. A host node has its callback in userData.
 *
 * A copy with a callback has pageable memory on one side. Its node is a graph of two nodes: the
 * copy, and a callback by which the client copies its part.
 */
struct wh_req_whGraphNode {
	struct wh_req hdr;
	uint32_t op;
	uint32_t edges;		/* edge data follows the dependencies */
	uint64_t graph;
	uint64_t node;
	uint64_t dependencies;
	uint64_t bytes;
	uint64_t callback;
	uint64_t resv;
	CUgraphNodeParams params;
};
/* A conditional node has at most so many body graphs. */
#define WH_MAX_BODIES	1024

/* Behind it: body graphs of a conditional node. */
struct wh_rsp_whGraphNode {
	struct wh_rsp hdr;
	uint64_t node;
	uint64_t value;		/* address of an allocation, or the child's handle */
	uint32_t graphs;
	uint32_t kept;		/* the callback's `gone` will be set one day */
};
struct wh_req_whGraphNodeGet {
	struct wh_req hdr;
	uint64_t node;
	uint32_t type;		/* CUgraphNodeType */
	uint32_t resv;
};
/* Behind it: struct wh_param for each kernel parameter, then `bytes` as above. */
struct wh_rsp_whGraphNodeGet {
	struct wh_rsp hdr;
	uint64_t callback;	/* of a host node, or of a copy with pageable memory */
	uint32_t count;
	uint32_t bytes;
	uint64_t resv;
	CUgraphNodeParams params;
};
struct wh_req_node_type {
	struct wh_req hdr;
	uint64_t node;
};
struct wh_rsp_node_type {
	struct wh_rsp hdr;
	uint32_t type;
	uint32_t resv;
};
/*
 * A request of cuGraphInstantiateWithParams and cuGraphExecUpdate_v2. Answers also come with
 * errors.
 */
struct wh_req_instantiate {
	struct wh_req hdr;
	uint64_t graph;
	uint64_t exec;		/* the graph to update */
	uint64_t flags;
	uint64_t stream;
};
struct wh_rsp_instantiate {
	struct wh_rsp hdr;
	uint64_t exec;
	uint64_t node;		/* the node that the error is about */
	uint64_t from;
	uint32_t result;	/* CUgraphInstantiateResult or CUgraphExecUpdateResult */
	uint32_t resv;
};
struct wh_req_user_object {
	struct wh_req hdr;
	uint64_t callback;
	uint32_t refs;
	uint32_t flags;
};
struct wh_rsp_user_object {
	struct wh_rsp hdr;
	uint64_t object;
};
/* cuGraphDebugDotPrint: offset 0 prints. Each call copies one piece to addr. */
struct wh_req_dot {
	struct wh_req hdr;
	uint64_t graph;
	uint64_t offset;
	uint64_t addr;
	uint64_t size;
	uint32_t flags;
	uint32_t resv;
};
struct wh_rsp_dot {
	struct wh_rsp hdr;
	uint64_t total;
	uint64_t copied;
};

/* --- The driver's prints. Behind the response: text for stdout, text for stderr. -------- */

struct wh_rsp_whOutput {
	struct wh_rsp hdr;
	uint32_t out;
	uint32_t err;
};

/* --- Questions whose answer has no fixed shape ------------------------------------ */

/*
 * Returns the bytes that an attribute of a pointer has in the program's memory, by cuda.h. 0: it
 * is not served, since it might be a handle or an address.
 */
static inline uint32_t wh_pointer_attribute_bytes(CUpointer_attribute a)
{
	switch (a) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return sizeof(uint32_t);
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return sizeof(uint8_t);	/* a bool */
	/* Handles, which are translated; addresses of the client; sizes and numbers. */
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return sizeof(uint64_t);
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:	/* holds addresses of the server's kernel driver */
		break;
	}
	return 0;
}

struct wh_req_cuPointerGetAttribute {
	struct wh_req hdr;
	uint64_t ptr;
	uint32_t attribute;
	uint32_t resv;
};
#define WH_POINTER_ATTRIBUTE_MAX 64
struct wh_rsp_cuPointerGetAttribute {
	struct wh_rsp hdr;
	uint32_t bytes;		/* how many bytes of `value` count */
	uint32_t resv;
	uint8_t value[WH_POINTER_ATTRIBUTE_MAX];
};

/* A request of cuStreamGetCaptureInfo_v2 and _v3. */
struct wh_req_capture_info {
	struct wh_req hdr;
	uint64_t stream;
	uint64_t edges;		/* edge data wanted */
};
/* Behind it: dependencies (handles), then edge data if wanted. */
struct wh_rsp_capture_info {
	struct wh_rsp hdr;
	uint64_t id;
	uint64_t graph;
	uint64_t dependencies;
	uint32_t status;
	uint32_t edges;		/* edge data follows */
};

/* --- Long requests to libraries -------------------------------------------------------- */

/*
 * Replaces a request to a library if it is longer than a message area, or if its response is:
 * both lie in `room` bytes of the data area or the far area. It has the head of that request.
 * The answer is a CUresult: it says whether the call reached the worker's library at all.
 */
struct wh_req_long {
	struct wh_req hdr;
	uint64_t at;
	uint64_t size;		/* bytes of the request */
	uint64_t room;
};
#define WH_LONG_MOST	(1UL << 30)	/* bytes of room: the worker makes two copies */

#endif
