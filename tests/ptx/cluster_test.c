/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that the blocks of a cluster are present together, that they reach each
 * other's shared memory and nothing beyond it, and that the cluster's barrier waits for all
 * threads that have not exited. Kernels of nvcc (clusters.cu) run where there is one.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define P(x)	((uintptr_t)(x))
#define ARGS(...) (const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define SHAPE(x, y, z) (const uint32_t[3]){ x, y, z }

static struct ptx_module *mod;

/* Launches a grid of lines: @grid blocks in clusters of @cluster (0: the launch gives none). */
static enum exec_status run(const char *kernel, uint32_t grid, uint32_t block, uint32_t cluster,
			    const uint64_t *args, uint32_t n)
{
	return launch_cluster(mod, kernel, SHAPE(grid, 1, 1), SHAPE(block, 1, 1),
			      SHAPE(cluster, !!cluster, !!cluster), 4096, args, n);
}

/* ---- kernels of nvcc ---- */

static void histogram(void)
{
	enum { N = 5000, EACH = 37 };
	int *bins = dev_alloc(8 * EACH), *in = dev_alloc(4 * N), want[2 * EACH] = { 0 };
	bool good;

	for (int i = 0; i < N; i++)
		want[in[i] = rnd() % (2 * EACH)]++;
	good = run("histogram", 6, 96, 0, ARGS(P(bins), P(in), N, EACH)) == EXEC_OK;
	ok(good && !memcmp(bins, want, sizeof(want)), "blocks_count_into_each_others_bins");
	memset(bins, 0, 8 * EACH);
	good = run("histogram", 6, 96, 2, ARGS(P(bins), P(in), N, EACH)) == EXEC_OK;
	ok(good && !memcmp(bins, want, sizeof(want)), "the_shape_of_the_kernel_may_be_repeated");
	ok(run("histogram", 8, 96, 4, ARGS(P(bins), P(in), N, EACH)) == EXEC_BAD_LAUNCH &&
	   run("histogram", 5, 96, 0, ARGS(P(bins), P(in), N, EACH)) == EXEC_BAD_LAUNCH,
	   "another_shape_and_half_a_cluster_are_refused");
	dev_free(bins);
	dev_free(in);
}

static bool place_is(const uint32_t *v, const uint32_t g[3], const uint32_t c[3], uint32_t b)
{
	uint32_t at[3] = { b % g[0], b / g[0] % g[1], b / g[0] / g[1] }, rank;
	bool good = true;

	rank = at[0] % c[0] + c[0] * (at[1] % c[1] + c[1] * (at[2] % c[2]));
	for (int i = 0; i < 3; i++)
		good &= v[i] == at[i] / c[i] && v[3 + i] == g[i] / c[i] &&
			v[6 + i] == at[i] % c[i] && v[9 + i] == c[i];
	return good && v[12] == rank && v[13] == c[0] * c[1] * c[2];
}

static void places(void)
{
	static const uint32_t g[3] = { 4, 6, 2 }, c[3] = { 2, 3, 2 }, one[3] = { 1, 1, 1 };
	uint32_t *out = dev_alloc(48 * 64);
	bool good = launch_cluster(mod, "places", g, one, c, 0, ARGS(P(out))) == EXEC_OK;

	for (uint32_t b = 0; good && b < 48; b++)
		good = place_is(out + 16 * b, g, c, b) && out[16 * b + 14] == 1 &&
		       out[16 * b + 15] == out[16 * b + 12];
	ok(good, "registers_tell_the_place_in_three_dimensions");
	good = launch3(mod, "places", g, one, 0, ARGS(P(out)), false) == EXEC_OK;
	for (uint32_t b = 0; good && b < 48; b++)
		good = place_is(out + 16 * b, g, one, b) && out[16 * b + 14] == 0;
	ok(good, "without_a_shape_each_block_is_an_implicit_cluster");
	good = launch_cluster(mod, "places", g, one, one, 0, ARGS(P(out))) == EXEC_OK;
	ok(good && out[14] == 1, "a_cluster_of_one_block_is_explicit_if_given");
	dev_free(out);
}

