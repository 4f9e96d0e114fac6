/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that copies by tensor maps move boxes of one to five dimensions between global
 * and shared memory, fill what is beyond a tensor, swizzle, and count their bytes, and that a map
 * that a program wrote itself reaches nothing that the program could not.
 */
#include "harness.h"
#include "../../softgpu/exec/tensormap.h"

#include <stdio.h>
#include <stdlib.h>

#define TILE	32768u
#define GLOBAL	65536u

static uint8_t tile[TILE], want[TILE], memory[GLOBAL], after[GLOBAL];
static char text[16384];

/* The whole tile goes to memory, so that each byte is looked at. */
#define HEAD \
	".version 8.6\n.target sm_90a\n.address_size 64\n" \
	".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out, .param .u64 tile,\n" \
	".param .u32 c0, .param .u32 c1, .param .u32 c2, .param .u32 c3, .param .u32 c4)\n{\n" \
	".reg .b32 %t, %i, %s, %b, %v, %c<5>;\n.reg .b64 %m, %o, %in, %x;\n.reg .pred %p;\n" \
	".shared .align 1024 .b8 m[32768];\n.shared .align 8 .b64 bar;\n" \
	"mov.u32 %t, %tid.x; ld.param.u64 %o, [out]; ld.param.u64 %in, [tile];\n" \
	"ld.param.u32 %c0, [c0]; ld.param.u32 %c1, [c1]; ld.param.u32 %c2, [c2];\n" \
	"ld.param.u32 %c3, [c3]; ld.param.u32 %c4, [c4]; mov.u64 %m, map; cvta.param.u64 %m, %m;\n" \
	"mov.u32 %s, m; mov.u32 %b, bar; mov.u32 %i, 0;\n" \
	"FILL: cvt.u64.u32 %x, %i; add.u64 %x, %x, %in; ld.global.u32 %v, [%x];\n" \
	"add.u32 %t, %s, %i; st.shared.u32 [%t], %v; add.u32 %i, %i, 4;\n" \
	"setp.lt.u32 %p, %i, 32768; @%p bra FILL; mbarrier.init.shared::cta.b64 [%b], 1;\n"
#define TAIL \
	"mov.u32 %i, 0;\n" \
	"DUMP: cvt.u64.u32 %x, %i; add.u64 %x, %x, %o; add.u32 %t, %s, %i; ld.shared.u32 %v, [%t];\n" \
	"st.global.u32 [%x], %v; add.u32 %i, %i, 4; setp.lt.u32 %p, %i, 32768; @%p bra DUMP;\n" \
	"ret; }\n"

/* ---- one copy ---- */

static const int widths[] = { 0, 32, 64, 128 };

struct copy {
	struct exec_tensormap map;
	int c[TENSORMAP_DIMS];
	bool store;
	uint32_t at;		/* where the box is in the tile */
	uint32_t expect;	/* bytes that the mbarrier waits for; 0: those of the box */
};

static uint32_t count(const struct copy *p, int i)
{
	int step = i ? p->map.step[i] : 1;

	return i < p->map.rank ? (p->map.box[i] + step - 1) / step : 1;
}

static uint32_t box_bytes(const struct copy *p)
{
	uint32_t n = p->map.bytes;

	for (int i = 0; i < p->map.rank; i++)
		n *= count(p, i);
	return n;
}

