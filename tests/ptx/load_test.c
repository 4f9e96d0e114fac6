/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that a text which is not PTX, or is PTX that the executor does not
 * run, is an error at load time. The error names the whole opcode and its line, and
 * leaves no device memory behind. What a module says about itself can be read.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

#define HEAD ".version 9.0\n.target sm_90a\n.address_size 64\n"

/* Loads one statement in a kernel, on line 7. */
static void stmt(const char *insn, enum ptx_status want, const char *log,
		 const char *name)
{
	char text[2048];
	enum ptx_status st;
	bool good;

	snprintf(text, sizeof(text), HEAD ".entry k(.param .u64 q) {\n"
		 ".reg .b32 %%r<9>; .reg .b64 %%x<9>; .reg .b16 %%h<9>;\n"
		 ".reg .pred %%p<9>; .reg .f32 %%f<9>; .reg .f64 %%d<9>;\n"
		 "%s\n}\n", insn);
	st = load_status(text);
	good = st == want && strstr(load_log, log);
	if (!ok(good, name))
		diag("status %d, log '%s'", st, load_log);
}

static void unsupported(const char *insn, const char *opcode)
{
	char log[128], name[128];

	snprintf(log, sizeof(log), "line 7: unsupported instruction '%s'",
		 opcode);
	snprintf(name, sizeof(name), "%s_is_named", opcode);
	stmt(insn, PTX_ERR_UNSUPPORTED, log, name);
}

