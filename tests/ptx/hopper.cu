// SPDX-License-Identifier: Apache-2.0
/*
 * Kernels in the style that people write for Hopper, for tests/ptx/hopper_test.c: a product of
 * matrices with a producer and a consumer warpgroup, and copies by cuda::barrier.
 */
#include <cuda/barrier>
#include <cuda_fp16.h>
#include <stdint.h>

struct alignas(64) tensor_map {
	uint64_t opaque[16];
};

#define M	64
#define N	128
#define K	64	/* of one stage: 128 bytes, the width of the swizzle */
#define STAGES	3
#define A_BYTES	(M * K * 2)
#define B_BYTES	(N * K * 2)
#define STAGE	(A_BYTES + B_BYTES)

static __device__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ void bar_init(uint64_t *bar, int count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(bar)), "r"(count));
}

static __device__ void bar_expect(uint64_t *bar, int bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;"
		     :: "r"(shared_address(bar)), "r"(bytes) : "memory");
}

static __device__ void bar_arrive(uint64_t *bar)
{
	asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];"
		     :: "r"(shared_address(bar)) : "memory");
}

static __device__ void bar_wait(uint64_t *bar, int parity)
{
	asm volatile("{\n.reg .pred done;\nWAIT:\n"
		     "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
		     "@!done bra WAIT;\n}" :: "r"(shared_address(bar)), "r"(parity) : "memory");
}

static __device__ void load_box(void *to, const tensor_map *map, int x, int y, uint64_t *bar)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
		     "[%0], [%1, {%2, %3}], [%4];"
		     :: "r"(shared_address(to)), "l"(map), "r"(x), "r"(y), "r"(shared_address(bar))
		     : "memory");
}

/* 128 bytes of swizzle, K-major: eight rows of 128 bytes are a core. */
static __device__ uint64_t descriptor(const void *p)
{
	return (shared_address(p) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

#define D4(i)	"+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D16(i)	D4(i), D4(i + 4), D4(i + 8), D4(i + 12)

static __device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int keep)
{
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
		     "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
		     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
		     "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
		     "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
		     "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63},"
		     "%64, %65, p, 1, 1, 0, 0;\n}"
		     : D16(0), D16(16), D16(32), D16(48) : "l"(a), "l"(b), "r"(keep));
}

static __device__ void produce(char *tiles, const tensor_map *a, const tensor_map *b, int stages,
			       uint64_t *full, uint64_t *empty)
{
	for (int s = 0; s < stages; s++) {
		char *tile = tiles + s % STAGES * STAGE;

		bar_wait(&empty[s % STAGES], s / STAGES % 2 ^ 1);
		bar_expect(&full[s % STAGES], STAGE);
		load_box(tile, a, s * K, blockIdx.y * M, &full[s % STAGES]);
		load_box(tile + A_BYTES, b, s * K, blockIdx.x * N, &full[s % STAGES]);
	}
}

static __device__ void consume(char *tiles, float (&d)[64], int stages, uint64_t *full,
			       uint64_t *empty)
{
	for (int s = 0; s < stages; s++) {
		char *tile = tiles + s % STAGES * STAGE;

		bar_wait(&full[s % STAGES], s / STAGES % 2);
		asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
		for (int k = 0; k < K / 16; k++)
			multiply(d, descriptor(tile + 32 * k), descriptor(tile + A_BYTES + 32 * k),
				 s || k);
		asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
		asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
		if (threadIdx.x % 32 == 0)
			bar_arrive(&empty[s % STAGES]);
	}
}

/* Makes f16 of the sums, puts them into a tile of 64 by 128 and copies that by the map of C. */
static __device__ void finish(char *tile, const float (&d)[64], const tensor_map *c)
{
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
	char *row = tile + (warp * 16 + lane % 16) * N * 2 + lane / 16 * 16;

	for (int n = 0; n < N / 16; n++) {
		uint32_t v[4];

		for (int i = 0; i < 4; i++) {
			__half2 h = __floats2half2_rn(d[n * 8 + 2 * i], d[n * 8 + 2 * i + 1]);

			v[i] = *(uint32_t *)&h;
		}
		asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
			     :: "r"(shared_address(row + 32 * n)), "r"(v[0]), "r"(v[1]), "r"(v[2]),
			     "r"(v[3]) : "memory");
	}
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	asm volatile("bar.sync 1, 128;" ::: "memory");
	if (threadIdx.x % 128 == 0) {
		asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
			     "[%0, {%1, %2}], [%3];"
			     :: "l"(c), "r"(blockIdx.x * N), "r"(blockIdx.y * M),
			     "r"(shared_address(tile)) : "memory");
		asm volatile("cp.async.bulk.commit_group;" ::: "memory");
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
	}
}

extern "C" __global__ void __launch_bounds__(256)
gemm(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b,
     const __grid_constant__ tensor_map c, int stages)
{
	extern __shared__ __align__(1024) char tiles[];
	__shared__ uint64_t full[STAGES], empty[STAGES];
	float d[64];

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			bar_init(&full[i], 1);
			bar_init(&empty[i], 4);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		asm volatile("prefetch.tensormap [%0];" :: "l"(&a) : "memory");
	}
	__syncthreads();
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			produce(tiles, &a, &b, stages, full, empty);
	} else {
		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		consume(tiles, d, stages, full, empty);
		finish(tiles, d, &c);
	}
}

/* Each thread adds two neighbours of what a bulk copy of the block has brought. */
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void neighbours(float *out, const float *in)
{
	__shared__ alignas(16) float tile[256];
	__shared__ cuda::barrier<cuda::thread_scope_block> bar;
	int t = threadIdx.x;

	if (t == 0)
		init(&bar, blockDim.x);
	__syncthreads();
	for (int i = 0; i < 4; i++) {
		if (t == 0)
			cuda::memcpy_async(tile, in + 256 * i,
					   cuda::aligned_size_t<16>(sizeof(tile)), bar);
		bar.arrive_and_wait();
		out[256 * i + t] = tile[t] + tile[(t + 1) % 256];
		__syncthreads();
	}
}