static void source(const struct copy *p)
{
	static const char *const lists[] = {
		"", "%c0", "%c0, %c1", "%c0, %c1, %c2", "%c0, %c1, %c2, %c3",
		"%c0, %c1, %c2, %c3, %c4",
	};
	const char *c = lists[p->map.rank];

	if (p->store)
		snprintf(text, sizeof(text), "%scp.async.bulk.tensor.%dd.global.shared::cta.tile."
			 "bulk_group [%%m, {%s}], [%%s+%u];\ncp.async.bulk.commit_group;\n"
			 "cp.async.bulk.wait_group 0;\n%s", HEAD, p->map.rank, c, p->at, TAIL);
	else
		snprintf(text, sizeof(text), "%smbarrier.arrive.expect_tx.shared::cta.b64 _, [%%b], %u;\n"
			 "cp.async.bulk.tensor.%dd.shared::cluster.global.tile.mbarrier::complete_tx::"
			 "bytes [%%s+%u], [%%m, {%s}], [%%b];\n"
			 "mbarrier.test_wait.parity.shared::cta.b64 %%p, [%%b], 0; @!%%p trap;\n%s", HEAD,
			 p->expect ? p->expect : box_bytes(p), p->map.rank, p->at, c, TAIL);
}

/* Runs the copy on @memory and @tile. Map addresses are relative to @memory. */
static enum exec_status run(const struct copy *p)
{
	uint8_t *g = dev_alloc(GLOBAL), *in = dev_alloc(TILE), *out = dev_alloc(TILE);
	struct exec_machine *machine = exec_new();
	struct ptx_module *m;
	enum exec_status st = EXEC_BAD_LAUNCH;
	struct {
		struct exec_tensormap map;
		uint64_t out, tile;
		int c[TENSORMAP_DIMS];
	} params = { p->map, (uintptr_t)out, (uintptr_t)in, { 0 } };

	source(p);
	m = load(text);
	params.map.address += (uintptr_t)g;
	memcpy(params.c, p->c, sizeof(params.c));
	memcpy(g, memory, GLOBAL);
	memcpy(in, tile, TILE);
	if (m) {
		struct exec_launch l = {
			.fn = ptx_find_entry(m, "k"), .params = &params, .mem = &dev_mem,
			.grid = { 1, 1, 1 }, .block = { 1, 1, 1 },
		};

		st = exec_run(machine, &l, &fault);
	} else {
		diag("%s", load_log);
	}
	memcpy(after, g, GLOBAL);
	memcpy(tile, out, TILE);
	exec_free(machine);
	ptx_unload(m);
	dev_free(g);
	dev_free(in);
	dev_free(out);
	return st;
}

/* Returns the offset in memory of an element of the box, or -1 beyond the tensor. */
static int64_t element(const struct copy *p, const uint32_t x[TENSORMAP_DIMS])
{
	int64_t at = 0;

	for (int i = 0; i < p->map.rank; i++) {
		int64_t c = p->c[i] + (int64_t)x[i] * (i ? p->map.step[i] : 1);

		if (c < 0 || c > p->map.last[i])
			return -1;
		at += c * (int64_t)(i ? p->map.stride[i - 1] : p->map.bytes);
	}
	return at;
}

/* The place of byte @at of a box in shared memory: 16 bytes are moved within @width bytes. */
static uint32_t moved(uint32_t at, uint32_t width)
{
	uint32_t line = at / 128, unit = at / 16 % 8;

	if (!width)
		return at;
	return line * 128 + (unit ^ line % (width / 16)) * 16 + at % 16;
}

/* Does the copy element by element, on @want or on @memory. */
static void reference(const struct copy *p)
{
	static const uint64_t zeros, nans = 0x7ff77ff77ff77ff7;	/* as an H200 has them */
	uint32_t n = box_bytes(p) / p->map.bytes, bytes = p->map.bytes, row = count(p, 0);
	uint32_t pitch = p->map.swizzle ? widths[p->map.swizzle] : (int)(row * bytes);

	memcpy(want, tile, TILE);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t x[TENSORMAP_DIMS], left = i;
		uint8_t *s = want + moved(p->at + i / row * pitch + i % row * bytes,
					  widths[p->map.swizzle]);
		int64_t at;

		for (int k = 0; k < TENSORMAP_DIMS; k++) {
			x[k] = left % count(p, k);
			left /= count(p, k);
		}
		at = element(p, x);
		if (p->store && at >= 0)
			memcpy(memory + at, s, bytes);
		else if (!p->store && at >= 0)
			memcpy(s, memory + at, bytes);
		else if (!p->store)
			memcpy(s, p->map.fill ? &nans : &zeros, bytes);
	}
}