static void ring(void)
{
	enum { BLOCKS = 48, ROUNDS = 21 };
	int *out = dev_alloc(BLOCKS * 128);
	bool good = true;

	for (int size = 16; size; size /= 2) {
		good &= run("ring", BLOCKS, 32, size, ARGS(P(out), ROUNDS)) == EXEC_OK;
		for (int i = 0; i < BLOCKS * 32; i++) {
			int b = i / 32, r = b % size;
			int from = b - r + (r + ROUNDS * (size - 1)) % size;

			good &= out[i] == from * 100 + i % 32;
		}
	}
	ok(good, "stores_to_the_next_block_are_seen_behind_the_barrier");
	dev_free(out);
}

static void pointers(void)
{
	int *out = dev_alloc(6 * 16);
	bool good = run("pointers", 6, 64, 2, ARGS(P(out))) == EXEC_OK;

	for (int b = 0; good && b < 6; b++)
		good = out[4 * b] == (b ^ 1) + 70 && out[4 * b + 1] == ((b & 1) ^ 1) &&
		       out[4 * b + 2] == 1 && out[4 * b + 3] == 10;
	ok(good, "a_generic_address_names_the_block_that_made_it");
	dev_free(out);
}

static void sums(void)
{
	float *out = dev_alloc(4 * 3);
	bool good = run("sums", 24, 40, 8, ARGS(P(out))) == EXEC_OK;

	ok(good && out[0] == 720 && out[1] == 720 && out[2] == 720,
	   "atomics_of_all_blocks_add_up_in_one");
	dev_free(out);
}

static void of_nvcc(const char *argv0)
{
	const char *end = strrchr(argv0, '/');
	char path[512], *text;

	snprintf(path, sizeof(path), "%.*scuda/clusters.ptx",
		 end ? (int)(end - argv0) + 1 : 0, argv0);
	text = slurp(path);
	if (!text) {
		diag("no nvcc when this was built: its kernels are left out");
		return;
	}
	for (int isa = 0; isa < 2; isa++) {
		if (!ptx_force_isa(isa))
			continue;
		diag("handlers of set %d", isa);
		mod = load(text);
		if (!ok(mod != NULL, "the_kernels_of_nvcc_load"))
			diag("%s", load_log);
		if (!mod)
			break;
		histogram();
		places();
		ring();
		pointers();
		sums();
		ptx_unload(mod);
	}
	free(text);
}

/* ---- single instructions ---- */

/*
 * %r is the rank, %n the size of the cluster, %a the address of 64 bytes of shared memory, and %o
 * the place of the thread in memory, of four words each.
 */
#define HEAD \
	".entry k(.param .u64 out)\n{\n.shared .align 16 .b8 s[64];\n" \
	".reg .b32 %r, %n, %a, %t, %v<9>;\n.reg .b64 %o, %x<9>;\n.reg .pred %p<4>;\n" \
	"mov.u32 %r, %cluster_ctarank;\nmov.u32 %n, %cluster_nctarank;\nmov.u32 %a, s;\n" \
	"mov.u32 %t, %tid.x;\nld.param.u64 %o, [out];\nmov.u32 %v0, %ctaid.x;\n" \
	"mov.u32 %v1, %ntid.x;\nmad.lo.u32 %v0, %v0, %v1, %t;\nmad.wide.u32 %o, %v0, 16, %o;\n"
#define SYNC "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
#define TAIL "ret;\n}\n"

static uint32_t out[4096][4];

/* Runs @body in @grid blocks of @block threads, in clusters of @cluster. */
static enum exec_status body(const char *text, uint32_t grid, uint32_t block, uint32_t cluster)
{
	void *mem = dev_alloc(sizeof(out));
	enum exec_status st = EXEC_BAD_LAUNCH;

	memset(&fault, 0, sizeof(fault));
	mod = load_body(text);
	if (mod)
		st = run("k", grid, block, cluster, ARGS(P(mem)));
	memcpy(out, mem, sizeof(out));
	dev_free(mem);
	ptx_unload(mod);
	return st;
}

