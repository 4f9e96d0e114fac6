/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that loads and stores of every width, vector and state space move the
 * right bytes. Generic addresses lead to all spaces, and initialisers are in place. An
 * access outside its memory, or not aligned, is a fault.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD(vars) vars \
	".entry k(.param .u64 out, .param .u64 in, .param .align 8 .b8 s[24])" \
	"\n{\n.reg .b16 %h<9>;\n.reg .b32 %t, %i<20>;\n.reg .b64 %o, %in, " \
	"%x<20>;\n.reg .b128 %q<3>;\n.reg .pred %p<9>;\nmov.u32 %t, %tid.x;\n" \
	"ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 32, %o;\n" \
	"ld.param.u64 %in, [in]; mad.wide.u32 %in, %t, 32, %in;\n"

#define THREADS 64

static uint8_t in[THREADS][32], out[THREADS][32];

static enum exec_status run_dyn(const char *text, uint32_t dyn)
{
	struct ptx_module *m = load_body(text);
	uint8_t *i = dev_alloc(sizeof(in)), *o = dev_alloc(sizeof(out));
	uint64_t args[2] = { (uintptr_t)o, (uintptr_t)i };
	uint32_t g[3] = { 1, 1, 1 }, b[3] = { THREADS, 1, 1 };
	enum exec_status st = EXEC_BAD_LAUNCH;

	for (size_t k = 0; k < sizeof(in); k++)
		i[k] = ((uint8_t *)in)[k] = rnd();
	if (m)
		st = launch3(m, "k", g, b, dyn, args, 2, false);
	memcpy(out, o, sizeof(out));
	dev_free(i);
	dev_free(o);
	ptx_unload(m);
	return st;
}

static enum exec_status run(const char *text)
{
	return run_dyn(text, 0);
}

/* ---- widths: what a load leaves in a wider register ---- */

static uint64_t extended(const uint8_t *p, int size, bool sgn, int reg)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	if (sgn && size < 8)
		v = (int64_t)(v << (64 - 8 * size)) >> (64 - 8 * size);
	return reg == 8 ? v : v & ((1ull << 8 * reg) - 1);
}

static bool one_width(const char *type, int size, bool sgn, int reg,
		      const char *space)
{
	const char r = reg == 8 ? 'x' : reg == 4 ? 'i' : 'h';
	char text[4096];
	bool good;

	/* The value goes through the space (a copy there first), then out as a whole. */
	snprintf(text, sizeof(text), "%s%sld.global.%s %%%c1, [%%in];\n"
		 "st%s.%s [%%x9+8], %%%c1; ld%s.%s %%%c2, [%%x9+8];\n"
		 "st.global.b%d [%%o], %%%c2; ret; }\n",
		 HEAD(".shared .align 16 .b8 s2[4096];\n"),
		 !strcmp(space, ".shared") ?
		 "mov.u64 %x9, s2; mad.wide.u32 %x9, %t, 16, %x9;\n" :
		 !strcmp(space, ".local") ?
		 ".local .align 16 .b8 l[32]; mov.u64 %x9, l;\n" :
		 !strcmp(space, "") ? ".local .align 16 .b8 l[32];\n"
		 "mov.u64 %x9, l; cvta.local.u64 %x9, %x9;\n" :
		 "add.u64 %x9, %o, 8;\n", type, r, space, type, r, space, type,
		 r, 8 * reg, r);
	good = run(text) == EXEC_OK;
	for (int t = 0; good && t < THREADS; t++) {
		uint64_t got = 0;

		memcpy(&got, out[t], reg);
		good = got == extended(in[t], size, sgn, reg);
	}
	if (!good)
		diag("ld%s.%s to %d bytes", space, type, reg);
	return good;
}

static void widths(void)
{
	static const struct {
		const char *type;
		int size;
		bool sgn;
	} types[] = {
		{ "u8", 1, 0 }, { "s8", 1, 1 }, { "b8", 1, 0 },
		{ "u16", 2, 0 }, { "s16", 2, 1 }, { "b16", 2, 0 },
		{ "u32", 4, 0 }, { "s32", 4, 1 }, { "b32", 4, 0 },
		{ "u64", 8, 0 }, { "s64", 8, 1 }, { "b64", 8, 0 },
	};
	static const char *const spaces[] = { ".global", ".shared", ".local",
					      "" };
	char name[64];

	for (int s = 0; s < 4; s++) {
		bool good = true;

		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
			for (int reg = 2; reg <= 8; reg *= 2)
				if (reg >= types[i].size)
					good &= one_width(types[i].type,
							  types[i].size,
							  types[i].sgn, reg,
							  spaces[s]);
		snprintf(name, sizeof(name), "all_widths_in%s_memory",
			 s == 3 ? ".generic" : spaces[s]);
		ok(good, name);
	}
}

