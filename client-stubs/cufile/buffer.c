// SPDX-License-Identifier: Apache-2.0
/*
 * Registered buffers, and what kind of memory a buffer is. In compatibility mode a registration
 * pins nothing. It is kept, since later calls are checked against it.
 */
#include "cufile_stub.h"

struct buffer {
	struct buffer *next;
	const void *base;
	size_t length;
};

static struct buffer *buffers;	/* wh_cufile_lock guards them */
static size_t registered;	/* bytes of all */

WH_IN_CHILD(buffers = NULL; registered = 0)

static struct buffer **place_of(const void *base)
{
	struct buffer **at;

	for (at = &buffers; *at; at = &(*at)->next)
		if ((*at)->base == base)
			return at;
	return NULL;
}

static bool is_device(const uint8_t *p)
{
	unsigned int type = 0;

	/* What CUDA does not know is the host's, as all is before the first call of CUDA. */
	return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)p) ==
	       CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

/* Managed memory counts as the device's: only the driver's copies know where its bytes are. */
static bool is_managed(const uint8_t *p)
{
	unsigned int managed = 0;

	return cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, (CUdeviceptr)p) ==
	       CUDA_SUCCESS && managed;
}

CUfileOpError wh_buffer_kind(const uint8_t *mem, size_t size, bool *on_device)
{
	*on_device = is_device(mem) || is_managed(mem);
	if (!*on_device || !size)
		return CU_FILE_SUCCESS;
	return is_device(mem + size - 1) || is_managed(mem + size - 1) ?
	       CU_FILE_SUCCESS : CU_FILE_CUDA_POINTER_RANGE_ERROR;
}

/* The caller holds the lock. */
static CUfileOpError add(struct buffer *b)
{
	size_t most = wh_cufile_size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB) * 1024;

	if (place_of(b->base))
		return CU_FILE_MEMORY_ALREADY_REGISTERED;
	if (registered > most || b->length > most - registered)
		return CU_FILE_GPU_MEMORY_PINNING_FAILED;
	registered += b->length;
	b->next = buffers;
	buffers = b;
	return CU_FILE_SUCCESS;
}

static CUfileOpError register_buffer(const void *base, size_t length)
{
	struct buffer *b;
	CUfileOpError err;
	bool on_device;

	err = wh_buffer_kind(base, length, &on_device);
	if (err)
		return err;
	b = malloc(sizeof(*b));
	if (!b)
		return CU_FILE_NOMEM_ERROR;
	*b = (struct buffer) { .base = base, .length = length };
	pthread_mutex_lock(&wh_cufile_lock);
	err = add(b);
	pthread_mutex_unlock(&wh_cufile_lock);
	if (err)
		free(b);
	return err;
}

/*
 * Memory may be the device's or the host's. The sum of what is registered is bounded
 * (cuFileDriverSetMaxPinnedMemSize). There is no RDMA here, so that its flags are refused.
 */
CUfileError_t cuFileBufRegister(const void *bufPtr_base, size_t length, int flags)
{
	CUfileOpError err;

	if (!bufPtr_base || !length || length > PTRDIFF_MAX ||
	    flags & ~(CU_FILE_RDMA_REGISTER | CU_FILE_RDMA_RELAXED_ORDERING))
		return wh_cufile_error(CU_FILE_INVALID_VALUE);
	if (flags) {
		wh_refuse("cuFileBufRegister for RDMA");
		return REFUSED;
	}
	err = wh_cufile_enter();
	if (err)
		return wh_cufile_error(err);
	err = register_buffer(bufPtr_base, length);
	wh_cufile_leave();
	return wh_cufile_error(err);
}

CUfileError_t cuFileBufDeregister(const void *bufPtr_base)
{
	struct buffer **at, *gone = NULL;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of(bufPtr_base);
	if (at) {
		gone = *at;
		*at = gone->next;
		registered -= gone->length;
	}
	pthread_mutex_unlock(&wh_cufile_lock);
	free(gone);
	return wh_cufile_error(gone ? CU_FILE_SUCCESS : CU_FILE_INVALID_VALUE);
}

void wh_buffers_end(void)
{
	struct buffer *b;

	while (buffers) {
		b = buffers;
		buffers = b->next;
		free(b);
	}
	registered = 0;
}

bool wh_buffer_exceeded(const void *base, off_t offset, size_t size)
{
	struct buffer **at;
	bool exceeded = false;

	pthread_mutex_lock(&wh_cufile_lock);
	at = place_of(base);
	if (at)
		exceeded = (size_t)offset > (*at)->length || size > (*at)->length - offset;
	pthread_mutex_unlock(&wh_cufile_lock);
	return exceeded;
}