static void windows(void)
{
	ok(body(HEAD "add.u32 %v2, %r, 5;\nst.shared.u32 [s+8], %v2;\n" SYNC
		"xor.b32 %v3, %r, 1;\nmapa.shared::cluster.u32 %v4, s, %v3;\n"
		"ld.shared::cluster.u32 %v5, [%v4+8];\nst.global.u32 [%o], %v5;\n"
		"mapa.shared::cluster.u64 %x0, s+8, %v3;\nld.shared::cluster.u32 %v5, [%x0];\n"
		"st.global.u32 [%o+4], %v5;\ngetctarank.shared::cluster.u32 %v6, %v4;\n"
		"st.global.u32 [%o+8], %v6;\ngetctarank.shared::cluster.u32 %v6, %a;\n"
		"st.global.u32 [%o+12], %v6;\n" SYNC TAIL, 4, 1, 2) == EXEC_OK &&
	   out[0][0] == 6 && out[1][0] == 5 && out[3][0] == 5 && out[0][1] == 6 &&
	   out[1][1] == 5 && out[0][2] == 1 && out[1][2] == 0 && out[0][3] == 0 && out[1][3] == 1,
	   "mapa_gives_addresses_of_another_block_and_getctarank_its_rank");
	ok(body(HEAD "st.shared.u32 [s+24], 0;\n" SYNC
		"xor.b32 %v3, %r, 1;\nmapa.shared::cluster.u32 %v4, %a, %v3;\n"
		"add.u32 %v5, %r, 40;\nst.shared::cluster.v2.u32 [%v4+16], {%v5, %r};\n"
		"atom.shared::cluster.add.u32 %v6, [%v4+24], 3;\n"
		"red.shared::cluster.add.u32 [%v4+24], 4;\n" SYNC
		"ld.shared.v4.u32 {%v1, %v2, %v6, %v7}, [s+16];\n"
		"st.global.v4.u32 [%o], {%v1, %v2, %v6, %v7};\n" TAIL, 2, 1, 2) == EXEC_OK &&
	   out[0][0] == 41 && out[0][1] == 1 && out[1][0] == 40 && out[1][1] == 0 &&
	   out[0][2] == 7 && out[1][2] == 7, "vectors_and_atomics_reach_another_block");
	ok(body(HEAD "xor.b32 %v3, %r, 1;\nmapa.shared::cluster.u32 %v4, %a, %v3;\n"
		"shl.b32 %v5, %t, 2;\nadd.u32 %v4, %v4, %v5;\nand.b32 %v6, %t, 1;\n"
		"setp.eq.u32 %p0, %v6, 0;\nadd.u32 %v7, %a, %v5;\nselp.b32 %v7, %v7, %v4, %p0;\n"
		"mad.lo.u32 %v6, %r, 100, %t;\nst.shared::cluster.u32 [%v7], %v6;\n" SYNC
		"add.u32 %v7, %a, %v5;\nld.shared.u32 %v8, [%v7];\nst.global.u32 [%o], %v8;\n"
		TAIL, 2, 16, 2) == EXEC_OK && out[0][0] == 0 && out[1][0] == 101 &&
	   out[16][0] == 100 && out[17][0] == 1,
	   "lanes_of_one_store_go_to_different_blocks");
	ok(body(HEAD "mbarrier.init.shared.b64 [s+32], 1;\n" SYNC
		"xor.b32 %v3, %r, 1;\nmapa.shared::cluster.u32 %v4, %a, %v3;\n"
		"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%v4+32];\nmore:\n"
		"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p0, [s+32], 0;\n"
		"@!%p0 bra more;\nst.global.u32 [%o], 1;\n" SYNC TAIL, 2, 1, 2) == EXEC_OK &&
	   out[0][0] == 1 && out[1][0] == 1, "an_mbarrier_of_another_block_takes_an_arrival");
	ok(body(HEAD "mov.u64 %x1, s;\ncvta.shared::cluster.u64 %x1, %x1;\nmapa.u64 %x2, %x1, %r;\n"
		"sub.u64 %x3, %x2, %x1;\nst.global.u64 [%o], %x3;\n"
		"cvta.to.shared.u64 %x2, %x2;\nsub.u64 %x3, %x2, s;\nst.global.u64 [%o+8], %x3;\n"
		TAIL, 4, 1, 4) == EXEC_OK && !out[3][0] && !out[3][1] && !out[3][2] && !out[3][3],
	   "mapa_to_the_own_block_is_its_own_address");
}