/* ---- vectors ---- */

static bool copies(const char *code)
{
	char text[4096];

	snprintf(text, sizeof(text), "%s%s }\n",
		 HEAD(".shared .align 32 .b8 s2[4096];\n"), code);
	return run(text) == EXEC_OK;
}

static bool copied(const char *code, int bytes)
{
	bool good = copies(code);

	for (int t = 0; good && t < THREADS; t++)
		good = !memcmp(in[t], out[t], bytes);
	return good;
}

/* CUB loads bytes in this way. */
static void byte_registers(void)
{
	ok(copied("{ .reg .u8 u; .reg .s8 s<2>; .reg .b8 b; ld.global.nc.u8 u, [%in]; "
		  "ld.global.s8 s1, [%in+1]; ld.global.b8 b, [%in+2]; "
		  "cvt.u16.u8 %h1, u; st.global.u8 [%o], %h1; st.global.s8 [%o+1], s1; "
		  "st.global.b8 [%o+2], b; cvt.s32.s8 %i1, s1; shr.s32 %i1, %i1, 31; "
		  "ld.global.s8 %i2, [%in+1]; shr.s32 %i2, %i2, 31; sub.s32 %i1, %i1, %i2; "
		  "ld.global.u8 %i3, [%in+3]; cvt.u8.u32 u, %i3; cvt.u32.u8 %i4, u; "
		  "add.u32 %i4, %i4, %i1; st.global.u8 [%o+3], %i4; }", 4),
	   "registers_of_8_bits_are_loaded_converted_and_stored");
}

static void vectors(void)
{
	ok(copied("ld.global.v2.u8 {%h1, %h2}, [%in]; "
		  "st.global.v2.u8 [%o], {%h1, %h2};", 2), "v2_of_u8");
	ok(copied("ld.global.v4.b8 {%i1, %i2, %i3, %i4}, [%in]; "
		  "st.global.v4.b8 [%o], {%i1, %i2, %i3, %i4};", 4),
	   "v4_of_b8");
	ok(copied("ld.global.v4.u16 {%h1, %h2, %h3, %h4}, [%in]; "
		  "st.global.v4.u16 [%o], {%h1, %h2, %h3, %h4};", 8),
	   "v4_of_u16");
	ok(copied("ld.global.nc.v4.f32 {%i1, %i2, %i3, %i4}, [%in]; "
		  "st.global.v4.f32 [%o], {%i1, %i2, %i3, %i4};", 16),
	   "v4_of_f32");
	ok(copied("ld.global.L1::evict_last.L2::128B.v2.b64 {%x1, %x2}, [%in];"
		  " st.global.L1::no_allocate.v2.b64 [%o], {%x1, %x2};", 16),
	   "v2_of_b64");
	ok(copied("ld.global.v8.b32 {%i1, %i2, %i3, %i4, %i5, %i6, %i7, %i8}, "
		  "[%in]; st.global.v8.b32 [%o], {%i1, %i2, %i3, %i4, %i5, "
		  "%i6, %i7, %i8};", 32), "v8_of_b32");
	ok(copied("ld.global.b128 %q1, [%in]; mov.b128 {%x1, %x2}, %q1; "
		  "mov.b128 %q2, {%x1, %x2}; st.global.b128 [%o], %q2;", 16),
	   "b128");
	ok(copied("ld.global.v4.u32 {%i1, _, %i3, _}, [%in]; "
		  "ld.global.v4.u32 {_, %i2, _, %i4}, [%in]; "
		  "st.global.v4.u32 [%o], {%i1, %i2, %i3, %i4};", 16),
	   "sinks_in_a_vector_load");
	ok(copied("mov.u64 %x9, s2; mad.wide.u32 %x9, %t, 16, %x9; "
		  "ld.global.v4.u32 {%i1, %i2, %i3, %i4}, [%in]; "
		  "st.shared.v4.u32 [%x9], {%i1, %i2, %i3, %i4}; "
		  "ld.shared.v2.b64 {%x1, %x2}, [%x9]; "
		  "st.global.v2.b64 [%o], {%x1, %x2};", 16),
	   "vectors_in_shared_memory");
	ok(copied("ld.global.u64 %in, [%in]; st.global.u64 [%o], %in;", 8),
	   "load_over_its_own_address");
}

