// SPDX-License-Identifier: Apache-2.0
/*
 * Handles, device grids and matrix descriptors of cuSOLVERMg. The worker has the genuine ones. Here
 * is kept how many devices each has, since the program's arrays are as long.
 */
#include "cusolvermg_stub.h"

/* Each kind has a word of its own, so that a grid is no descriptor. */
#define ALIVE(kind)	(0x77684d6700000000ULL | (kind))

static struct wh_handles objects = WH_HANDLES(struct wh_mg);
WH_IN_CHILD(pthread_mutex_init(&objects.lock, NULL))

struct wh_mg *wh_mg_find(const void *object, enum wh_mg_kind kind)
{
	struct wh_mg *o = (struct wh_mg *)object;

	return o && o->h.alive == ALIVE(kind) ? o : NULL;
}

/*
 * Writes the worker's numbers of the program's devices. Refuses what stands for the CPU: its memory
 * is the program's own.
 */
static cusolverStatus_t put_devices(struct wh_call *c, const int *devices, uint32_t count)
{
	int32_t real[WH_MG_DEVICES];
	uint32_t i;

	for (i = 0; i < count; i++) {
		if (devices[i] == -1)
			return wh_cusolvermg_refuse("cuSOLVERMg with the CPU among its devices");
		real[i] = wh_library_device(devices[i]);
	}
	wh_request_put(c, real, count, sizeof(*real));
	return CUSOLVER_STATUS_SUCCESS;
}

/* --- Making and ending ----------------------------------------------------------------- */

/* `q` has all but the head; the devices of a grid follow it. */
static cusolverStatus_t make(const struct wh_req_whMgMake *from, const int *devices,
			     uint32_t count, struct wh_mg *o)
{
	size_t size = WH_WIRE_FIXED(*from) + wh_wire_bytes(from->devices, sizeof(int32_t));
	cusolverStatus_t res = CUSOLVER_STATUS_SUCCESS;
	const struct wh_rsp_whMgMake *r;
	struct wh_req_whMgMake *q;
	struct wh_call c;

	q = wh_cusolvermg_begin(&c, WH_CALL_whMgMake, size);
	if (!q)
		return wh_cusolvermg_lost(c.result);
	memcpy((uint8_t *)q + sizeof(q->hdr), (const uint8_t *)from + sizeof(q->hdr),
	       sizeof(*q) - sizeof(q->hdr));
	c.pos = WH_WIRE_FIXED(*q);
	res = put_devices(&c, devices, from->devices);
	if (res == CUSOLVER_STATUS_SUCCESS)
		res = wh_cusolvermg_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == CUSOLVER_STATUS_SUCCESS) {
		o->id = r->id;
		o->devices = count;
	}
	wh_end(&c);
	return res;
}

static cusolverStatus_t create(const struct wh_req_whMgMake *from, const int *devices,
			       uint32_t count, void **out)
{
	struct wh_mg *o = wh_handle_take(&objects);
	cusolverStatus_t res;

	if (!o)
		return CUSOLVER_STATUS_ALLOC_FAILED;
	res = make(from, devices, count, o);
	if (res != CUSOLVER_STATUS_SUCCESS) {
		wh_handle_put(&objects, &o->h);
		return res;
	}
	o->h.alive = ALIVE(from->kind);
	*out = o;
	return CUSOLVER_STATUS_SUCCESS;
}

static cusolverStatus_t end(const void *object, enum wh_mg_kind kind, cusolverStatus_t bad)
{
	struct wh_mg *o = wh_mg_find(object, kind);
	struct wh_req_whMgEnd *q;
	cusolverStatus_t res;
	struct wh_call c;

	if (!o)
		return bad;
	q = wh_cusolvermg_begin(&c, WH_CALL_whMgEnd, sizeof(*q));
	if (!q)
		return wh_cusolvermg_lost_end(c.result);
	q->id = o->id;
	q->kind = kind;
	res = wh_cusolvermg_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUSOLVER_STATUS_SUCCESS)
		wh_handle_put(&objects, &o->h);
	return res;
}