static void faults(void)
{
	ok(body(HEAD "mapa.shared::cluster.u32 %v4, %a, %n;\nld.shared::cluster.u32 %v5, [%v4];\n"
		TAIL, 4, 1, 2) == EXEC_ILLEGAL_ADDRESS, "a_rank_beyond_the_cluster_is_caught");
	ok(body(HEAD "mapa.shared::cluster.u32 %v4, %a, -1;\nst.shared::cluster.u32 [%v4], %v5;\n"
		TAIL, 4, 1, 2) == EXEC_ILLEGAL_ADDRESS, "a_rank_of_all_ones_is_caught");
	ok(body(HEAD "mapa.shared::cluster.u32 %v4, %a, 1;\n"
		"ld.shared::cluster.u32 %v5, [%v4+4156];\n" TAIL, 2, 1, 2) == EXEC_OK &&
	   body(HEAD "mapa.shared::cluster.u32 %v4, %a, 1;\n"
		"ld.shared::cluster.u32 %v5, [%v4+4160];\n" TAIL, 2, 1, 2) == EXEC_ILLEGAL_ADDRESS,
	   "the_shared_memory_of_another_block_has_an_end");
	ok(body(HEAD "xor.b32 %v3, %r, 1;\nmapa.shared::cluster.u32 %v4, %a, %v3;\n"
		"ld.shared.u32 %v5, [%v4];\n" TAIL, 2, 1, 2) == EXEC_ILLEGAL_ADDRESS,
	   "the_space_of_the_block_reaches_no_other_block");
	ok(body(HEAD "mapa.u64 %x1, %o, %r;\nld.u32 %v5, [%x1];\n" TAIL, 2, 1, 2) ==
	   EXEC_ILLEGAL_ADDRESS, "mapa_of_global_memory_leads_nowhere");
	ok(body(HEAD "mapa.shared::cluster.u32 %v4, %a, 1;\nld.shared::cluster.u32 %v5, [%v4+2];\n"
		TAIL, 2, 1, 2) == EXEC_MISALIGNED, "alignment_is_checked_in_other_blocks_too");
}

static void barriers(void)
{
	bool good;

	ok(body(HEAD "barrier.cluster.wait;\n" TAIL, 2, 1, 2) == EXEC_ILLEGAL_INSTRUCTION,
	   "a_wait_without_arrival_is_caught");
	ok(body(HEAD "barrier.cluster.arrive;\nbarrier.cluster.arrive;\n" TAIL, 2, 1, 2) ==
	   EXEC_ILLEGAL_INSTRUCTION, "a_second_arrival_is_caught");
	ok(body(HEAD "setp.eq.u32 %p0, %r, 1;\n@%p0 bra never;\n" SYNC "ret;\nnever:\n"
		"bar.sync 1, 64;\n" TAIL, 2, 32, 2) == EXEC_DEADLOCK,
	   "a_block_that_never_arrives_is_a_deadlock");
	ok(body(HEAD "setp.eq.u32 %p0, %r, 1;\n@%p0 ret;\n" SYNC "st.global.u32 [%o], 1;\n" TAIL,
		2, 64, 2) == EXEC_OK && out[63][0] == 1 && !out[64][0],
	   "nobody_waits_for_threads_that_have_exited");
	ok(body(HEAD "barrier.cluster.arrive.relaxed;\nsetp.eq.u32 %p0, %r, 1;\n@%p0 ret;\n"
		"barrier.cluster.wait;\nst.global.u32 [%o], 1;\n" SYNC "st.global.u32 [%o+4], 1;\n"
		TAIL, 2, 64, 2) == EXEC_OK && out[63][1] == 1,
	   "a_thread_may_exit_between_arrival_and_wait");
	/* Odd lanes arrive later than even ones, at another instruction. */
	ok(body(HEAD "and.b32 %v2, %t, 1;\nsetp.eq.u32 %p0, %v2, 0;\n@%p0 bra even;\n"
		"st.shared.u32 [s], 9;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nbra on;\n"
		"even:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
		"on:\nmapa.shared::cluster.u32 %v4, %a, 1;\nld.shared::cluster.u32 %v5, [%v4];\n"
		"st.global.u32 [%o], %v5;\n" SYNC TAIL, 2, 32, 2) == EXEC_OK &&
	   out[0][0] == 9 && out[1][0] == 9, "diverged_lanes_arrive_one_after_the_other");
	good = body(HEAD "mov.u32 %v2, 0;\nst.shared.u32 [s], 0;\n" SYNC "again:\nsetp.eq.u32 %p0, %r, 0;\nsetp.eq.u32 %p1, %t, 0;\n"
		    "and.pred %p0, %p0, %p1;\nmapa.shared::cluster.u32 %v4, %a, 2;\n"
		    "@%p0 red.shared::cluster.add.u32 [%v4], 1;\n" SYNC
		    "ld.shared::cluster.u32 %v5, [%v4];\nadd.u32 %v2, %v2, 1;\n"
		    "setp.ne.u32 %p2, %v5, %v2;\n@%p2 trap;\n" SYNC
		    "setp.lt.u32 %p3, %v2, 500;\n@%p3 bra again;\nst.global.u32 [%o], %v5;\n" TAIL,
		    6, 70, 3) == EXEC_OK;
	ok(good && out[0][0] == 500 && out[419][0] == 500, "one_barrier_serves_many_rounds");
}

