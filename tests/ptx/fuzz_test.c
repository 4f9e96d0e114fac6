/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that no text makes the loader crash, leak or run long, and that no
 * module that loads makes the executor touch memory that is not its own. It mutates PTX
 * with every kind of statement, and runs what still loads. It is built with the address
 * and undefined behaviour sanitizers, which turn any mistake into a failure.
 * WH_FUZZ_SECONDS makes it run longer than its six seconds.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECONDS		6
#define MAX_TEXT	16384
/* The limit is for a text of at most MAX_TEXT bytes, with sanitizers and a busy machine. */
#define MAX_LOAD_SECONDS 2.0

static const char base[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	".global .align 4 .b8 g[64] = {1, 2, 3, 0xFF(g), 0xFF00(g)};\n"
	".global .u64 h = generic(g)+4;\n.const .f32 c[4] = {0f3F800000, 2.5};\n"
	".shared .align 8 .b8 sh[128];\n.extern .shared .align 16 .b8 dyn[];\n"
	".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
	".func (.param .b64 r) f(.param .b64 a, .param .align 8 .b8 s[16]) {\n"
	".reg .b64 %x<6>; .reg .pred %p<3>; .local .align 8 .b8 l[32];\n"
	"ld.param.u64 %x1, [a]; ld.param.u64 %x2, [s+8]; mov.u64 %x3, l;\n"
	"cvta.local.u64 %x4, %x3; st.u64 [%x4+8], %x2; ld.local.u64 %x5, "
	"[%x3+8];\nsetp.lt.s64 %p1, %x1, 2; @%p1 bra E;\n"
	"{ .param .b64 p0; .param .align 8 .b8 p1[16]; .param .b64 q;\n"
	"add.s64 %x1, %x1, -1; st.param.b64 [p0], %x1; st.param.v2.b64 [p1], "
	"{%x1, %x2};\ncall.uni (q), f, (p0, p1); ld.param.b64 %x1, [q]; }\n"
	"E: st.param.b64 [r], %x1; ret; }\n"
	".visible .entry k(.param .u64 out, .param .align 8 .b8 s[24]) "
	".maxntid 128 {\n.reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %x<20>;\n"
	".reg .f32 %f<9>; .reg .f64 %d<9>; .reg .pred %p<9>; .reg .b128 %q<3>;\n"
	"mov.u32 %r1, %tid.x; ld.param.u64 %x1, [out];\n"
	"mad.wide.u32 %x2, %r1, 4, %x1; ld.global.u32 %r2, [%x2];\n"
	"and.b32 %r3, %r1, 3; setp.eq.and.s32 %p1|%p2, %r3, 1, !%p3;\n"
	"ts: .branchtargets A, B, C;\nmin.u32 %r3, %r3, 2; brx.idx %r3, ts;\n"
	"A: mov.u64 %x3, sh; cvta.shared.u64 %x4, %x3; st.u32 [%x4+4], %r1;\n"
	"atom.shared.add.u32 %r4, [sh], 1; red.global.max.s32 [%x2], %r1;\n"
	"B: { .param .b64 p0; .param .align 8 .b8 p1[16]; .param .b64 q;\n"
	"cvt.u64.u32 %x5, %r3; st.param.b64 [p0], %x5; "
	"st.param.v2.b64 [p1], {%x5, %x2}; mov.u64 %x6, f;\n"
	"pr: .callprototype (.param .b64 _) _ (.param .b64 _, .param .align 8 "
	".b8 _[16]);\ncall (q), %x6, (p0, p1), pr; ld.param.b64 %x7, [q]; }\n"
	"C: ld.const.f32 %f1, [c+4]; fma.rn.ftz.f32 %f2, %f1, %f1, 0f40000000;\n"
	"cvt.rzi.s32.f32 %r5, %f2; sin.approx.f32 %f3, %f2; rcp.rn.f64 %d1, "
	"0d3FF0000000000000;\nmov.b64 {%r6, %r7}, %d1; prmt.b32 %r8, %r6, %r7, "
	"0x5410; bfe.s32 %r9, %r8, 3, %r1; lop3.b32 %r10, %r8, %r9, %r1, 0x96;\n"
	"shfl.sync.bfly.b32 %r11|%p4, %r10, 1, 31, -1; vote.sync.ballot.b32 "
	"%r12, %p4, -1; bar.sync 0; bar.red.popc.u32 %r13, 1, %p4;\n"
	"match.any.sync.b32 %r14, %r3, -1; redux.sync.add.u32 %r15, %r1, -1;\n"
	"ld.global.v4.u32 {%r16, _, %r17, %r18}, [%x1]; mov.b128 %q1, {%x1, "
	"%x2}; ld.param.v2.u32 {%r4, %r5}, [s+8];\nmov.u64 %x8, dyn; "
	"st.shared.u32 [dyn+4], %r1; div.s32 %r6, %r1, %r3; add.cc.u32 %r7, "
	"%r6, -1; addc.u32 %r8, %r7, 0; cp.async.ca.shared.global [sh+16], "
	"[%x1], 16;\n{ .param .b64 p0, p1; .param .b32 q; mov.u64 %x9, g; "
	"st.param.b64 [p0], %x9; st.param.b64 [p1], %x4; call (q), vprintf, "
	"(p0, p1); }\nL: add.u32 %r3, %r3, 1; setp.lt.u32 %p5, %r3, 9; @%p5 bra "
	"L; @!%p5 exit; trap; }\n";

static const char *const words[] = {
	"%r1", "%x1", "%p1", "%f1", "%d1", "-1", "0", "4294967295", "1000000",
	"18446744073709551615", "0f7FC00000", "{", "}", "(", ")", "[", "]",
	";", ",", ":", "!", "|", "_", "@%p1 ", "@!%p2 ", ".param .b64 z;",
	".reg .b32 %r;", ".local .b8 z[100];", "ret;", "exit;", "bra L;",
	"call f;", "bar.sync 1;", "bar.sync 0, 64;", "L:", "A:", ".b8", ".v4",
	".global", ".shared", ".func", ".entry", ".extern", "sh", "dyn", "g",
	"st.shared.u64 [%r1], %x1;", "ld.local.u32 %r1, [%x1];",
	"st.u32 [%x4+100], %r1;", "atom.add.u32 %r1, [%x1], %r2;",
	"mov.u64 %x4, -8;", "mov.u64 %x4, 0x0100000000000000;",
	"mov.u64 %x4, 0x0200000000000000;", "brx.idx %r1, ts;",
	"vote.sync.any.pred %p1, %p2, %r1;", "nanosleep.u32 5;", "<9>",
	"setp.ne.u32 %p1, %r1, 7;", "%tid.x", "%clock64", ".reg .b64 %y<90>;",
	"barrier.cluster.arrive;", "barrier.cluster.wait;", "cvta.to.shared.u64 %x4, %x4;",
	"mapa.shared::cluster.u32 %r1, %r3, %r2;", "mapa.u64 %x4, %x4, %r1;",
	"st.shared::cluster.u64 [%r1], %x1;", "atom.shared::cluster.or.b32 %r1, [%r1], 1;",
	".reqnctapercluster 1, 2", ".maxclusterrank 1",
	"suld.b.a2d.v2.b32.trap {%r1, %r2}, [%x1, {%r3, %r1, %r2, %r2}];",
	"sust.b.3d.b64.clamp [%x1, {%r1, %r2, %r3, %r3}], %x2;",
	"sust.b.a1d.v4.b8.zero [%x1, {%r1, %r2}], {%h1, %h2, %h1, 7};",
	"tex.a2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%x1, {%r1, %f1, %f2, %f2}];",
	"tex.acube.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%x1, {%r1, %f1, %f2, %f3}];",
	"tex.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%x1, {%f1, %f2, %f3, %f3}];",
	"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %x1, %x2, %p1, 1, "
	"-1, 0, 1;", "wgmma.wait_group.sync.aligned 0;", "mov.u64 %x2, 0x4000000800080001;",
	"mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%r1, %r2, %r3, %r4}, {%r5, %r6, %r7, %r8}, "
	"{%r1, %r2}, {%r9, %r9, 0, -1};",
	"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};",
	"stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [sh], {%r1};",
	"mbarrier.init.shared.b64 [sh], 64;", "mbarrier.arrive.shared.b64 %x5, [sh], %r3;",
	"mbarrier.try_wait.shared.b64 %p1, [sh], %x5;", "mbarrier.inval.b64 [%x4];",
	"mbarrier.arrive.expect_tx.shared.b64 _, [sh], %r2;",
	"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [sh+16], [%x1], %r2, [sh];",
	"cp.async.bulk.global.shared::cta.bulk_group [%x1], [dyn], 32;",
	"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [dyn], [%x1, {%r1, "
	"-1}], [sh];",
};

/* Picks a place, mostly between statements, so that much of what comes out still loads. */
static char *pick_place(char *t, size_t n)
{
	char *p = t + rnd() % (n + 1), *semi;

	if (!(rnd() & 3))
		return p;
	semi = memchr(p, ';', t + n - p);
	return semi ? semi + 1 : p;
}

static size_t remove_part(char *t, size_t n)
{
	char *p = pick_place(t, n), *semi = memchr(p, ';', t + n - p);
	size_t len = rnd() % 12;

	if (rnd() & 3 && semi)
		len = semi + 1 - p;
	if (len > (size_t)(t + n - p))
		len = t + n - p;
	memmove(p, p + len, t + n - p - len);
	return n - len;
}

static size_t insert(char *t, size_t n, const char *what, size_t len)
{
	char *p = pick_place(t, n);

	if (n + len >= MAX_TEXT)
		return n;
	memmove(p + len, p, t + n - p);
	memcpy(p, what, len);
	return n + len;
}

/* Copies one statement, or a few, to another place. */
static size_t copy_part(char *t, size_t n)
{
	char *p = pick_place(t, n), *semi = memchr(p, ';', t + n - p);
	size_t len = semi ? (size_t)(semi + 1 - p) : rnd() % 50;
	char copy[600];

	if (len > sizeof(copy))
		len = sizeof(copy);
	if (len > (size_t)(t + n - p))
		len = t + n - p;
	memcpy(copy, p, len);
	return insert(t, n, copy, len);
}

static size_t mutate(char *t, size_t n)
{
	size_t k;

	switch (rnd() % 6) {
	case 0:
		return remove_part(t, n);
	case 1:
		return copy_part(t, n);
	case 2:
		if (n)
			t[rnd() % n] = rnd();
		return n;
	case 3:
		/*
		 * Changes a digit to another digit, which gives other registers and other numbers.
		 */
		for (k = 0; n && k < 50; k++) {
			char *p = t + rnd() % n;

			if (*p >= '0' && *p <= '9') {
				*p = '0' + rnd() % 10;
				break;
			}
		}
		return n;
	default:
		k = rnd() % (sizeof(words) / sizeof(words[0]));
		return insert(t, n, words[k], strlen(words[k]));
	}
}

static double read_clock(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

/* A load is this thread's own work, whose time on a CPU no other process makes longer. */
static double cpu(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- run what loads: every yield ends it ---- */

static uint8_t *memory;

static bool find(void *ctx, uint64_t addr, struct exec_range *out)
{
	(void)ctx;
	if (addr - (uintptr_t)memory >= 256)
		return false;
	*out = (struct exec_range){ (uintptr_t)memory, 256, true };
	return true;
}

static void *small_alloc(void *ctx, const struct ptx_var *var)
{
	(void)ctx;
	return var->size > 1 << 16 ? NULL : malloc(var->size + 1);
}

static void small_free(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

/* Every number is a texture and a surface of @memory, of some shape. */
static bool texture(void *ctx, uint64_t handle, struct exec_texture *out)
{
	(void)ctx, (void)handle;
	*out = (struct exec_texture){ .base = memory, .size = { 4, 4, 6 }, .pitch = 8, .slice = 32,
				      .format = TEX_HALF, .bytes = 2, .channels = 1 };
	out->mode[0] = out->mode[1] = rnd() % 4;
	out->linear = rnd() % 2;
	out->layered = rnd() % 2;
	out->cube = rnd() % 2;
	out->seamless = rnd() % 2;
	return true;
}

static bool surface(void *ctx, uint64_t handle, struct exec_surface *out)
{
	(void)ctx, (void)handle;
	*out = (struct exec_surface){ .base = memory, .width = 16, .rows = 4, .planes = 4,
				      .pitch = 16, .slice = 64, .layered = rnd() % 2 };
	return true;
}

static void run_entries(const struct ptx_module *m, struct exec_machine *x)
{
	static const struct exec_mem mem = { .find = find, .texture = texture,
					     .surface = surface };
	static const volatile bool stop = true;
	uint8_t *params;

	for (uint32_t i = 0; i < m->nfuncs; i++) {
		uint32_t clusters = rnd() % 3;
		const struct ptx_func *f = &m->funcs[i];
		struct exec_launch l = {
			.fn = f, .grid = { 2, 1, 1 }, .block = { rnd() & 3 ? 40 : 128, 1, 1 },
			.cluster = { clusters, !!clusters, !!clusters },
			.dyn_shared = 32, .mem = &mem, .cancel = &stop,
		};

		/* The memory that one test can take is limited. */
		if (!f->entry || f->local_bytes > 1 << 16)
			continue;
		params = malloc(f->param_bytes + 1);
		memset(params, rnd(), f->param_bytes + 1);
		if (f->param_bytes >= 8)
			memcpy(params, &memory, 8);
		l.params = params;
		exec_run(x, &l, NULL);
		free(params);
	}
}

int main(void)
{
	struct ptx_alloc alloc = { NULL, small_alloc, small_free };
	struct exec_machine *x = exec_new();
	char *text = malloc(MAX_TEXT), log[128];
	const char *limit = getenv("WH_FUZZ_SECONDS");
	double start = now(), longest = 0, seconds = SECONDS;
	unsigned int tries = 0, loaded = 0;

	seed_init();
	if (limit)
		seconds = atof(limit);
	memory = malloc(256);
	memset(memory, 1, 256);
	while (now() - start < seconds) {
		size_t n = sizeof(base) - 1;
		int changes = tries ? 1 + rnd() % 3 : 0;
		struct ptx_module *m;
		double t0;
		char *exact;

		memcpy(text, base, n);
		while (changes--)
			n = mutate(text, n);
		/* The buffer has exactly this size, so that the sanitizer sees a read behind it. */
		exact = malloc(n);
		memcpy(exact, text, n);
		t0 = cpu();
		ptx_load(exact, n, &alloc, &m, log, sizeof(log));
		t0 = cpu() - t0;
		free(exact);
		if (t0 > longest)
			longest = t0;
		if (m) {
			loaded++;
			ptx_force_isa(tries & 1);
			run_entries(m, x);
			ptx_force_isa(-1);
		} else if (!tries) {
			diag("the text itself does not load: %s", log);
		}
		ptx_unload(m);
		tries++;
	}
	diag("%u texts, %u of them loaded and ran, longest load %.3f s", tries,
	     loaded, longest);
	ok(tries > 50, "mutated_texts_never_crash_the_loader");
	ok(loaded > 5, "mutated_kernels_never_crash_the_executor");
	ok(longest < MAX_LOAD_SECONDS, "loading_takes_bounded_time");
	exec_free(x);
	free(memory);
	free(text);
	return tap_exit();
}