/* ---- forms: all of these are the same load or store here ---- */

static void forms(void)
{
	static const char *const loads[] = {
		"ld.u64", "ld.weak.global.u64", "ld.volatile.global.u64",
		"ld.relaxed.gpu.global.u64", "ld.acquire.sys.global.u64",
		"ld.acquire.cta.u64", "ld.global.ca.u64", "ld.global.cg.u64",
		"ld.global.cs.u64", "ld.global.lu.u64", "ld.global.cv.u64",
		"ld.global.nc.u64", "ld.global.nc.L1::no_allocate.L2::256B.u64",
		"ldu.global.u64", "ld.mmio.relaxed.sys.global.u64",
	};
	static const char *const stores[] = {
		"st.u64", "st.weak.global.u64", "st.volatile.global.u64",
		"st.relaxed.gpu.global.u64", "st.release.sys.global.u64",
		"st.global.wb.u64", "st.global.cg.u64", "st.global.cs.u64",
		"st.global.wt.u64",
	};
	char code[256];
	bool good = true;

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		snprintf(code, sizeof(code), "%s %%x1, [%%in]; "
			 "st.global.u64 [%%o], %%x1;", loads[i]);
		good &= copied(code, 8);
	}
	ok(good, "qualified_loads_are_loads");
	good = true;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		snprintf(code, sizeof(code), "ld.global.u64 %%x1, [%%in]; "
			 "%s [%%o], %%x1;", stores[i]);
		good &= copied(code, 8);
	}
	ok(good, "qualified_stores_are_stores");
	ok(copied("prefetch.global.L2 [%in]; prefetchu.L1 [%in]; "
		  "createpolicy.fractional.L2::evict_first.b64 %x3, 1.0; "
		  "ld.global.L2::cache_hint.u64 %x1, [%in], %x3; "
		  "membar.gl; fence.sc.sys; fence.acq_rel.cta; "
		  "discard.global.L2 [%in], 128; "
		  "st.global.L2::cache_hint.u64 [%o], %x1, %x3;", 8),
	   "hints_and_fences_change_nothing");
	ok(copied("mov.u32 %i9, s2; mad.lo.u32 %i9, %t, 16, %i9; "
		  "cp.async.cg.shared.global [%i9], [%in], 16; "
		  "cp.async.commit_group; cp.async.wait_group 0; "
		  "ld.shared.v2.b64 {%x1, %x2}, [%i9]; "
		  "st.global.v2.b64 [%o], {%x1, %x2};", 16),
	   "cp_async_copies");
	ok(copies("mov.u32 %i9, s2; mad.lo.u32 %i9, %t, 16, %i9; "
		  "st.shared.u64 [%i9+8], -1; "
		  "cp.async.ca.shared::cta.global.L2::128B [%i9], [%in], 16, "
		  "%t; cp.async.wait_all; ld.shared.v2.b64 {%x1, %x2}, [%i9]; "
		  "st.global.v2.b64 [%o], {%x1, %x2};") &&
	   !memcmp(out[5], in[5], 5) && !out[5][5] && !out[5][15] &&
	   !memcmp(out[20], in[20], 16), "cp_async_fills_with_zeros");
}

/* ---- generic addresses ---- */