static bool copies(struct copy p)
{
	for (uint32_t i = 0; i < TILE; i++)
		tile[i] = rnd();
	for (uint32_t i = 0; i < GLOBAL; i++)
		memory[i] = rnd();
	if (p.store) {
		struct copy q = p;
		uint8_t before[TILE];

		memcpy(before, tile, TILE);
		if (run(&p) != EXEC_OK)
			return false;
		memcpy(tile, before, TILE);
		reference(&q);
		return !memcmp(memory, after, GLOBAL);
	}
	reference(&p);
	return run(&p) == EXEC_OK && !memcmp(tile, want, TILE);
}

/* ---- maps ---- */

static struct copy plane(int bytes, int swizzle, int box0, int box1)
{
	return (struct copy){ .map = {
		.magic = TENSORMAP_MAGIC, .stride = { 512 }, .last = { 99, 39 },
		.box = { box0, box1 }, .step = { 1, 1 }, .rank = 2, .bytes = bytes,
		.swizzle = swizzle,
	}, .c = { 8, 5 }, .at = 1024 };
}

static struct copy with(struct copy p, int c0, int c1)
{
	p.c[0] = c0;
	p.c[1] = c1;
	return p;
}

static void boxes(void)
{
	struct copy p;

	for (int swizzle = 0; swizzle < 4; swizzle++)
		for (int store = 0; store < 2; store++) {
			char name[128];

			p = plane(2, swizzle, swizzle ? widths[swizzle] / 2 : 56, 20);
			p.store = store;
			snprintf(name, sizeof(name), "a_box_with_%d_bytes_of_swizzle_is_%s",
				 widths[swizzle], store ? "stored" : "loaded");
			ok(copies(p), name);
			snprintf(name, sizeof(name), "a_%s_with_%d_bytes_of_swizzle_may_lie_over_an_edge",
				 store ? "store" : "load", widths[swizzle]);
			ok(copies(with(p, 80, 30)) && copies(with(p, 0, 2000000000)) &&
			   (store || (copies(with(p, -8, -3)) && copies(with(p, -200, 0)))), name);
		}
	for (int swizzle = 1; swizzle < 4; swizzle++) {
		char name[128];

		p = plane(2, swizzle, 8, 20);
		snprintf(name, sizeof(name), "a_row_narrower_than_%d_bytes_of_swizzle_leaves_gaps",
			 widths[swizzle]);
		ok(copies(p), name);
	}
	p = plane(4, 0, 16, 15);
	p.map.step[0] = 3;	/* it does not count */
	p.map.step[1] = 4;
	ok(copies(p), "a_box_takes_each_fourth_row");
	p = plane(1, 0, 64, 4);
	ok(copies(with(p, 16, 5)), "elements_have_1_byte");
	p = plane(8, 0, 8, 4);
	p.store = true;
	ok(copies(p), "elements_have_8_bytes");
}

static void dimensions(void)
{
	struct copy p = { .map = {
		.magic = TENSORMAP_MAGIC, .stride = { 48, 240, 960, 2880 },
		.last = { 23, 4, 3, 2, 2 },
		.box = { 24, 2, 2, 2, 2 }, .step = { 1, 1, 1, 2, 1 }, .bytes = 2,
	}, .c = { 0, 1, 3, 0, 1 }, .at = 128 };

	for (p.map.rank = 1; p.map.rank <= 5; p.map.rank++) {
		char name[64];
		struct copy q = p;

		q.store = true;
		snprintf(name, sizeof(name), "boxes_have_%d_dimensions", p.map.rank);
		ok(copies(p) && copies(q), name);
	}
}