static void refused(void)
{
	unsupported("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 "
		    "{%fd1, %fd2}, {%fd3}, {%fd4}, {%fd1, %fd2};",
		    "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
	unsupported("tex.level.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1,%f2}], %f3;",
		    "tex.level.2d.v4.f32.f32");
	unsupported("sust.p.2d.b32.trap [%x1, {%r1,%r2}], {%r3};", "sust.p.2d.b32.trap");
	unsupported("tcgen05.wait::ld.sync.aligned;", "tcgen05.wait::ld.sync.aligned");
	unsupported("atom.global.add.v2.f32 {%f1,%f2}, [%x1], {%f1,%f2};",
		    "atom.global.add.v2.f32");
	unsupported("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
		    "[%r1], [%r2], 16, [%r3];",
		    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes");
	unsupported("add.s128 %r1, %r1, %r1;", "add.s128");
	unsupported("vadd2.u32.u32.u32 %r1, %r2, %r3, %r4;",
		    "vadd2.u32.u32.u32");
	unsupported("frobnicate.u32 %r1;", "frobnicate.u32");
	unsupported("alloca.u64 %x1, 8;", "alloca.u64");
	unsupported("add.sat.u32 %r1, %r1, %r1;", "add.sat.u32");
	unsupported("fma.f32 %f1, %f1, %f1, %f1;", "fma.f32");
	unsupported("ld.global.v3.f32 {%f1,%f2,%f3}, [%x1];",
		    "ld.global.v3.f32");
	unsupported("shfl.up.b32 %r1, %r2, 1, 0;", "shfl.up.b32");
	unsupported("ld.global.v8.b64 {%x1,%x1,%x1,%x1,%x1,%x1,%x1,%x1}, "
		    "[%x1];", "ld.global.v8.b64");
}

static void syntax(void)
{
	enum ptx_status st = PTX_ERR_SYNTAX;

	stmt("add.s32 %r1, %r2;", st, "line 7: 'add.s32': wrong number",
	     "missing_operand_is_named");
	stmt("add.s32 %r1, %r2, %r3, %r4;", st, "line 7: 'add.s32'",
	     "extra_operand_is_named");
	stmt("add.s32 %r1, %r2, %x1;", st, "register of the wrong size",
	     "wrong_register_size_is_an_error");
	stmt("add.f32 %f1, %f2, 1;", st, "integer where a float",
	     "integer_is_no_float");
	stmt("add.s32 %r1, %r2, 1.5;", st, "float where an integer",
	     "float_is_no_integer");
	stmt("add.s32 5, %r2, %r3;", st, "destination is not a register",
	     "number_is_no_destination");
	stmt("add.s32 %r1, %r2, %r99;", PTX_ERR_UNSUPPORTED,
	     "unsupported register %r99", "unknown_register_is_named");
	stmt("add.s32 %r1, %r2, nobody;", st, "'nobody' is not defined",
	     "unknown_name_is_named");
	stmt("bra NOWHERE;", st, "line 7: label 'NOWHERE' is not defined",
	     "unknown_label_is_named");
	stmt("A: A: ret;", st, "'A' is defined twice",
	     "label_defined_twice_is_an_error");
	stmt("{ B: ret; } bra B;", st, "label 'B' is not defined",
	     "label_is_local_to_its_braces");
	stmt("@%r1 bra A; A:", st, "guard must be a predicate",
	     "guard_must_be_a_predicate");
	stmt("ld.global.u32 %r1, %x1;", st, "address in brackets",
	     "load_needs_an_address");
	stmt("ld.shared.u32 %r1, [q];", st, "another state space",
	     "variable_has_its_space");
	stmt("st.param.u64 [q], %x1;", st, "cannot be written",
	     "kernel_parameter_is_not_written");
	stmt("add.s32 %r1, %r2, 0x1G;", st, "bad number",
	     "bad_number_is_an_error");
	stmt("add.s32 %r1, %r2, 99999999999999999999;", st, "bad number",
	     "number_above_64_bits_is_an_error");
	stmt("add.s32 %r1 %r2, %r3;", st, "line 7", "comma_is_needed");
	stmt("cvt.f32.f64 %f1, %d1;", st, "rounding modifier is needed",
	     "narrowing_needs_a_rounding");
	stmt("setp.eq.s32 %r1, %r2, %r3;", st, "wrong size",
	     "setp_needs_a_predicate");
	stmt("mov.b64 {%r1, %r2, %r3}, %x1;", st, "vector elements",
	     "vector_must_fill_the_register");
	stmt(".reg .b32 %r;", PTX_OK, "", "name_beside_a_range_is_fine");
	stmt("ret", st, "line 8", "semicolon_is_needed");
	stmt("mov.u32 %r1, %pm0;", PTX_ERR_UNSUPPORTED,
	     "unsupported register %pm0", "unknown_special_register_is_named");
	stmt("call nobody;", PTX_ERR_UNRESOLVED, "'nobody'",
	     "call_of_an_unknown_function_is_named");
}

static void module(const char *body, enum ptx_status want, const char *log,
		   const char *name)
{
	char text[4096];
	enum ptx_status st;

	snprintf(text, sizeof(text), HEAD "%s", body);
	st = load_status(text);
	if (!ok(st == want && strstr(load_log, log), name))
		diag("status %d, log '%s'", st, load_log);
}

static void modules(void)
{
	ok(load_status("") == PTX_ERR_SYNTAX, "empty_text_is_an_error");
	ok(load_status("hello") == PTX_ERR_SYNTAX, "prose_is_an_error");
	ok(load_status("\x7f" "ELF\2\1\1") == PTX_ERR_SYNTAX,
	   "binary_is_an_error");
	ok(load_status(".version 9.0\n.target sm_90\n.address_size 32\n") ==
	   PTX_ERR_UNSUPPORTED, "addresses_of_32_bits_are_unsupported");
	module("", PTX_OK, "", "empty_module_loads");
	module(".entry k() { ret; ", PTX_ERR_SYNTAX, "'}' expected",
	       "open_brace_is_an_error");
	module(".entry k() { ret; } .entry k() { ret; }", PTX_ERR_SYNTAX,
	       "defined twice", "kernel_defined_twice_is_an_error");
	module(".global .b32 x; .global .b32 x;", PTX_ERR_SYNTAX,
	       "'x' is defined twice", "variable_defined_twice_is_an_error");
	module(".extern .global .b32 x;\n.entry k() { .reg .b64 %x; "
	       "mov.u64 %x, x; }", PTX_ERR_UNRESOLVED, "'x' is not defined",
	       "extern_variable_is_unresolved");
	module(".extern .global .b32 x; .visible .global .b32 x = 5;\n"
	       ".entry k() { .reg .b64 %x; mov.u64 %x, x; }", PTX_OK, "",
	       "extern_variable_may_be_defined_later");
	module(".extern .func f;\n.entry k() { call f; }", PTX_ERR_UNRESOLVED,
	       "function 'f' is not defined", "extern_function_is_unresolved");
	module(".extern .func f;\n.entry k() { ret; }", PTX_OK, "",
	       "unused_extern_function_does_not_matter");
	module(".func f(.param .b32 a);\n.entry k() { .param .b64 p;\n"
	       "call f, (p); }\n.func f(.param .b32 a) { ret; }",
	       PTX_ERR_SYNTAX, "does not fit the parameters of 'f'",
	       "call_must_fit_its_function");
	module(".global .b8 x[2] = {1, 2, 3};", PTX_ERR_SYNTAX,
	       "too many initialisers", "initialiser_must_fit");
	module(".global .b8 x[4611686018427387904];", PTX_ERR_SYNTAX,
	       "too large", "huge_variable_is_an_error");
	module(".global .b8 x[1000000000000];", PTX_ERR_NOMEM,
	       "no device memory for 'x'", "device_memory_can_run_out");
	module(".const .b8 x[70000];", PTX_ERR_SYNTAX, "larger than 65536",
	       "constants_have_64_KiB");
	module(".global .texref t[2];", PTX_ERR_UNSUPPORTED, "array of .texref",
	       "array_of_textures_is_unsupported");
	module(".entry k() { .reg .b64 %x; .reg .b32 %r<9>;\n"
	       "suld.b.2d.v4.b64.trap {%x,%x,%x,%x}, [%x, {%r1,%r2}]; }", PTX_ERR_SYNTAX,
	       "more than 16 bytes", "surface_access_has_at_most_16_bytes");
	module(".entry k() { .reg .b64 %x; .reg .b32 %r<9>;\n"
	       "suld.b.a2d.b32.trap {%r0}, [%x, {%r1,%r2,%r3}]; }", PTX_ERR_SYNTAX,
	       "wrong number of coordinates", "layered_surface_has_four_coordinates");
	module(".global .surfref s[2];", PTX_ERR_UNSUPPORTED, "array of .surfref",
	       "array_of_surfaces_is_unsupported");
	module(".const .surfref s;", PTX_ERR_UNSUPPORTED, ".surfref",
	       "surface_in_constant_memory_is_unsupported");
	module(".global .u64 s;\n.entry k() { .reg .b32 %r<9>;\n"
	       "suld.b.2d.b32.trap {%r0}, [s, {%r1,%r2}]; }", PTX_ERR_SYNTAX,
	       "neither a surface object", "a_variable_is_no_surface");
	module(".entry k() .blocksareclusters { ret; }",
	       PTX_ERR_UNSUPPORTED, ".blocksareclusters",
	       "grid_of_clusters_is_unsupported");
	module(".global .b32 x = nobody;", PTX_ERR_SYNTAX, "'nobody'",
	       "initialiser_names_what_is_missing");
	module("// comment\n/* another\n one */ .file 1 \"a.cu\"\n"
	       ".section .debug_str { .b8 1,2,3 }\n.pragma \"x\";\n"
	       ".entry k() { .loc 1 2 3, function_name f, inlined_at 1 2 3\n"
	       "ret; }", PTX_OK, "", "debug_information_is_skipped");
}

static void attributes(void)
{
	struct ptx_module *m = load_body(
		".visible .entry k(.param .u32 a) .maxntid 64, 2, 1 "
		".minnctapersm 3 { .local .align 4 .b8 l[100]; .reg .b32 "
		"%r<4>; mov.u32 %r1, 1; }\n.entry r() .reqntid 8, 4 { }\n"
		".func f() { .local .b8 l[200]; }\n"
		".entry c() { .local .b8 l[40]; call f; }\n");
	const struct ptx_func *k, *r, *c;
	uint32_t one[3] = { 1, 1, 1 }, b[3] = { 32, 1, 1 };
	uint64_t a = 0;

	if (!ok(m != NULL, "module_with_attributes_loads"))
		return;
	k = ptx_find_entry(m, "k");
	r = ptx_find_entry(m, "r");
	c = ptx_find_entry(m, "c");
	ok(m->version == 90 && m->target == 90, "version_and_target_are_known");
	ok(k && k->entry && k->max_threads == 128 && k->min_blocks == 3,
	   "launch_bounds_are_known");
	ok(r && r->reqntid[0] == 8 && r->reqntid[1] == 4 && r->reqntid[2] == 1
	   && r->max_threads == 32, "required_shape_is_known");
	ok(k && k->local_bytes >= 100 && c && c->local_bytes >= 240,
	   "local_memory_counts_called_functions");
	ok(k && k->nregs > 0 && k->nregs <= 255, "registers_are_counted");
	ok(launch3(m, "r", one, b, 0, &a, 0, false) == EXEC_BAD_LAUNCH,
	   "other_shape_than_required_is_refused");
	b[0] = 129;
	ok(launch3(m, "k", one, b, 0, &a, 1, false) == EXEC_BAD_LAUNCH,
	   "more_threads_than_allowed_are_refused");
	ok(!ptx_find_entry(m, "f") && !ptx_find_entry(m, "nobody"),
	   "only_kernels_are_found");
	ptx_unload(m);
}

/* The text need not end in a NUL, and a short log is not overrun. */
static void borders(void)
{
	static const char text[] = HEAD ".entry k() { ret; }";
	size_t n = sizeof(text) - 1;
	char *exact = malloc(n), log[8] = "1234567";
	struct ptx_alloc none = { NULL, NULL, NULL };
	struct ptx_module *m;
	bool good = true;

	memcpy(exact, text, n);
	ok(ptx_load(exact, n, &none, &m, NULL, 0) == PTX_OK,
	   "text_needs_no_end_mark");
	ptx_unload(m);
	for (size_t i = 0; i < n; i++) {
		char *cut = malloc(i + 1);

		memcpy(cut, text, i);
		if (ptx_load(cut, i, &none, &m, NULL, 0) == PTX_OK &&
		    i >= sizeof(HEAD))
			good = false;
		ptx_unload(m);
		free(cut);
	}
	ok(good, "text_cut_anywhere_in_a_kernel_is_an_error");
	ptx_load("nonsense", 8, &none, &m, log, sizeof(log));
	ok(strlen(log) == 7 && !strncmp(log, "line 1:", 7),
	   "message_is_cut_to_its_room");
	free(exact);
}

int main(void)
{
	refused();
	syntax();
	modules();
	attributes();
	borders();
	return tap_exit();
}
