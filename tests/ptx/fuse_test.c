// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that loads which share their addresses, and the fused load-load-fma
 * runs of a matrix product, give what each instruction alone gives, whatever the
 * addresses look like, in whole and partial warps. It needs no hardware.
 */
#include "harness.h"

#include <stdio.h>

#define P(x)	((uintptr_t)(x))
#define WORDS	256		/* of shared memory */
#define OUTS	14		/* results a thread */

/* in has WORDS words, at has two addresses for each thread, out has OUTS words for each thread. */
static const char body[] =
	".entry k(.param .u64 in, .param .u64 at, .param .u64 out)\n{\n"
	".shared .align 16 .b8 s[1024];\n.reg .b32 %t, %n, %a, %b, %r<4>;\n"
	".reg .f32 %f<20>, %s;\n.reg .b64 %i, %j, %o, %x;\n.reg .pred %p;\n"
	"ld.param.u64 %i, [in];\nld.param.u64 %j, [at];\nld.param.u64 %o, [out];\n"
	"mov.u32 %t, %tid.x;\nmov.u32 %n, %ntid.x;\nmov.u32 %r0, %t;\n"
	"fill:\nmad.wide.u32 %x, %r0, 4, %i;\nld.global.f32 %f0, [%x];\n"
	"shl.b32 %r1, %r0, 2;\nst.shared.f32 [%r1], %f0;\nadd.u32 %r0, %r0, %n;\n"
	"setp.lt.u32 %p, %r0, 256;\n@%p bra fill;\nbar.sync 0;\n"
	"mad.wide.u32 %x, %t, 8, %j;\nld.global.u32 %a, [%x];\nld.global.u32 %b, [%x+4];\n"
	"mad.wide.u32 %o, %t, 56, %o;\nmov.f32 %s, 0f3F800000;\n"
	/* a run that goes on, with two registers */
	"ld.shared.f32 %f1, [%a];\nld.shared.f32 %f2, [%b];\nfma.rn.f32 %s, %f1, %f2, %s;\n"
	"ld.shared.f32 %f3, [%a+16];\nld.shared.f32 %f4, [%b+4];\nfma.rn.f32 %s, %f4, %f3, %s;\n"
	"ld.shared.f32 %f5, [%a+32];\nld.shared.f32 %f6, [%b+4];\nfma.rn.f32 %s, %f5, %f6, %s;\n"
	"st.global.f32 [%o], %s;\nst.global.f32 [%o+4], %f5;\nst.global.f32 [%o+8], %f2;\n"
	/* a run in which the address register changes */
	"add.u32 %a, %a, 4;\n"
	"ld.shared.f32 %f7, [%a];\nld.shared.f32 %f8, [%b];\nfma.rn.f32 %s, %f7, %f8, %f7;\n"
	"st.global.f32 [%o+12], %s;\nst.global.f32 [%o+16], %f7;\n"
	/* four words at once, then a run of fma */
	"and.b32 %a, %a, 0xfffffff0;\nld.shared.v4.f32 {%f9, %f10, %f11, %f12}, [%a+16];\n"
	"fma.rn.f32 %f13, %f9, %f10, %f11;\nfma.rn.f32 %f14, %f13, %f12, %f13;\n"
	"fma.rn.f32 %f14, %f14, %f9, %f14;\n"
	"st.global.f32 [%o+20], %f13;\nst.global.f32 [%o+24], %f14;\n"
	"st.global.f32 [%o+28], %f12;\nst.global.f32 [%o+32], %f10;\n"
	/* a run that uses names again: the first %f17 is read, then overwritten */
	"ld.shared.f32 %f15, [%a];\nld.shared.f32 %f16, [%b];\nfma.rn.f32 %f17, %f15, %f16, %s;\n"
	"ld.shared.f32 %f15, [%a+4];\nld.shared.f32 %f16, [%b+4];\nfma.rn.f32 %f18, %f15, %f16, %f17;\n"
	"ld.shared.f32 %f15, [%a+8];\nld.shared.f32 %f16, [%b+8];\nfma.rn.f32 %f19, %f16, %f15, %f17;\n"
	"ld.shared.f32 %f15, [%a+8];\nld.shared.f32 %f16, [%b+12];\nfma.rn.f32 %f17, %f15, %f16, %f19;\n"
	"st.global.f32 [%o+36], %f17;\nst.global.f32 [%o+40], %f18;\nst.global.f32 [%o+44], %f19;\n"
	"st.global.f32 [%o+48], %f15;\nst.global.f32 [%o+52], %f16;\nret;\n}\n";