static void fills(void)
{
	for (int bytes = 2; bytes <= 8; bytes *= 2) {
		struct copy p = plane(bytes, 0, 16, 8);
		char name[64];

		p.map.fill = TENSORMAP_NANS;
		snprintf(name, sizeof(name), "a_box_is_filled_with_NaNs_of_%d_bytes", bytes);
		ok(copies(with(p, 96, 36)), name);
	}
}

/* ---- maps that nobody encoded ---- */

static void refused(struct copy p, enum exec_status want_status, const char *name)
{
	enum exec_status st;

	st = run(&p);
	ok(st == want_status, name);
	if (st != want_status)
		diag("%s: %s", exec_status_name(st), fault.msg);
}

static void hostile(void)
{
	enum exec_status bad = EXEC_ILLEGAL_INSTRUCTION, wild = EXEC_ILLEGAL_ADDRESS;
	struct copy p = plane(2, 0, 16, 4);

	p.map.magic++;
	refused(p, bad, "a_map_that_was_not_encoded_is_a_fault");
	p = plane(2, 0, 16, 4);
	p.map.box[1] = 0;
	refused(p, bad, "a_box_without_elements_is_a_fault");
	p = plane(2, 0, 16, 4);
	p.map.box[0] = 257;
	refused(p, bad, "a_box_of_257_is_a_fault");
	p = plane(3, 0, 16, 4);
	refused(p, bad, "elements_of_3_bytes_are_a_fault");
	p = plane(2, 4, 16, 4);
	refused(p, bad, "a_swizzle_that_does_not_exist_is_a_fault");
	p = plane(2, 1, 64, 4);
	refused(p, bad, "a_row_wider_than_its_swizzle_is_a_fault");
	p = plane(2, 0, 256, 256);
	p.map.rank = 3;
	p.map.box[2] = 256;
	p.map.step[2] = 1;
	refused(p, bad, "a_box_larger_than_shared_memory_is_a_fault");
	p = plane(2, 0, 64, 200);
	p.at = TILE - 1024;
	refused(p, wild, "a_box_beyond_the_blocks_shared_memory_is_a_fault");
	p = plane(2, 0, 16, 4);
	p.map.stride[0] = 1ull << 38;
	refused(p, wild, "rows_beyond_an_allocation_are_a_fault");
	p = plane(2, 0, 16, 4);
	p.map.stride[0] = ~15ull;
	p.map.last[1] = ~0u;
	refused(with(p, 0, 1 << 30), wild, "rows_before_an_allocation_are_a_fault");
	p = plane(2, 0, 16, 4);
	p.store = true;
	p.map.address = GLOBAL - 64;
	refused(p, wild, "a_store_beyond_an_allocation_is_a_fault");
	p = plane(2, 0, 16, 4);
	refused(with(p, 4, 0), bad, "a_box_that_begins_within_16_bytes_is_a_fault");
	p.store = true;
	refused(with(p, 0, -1), bad, "a_store_that_begins_before_the_tensor_is_a_fault");
	p = plane(2, 0, 16, 4);
	p.at = 64;
	refused(p, EXEC_MISALIGNED, "a_box_is_aligned_to_128_bytes");
	p = plane(2, 0, 16, 4);
	p.expect = 64;
	refused(p, EXEC_TRAP, "bytes_that_nobody_expects_leave_the_phase_open");
}

static void refusals(void)
{
	struct copy p = plane(2, 0, 16, 4);
	char *at;

	source(&p);
	at = strstr(text, "{%c0, %c1}");
	memcpy(at, "{%c0     }", 10);
	ptx_unload(load(text));
	ok(strstr(load_log, "wrong number of coordinates") != NULL,
	   "too_few_coordinates_do_not_load");
}

int main(void)
{
	seed_init();
	boxes();
	dimensions();
	fills();
	hostile();
	refusals();
	return tap_exit();
}
