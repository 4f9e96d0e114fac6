/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that logic, shifts, bit fields, permutations, comparisons, selections
 * and moves give, bit for bit, what the PTX manual says, on edge and random values.
 */
#include "int_ref.h"

#define WIDTHS(bits) \
REF(and##bits, A & B) \
REF(or##bits, A | B) \
REF(xor##bits, A ^ B) \
REF(not##bits, low(~A, bits)) \
REF(cnot##bits, A == 0) \
REF(shl##bits, B >= bits ? 0 : low(A << B, bits)) \
REF(shru##bits, B >= bits ? 0 : A >> B) \
REF(shrs##bits, low(sx(A, bits) >> (B >= bits ? bits - 1 : B), bits))

WIDTHS(16) WIDTHS(32) WIDTHS(64)

/* ---- logic and shifts ---- */

static uint64_t lop3(const uint64_t *s, int lut)
{
	uint64_t r = 0;

	for (int i = 0; i < 32; i++) {
		int k = (A >> i & 1) << 2 | (B >> i & 1) << 1 | (C >> i & 1);

		r |= (uint64_t)(lut >> k & 1) << i;
	}
	return r;
}

REF(lop3_96, lop3(s, 0x96))
REF(lop3_e8, lop3(s, 0xe8))
REF(lop3_1b, lop3(s, 0x1b))
REF(lop3_01, lop3(s, 0x01))
REF(lop3p_or, (lop3(s, 0x80) != 0) | E)
REF(lop3p_and, (lop3(s, 0xfe) != 0) & E)

#define SHIFT(x) ((x) & 31)
#define CLAMP(x) ((x) > 32 ? 32 : (x))
REF(shf_lw, low((B << 32 | A) << SHIFT(C) >> 32, 32))
REF(shf_lc, low((u128)(B << 32 | A) << CLAMP(C) >> 32, 32))
REF(shf_rw, low((B << 32 | A) >> SHIFT(C), 32))
REF(shf_rc, low((B << 32 | A) >> CLAMP(C), 32))
REF(pand, A & B)
REF(por, A | B)
REF(pxor, A ^ B)
REF(pnot, !A)

static void logic(void)
{
#define LOGIC(op, r) do { \
	CHECK3(op, "b16", "hhh", r##16); CHECK3(op, "b32", "iii", r##32); \
	CHECK3(op, "b64", "lll", r##64); \
} while (0)
	LOGIC("and", and);
	LOGIC("or", or);
	LOGIC("xor", xor);
	check_op("and.pred %d, %a, %b;", "ppp", pand, NULL);
	check_op("or.pred %d, %a, %b;", "ppp", por, NULL);
	check_op("xor.pred %d, %a, %b;", "ppp", pxor, NULL);
	check_op("not.pred %d, %a;", "pp", pnot, NULL);
#define UNLOGIC(op, r) do { \
	check_op(op ".b16 %d, %a;", "hh", r##16, NULL); \
	check_op(op ".b32 %d, %a;", "ii", r##32, NULL); \
	check_op(op ".b64 %d, %a;", "ll", r##64, NULL); \
} while (0)
	UNLOGIC("not", not);
	UNLOGIC("cnot", cnot);
	check_op("shl.b16 %d, %a, %b;", "hhi", shl16, NULL);
	check_op("shl.b32 %d, %a, %b;", "iii", shl32, NULL);
	check_op("shl.b64 %d, %a, %b;", "lli", shl64, NULL);
	check_op("shr.u16 %d, %a, %b;", "hhi", shru16, NULL);
	check_op("shr.b32 %d, %a, %b;", "iii", shru32, NULL);
	check_op("shr.u64 %d, %a, %b;", "lli", shru64, NULL);
	check_op("shr.s16 %d, %a, %b;", "hhi", shrs16, NULL);
	check_op("shr.s32 %d, %a, %b;", "iii", shrs32, NULL);
	check_op("shr.s64 %d, %a, %b;", "lli", shrs64, NULL);
	check_op("shf.l.wrap.b32 %d, %a, %b, %c;", "iiii", shf_lw, NULL);
	check_op("shf.l.clamp.b32 %d, %a, %b, %c;", "iiii", shf_lc, NULL);
	check_op("shf.r.wrap.b32 %d, %a, %b, %c;", "iiii", shf_rw, NULL);
	check_op("shf.r.clamp.b32 %d, %a, %b, %c;", "iiii", shf_rc, NULL);
	check_op("lop3.b32 %d, %a, %b, %c, 0x96;", "iiii", lop3_96, NULL);
	check_op("lop3.b32 %d, %a, %b, %c, 0xe8;", "iiii", lop3_e8, NULL);
	check_op("lop3.b32 %d, %a, %b, %c, 0x1b;", "iiii", lop3_1b, NULL);
	check_op("lop3.b32 %d, %a, %b, %c, 1;", "iiii", lop3_01, NULL);
	check_op("lop3.or.b32 _|%d, %a, %b, %c, 0x80, %e;", "piiip", lop3p_or,
		 NULL);
	check_op("lop3.and.b32 _|%d, %a, %b, %c, 0xfe, %e;", "piiip",
		 lop3p_and, NULL);
}

/* ---- counting, fields, permutations ---- */

static uint64_t popc(const uint64_t *s)
{
	uint64_t n = 0;

	for (int i = 0; i < 64; i++)
		n += A >> i & 1;
	return n;
}

static uint64_t clz(uint64_t v, int bits)
{
	int n = 0;

	while (n < bits && !(v >> (bits - 1 - n) & 1))
		n++;
	return n;
}

REF(clz32, clz(A, 32))
REF(clz64, clz(A, 64))

static uint64_t bfind(uint64_t v, int bits, bool sgn, bool shiftamt)
{
	int i;

	if (sgn && v >> (bits - 1) & 1)
		v = low(~v, bits);
	for (i = bits - 1; i >= 0 && !(v >> i & 1); i--)
		;
	if (i < 0)
		return 0xffffffff;
	return shiftamt ? bits - 1 - i : i;
}

REF(bfind_u32, bfind(A, 32, 0, 0))
REF(bfind_s32, bfind(A, 32, 1, 0))
REF(bfind_u64, bfind(A, 64, 0, 0))
REF(bfind_s64, bfind(A, 64, 1, 0))
REF(bfinds_u32, bfind(A, 32, 0, 1))
REF(bfinds_s32, bfind(A, 32, 1, 1))
REF(bfinds_u64, bfind(A, 64, 0, 1))
REF(bfinds_s64, bfind(A, 64, 1, 1))

static uint64_t brev(uint64_t v, int bits)
{
	uint64_t r = 0;

	for (int i = 0; i < bits; i++)
		r |= (v >> i & 1) << (bits - 1 - i);
	return r;
}

REF(brev32, brev(A, 32))
REF(brev64, brev(A, 64))

/* These are the loops of the manual. */
static uint64_t bfe(uint64_t a, uint32_t pos, uint32_t len, int bits, bool sgn)
{
	int msb = bits - 1, end;
	uint64_t sign, r = 0;

	pos &= 255;
	len &= 255;
	end = (int)(pos + len - 1) < msb ? (int)(pos + len - 1) : msb;
	sign = sgn && len ? a >> end & 1 : 0;
	for (int i = 0; i <= msb; i++)
		r |= (i < (int)len && (int)pos + i <= msb ?
		      a >> (pos + i) & 1 : sign) << i;
	return r;
}

REF(bfe_u32, bfe(A, B, C, 32, 0))
REF(bfe_s32, bfe(A, B, C, 32, 1))
REF(bfe_u64, bfe(A, B, C, 64, 0))
REF(bfe_s64, bfe(A, B, C, 64, 1))

static uint64_t bfi(uint64_t a, uint64_t b, uint32_t pos, uint32_t len,
		    int bits)
{
	pos &= 255;
	len &= 255;
	for (uint32_t i = 0; i < len && pos + i < (uint32_t)bits; i++) {
		b &= ~(1ull << (pos + i));
		b |= (a >> i & 1) << (pos + i);
	}
	return b;
}

REF(bfi_32, bfi(A, B, C, E, 32))
REF(bfi_64, bfi(A, B, C, E, 64))

static uint64_t small(void)
{
	return rnd() % 40;
}

static uint64_t bmsk(uint64_t a, uint64_t b)
{
	uint64_t r = 0;

	for (uint64_t i = 0; i < b && a + i < 32; i++)
		r |= 1ull << (a + i);
	return r;
}

REF(bmsk_c, bmsk(A, B > 32 ? 32 : B))
REF(bmsk_w, bmsk(A & 31, B & 31))
REF(szext_cu, B >= 32 ? A : low(A, B))
REF(szext_cs, B == 0 ? 0 : B >= 32 ? A : low(sx(A, B), 32))
REF(szext_wu, (B & 31) == 0 ? 0 : low(A, B & 31))
REF(szext_ws, (B & 31) == 0 ? 0 : low(sx(A, B & 31), 32))

static uint64_t fns(const uint64_t *s)
{
	int32_t off = (int32_t)C, i = B;

	if (off == 0)
		return A >> i & 1 ? (uint64_t)i : 0xffffffff;
	for (; i >= 0 && i < 32; i += off < 0 ? -1 : 1)
		if (A >> i & 1 && (off < 0 ? ++off == 0 : --off == 0))
			return i;
	return 0xffffffff;
}

static uint64_t lane(void)
{
	return rnd() & 31;
}

static uint64_t few(void)
{
	return low(rnd() % 9 - 4, 32);
}

static uint64_t bits32(void)
{
	return rnd() & 0xffffffff;
}

static uint64_t prmt(const uint64_t *s, const char *mode)
{
	uint64_t v = B << 32 | A, r = 0;
	int n = C & 3;

	for (int i = 0; i < 4; i++) {
		int k = C >> 4 * i & 7;
		uint64_t byte;

		if (!strcmp(mode, "f4e"))
			k = n + i;
		else if (!strcmp(mode, "b4e"))
			k = (n - i) & 7;
		else if (!strcmp(mode, "rc8"))
			k = n;
		else if (!strcmp(mode, "ecl"))
			k = i > n ? i : n;
		else if (!strcmp(mode, "ecr"))
			k = i < n ? i : n;
		else if (!strcmp(mode, "rc16"))
			k = (n & 1) * 2 + (i & 1);
		byte = v >> 8 * k & 0xff;
		if (!*mode && C >> (4 * i + 3) & 1)
			byte = byte & 0x80 ? 0xff : 0;
		r |= byte << 8 * i;
	}
	return r;
}

REF(prmt_, prmt(s, ""))
REF(prmt_f4e, prmt(s, "f4e"))
REF(prmt_b4e, prmt(s, "b4e"))
REF(prmt_rc8, prmt(s, "rc8"))
REF(prmt_ecl, prmt(s, "ecl"))
REF(prmt_ecr, prmt(s, "ecr"))
REF(prmt_rc16, prmt(s, "rc16"))

static void fields(void)
{
	static gen_fn *const msk[OP_SRC] = { small, small };
	static gen_fn *const ext[OP_SRC] = { NULL, small };
	static gen_fn *const nth[OP_SRC] = { bits32, lane, few };

	check_op("popc.b32 %d, %a;", "ii", popc, NULL);
	check_op("popc.b64 %d, %a;", "il", popc, NULL);
	check_op("clz.b32 %d, %a;", "ii", clz32, NULL);
	check_op("clz.b64 %d, %a;", "il", clz64, NULL);
	check_op("bfind.u32 %d, %a;", "ii", bfind_u32, NULL);
	check_op("bfind.s32 %d, %a;", "ii", bfind_s32, NULL);
	check_op("bfind.u64 %d, %a;", "il", bfind_u64, NULL);
	check_op("bfind.s64 %d, %a;", "il", bfind_s64, NULL);
	check_op("bfind.shiftamt.u32 %d, %a;", "ii", bfinds_u32, NULL);
	check_op("bfind.shiftamt.s32 %d, %a;", "ii", bfinds_s32, NULL);
	check_op("bfind.shiftamt.u64 %d, %a;", "il", bfinds_u64, NULL);
	check_op("bfind.shiftamt.s64 %d, %a;", "il", bfinds_s64, NULL);
	check_op("brev.b32 %d, %a;", "ii", brev32, NULL);
	check_op("brev.b64 %d, %a;", "ll", brev64, NULL);
	check_op("bfe.u32 %d, %a, %b, %c;", "iiii", bfe_u32, NULL);
	check_op("bfe.s32 %d, %a, %b, %c;", "iiii", bfe_s32, NULL);
	check_op("bfe.u64 %d, %a, %b, %c;", "llii", bfe_u64, NULL);
	check_op("bfe.s64 %d, %a, %b, %c;", "llii", bfe_s64, NULL);
	check_op("bfi.b32 %d, %a, %b, %c, %e;", "iiiii", bfi_32, NULL);
	check_op("bfi.b64 %d, %a, %b, %c, %e;", "lllii", bfi_64, NULL);
	check_op("bmsk.clamp.b32 %d, %a, %b;", "iii", bmsk_c, msk);
	check_op("bmsk.wrap.b32 %d, %a, %b;", "iii", bmsk_w, msk);
	check_op("szext.clamp.u32 %d, %a, %b;", "iii", szext_cu, ext);
	check_op("szext.clamp.s32 %d, %a, %b;", "iii", szext_cs, ext);
	check_op("szext.wrap.u32 %d, %a, %b;", "iii", szext_wu, ext);
	check_op("szext.wrap.s32 %d, %a, %b;", "iii", szext_ws, ext);
	check_op("fns.b32 %d, %a, %b, %c;", "iiii", fns, nth);
	check_op("prmt.b32 %d, %a, %b, %c;", "iiii", prmt_, NULL);
	check_op("prmt.b32.f4e %d, %a, %b, %c;", "iiii", prmt_f4e, NULL);
	check_op("prmt.b32.b4e %d, %a, %b, %c;", "iiii", prmt_b4e, NULL);
	check_op("prmt.b32.rc8 %d, %a, %b, %c;", "iiii", prmt_rc8, NULL);
	check_op("prmt.b32.ecl %d, %a, %b, %c;", "iiii", prmt_ecl, NULL);
	check_op("prmt.b32.ecr %d, %a, %b, %c;", "iiii", prmt_ecr, NULL);
	check_op("prmt.b32.rc16 %d, %a, %b, %c;", "iiii", prmt_rc16, NULL);
}

/* ---- comparison and selection ---- */

#define CMPS(bits) \
REF(eq##bits, A == B) REF(ne##bits, A != B) \
REF(ltu##bits, A < B) REF(leu##bits, A <= B) \
REF(gtu##bits, A > B) REF(geu##bits, A >= B) \
REF(lts##bits, sx(A, bits) < sx(B, bits)) \
REF(les##bits, sx(A, bits) <= sx(B, bits)) \
REF(gts##bits, sx(A, bits) > sx(B, bits)) \
REF(ges##bits, sx(A, bits) >= sx(B, bits))

CMPS(16) CMPS(32) CMPS(64)

REF(lt_and, (A < B) & C)
REF(lt_or, (A < B) | C)
REF(lt_xor, (A < B) ^ C)
REF(lt_andn, (A < B) & !C)
REF(ge_q_and, (A >= B) & C)
REF(set_mask, A < B ? 0xffffffff : 0)
REF(set_one, A == B ? 0x3f800000 : 0)
REF(set_and, (A < B) & C ? 0xffffffff : 0)
REF(sel, C ? A : B)
REF(sel_not, C ? B : A)
REF(slct_i, (int32_t)C >= 0 ? A : B)

static uint64_t slct_f(const uint64_t *s)
{
	return f32(C) >= 0 ? A : B;
}

static uint64_t gen_f32(void)
{
	return rnd_f32();
}

static void compare_select(void)
{
	static gen_fn *const with_f32[OP_SRC] = { NULL, NULL, gen_f32 };

#define SETP(op, t, s, r) check_op("setp." op "." t " %d, %a, %b;", "p" s s, \
				   r, NULL)
#define SETP_ALL(op, u, s) do { \
	SETP(op, "u16", "h", u##16); SETP(op, "s16", "h", s##16); \
	SETP(op, "u32", "i", u##32); SETP(op, "s32", "i", s##32); \
	SETP(op, "u64", "l", u##64); SETP(op, "s64", "l", s##64); \
} while (0)
	SETP_ALL("eq", eq, eq);
	SETP_ALL("ne", ne, ne);
	SETP_ALL("lt", ltu, lts);
	SETP_ALL("le", leu, les);
	SETP_ALL("gt", gtu, gts);
	SETP_ALL("ge", geu, ges);
	SETP("eq", "b16", "h", eq16);
	SETP("ne", "b32", "i", ne32);
	SETP("eq", "b64", "l", eq64);
	SETP("lo", "u16", "h", ltu16);
	SETP("ls", "u32", "i", leu32);
	SETP("hi", "u64", "l", gtu64);
	SETP("hs", "u32", "i", geu32);
	check_op("setp.lt.and.u32 %d, %a, %b, %c;", "piip", lt_and, NULL);
	check_op("setp.lt.or.u32 %d, %a, %b, %c;", "piip", lt_or, NULL);
	check_op("setp.lt.xor.u64 %d, %a, %b, %c;", "pllp", lt_xor, NULL);
	check_op("setp.lt.and.u32 %d, %a, %b, !%c;", "piip", lt_andn, NULL);
	check_op("setp.lt.u32 %never|%d, %a, %b;", "pii", geu32, NULL);
	check_op("setp.lt.u32 _|%d, %a, %b;", "pii", geu32, NULL);
	check_op("setp.lt.and.u32 %never|%d, %a, %b, %c;", "piip", ge_q_and,
		 NULL);
	check_op("set.lt.u32.u32 %d, %a, %b;", "iii", set_mask, NULL);
	check_op("set.lt.s32.u64 %d, %a, %b;", "ill", set_mask, NULL);
	check_op("set.eq.f32.s16 %d, %a, %b;", "ihh", set_one, NULL);
	check_op("set.lt.and.u32.u32 %d, %a, %b, %c;", "iiip", set_and, NULL);
	check_op("selp.b16 %d, %a, %b, %c;", "hhhp", sel, NULL);
	check_op("selp.u32 %d, %a, %b, %c;", "iiip", sel, NULL);
	check_op("selp.s64 %d, %a, %b, %c;", "lllp", sel, NULL);
	check_op("selp.f32 %d, %a, %b, %c;", "iiip", sel, NULL);
	check_op("selp.f64 %d, %a, %b, !%c;", "lllp", sel_not, NULL);
	check_op("slct.u32.s32 %d, %a, %b, %c;", "iiii", slct_i, NULL);
	check_op("slct.b64.s32 %d, %a, %b, %c;", "llli", slct_i, NULL);
	check_op("slct.s16.f32 %d, %a, %b, %c;", "hhhi", slct_f, with_f32);
	check_op("slct.f64.f32 %d, %a, %b, %c;", "llli", slct_f, with_f32);
}

/* ---- moves ---- */

REF(same, A)
REF(pack2, B << 32 | A)
REF(pack4, E << 48 | C << 32 | B << 16 | A)
REF(packh, B << 16 | A)
REF(unpack_hi, A >> 32)
REF(unpack_h2, low(A >> 32, 16))
REF(packk, B << 32 | 7)
REF(second, B)

static void moves(void)
{
	check_op("mov.b16 %d, %a;", "hh", same, NULL);
	check_op("mov.u32 %d, %a;", "ii", same, NULL);
	check_op("mov.f64 %d, %a;", "ll", same, NULL);
	check_op("mov.pred %d, %a;", "pp", same, NULL);
	check_op("mov.b64 %d, {%a, %b};", "lii", pack2, NULL);
	check_op("mov.b64 %d, {%a, %b, %c, %e};", "lhhhh", pack4, NULL);
	check_op("mov.b32 %d, {%a, %b};", "ihh", packh, NULL);
	check_op("mov.b64 %d, {7, %b};", "lii", packk, NULL);
	check_op("mov.b64 {_, %d}, %a;", "il", unpack_hi, NULL);
	check_op("mov.b64 {_, _, %d, _}, %a;", "hl", unpack_h2, NULL);
	check_op("{ .reg .b128 q; .reg .b64 t; mov.b128 q, {%a, %b}; "
		 "mov.b128 {t, %d}, q; }", "lll", second, NULL);
}

int main(void)
{
	seed_init();
	logic();
	fields();
	compare_select();
	moves();
	return tap_exit();
}