#define LOCAL \
	".entry k(.param .u64 out) { .local .align 4 .b8 l[262144]; .reg .b32 %r;\n" \
	"mov.u32 %r, 1; st.local.u32 [l], %r; ret; }\n"

static void shapes(void)
{
	ok(body(HEAD TAIL, 32, 1, 16) == EXEC_OK && body(HEAD TAIL, 34, 1, 17) == EXEC_BAD_LAUNCH,
	   "a_cluster_has_at_most_16_blocks");
	ok(body(HEAD TAIL, 5, 1, 2) == EXEC_BAD_LAUNCH, "a_grid_consists_of_whole_clusters");
	ok(body(".entry k(.param .u64 out) .maxclusterrank 4 { ret; }", 4, 1, 4) == EXEC_OK &&
	   body(".entry k(.param .u64 out) .maxclusterrank 4 { ret; }", 8, 1, 8) ==
	   EXEC_BAD_LAUNCH, "a_kernel_bounds_its_clusters");
	ok(body(".entry k(.param .u64 out) .explicitcluster { ret; }", 4, 1, 0) ==
	   EXEC_BAD_LAUNCH &&
	   body(".entry k(.param .u64 out) .explicitcluster { ret; }", 4, 1, 1) == EXEC_OK,
	   "a_kernel_demands_a_shape");
	ok(body(LOCAL, 4, 32, 2) == EXEC_OK && body(LOCAL, 16, 1024, 16) == EXEC_BAD_LAUNCH,
	   "blocks_that_are_there_at_once_share_1_GiB");
	ok(load_status(".version 9.0\n.target sm_90\n.address_size 64\n"
		       ".entry k() .reqnctapercluster 2, 0 { ret; }") == PTX_ERR_SYNTAX,
	   "an_empty_shape_does_not_load");
}

/* Blocks of one cluster run on one thread; clusters are shared among threads. */
static void threads(void)
{
	static const char text[] = HEAD "xor.b32 %v3, %r, 3;\n"
		"mapa.shared::cluster.u32 %v4, %a, %v3;\nmov.u32 %v5, %ctaid.x;\n"
		"st.shared::cluster.u32 [%v4], %v5;\n" SYNC "ld.shared.u32 %v6, [s];\n"
		"st.global.u32 [%o], %v6;\n" TAIL;
	uint32_t *mem = dev_alloc(sizeof(out));
	const uint64_t params[1] = { P(mem) };
	struct exec_launch l = { .grid = { 64, 1, 1 }, .block = { 64, 1, 1 },
				 .cluster = { 4, 1, 1 }, .params = params, .mem = &dev_mem };
	struct exec_machine *m = exec_new();
	bool good = exec_set_threads(m, 4) == 4;

	mod = load_body(text);
	l.fn = mod ? ptx_find_entry(mod, "k") : NULL;
	for (int round = 0; good && round < 20; round++) {
		memset(mem, 0xff, sizeof(out));
		good = exec_run(m, &l, &fault) == EXEC_OK;
		for (uint32_t i = 0; good && i < 64 * 64; i++)
			good = mem[4 * i] == ((i / 64) ^ 3);
	}
	ok(good, "threads_share_the_clusters_of_a_launch");
	l.cooperative = true;
	memset(mem, 0xff, sizeof(out));
	good &= exec_run(m, &l, &fault) == EXEC_OK;
	for (uint32_t i = 0; good && i < 64 * 64; i++)
		good = mem[4 * i] == ((i / 64) ^ 3);
	ok(good, "a_cooperative_grid_has_clusters");
	ptx_unload(mod);
	dev_free(mem);
}

int main(int argc, char **argv)
{
	(void)argc;
	seed_init();
	of_nvcc(argv[0]);
	for (int isa = 0; isa < 2; isa++) {
		if (!ptx_force_isa(isa))
			continue;
		windows();
		faults();
		barriers();
	}
	shapes();
	threads();
	return tap_exit();
}
