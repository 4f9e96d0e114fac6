/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that kernels for Hopper run as nvcc compiles them (hopper.cu): a product of
 * matrices by tensor maps, mbarriers and wgmma, and copies by cuda::barrier.
 */
#include "harness.h"
#include "../../softgpu/exec/tensormap.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The tile of a block, and the depth of a stage, as in hopper.cu. */
#define TILE_M	64
#define TILE_N	128
#define STAGE_K	64
#define STAGE	((TILE_M + TILE_N) * STAGE_K * 2)

static struct ptx_module *mod;

/* A map of rows of f16. */
static struct exec_tensormap map_of(const void *p, uint32_t rows, uint32_t columns,
				    uint32_t box_rows, uint32_t box_columns, int swizzle)
{
	return (struct exec_tensormap){
		.magic = TENSORMAP_MAGIC, .address = (uintptr_t)p, .stride = { columns * 2 },
		.last = { columns - 1, rows - 1 }, .box = { box_columns, box_rows },
		.step = { 1, 1 }, .rank = 2, .bytes = 2, .swizzle = swizzle,
	};
}

/* f16 of small whole numbers, and back. */
static uint16_t f16_of(int v)
{
	int e = 0;

	if (!v)
		return 0;
	while (abs(v) >> (e + 1))
		e++;
	return (v < 0) << 15 | (e + 15) << 10 | (abs(v) << (10 - e) & 0x3ff);
}

static double value(uint16_t h)
{
	int e = h >> 10 & 31, f = h & 0x3ff;
	double v = e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);

	return h >> 15 ? -v : v;
}

static void small(uint16_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = f16_of((int)(rnd() % 7) - 3);
}

/* C = A B for A of m rows, B of n columns that are stored as rows, and their whole depth k. */
static bool product_is_right(uint32_t m, uint32_t n, uint32_t k, const uint16_t *a,
			     const uint16_t *b, const uint16_t *c)
{
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t j = 0; j < n; j++) {
			double sum = 0;

			for (uint32_t x = 0; x < k; x++)
				sum += value(a[i * k + x]) * value(b[j * k + x]);
			if (value(c[i * n + j]) == sum)
				continue;
			diag("row %u column %u: %g, not %g", i, j, value(c[i * n + j]), sum);
			return false;
		}
	return true;
}

static bool gemm(uint32_t m, uint32_t n, uint32_t k)
{
	uint32_t stages = (k + STAGE_K - 1) / STAGE_K, size = 3 * STAGE;
	uint16_t *a = dev_alloc(m * k * 2), *b = dev_alloc(n * k * 2), *c = dev_alloc(m * n * 2);
	struct exec_machine *machine = exec_new();
	struct {
		struct exec_tensormap a, b, c;
		int stages;
	} params = {
		map_of(a, m, k, TILE_M, STAGE_K, 3), map_of(b, n, k, TILE_N, STAGE_K, 3),
		map_of(c, m, n, TILE_M, TILE_N, 0), stages,
	};
	struct exec_launch l = {
		.fn = ptx_find_entry(mod, "gemm"), .params = &params, .mem = &dev_mem,
		.grid = { (n + TILE_N - 1) / TILE_N, (m + TILE_M - 1) / TILE_M, 1 },
		.block = { 256, 1, 1 }, .dyn_shared = size,
	};
	bool good;

	small(a, m * k);
	small(b, n * k);
	good = exec_run(machine, &l, &fault) == EXEC_OK;
	if (!good)
		diag("%s", fault.msg);
	good = good && product_is_right(m, n, k, a, b, c);
	exec_free(machine);
	dev_free(a);
	dev_free(b);
	dev_free(c);
	return good;
}

static bool neighbours(void)
{
	float *in = dev_alloc(4096), *out = dev_alloc(4096);
	const uint64_t args[] = { (uintptr_t)out, (uintptr_t)in };
	bool good;

	for (int i = 0; i < 1024; i++)
		in[i] = rnd() % 1000;
	good = launch(mod, "neighbours", 1, 256, 0, args, 2) == EXEC_OK;
	for (int i = 0; good && i < 1024; i++)
		good = out[i] == in[i] + in[i / 256 * 256 + (i + 1) % 256];
	dev_free(in);
	dev_free(out);
	return good;
}

int main(int argc, char **argv)
{
	char path[512], *text, name[128];

	(void)argc;
	snprintf(path, sizeof(path), "%s", argv[0]);
	*(strrchr(path, '/') ? strrchr(path, '/') + 1 : path) = 0;
	strncat(path, "cuda/hopper.ptx", sizeof(path) - strlen(path) - 1);
	if (access(path, R_OK)) {
		printf("1..0 # SKIP no nvcc when this was built\n");
		return 0;
	}
	seed_init();
	for (int isa = 0; isa < 2; isa++) {
		const char *set = isa ? "_with_AVX2" : "";

		if (!ptx_force_isa(isa))
			continue;
		text = slurp(path);
		mod = text ? load(text) : NULL;
		if (!mod)
			diag("%s: %s", path, text ? load_log : "cannot read");
		snprintf(name, sizeof(name), "kernels_for_sm_90a_load%s", set);
		ok(mod != NULL, name);
		snprintf(name, sizeof(name), "a_product_of_whole_tiles_is_exact%s", set);
		ok(mod && gemm(128, 256, 320), name);
		snprintf(name, sizeof(name), "a_product_whose_last_tiles_are_partial_is_exact%s", set);
		ok(mod && gemm(72, 136, 200), name);
		snprintf(name, sizeof(name), "cuda_barrier_waits_for_bulk_copies%s", set);
		ok(mod && neighbours(), name);
		ptx_unload(mod);
		free(text);
	}
	return tap_exit();
}
