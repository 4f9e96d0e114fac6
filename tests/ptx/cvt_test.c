/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that every conversion between integer and floating types gives what
 * the PTX manual says, with every rounding, saturation, and from and to registers wider
 * than the type.
 */
#include <stdio.h>

#include "quad.h"

struct type {
	const char *name;
	int bits;
	bool sgn;
	const struct format *f;		/* NULL: an integer */
};

static const struct type types[] = {
	{ "u8", 8, 0, NULL }, { "s8", 8, 1, NULL },
	{ "u16", 16, 0, NULL }, { "s16", 16, 1, NULL },
	{ "u32", 32, 0, NULL }, { "s32", 32, 1, NULL },
	{ "u64", 64, 0, NULL }, { "s64", 64, 1, NULL },
	{ "f16", 16, 1, &F16 }, { "bf16", 16, 1, &BF16 },
	{ "f32", 32, 1, &F32 }, { "f64", 64, 1, &F64 },
};

#define NTYPES 12
#define NINTS 8

/* The conversion under test. */
static struct {
	const struct type *d, *s;
	enum dir dir;
	bool integral, ftz, sat, relu;
	int dbits;		/* of the register */
} now;

static uint64_t low(uint64_t v, int bits)
{
	return bits == 64 ? v : v & ((1ull << bits) - 1);
}

static __float128 source(uint64_t v)
{
	const struct type *t = now.s;
	__float128 x;

	v = low(v, t->bits);
	if (!t->f)
		return t->sgn ? (__float128)((int64_t)(v << (64 - t->bits)) >>
					     (64 - t->bits)) : (__float128)v;
	x = q_value(v, t->f);
	return now.ftz && t->f == &F32 ? q_flush(x, &F32) : x;
}

/* Returns the result in its register: integers are extended by their own sign. */
static uint64_t int_result(__float128 x)
{
	const struct type *t = now.d;
	__float128 lo = t->sgn ? -scalbnq(1, t->bits - 1) : 0;
	__float128 hi = scalbnq(1, t->bits - t->sgn) - 1;
	uint64_t r;

	x = x < lo ? lo : x > hi ? hi : x;
	r = x < 0 ? -(uint64_t)-x : (uint64_t)x;
	return low(r, now.dbits);
}

static uint64_t to_int(uint64_t v)
{
	__float128 x = source(v);

	if (isnanq(x) && now.s->bits != 64 && now.d->bits != 64)
		return 0;
	if (isnanq(x))
		return low(now.d->sgn ? -(1ull << (now.d->bits - 1)) :
			   1ull << (now.d->bits - 1), now.dbits);
	return int_result(q_integral(x, now.dir));
}

/* Between integers the bits are cut off, unless .sat clamps them. */
static uint64_t int_to_int(uint64_t v)
{
	const struct type *d = now.d, *s = now.s;

	if (now.sat)
		return int_result(source(v));
	v = low(v, s->bits);
	if (s->sgn)
		v = (int64_t)(v << (64 - s->bits)) >> (64 - s->bits);
	v = low(v, d->bits);
	if (d->sgn)
		v = (int64_t)(v << (64 - d->bits)) >> (64 - d->bits);
	return low(v, now.dbits);
}

static uint64_t to_float(uint64_t v)
{
	__float128 x = source(v);

	if (now.integral)
		x = copysignq(q_integral(x, now.dir), x);
	if (!isnanq(x))
		x = q_round(q_exact(x), now.d->f, now.integral ? RN : now.dir);
	if (now.relu && (x < 0 || (x == 0 && signbitq(x))))
		x = 0;
	if (now.sat)
		x = q_saturate(x);
	if (now.ftz && now.d->f == &F32)
		x = q_flush(x, &F32);
	return q_bits(x, now.d->f);
}

static uint64_t converted(const uint64_t *s)
{
	if (now.d->f)
		return to_float(s[0]);
	return now.s->f ? to_int(s[0]) : int_to_int(s[0]);
}