static float canon(float f)
{
	return f != f ? f32(0x7fffffff) : f;
}

static float fma1(float a, float b, float c)
{
	return canon(fmaf(a, b, c));
}

static void reference(const float *s, uint32_t a, uint32_t b, float *o)
{
	const float *x = s + a / 4, *y = s + b / 4, *v;
	float sum = fma1(x[0], y[0], 1);

	sum = fma1(y[1], x[4], sum);
	sum = fma1(x[8], y[1], sum);
	o[0] = sum;
	o[1] = x[8];
	o[2] = y[0];
	o[3] = fma1(x[1], y[0], x[1]);
	o[4] = x[1];
	v = s + ((a + 4) & ~15u) / 4 + 4;
	o[5] = fma1(v[0], v[1], v[2]);
	o[6] = fma1(o[5], v[3], o[5]);
	o[6] = fma1(o[6], v[0], o[6]);
	o[7] = v[3];
	o[8] = v[1];
	v -= 4;
	sum = fma1(v[0], y[0], o[3]);
	o[10] = fma1(v[1], y[1], sum);
	o[11] = fma1(v[2], y[2], sum);
	o[9] = fma1(v[2], y[3], o[11]);
	o[12] = v[2];
	o[13] = y[3];
}

static float *in, *out;
static uint32_t (*at)[2];

static bool same(struct ptx_module *m, uint32_t threads)
{
	uint64_t args[] = { P(in), P(at), P(out) };
	float want[OUTS];

	if (launch(m, "k", 1, threads, 0, args, 3) != EXEC_OK) {
		diag("%s", fault.msg);
		return false;
	}
	for (uint32_t t = 0; t < threads; t++) {
		reference(in, at[t][0], at[t][1], want);
		for (int k = 0; k < OUTS; k++)
			if (u32_of(want[k]) != u32_of(out[t * OUTS + k])) {
				diag("thread %u, result %d: expected %08x, got %08x", t, k,
				     u32_of(want[k]), u32_of(out[t * OUTS + k]));
				return false;
			}
	}
	return true;
}

/* Returns how addresses lie: as the rows and columns of tiles, or anyhow. */
static uint32_t pattern(int kind, uint32_t t)
{
	switch (kind) {
	case 0:
		return t * 4 % 128;
	case 1:
		return 64;
	case 2:
		return t / 16 * 64;
	case 3:
		return t % 16 * 4;
	case 4:
		return t % 16 * 16;
	default:
		return rnd() % 200 * 4;
	}
}

static void all_patterns(struct ptx_module *m, uint32_t threads, const char *name)
{
	bool good = m;

	for (int i = 0; good && i < 6 * 6; i++) {
		for (uint32_t t = 0; t < threads; t++) {
			at[t][0] = pattern(i % 6, t);
			at[t][1] = pattern(i / 6, t);
		}
		good = same(m, threads);
	}
	ok(good, name);
}

int main(void)
{
	static const char *const names[2][3] = {
		{ "whole_warps", "partial_warps", "bad_addresses_of_a_run_are_faults" },
		{ "whole_warps_with_avx2", "partial_warps_with_avx2",
		  "bad_addresses_of_a_run_are_faults_with_avx2" },
	};

	tap_plan(6);
	seed_init();
	in = dev_alloc(WORDS * 4);
	at = dev_alloc(96 * sizeof(*at));
	out = dev_alloc(96 * OUTS * 4);
	for (int i = 0; i < WORDS; i++)
		in[i] = f32(rnd_f32());
	for (int isa = 0; isa < 2; isa++) {
		uint64_t args[] = { P(in), P(at), P(out) };
		struct ptx_module *m;

		if (!ptx_force_isa(isa)) {
			for (int i = 0; i < 3; i++)
				skip(names[isa][i], "the CPU has no AVX2");
			continue;
		}
		m = load_body(body);
		if (!m)
			diag("%s", load_log);
		all_patterns(m, 64, names[isa][0]);
		all_patterns(m, 77, names[isa][1]);
		for (uint32_t t = 0; t < 64; t++)
			at[t][0] = at[t][1] = 0;
		at[37][0] = 1024 - 16;	/* [%a+16] is beyond the end */
		ok(m && launch(m, "k", 1, 64, 0, args, 3) == EXEC_ILLEGAL_ADDRESS &&
		   fault.tid[0] == 37, names[isa][2]);
		ptx_unload(m);
	}
	return tap_exit();
}