static void generic(void)
{
	/* Each lane goes through one of four spaces with one instruction. */
	static const char mixed[] =
		HEAD(".shared .align 8 .b8 s2[4096];\n"
		     ".const .align 8 .b64 c = 0x1122334455667788;\n")
		".local .align 8 .b64 l; and.b32 %i1, %t, 3;\n"
		"mov.u64 %x1, s2; mad.wide.u32 %x1, %t, 8, %x1;\n"
		"ld.global.u64 %x5, [%in]; st.shared.u64 [%x1], %x5;\n"
		"st.local.u64 [l], %x5; cvta.shared.u64 %x1, %x1;\n"
		"mov.u64 %x2, l; cvta.local.u64 %x2, %x2;\n"
		"mov.u64 %x3, c; cvta.const.u64 %x3, %x3;\n"
		"setp.eq.u32 %p1, %i1, 0; selp.b64 %x4, %x1, %in, %p1;\n"
		"setp.eq.u32 %p2, %i1, 1; @%p2 mov.u64 %x4, %x2;\n"
		"setp.eq.u32 %p3, %i1, 2; @%p3 mov.u64 %x4, %x3;\n"
		"ld.u64 %x6, [%x4]; st.global.u64 [%o], %x6;\n"
		"isspacep.shared %p4, %x4; selp.u32 %i2, 1, 0, %p4;\n"
		"isspacep.local %p4, %x4; selp.u32 %i3, 2, 0, %p4;\n"
		"isspacep.const %p4, %x4; selp.u32 %i4, 4, 0, %p4;\n"
		"isspacep.global %p4, %x4; selp.u32 %i5, 8, 0, %p4;\n"
		"add.u32 %i2, %i2, %i3; add.u32 %i2, %i2, %i4;\n"
		"add.u32 %i2, %i2, %i5; st.global.u32 [%o+8], %i2;\n"
		"cvta.to.shared.u64 %x7, %x1; mov.u64 %x8, s2;\n"
		"sub.u64 %x7, %x7, %x8; st.global.u64 [%o+16], %x7; }\n";
	bool good = run(mixed) == EXEC_OK, spaces = good, back = good;
	static const uint32_t want[4] = { 1, 2, 12, 8 };

	for (int t = 0; t < THREADS; t++) {
		uint64_t v, off, c = 0x1122334455667788;
		uint32_t sp;

		memcpy(&v, out[t], 8);
		memcpy(&sp, out[t] + 8, 4);
		memcpy(&off, out[t] + 16, 8);
		good &= !memcmp(&v, t % 4 == 2 ? (void *)&c : in[t], 8);
		spaces &= sp == want[t % 4];
		back &= off == 8ull * t;
	}
	ok(good, "generic_load_reaches_every_space");
	ok(spaces, "isspacep_tells_the_spaces_apart");
	ok(back, "cvta_to_undoes_cvta");
}

/* ---- variables, initialisers, parameters ---- */

static const char vars[] =
	".global .align 4 .b8 bytes[5] = {1, 2, 0xff, 4};\n"
	".global .f32 fs[3] = {0f3F800000, 2.5};\n"
	".global .f64 fd = 0d400921FB54442D18;\n"
	".global .s16 two[2][3] = {{1, 2}, {-4, 5, 6}};\n"
	".visible .const .u64 pc[2] = {bytes, generic(bytes)+2};\n"
	".global .b8 split[8] = {0xFF(bytes), 0xFF00(bytes), 0xFF0000(bytes), "
	"0xFF000000(bytes), 0xFF00000000(bytes), 0xFF0000000000(bytes), "
	"0xFF000000000000(bytes), 0xFF00000000000000(bytes)};\n"
	".global .u64 self = self;\n.global .align 64 .b32 zero[100];\n"
	".entry k() { ret; }\n";

static const void *var(struct ptx_module *m, const char *name)
{
	const struct ptx_var *v = ptx_find_var(m, name);

	return v ? v->addr : NULL;
}

static void variables(void)
{
	struct ptx_module *m;
	const int16_t *two;
	const uint64_t *p;
	uint64_t split = 0;

	m = load_body(vars);
	if (!ok(m != NULL, "module_with_variables_loads"))
		return;
	ok(!memcmp(var(m, "bytes"), "\1\2\377\4\0", 5), "bytes_are_in_place");
	ok(((float *)var(m, "fs"))[0] == 1 && ((float *)var(m, "fs"))[1] == 2.5
	   && *(double *)var(m, "fd") == 3.141592653589793,
	   "floats_are_in_place");
	two = var(m, "two");
	ok(two[0] == 1 && two[1] == 2 && two[2] == 0 && two[3] == -4 &&
	   two[5] == 6, "nested_braces_fill_rows");
	p = var(m, "pc");
	ok(p[0] == (uintptr_t)var(m, "bytes") && p[1] == p[0] + 2,
	   "addresses_are_filled_in");
	memcpy(&split, var(m, "split"), 8);
	ok(split == p[0], "masked_addresses_give_single_bytes");
	p = var(m, "self");
	ok(*p == (uintptr_t)p, "variable_may_point_to_itself");
	ok(((uintptr_t)var(m, "zero") & 63) == 0 &&
	   ((int *)var(m, "zero"))[99] == 0, "others_are_zero");
	ok(ptx_find_var(m, "pc")->space == PTX_SPACE_CONST &&
	   ptx_find_var(m, "pc")->visible && !ptx_find_var(m, "fd")->visible,
	   "space_and_visibility_are_known");
	ptx_unload(m);
}