static char sig_of(int bits)
{
	return bits == 64 ? 'l' : bits == 32 ? 'i' : 'h';
}

static uint64_t gen_source(void)
{
	const struct format *f = now.s->f;

	if (!f)
		return rnd_int(64) ^ (rnd() & 3 ? 0 : rnd() << now.s->bits % 64);
	if (f == &F64)
		return rnd() & 1 ? rnd_f64() :
		       u64_of((int64_t)rnd_int(64) * ldexp(1, -(int)(rnd() %
								 40)));
	if (f == &F32)
		return rnd() & 1 ? rnd_f32() :
		       u32_of((int32_t)rnd_int(32) * ldexpf(1, -(int)(rnd() %
								 20)));
	return rnd_f16();
}

/* Tests cvt{.mods}.d.s with registers of these sizes. */
static bool one(const char *mods, int dreg, int sreg)
{
	gen_fn *gen[OP_SRC] = { gen_source };
	char insn[100], sig[3] = { sig_of(dreg), sig_of(sreg), 0 };

	now.dbits = dreg;
	snprintf(insn, sizeof(insn), "cvt%s%s%s.%s.%s %%d, %%a;", mods,
		 now.ftz ? ".ftz" : "", now.sat ? ".sat" : "", now.d->name,
		 now.s->name);
	return op_matches(insn, sig, converted, gen, now.d->f == &F64 ? 8 :
			  now.d->f == &F32 ? 4 : 0, 0);
}

static int reg_bits(int bits)
{
	return bits < 16 ? 16 : bits;
}

static void integers(void)
{
	bool plain = true, sat = true, wide = true;

	for (int d = 0; d < NINTS; d++)
		for (int s = 0; s < NINTS; s++) {
			int dr = reg_bits(types[d].bits);
			int sr = reg_bits(types[s].bits);

			memset(&now, 0, sizeof(now));
			now.d = &types[d];
			now.s = &types[s];
			plain &= one("", dr, sr);
			wide &= one("", 64, sr) & one("", dr, 64);
			if (dr < 32)
				wide &= one("", 32, sr);
			now.sat = true;
			sat &= one("", dr, sr) & one("", 64, 64);
		}
	ok(plain, "integers_convert_to_integers");
	ok(sat, "sat_clamps_integers");
	ok(wide, "integer_types_fit_wider_registers");
}

static const char *const int_dirs[] = { ".rni", ".rzi", ".rmi", ".rpi" };
static const char *const dirs[] = { ".rn", ".rz", ".rm", ".rp" };

static void floats_to_ints(void)
{
	bool good = true, ftz = true, wide = true;

	for (int d = 0; d < NINTS; d++)
		for (int s = NINTS; s < NTYPES; s++)
			for (int r = 0; r < 4; r++) {
				int dr = reg_bits(types[d].bits);
				int sr = types[s].bits;

				memset(&now, 0, sizeof(now));
				now.d = &types[d];
				now.s = &types[s];
				now.dir = r;
				good &= one(int_dirs[r], dr, sr);
				wide &= one(int_dirs[r], 64, sr);
				now.ftz = true;
				if (types[s].f == &F32)
					ftz &= one(int_dirs[r], dr, sr);
			}
	ok(good, "floats_convert_to_integers_in_all_directions");
	ok(ftz, "ftz_flushes_before_the_conversion");
	ok(wide, "results_fit_wider_registers");
}

static void ints_to_floats(void)
{
	bool good = true, sat = true;

	for (int d = NINTS; d < NTYPES; d++)
		for (int s = 0; s < NINTS; s++)
			for (int r = 0; r < 4; r++) {
				int sr = reg_bits(types[s].bits);

				memset(&now, 0, sizeof(now));
				now.d = &types[d];
				now.s = &types[s];
				now.dir = r;
				good &= one(dirs[r], types[d].bits, sr);
				now.sat = true;
				sat &= one(dirs[r], types[d].bits, 64);
			}
	ok(good, "integers_convert_to_floats_in_all_directions");
	ok(sat, "sat_clamps_floats_made_of_integers");
}