/* --- Handles --------------------------------------------------------------------------- */

cusolverStatus_t cusolverMgCreate(cusolverMgHandle_t *handle)
{
	const struct wh_req_whMgMake q = { .kind = WH_MG_HANDLE };

	return handle ? create(&q, NULL, 0, (void **)handle) : CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverMgDestroy(cusolverMgHandle_t handle)
{
	return end(handle, WH_MG_HANDLE, CUSOLVER_STATUS_NOT_INITIALIZED);
}

cusolverStatus_t cusolverMgDeviceSelect(cusolverMgHandle_t handle, int nbDevices, int deviceId[])
{
	struct wh_mg *o = wh_mg_find(handle, WH_MG_HANDLE);
	struct wh_req_whMgSelect *q;
	cusolverStatus_t res;
	struct wh_call c;

	if (!o)
		return CUSOLVER_STATUS_NOT_INITIALIZED;
	if (nbDevices < 1 || nbDevices > WH_MG_DEVICES || !deviceId)
		return CUSOLVER_STATUS_INVALID_VALUE;
	q = wh_cusolvermg_begin(&c, WH_CALL_whMgSelect,
				WH_WIRE_FIXED(*q) + wh_wire_bytes(nbDevices, sizeof(int32_t)));
	if (!q)
		return wh_cusolvermg_lost(c.result);
	q->handle = o->id;
	q->devices = nbDevices;
	c.pos = WH_WIRE_FIXED(*q);
	res = put_devices(&c, deviceId, nbDevices);
	if (res == CUSOLVER_STATUS_SUCCESS)
		res = wh_cusolvermg_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == CUSOLVER_STATUS_SUCCESS)
		o->devices = nbDevices;
	return res;
}

/* --- Grids and descriptors --------------------------------------------------------------- */

/* The genuine library distributes columns alone. */
cusolverStatus_t cusolverMgCreateDeviceGrid(cudaLibMgGrid_t *grid, int32_t numRowDevices,
					    int32_t numColDevices, const int32_t deviceId[],
					    cusolverMgGridMapping_t mapping)
{
	const struct wh_req_whMgMake q = {
		.kind = WH_MG_GRID, .devices = numColDevices, .rows = numRowDevices,
		.columns = numColDevices, .mapping = mapping,
	};

	if (numRowDevices > 1)
		return wh_cusolvermg_refuse("cusolverMgCreateDeviceGrid with rows of devices");
	if (!grid || !deviceId || numRowDevices != 1 || numColDevices < 1 ||
	    numColDevices > WH_MG_DEVICES)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return create(&q, deviceId, numColDevices, grid);
}

cusolverStatus_t cusolverMgDestroyGrid(cudaLibMgGrid_t grid)
{
	return end(grid, WH_MG_GRID, CUSOLVER_STATUS_INVALID_VALUE);
}

cusolverStatus_t cusolverMgCreateMatrixDesc(cudaLibMgMatrixDesc_t *desc, int64_t numRows,
					    int64_t numCols, int64_t rowBlockSize,
					    int64_t colBlockSize, cudaDataType dataType,
					    const cudaLibMgGrid_t grid)
{
	const struct wh_mg *g = wh_mg_find(grid, WH_MG_GRID);
	const struct wh_req_whMgMake q = {
		.kind = WH_MG_DESC, .rows = numRows, .columns = numCols, .row_block = rowBlockSize,
		.column_block = colBlockSize, .type = dataType, .grid = g ? g->id : 0,
	};

	if (!g || !desc)
		return CUSOLVER_STATUS_INVALID_VALUE;
	return create(&q, NULL, g->devices, desc);
}

cusolverStatus_t cusolverMgDestroyMatrixDesc(cudaLibMgMatrixDesc_t desc)
{
	return end(desc, WH_MG_DESC, CUSOLVER_STATUS_INVALID_VALUE);
}