static void params(void)
{
	static const char text[] =
		".entry k(.param .u8 a, .param .u16 b, .param .u32 c,\n"
		".param .u8 d, .param .u64 e, .param .align 16 .b8 f[20],\n"
		".param .u16 g, .param .u64 .ptr .global .align 8 h) { ret; }\n";
	static const uint32_t want[][2] = { { 0, 1 }, { 2, 2 }, { 4, 4 },
		{ 8, 1 }, { 16, 8 }, { 32, 20 }, { 52, 2 }, { 56, 8 } };
	struct ptx_module *m = load_body(text);
	const struct ptx_func *f = m ? ptx_find_entry(m, "k") : NULL;
	bool good = f && f->nparams == 8 && f->param_bytes == 64;

	for (int i = 0; good && i < 8; i++)
		good = f->params[i].offset == want[i][0] &&
		       f->params[i].size == want[i][1];
	ok(good, "parameters_have_natural_alignment");
	ptx_unload(m);
	ok(run(HEAD("") "mov.b64 %x1, s; ld.param.u64 %x2, [%x1+8];\n"
	       "cvta.param.u64 %x3, s; ld.u64 %x4, [%x3+16];\n"
	       "ld.param.v2.u32 {%i1, %i2}, [s+8]; st.global.u64 [%o], %x2; "
	       "}\n") == EXEC_OK, "parameters_can_be_read_by_address");
	ok(run(HEAD("") "cvta.param.u64 %x3, s; st.u64 [%x3], 1; }\n") ==
	   EXEC_ILLEGAL_ADDRESS, "parameters_cannot_be_written");
	ok(run(HEAD("") "ld.param.u64 %x3, [s+24]; }\n") ==
	   EXEC_ILLEGAL_ADDRESS, "nothing_lies_behind_the_parameters");
}

/* ---- shared memory: static, dynamic, of functions ---- */

static const char shared_vars[] =
	".shared .align 4 .b8 common[100];\n.extern .shared .align 16 .b8 "
	"dyn[];\n.shared .b32 unused[1000];\n"
	".func touch() { .shared .b64 own[3]; .reg .b64 %a, %b; "
	"mov.u64 %a, own; mov.u64 %b, common; }\n"
	".entry k1() { .shared .b32 mine[5]; .reg .b64 %a; mov.u64 %a, mine; "
	"call touch; }\n"
	".entry k2() { .shared .b64 mine[5]; .reg .b64 %a; mov.u64 %a, mine; }"
	"\n.entry k3(.param .u64 out) { .shared .b8 x[9]; .reg .b32 %r<5>; "
	".reg .b64 %o; mov.u32 %r1, dyn; mov.u32 %r2, %dynamic_smem_size; "
	"mov.u32 %r3, %total_smem_size; mov.u32 %r4, x; ld.param.u64 %o, "
	"[out]; st.global.v4.u32 [%o], {%r1, %r2, %r3, %r4}; "
	"st.shared.u8 [dyn+39], %r1; }\n";

static void shared(void)
{
	struct ptx_module *m = load_body(shared_vars);
	uint32_t *o = dev_alloc(16);
	uint64_t arg = (uintptr_t)o;
	uint32_t one[3] = { 1, 1, 1 };

	ok(m && ptx_find_entry(m, "k1")->static_shared == 104 + 24 + 20,
	   "kernel_has_the_shared_memory_that_it_reaches");
	ok(m && ptx_find_entry(m, "k2")->static_shared == 40,
	   "kernel_has_no_shared_memory_of_others");
	ok(m && launch(m, "k3", 1, 1, 40, &arg, 1) == EXEC_OK && o[0] == 16 &&
	   o[1] == 40 && o[2] == 56 && o[3] == 0,
	   "dynamic_shared_memory_follows_the_static");
	ok(m && launch3(m, "k3", one, one, 39, &arg, 1, false) ==
	   EXEC_ILLEGAL_ADDRESS && fault.addr == 0x0100000000000000 + 55,
	   "access_behind_shared_memory_is_a_fault");
	dev_free(o);
	ptx_unload(m);
}