static bool float_pair(const struct type *d, const struct type *s)
{
	bool good = true;

	memset(&now, 0, sizeof(now));
	now.d = d;
	now.s = s;
	for (int r = 0; r < 4; r++) {
		now.dir = r;
		if (d->f->prec >= s->f->prec && r)
			break;
		for (int k = 0; k < 4; k++) {
			now.sat = k & 1;
			now.ftz = k & 2;
			if (now.ftz && d->f != &F32 && s->f != &F32)
				break;
			good &= one(d->f->prec < s->f->prec ? dirs[r] : "",
				    d->bits, s->bits);
		}
	}
	return good;
}

static void floats(void)
{
	bool good = true, whole = true;

	for (int d = NINTS; d < NTYPES; d++)
		for (int s = NINTS; s < NTYPES; s++) {
			/* f16 and bf16 do not contain each other. */
			if (d != s && types[d].bits == 16 &&
			    types[s].bits == 16)
				continue;
			good &= float_pair(&types[d], &types[s]);
		}
	ok(good, "floats_convert_to_floats");
	for (int t = NINTS; t < NTYPES; t++)
		for (int r = 0; r < 4; r++) {
			memset(&now, 0, sizeof(now));
			now.d = now.s = &types[t];
			now.dir = r;
			now.integral = true;
			whole &= one(int_dirs[r], types[t].bits,
				     types[t].bits);
		}
	ok(whole, "floats_round_to_integral_values");
}

/* ---- pairs, tf32, relu, pack ---- */

static uint64_t f16_rn(uint64_t v)
{
	return q_bits(q_round(q_exact(q_value(v, &F32)), &F16, RN), &F16);
}

static uint64_t bf16_of(uint64_t v, enum dir d)
{
	return q_bits(q_round(q_exact(q_value(v, &F32)), &BF16, d), &BF16);
}

static uint64_t relu(uint64_t h)
{
	return h & 0x8000 && (h & 0x7fff) <= 0x7c00 ? 0 : h;
}

static uint64_t tf32(uint64_t v, enum dir d)
{
	__float128 x = q_value(v, &F32);

	if (isnanq(x))
		return 0x7fffe000;
	return q_bits(q_round(q_exact(x), &TF32, d), &F32);
}

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

#define A (s[0])
#define B (s[1])
#define C (s[2])
#define SA ((int32_t)A)
#define SB ((int32_t)B)
#define REF(name, expr) \
	static uint64_t name(const uint64_t *s) { return (uint64_t)(expr); }

REF(f16x2, f16_rn(A) << 16 | f16_rn(B))
REF(f16x2_relu, relu(f16_rn(A)) << 16 | relu(f16_rn(B)))
REF(bf16x2, bf16_of(A, RN) << 16 | bf16_of(B, RN))
REF(bf16x2_rz, bf16_of(A, RZ) << 16 | bf16_of(B, RZ))
REF(f16_relu, relu(f16_rn(A)))
REF(tf32_rna, tf32(A, RNA))
REF(tf32_rn, tf32(A, RN))
REF(tf32_rz, tf32(A, RZ))
REF(pack_u16, (uint64_t)clamp(SA, 0, 65535) << 16 | clamp(SB, 0, 65535))
REF(pack_s16, (clamp(SA, -32768, 32767) & 0xffff) << 16 |
	      (clamp(SB, -32768, 32767) & 0xffff))
REF(pack_u8, (C << 16 & 0xffffffff) | clamp(SA, 0, 255) << 8 |
	     clamp(SB, 0, 255))
REF(pack_s8, (C << 16 & 0xffffffff) | (clamp(SA, -128, 127) & 255) << 8 |
	     (clamp(SB, -128, 127) & 255))

