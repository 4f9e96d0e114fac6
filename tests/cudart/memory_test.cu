// SPDX-License-Identifier: Apache-2.0
// The test promises memory: allocation, copies of every kind and shape, fills, symbols, and what
// is known about a pointer. It needs nvcc and any CUDA device.
#include "common.h"

__device__ int counters[16];
__constant__ float weights[8];

__global__ void read_symbols(float *out)
{
	out[0] = counters[3];
	out[1] = weights[2];
}

static unsigned char host_a[4096], host_b[4096];

static void pattern(unsigned char *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(i * 7 + seed);
}

static void test_alloc(void)
{
	void *p = (void *)1, *q = NULL;
	size_t before, after, total;

	ok_err(cudaMalloc(&p, 0), cudaSuccess, "an_allocation_of_nothing_succeeds");
	ok(p == NULL, "an_allocation_of_nothing_gives_the_null_pointer");
	ok_err(cudaFree(NULL), cudaSuccess, "the_null_pointer_can_be_freed");
	ok_err(cudaMalloc(&p, (size_t)1 << 60), cudaErrorMemoryAllocation,
	       "too_large_an_allocation_fails");
	clear_error();
	NEED(cudaMemGetInfo(&before, &total));
	NEED(cudaMalloc(&p, 64 << 20));
	NEED(cudaMemGetInfo(&after, &total));
	ok(before - after >= 64 << 20 && total >= before,
	   "free_memory_shrinks_by_what_is_allocated");
	ok_err(cudaFree((char *)p + 256), cudaErrorInvalidValue,
	       "an_inner_pointer_cannot_be_freed");
	clear_error();
	NEED(cudaFree(p));
	ok_err(cudaFree(p), cudaErrorInvalidValue, "memory_cannot_be_freed_twice");
	clear_error();
	ok_err(cudaMalloc(NULL, 16), cudaErrorInvalidValue, "a_null_result_pointer_is_refused");
	clear_error();
	NEED(cudaMallocHost(&q, 8192));
	memset(q, 1, 8192);
	ok_err(cudaFreeHost(q), cudaSuccess, "pinned_memory_is_allocated_written_and_freed");
}