/* ---- faults ---- */

static void bad(const char *code, enum exec_status want, const char *name)
{
	char text[4096];
	enum exec_status st;

	snprintf(text, sizeof(text), "%s.local .align 16 .b8 l[32];\n%s }\n",
		 HEAD(".shared .align 16 .b8 s2[64];\n.const .b32 c[4];\n"),
		 code);
	st = run(text);
	if (!ok(st == want, name))
		diag("%s: %s", exec_status_name(st), fault.msg);
}

static void faults(void)
{
	enum exec_status wild = EXEC_ILLEGAL_ADDRESS;

	bad("mov.u64 %x1, 0; ld.global.u32 %i1, [%x1];", wild,
	    "null_pointer_is_a_fault");
	bad("mov.u64 %x1, -8; ld.global.u64 %x2, [%x1];", wild,
	    "highest_address_is_a_fault");
	bad("mov.u64 %x1, 0x0100000000000000; ld.global.u32 %i1, [%x1];",
	    wild, "window_is_no_global_memory");
	bad("mov.u64 %x1, 0x7f00000000000000; ld.u32 %i1, [%x1];", wild,
	    "unknown_window_is_a_fault");
	bad("setp.eq.u32 %p1, %t, 9; selp.b64 %x1, -16, %in, %p1; "
	    "ld.global.u64 %x2, [%x1];", wild, "one_wild_lane_is_a_fault");
	bad("setp.eq.u32 %p1, %t, 9; selp.b64 %x1, 16, %in, %p1; "
	    "ld.u64 %x2, [%x1];", wild, "one_wild_generic_lane_is_a_fault");
	bad("sub.u64 %x1, %in, 4096; st.global.u8 [%x1], 1;", wild,
	    "write_before_an_allocation_is_a_fault");
	bad("ld.global.u32 %i1, [%in+2048];", wild,
	    "read_behind_an_allocation_is_a_fault");
	bad("ld.global.u32 %i1, [%in+2];", EXEC_MISALIGNED,
	    "unaligned_load_is_a_fault");
	bad("ld.global.v4.u32 {%i1, %i2, %i3, %i4}, [%in+8];",
	    EXEC_MISALIGNED, "vector_is_aligned_as_a_whole");
	bad("st.shared.u32 [s2+64], 1;", wild,
	    "write_behind_shared_memory_is_a_fault");
	bad("mov.u32 %i1, -4; ld.shared.u32 %i2, [%i1];", wild,
	    "negative_shared_address_is_a_fault");
	bad("mov.u64 %x1, -4; ld.shared.u32 %i2, [%x1];", wild,
	    "negative_64_bit_shared_address_is_a_fault");
	bad("mov.u64 %x1, 0x100000000; ld.shared.u32 %i2, [%x1];", wild,
	    "large_shared_address_is_a_fault");
	bad("st.local.u32 [l+100000], 1;", wild,
	    "write_behind_local_memory_is_a_fault");
	bad("mov.u64 %x1, l; sub.u64 %x1, %x1, 8; st.local.u32 [%x1], 1;",
	    wild, "write_before_local_memory_is_a_fault");
	bad("mov.u64 %x1, l; cvta.local.u64 %x1, %x1; "
	    "st.u32 [%x1+1000000], 1;", wild,
	    "generic_write_behind_local_memory_is_a_fault");
	bad("mov.u32 %i1, s2; cp.async.ca.shared.global [%i1+64], [%in], 4;",
	    wild, "cp_async_is_checked_too");
	bad("mov.u64 %x1, 64; atom.global.add.u32 %i1, [%x1], 1;", wild,
	    "atomic_on_a_wild_address_is_a_fault");
	bad("tex.1d.v4.f32.s32 {%i1, %i2, %i3, %i4}, [%in, {%t}];", wild,
	    "fetch_without_a_texture_is_a_fault");
	bad("atom.global.add.u64 %x1, [%in+4], 1;", EXEC_MISALIGNED,
	    "unaligned_atomic_is_a_fault");
}

int main(void)
{
	seed_init();
	widths();
	byte_registers();
	vectors();
	forms();
	generic();
	variables();
	params();
	shared();
	faults();
	return tap_exit();
}