/* For fp8, all values of the format are made by its definition, and the nearest one is taken. */
static __float128 fp8_value(int v, bool e4m3)
{
	int man = e4m3 ? 3 : 2, bias = e4m3 ? 7 : 15;
	int e = (v & 127) >> man, m = v & ((1 << man) - 1);
	__float128 x;

	if (e4m3 ? (v & 127) == 127 : e == 31 && m)
		return nanq("");
	if (!e4m3 && e == 31)
		x = HUGE_VALQ;
	else
		x = e ? scalbnq((1 << man) + m, e - bias - man) :
		    scalbnq(m, 1 - bias - man);
	return v & 128 ? -x : x;
}

static int fp8_of(__float128 x, bool e4m3)
{
	int max = e4m3 ? 126 : 123, best = 0;

	if (isnanq(x))
		return 127;
	if (fabsq(x) > 1e6Q)
		x = copysignq(1e6Q, x);
	for (int i = 1; i <= max; i++) {
		__float128 di = fabsq(fabsq(x) - fp8_value(i, e4m3));
		__float128 db = fabsq(fabsq(x) - fp8_value(best, e4m3));

		if (di < db || (di == db && !(i & 1)))
			best = i;
	}
	return best | (signbitq(x) ? 128 : 0);
}

static uint64_t e4m3x2(const uint64_t *s)
{
	return fp8_of(q_value(A, &F32), 1) << 8 | fp8_of(q_value(B, &F32), 1);
}

static uint64_t e5m2x2(const uint64_t *s)
{
	return fp8_of(q_value(A, &F32), 0) << 8 | fp8_of(q_value(B, &F32), 0);
}

static uint64_t from_e4m3(const uint64_t *s)
{
	return q_bits(fp8_value(A >> 8 & 255, 1), &F16) << 16 |
	       q_bits(fp8_value(A & 255, 1), &F16);
}

static uint64_t from_e5m2(const uint64_t *s)
{
	return q_bits(fp8_value(A >> 8 & 255, 0), &F16) << 16 |
	       q_bits(fp8_value(A & 255, 0), &F16);
}

static uint64_t any_f32(void)
{
	return rnd_f32();
}

static void special(void)
{
	gen_fn *gen[OP_SRC] = { any_f32, any_f32 };

	check_op("cvt.rn.f16x2.f32 %d, %a, %b;", "iii", f16x2, gen);
	check_op("cvt.rn.relu.f16x2.f32 %d, %a, %b;", "iii", f16x2_relu, gen);
	check_op("cvt.rn.bf16x2.f32 %d, %a, %b;", "iii", bf16x2, gen);
	check_op("cvt.rz.bf16x2.f32 %d, %a, %b;", "iii", bf16x2_rz, gen);
	check_op("cvt.rn.relu.f16.f32 %d, %a;", "hi", f16_relu, gen);
	check_op("cvt.rna.tf32.f32 %d, %a;", "ii", tf32_rna, gen);
	check_op("cvt.rn.tf32.f32 %d, %a;", "ii", tf32_rn, gen);
	check_op("cvt.rz.tf32.f32 %d, %a;", "ii", tf32_rz, gen);
	check_op("cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", "hii", e4m3x2,
		 gen);
	check_op("cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", "hii", e5m2x2,
		 gen);
	check_op("cvt.rn.f16x2.e4m3x2 %d, %a;", "ih", from_e4m3, NULL);
	check_op("cvt.rn.f16x2.e5m2x2 %d, %a;", "ih", from_e5m2, NULL);
	check_op("cvt.pack.sat.u16.s32 %d, %a, %b;", "iii", pack_u16, NULL);
	check_op("cvt.pack.sat.s16.s32 %d, %a, %b;", "iii", pack_s16, NULL);
	check_op("cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", "iiii", pack_u8,
		 NULL);
	check_op("cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", "iiii", pack_s8,
		 NULL);
}

int main(void)
{
	seed_init();
	integers();
	floats_to_ints();
	ints_to_floats();
	floats();
	special();
	return tap_exit();
}