static void test_copies(void)
{
	unsigned char *d, *e;

	NEED(cudaMalloc(&d, 4096));
	NEED(cudaMalloc(&e, 4096));
	pattern(host_a, 4096, 1);
	NEED(cudaMemcpy(d, host_a, 4096, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy(e, d, 4096, cudaMemcpyDeviceToDevice));
	NEED(cudaMemcpy(host_b, e, 4096, cudaMemcpyDeviceToHost));
	ok(!memcmp(host_a, host_b, 4096), "bytes_survive_host_device_device_host");
	pattern(host_a, 4096, 2);
	NEED(cudaMemcpy(d + 3, host_a + 5, 1001, cudaMemcpyDefault));
	NEED(cudaMemcpy(host_b, d + 3, 1001, cudaMemcpyDefault));
	ok(!memcmp(host_a + 5, host_b, 1001), "the_default_kind_finds_its_direction");
	NEED(cudaMemcpy(host_b, host_a, 4096, cudaMemcpyHostToHost));
	ok(!memcmp(host_a, host_b, 4096), "host_to_host_copies_too");
	ok_err(cudaMemcpy(d, host_a, 16, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection,
	       "a_kind_that_does_not_exist_is_refused");
	clear_error();
	ok_err(cudaMemcpy(d, host_a, 0, cudaMemcpyHostToDevice), cudaSuccess,
	       "a_copy_of_nothing_succeeds");
	ok_err(cudaMemcpyPeer(e, 0, d, 0, 64), cudaSuccess,
	       "a_peer_copy_within_one_device_works");
	cudaMemcpy3DParms box = {};
	box.srcPtr = make_cudaPitchedPtr(host_a, 16, 16, 4);
	box.dstPtr = make_cudaPitchedPtr(d, 16, 16, 4);
	box.extent = make_cudaExtent(16, 4, 0);
	box.kind = cudaMemcpyDefault;
	ok(!cudaMemcpyAsync(d, host_a, 0, cudaMemcpyHostToDevice, 0) &&
	   !cudaMemcpyAsync(host_a, d, 0, cudaMemcpyDefault, 0) &&
	   !cudaMemcpyAsync(NULL, NULL, 0, cudaMemcpyDefault, 0) &&
	   !cudaMemcpy2D(d, 16, host_a, 16, 0, 4, cudaMemcpyHostToDevice) &&
	   !cudaMemcpy2DAsync(host_a, 16, d, 16, 16, 0, cudaMemcpyDeviceToHost, 0) &&
	   !cudaMemcpy3D(&box) && !cudaMemcpy3DAsync(&box, 0) &&
	   !cudaMemcpyToSymbolAsync(counters, host_a, 0, 0, cudaMemcpyHostToDevice, 0) &&
	   !cudaMemset(d, 1, 0) && !cudaMemsetAsync(d, 1, 0, 0) && !cudaMemset2D(d, 16, 1, 0, 4) &&
	   !cudaMemset3D(box.dstPtr, 1, box.extent), "nothing_is_copied_and_filled_in_every_form");
	NEED(cudaMemset(d, 0x5a, 1000));
	NEED(cudaMemcpy(host_b, d, 1001, cudaMemcpyDeviceToHost));
	ok(all_equal(host_b, 1000, 0x5a) && host_b[1000] != 0x5a, "a_fill_stops_at_its_end");
	NEED(cudaFree(d));
	NEED(cudaFree(e));
}

static void test_2d_3d(void)
{
	cudaMemcpy3DParms p = {};
	cudaPitchedPtr box;
	unsigned char *d;
	size_t pitch;
	int same = 1;

	NEED(cudaMallocPitch(&d, &pitch, 100, 10));
	pattern(host_a, 4096, 3);
	memset(host_b, 0, sizeof(host_b));
	NEED(cudaMemcpy2D(d, pitch, host_a, 120, 100, 10, cudaMemcpyHostToDevice));
	NEED(cudaMemcpy2D(host_b, 110, d, pitch, 100, 10, cudaMemcpyDeviceToHost));
	for (int y = 0; y < 10; y++)
		same &= !memcmp(host_a + 120 * y, host_b + 110 * y, 100) &&
			!host_b[110 * y + 100];
	ok(same && pitch >= 100 && pitch % 16 == 0, "two_dimensional_copies_keep_each_pitch");
	NEED(cudaMemset2D(d, pitch, 7, 50, 10));
	NEED(cudaMemcpy2D(host_b, 100, d, pitch, 100, 10, cudaMemcpyDeviceToHost));
	ok(all_equal(host_b + 900, 50, 7) && host_b[950] == host_a[120 * 9 + 50],
	   "a_rectangle_is_filled");
	ok_err(cudaMemcpy2D(d, 10, host_a, 120, 100, 10, cudaMemcpyHostToDevice),
	       cudaErrorInvalidPitchValue,
	       "a_row_wider_than_its_pitch_is_refused");
	clear_error();
	NEED(cudaFree(d));

	NEED(cudaMalloc3D(&box, make_cudaExtent(64, 4, 3)));
	p.srcPtr = make_cudaPitchedPtr(host_a, 64, 64, 4);
	p.dstPtr = box;
	p.extent = make_cudaExtent(64, 4, 3);
	p.kind = cudaMemcpyHostToDevice;
	NEED(cudaMemcpy3D(&p));
	p.srcPtr = box;
	p.dstPtr = make_cudaPitchedPtr(host_b, 64, 64, 4);
	p.kind = cudaMemcpyDeviceToHost;
	NEED(cudaMemcpy3D(&p));
	ok(!memcmp(host_a, host_b, 64 * 4 * 3), "a_box_survives_the_round_trip");
	NEED(cudaFree(box.ptr));
}

static void test_symbols(void)
{
	float w[8] = { 0, 0, 2.5f }, out[2], *d;
	int c[2] = { 40, 41 };
	void *addr;
	size_t size;

	NEED(cudaMalloc(&d, sizeof(out)));
	NEED(cudaMemcpyToSymbol(counters, c, sizeof(c), 2 * sizeof(int)));
	NEED(cudaMemcpyToSymbol(weights, w, sizeof(w)));
	read_symbols<<<1, 1>>>(d);
	NEED(cudaMemcpy(out, d, sizeof(out), cudaMemcpyDeviceToHost));
	ok(out[0] == 41 && out[1] == 2.5f, "copies_to_symbols_are_seen_by_a_kernel");
	memset(c, 0, sizeof(c));
	NEED(cudaMemcpyFromSymbol(c, counters, sizeof(c), 2 * sizeof(int)));
	ok(c[0] == 40 && c[1] == 41, "copies_from_symbols_return_the_value");
	NEED(cudaGetSymbolSize(&size, counters));
	NEED(cudaGetSymbolAddress(&addr, counters));
	ok(size == 64 && addr, "address_and_size_of_a_symbol_can_be_asked");
	ok_err(cudaMemcpyToSymbol(counters, host_a, 65), cudaErrorInvalidValue,
	       "a_copy_beyond_a_symbol_is_refused");
	ok_err(cudaGetSymbolAddress(&addr, host_a), cudaErrorInvalidSymbol,
	       "what_is_no_symbol_is_refused");
	clear_error();
	NEED(cudaFree(d));
}

static void test_pointers(void)
{
	cudaPointerAttributes a;
	void *d, *h, *m, *dev;

	NEED(cudaMalloc(&d, 4096));
	NEED(cudaMallocHost(&h, 4096));
	NEED(cudaMallocManaged(&m, 4096));
	NEED(cudaPointerGetAttributes(&a, (char *)d + 100));
	ok(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == (char *)d + 100,
	   "a_device_pointer_is_known");
	NEED(cudaPointerGetAttributes(&a, h));
	ok(a.type == cudaMemoryTypeHost && a.hostPointer == h, "a_pinned_pointer_is_known");
	NEED(cudaPointerGetAttributes(&a, m));
	ok(a.type == cudaMemoryTypeManaged, "a_managed_pointer_is_known");
	ok_err(cudaPointerGetAttributes(&a, host_a), cudaSuccess,
	       "asking_about_an_unknown_pointer_succeeds");
	ok(a.type == cudaMemoryTypeUnregistered && a.hostPointer == host_a && !a.devicePointer,
	   "an_unknown_pointer_is_unregistered");
	NEED(cudaHostGetDevicePointer(&dev, h, 0));
	ok(dev != NULL, "pinned_memory_has_a_device_address");
	memset(m, 3, 4096);
	NEED(cudaMemcpy(host_b, m, 4096, cudaMemcpyDefault));
	ok(all_equal(host_b, 4096, 3), "managed_memory_is_copied_by_default_kind");
	NEED(cudaFree(d));
	NEED(cudaFreeHost(h));
	NEED(cudaFree(m));
}

static void test_async_alloc(void)
{
	int pools = 0;
	void *p = NULL;

	NEED(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0));
	if (!pools)
		return skip("stream_ordered_memory_is_usable", "the device has no memory pools");
	NEED(cudaMallocAsync(&p, 4096, 0));
	NEED(cudaMemsetAsync(p, 9, 4096, 0));
	NEED(cudaMemcpyAsync(host_b, p, 4096, cudaMemcpyDeviceToHost, 0));
	NEED(cudaFreeAsync(p, 0));
	NEED(cudaStreamSynchronize(0));
	ok(all_equal(host_b, 4096, 9), "stream_ordered_memory_is_usable");
}

int main()
{
	tap_plan(34);
	test_alloc();
	test_copies();
	test_2d_3d();
	test_symbols();
	test_pointers();
	test_async_alloc();
	return tap_exit();
}
