/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that f32 and f64 arithmetic is exactly rounded in every direction,
 * with .ftz and .sat as PTX says. An f32 NaN is 0x7fffffff, and the approximations are
 * within PTX's documented error.
 */
#include <stdio.h>

#include "quad.h"

/* ---- exactly rounded operations: one reference for all modifiers ---- */

static struct {
	char op;
	const struct format *f;
	enum dir dir;
	bool ftz, sat;
} now;

static struct exact operate(__float128 a, __float128 b, __float128 c)
{
	switch (now.op) {
	case '+':
		return q_add(a, b);
	case '-':
		return q_add(a, -b);
	case '*':
		return q_exact(a * b);
	case '/':
		return q_exact(a / b);
	case 'r':
		return q_exact(1 / a);
	case 's':
		return q_exact(sqrtq(a));
	default:
		return q_add(a * b, c);
	}
}

static __float128 operand(uint64_t bits)
{
	__float128 v = q_value(bits, now.f);

	return now.ftz ? q_flush(v, now.f) : v;
}

/* The sign of a zero sum depends on the direction, so it is taken from the CPU's result. */
static __float128 zero_sign(__float128 a, __float128 b, __float128 r)
{
	if (r != 0 || strchr("*/rs", now.op))
		return r;
	if (signbitq(a) == signbitq(b))
		return copysignq(0, a);
	return now.dir == RM ? -0.0Q : 0.0Q;
}

static uint64_t rounded(const uint64_t *s)
{
	__float128 a = operand(s[0]), b = operand(s[1]), c = operand(s[2]), r;
	struct exact x = operate(a, b, c);

	r = x.v;
	if (now.op == 'f')
		r = zero_sign(a * b, c, r);
	else if (x.v == 0)
		r = zero_sign(a, now.op == '-' ? -b : b, r);
	if (x.v != 0)
		r = q_round(x, now.f, now.dir);
	if (now.ftz)
		r = q_flush(r, now.f);
	if (now.sat)
		r = q_saturate(r);
	return q_bits(r, now.f);
}

static bool one_form(const char *name, char op, int nsrc, bool f64,
		     const char *dir, bool ftz, bool sat)
{
	static const char *const dirs[] = { "rn", "rz", "rm", "rp" };
	static const char *const args[] = { "", "%a", "%a, %b", "%a, %b, %c" };
	char insn[100], sig[5] = "iiii";

	now.op = op;
	now.f = f64 ? &F64 : &F32;
	now.dir = RN;
	now.ftz = ftz;
	now.sat = sat;
	for (int i = 0; i < 4; i++)
		if (!strcmp(dir, dirs[i]))
			now.dir = i;
	memset(sig, f64 ? 'l' : 'i', 4);
	sig[nsrc + 1] = 0;
	snprintf(insn, sizeof(insn), "%s%s%s%s%s.%s %%d, %s;", name,
		 *dir ? "." : "", dir, ftz ? ".ftz" : "", sat ? ".sat" : "",
		 f64 ? "f64" : "f32", args[nsrc]);
	return op_matches(insn, sig, rounded, NULL, f64 ? 8 : 4, 0);
}

/* Tests all directions, and no direction where PTX allows that. */
static void all_forms(const char *name, char op, int nsrc, bool bare,
		      bool may_sat)
{
	static const char *const dirs[] = { "", "rn", "rz", "rm", "rp" };
	bool good32 = true, good64 = true, ftz = true, sat = true;
	char point[100];

	for (int d = bare ? 0 : 1; d < 5; d++) {
		good32 &= one_form(name, op, nsrc, false, dirs[d], 0, 0);
		good64 &= one_form(name, op, nsrc, true, dirs[d], 0, 0);
		ftz &= one_form(name, op, nsrc, false, dirs[d], 1, 0);
		if (may_sat) {
			sat &= one_form(name, op, nsrc, false, dirs[d], 0, 1);
			sat &= one_form(name, op, nsrc, false, dirs[d], 1, 1);
		}
	}
	snprintf(point, sizeof(point), "%s_f32_is_exactly_rounded", name);
	ok(good32, point);
	snprintf(point, sizeof(point), "%s_f64_is_exactly_rounded", name);
	ok(good64, point);
	snprintf(point, sizeof(point), "%s_ftz_flushes", name);
	ok(ftz, point);
	snprintf(point, sizeof(point), "%s_sat_clamps", name);
	if (may_sat)
		ok(sat, point);
}

/* ---- bits: NaN, sign, min and max ---- */

#define A (s[0])
#define B (s[1])
#define REF(name, expr) \
	static uint64_t name(const uint64_t *s) { return (uint64_t)(expr); }

static bool nan32(uint64_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

static bool nan64(uint64_t v)
{
	return v << 1 > 0xffe0000000000000ull;
}

static uint64_t ftz(uint64_t v)
{
	return v & 0x7f800000 ? v : v & 0x80000000;
}

/* Returns the signed order of the bits: -0 comes before +0. */
static int64_t rank(uint64_t v, int bits)
{
	uint64_t top = 1ull << (bits - 1);

	return v & top ? -(int64_t)(v & ~top) - 1 : (int64_t)v;
}

static uint64_t minmax(uint64_t a, uint64_t b, bool max, bool nan)
{
	if ((nan32(a) && nan32(b)) || (nan && (nan32(a) || nan32(b))))
		return 0x7fffffff;
	if (nan32(a) || nan32(b))
		return nan32(a) ? b : a;
	return (rank(a, 32) < rank(b, 32)) != max ? a : b;
}

static uint64_t minmax64(const uint64_t *s, bool max)
{
	if (nan64(A) || nan64(B))
		return nan64(A) ? B : A;
	return (rank(A, 64) < rank(B, 64)) != max ? A : B;
}

static uint64_t xorsign(const uint64_t *s, bool max)
{
	uint64_t r = minmax(A & 0x7fffffff, B & 0x7fffffff, max, false);

	return nan32(r) ? r : r | ((A ^ B) & 0x80000000);
}

REF(min32, minmax(A, B, false, false))
REF(max32, minmax(A, B, true, false))
REF(minftz, minmax(ftz(A), ftz(B), false, false))
REF(maxnan, minmax(A, B, true, true))
REF(minxs, xorsign(s, false))
REF(maxxs, xorsign(s, true))
REF(min64, minmax64(s, false))
REF(max64, minmax64(s, true))
REF(abs32, A & 0x7fffffff)
REF(neg32, A ^ 0x80000000)
REF(absftz, ftz(A) & 0x7fffffff)
REF(negftz, ftz(A) ^ 0x80000000)
REF(abs64, A & INT64_MAX)
REF(neg64, A ^ 1ull << 63)
REF(copy32, (A & 0x80000000) | (B & 0x7fffffff))
REF(copy64, (A & 1ull << 63) | (B & INT64_MAX))
REF(fin, (A & 0x7f800000) != 0x7f800000)
REF(inf, (A & 0x7fffffff) == 0x7f800000)
REF(num, !nan32(A))
REF(isnan_, nan32(A))
REF(normal, (A & 0x7f800000) && fin(s))
REF(subn, !(A & 0x7f800000) && A & 0x7fffff)
REF(fin64, (A & 0x7ff0000000000000) != 0x7ff0000000000000)
REF(inf64, (A & INT64_MAX) == 0x7ff0000000000000)
REF(num64, !nan64(A))
REF(nan64_, nan64(A))
REF(normal64, (A & 0x7ff0000000000000) && fin64(s))
REF(subn64, !(A & 0x7ff0000000000000) && A & 0xfffffffffffff)

/* A NaN must have these very bits, so the results are compared as integers. */
static uint64_t nan_bits(const uint64_t *s)
{
	float r = f32(A) + f32(B);

	return r != r ? 0x7fffffff : u32_of(r);
}

static uint64_t any_f32(void)
{
	return rnd_f32();
}

static void bits(void)
{
	gen_fn *gen[OP_SRC] = { any_f32, any_f32 };

	check_op("add.f32 %d, %a, %b;", "iii", nan_bits, gen);
	check_f32("min.f32 %d, %a, %b;", "iii", min32, 0);
	check_f32("max.f32 %d, %a, %b;", "iii", max32, 0);
	check_f32("min.ftz.f32 %d, %a, %b;", "iii", minftz, 0);
	check_f32("max.NaN.f32 %d, %a, %b;", "iii", maxnan, 0);
	check_f32("min.xorsign.abs.f32 %d, %a, %b;", "iii", minxs, 0);
	check_f32("max.xorsign.abs.f32 %d, %a, %b;", "iii", maxxs, 0);
	check_f64("min.f64 %d, %a, %b;", "lll", min64, 0);
	check_f64("max.f64 %d, %a, %b;", "lll", max64, 0);
	check_op("abs.f32 %d, %a;", "ii", abs32, gen);
	check_op("neg.f32 %d, %a;", "ii", neg32, gen);
	check_op("abs.ftz.f32 %d, %a;", "ii", absftz, gen);
	check_op("neg.ftz.f32 %d, %a;", "ii", negftz, gen);
	check_op("abs.f64 %d, %a;", "ll", abs64, NULL);
	check_op("neg.f64 %d, %a;", "ll", neg64, NULL);
	check_op("copysign.f32 %d, %a, %b;", "iii", copy32, gen);
	check_op("copysign.f64 %d, %a, %b;", "lll", copy64, NULL);
	check_f32("testp.finite.f32 %d, %a;", "pi", fin, 0);
	check_f32("testp.infinite.f32 %d, %a;", "pi", inf, 0);
	check_f32("testp.number.f32 %d, %a;", "pi", num, 0);
	check_f32("testp.notanumber.f32 %d, %a;", "pi", isnan_, 0);
	check_f32("testp.normal.f32 %d, %a;", "pi", normal, 0);
	check_f32("testp.subnormal.f32 %d, %a;", "pi", subn, 0);
	check_f32("testp.finite.f64 %d, %a;", "pl", fin64, 0);
	check_f32("testp.infinite.f64 %d, %a;", "pl", inf64, 0);
	check_f32("testp.number.f64 %d, %a;", "pl", num64, 0);
	check_f32("testp.notanumber.f64 %d, %a;", "pl", nan64_, 0);
	check_f32("testp.normal.f64 %d, %a;", "pl", normal64, 0);
	check_f32("testp.subnormal.f64 %d, %a;", "pl", subn64, 0);
}

/* ---- comparisons: all fourteen, by the relation of the operands ---- */

static const char *cmp_op;
static bool cmp_ftz, cmp_64;

static uint64_t compared(const uint64_t *s)
{
	const struct format *f = cmp_64 ? &F64 : &F32;
	__float128 a = q_value(A, f), b = q_value(B, f);
	bool un = isnanq(a) || isnanq(b), u = cmp_op[2] == 'u';

	if (cmp_ftz) {
		a = q_flush(a, f);
		b = q_flush(b, f);
	}
	if (!strcmp(cmp_op, "num") || !strcmp(cmp_op, "nan"))
		return un == (cmp_op[1] == 'a');
	if (un)
		return u;
	if (cmp_op[0] == 'e' || cmp_op[0] == 'n')
		return (a == b) == (cmp_op[0] == 'e');
	if (cmp_op[1] == 'e' && a == b)
		return true;
	return cmp_op[0] == 'l' ? a < b : a > b;
}

static void comparisons(void)
{
	static const char *const ops[] = { "eq", "ne", "lt", "le", "gt", "ge",
		"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan" };
	char insn[64];

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (int k = 0; k < 3; k++) {
			cmp_op = ops[i];
			cmp_ftz = k == 1;
			cmp_64 = k == 2;
			snprintf(insn, sizeof(insn), "setp.%s%s %%d, %%a, %%b;",
				 ops[i], k == 2 ? ".f64" : k ? ".ftz.f32" :
				 ".f32");
			check_f32(insn, k == 2 ? "pll" : "pii", compared, 0);
		}
	cmp_op = "geu";
	cmp_ftz = cmp_64 = false;
	check_f32("setp.lt.f32 _|%d, %a, %b;", "pii", compared, 0);
}

/* ---- approximations: error bounds of the PTX manual ---- */

static const char *approx;
static double bound_rel, bound_abs;

static __float128 exact_approx(__float128 a, __float128 b)
{
	switch (approx[0]) {
	case 'd':
		return a / b;
	case 'r':
		return approx[1] == 'c' ? 1 / a : 1 / sqrtq(a);
	case 's':
		return approx[1] == 'q' ? sqrtq(a) : sinq(a);
	case 'c':
		return cosq(a);
	case 'l':
		return log2q(a);
	case 'e':
		return exp2q(a);
	default:
		return tanhq(a);
	}
}

static bool near(__float128 got, __float128 want)
{
	if (isnanq(want))
		return isnanq(got);
	if (isinfq(want) || fabsq(want) > 3.40282346e38Q)
		return isinfq(got) || fabsq(got) > 3.4028e38Q;
	return fabsq(got - want) <= bound_rel * fabsq(want) + bound_abs +
	       0x1p-149Q;
}

static uint64_t in_range(void)
{
	float f = (int64_t)rnd() / 0x1p63f * 3.14159f;

	return rnd() & 7 ? u32_of(f) : u32_of((float)(rnd() % 100) / 4);
}

static uint64_t above_zero(void)
{
	return rnd_f32() & 0x7fffffff;
}

/* op_matches() would not do here, because the bound is no number of units of the last place. */
static void check_approx(const char *op, const char *mods, double rel,
			 double abs, gen_fn *gen)
{
	static uint64_t src[OP_SRC][OP_N], dst[OP_N];
	char insn[100];
	bool good = true;

	approx = op;
	bound_rel = rel;
	bound_abs = abs;
	snprintf(insn, sizeof(insn), "%s.%s.f32 %%d, %%a%s;", op, mods,
		 op[0] == 'd' ? ", %b" : "");
	for (int i = 0; i < OP_N; i++) {
		src[0][i] = gen ? gen() : rnd_f32();
		src[1][i] = rnd_f32();
	}
	good = run_op(insn, op[0] == 'd' ? "iii" : "ii", src, dst);
	for (int i = 0; good && i < OP_N; i++) {
		__float128 a = q_value(src[0][i], &F32);
		__float128 b = q_value(src[1][i], &F32);
		__float128 got = q_value(dst[i], &F32), want;

		if (strstr(mods, "ftz")) {
			a = q_flush(a, &F32);
			b = q_flush(b, &F32);
		}
		want = exact_approx(a, b);
		/* div.approx is defined as zero for such divisors. */
		if (op[0] == 'd' && mods[0] == 'a' && fabsq(b) > 0x1p126Q &&
		    !isinfq(b) && !isnanq(b))
			want = isinfq(a) || isnanq(a) ? nanq("") : 0;
		if (strstr(mods, "ftz") && fabsq(want) < 0x1p-126Q)
			want = 0;
		if (i == 1 || near(got, want))
			continue;
		diag("%s: 0x%llx, 0x%llx gives 0x%llx", insn,
		     (unsigned long long)src[0][i],
		     (unsigned long long)src[1][i],
		     (unsigned long long)dst[i]);
		good = false;
	}
	ok(good, insn);
}

static void approximations(void)
{
	check_approx("div", "full", 0x1p-22, 0, NULL);
	check_approx("div", "full.ftz", 0x1p-22, 0, NULL);
	check_approx("div", "approx", 0x1p-22, 0, NULL);
	check_approx("div", "approx.ftz", 0x1p-22, 0, NULL);
	check_approx("rcp", "approx", 0x1p-23, 0, NULL);
	check_approx("rcp", "approx.ftz", 0x1p-23, 0, NULL);
	check_approx("sqrt", "approx", 0x1p-23, 0, NULL);
	check_approx("sqrt", "approx.ftz", 0x1p-23, 0, NULL);
	check_approx("rsqrt", "approx", 0x1p-22, 0, NULL);
	check_approx("rsqrt", "approx.ftz", 0x1p-22, 0, above_zero);
	check_approx("sin", "approx", 0, 0x1p-20, in_range);
	check_approx("cos", "approx.ftz", 0, 0x1p-20, in_range);
	check_approx("lg2", "approx", 0x1p-22, 0x1p-22, above_zero);
	check_approx("lg2", "approx.ftz", 0x1p-22, 0x1p-22, above_zero);
	check_approx("ex2", "approx", 0x1p-22, 0, NULL);
	check_approx("ex2", "approx.ftz", 0x1p-22, 0, NULL);
	check_approx("tanh", "approx", 0x1p-11, 0, NULL);
}

/* ---- f64 approximations, pairs of f32 ---- */

static uint64_t upper(uint64_t v)
{
	v &= ~0xffffffffull;
	return v << 1 >> 53 ? v : v & 1ull << 63;
}

static void gross64(const char *insn, bool root)
{
	static uint64_t src[OP_SRC][OP_N], dst[OP_N];
	bool good;

	for (int i = 0; i < OP_N; i++)
		src[0][i] = rnd_f64();
	good = run_op(insn, "ll", src, dst);
	for (int i = 0; good && i < OP_N; i++) {
		double x = f64(upper(src[0][i])), got = f64(dst[i]);
		double want = root ? 1 / sqrt(x) : 1 / x;

		if (fabs(want) < 0x1p-1022)
			want = copysign(0, want);
		good = i == 1 || (want != want ? got != got : got == want ||
		       fabs(got - want) <= fabs(want) * 0x1p-20);
		good &= i == 1 || !(dst[i] & 0xffffffff);
		if (!good)
			diag("%s: 0x%llx gives 0x%llx", insn,
			     (unsigned long long)src[0][i],
			     (unsigned long long)dst[i]);
	}
	ok(good, insn);
}

static uint64_t halfword(uint64_t a, uint64_t b, uint64_t c, int i, char op)
{
	uint64_t s[3] = { a >> 32 * i & 0xffffffff, b >> 32 * i & 0xffffffff,
			  c >> 32 * i & 0xffffffff };

	now.op = op;
	return rounded(s) << 32 * i;
}

#define X2(name, op) \
REF(name, halfword(A, B, s[2], 0, op) | halfword(A, B, s[2], 1, op))

X2(add2, '+') X2(sub2, '-') X2(mul2, '*') X2(fma2, 'f')

static uint64_t two_floats(void)
{
	uint64_t v = rnd_f32();

	/* NaNs are avoided, because the sum of each half is compared bit by bit. */
	if (nan32(v))
		v = 0;
	return v | (v ^ 0x80000000) << 32;
}

static void pairs(void)
{
	gen_fn *gen[OP_SRC] = { two_floats, two_floats, two_floats };

	now.f = &F32;
	now.dir = RN;
	now.ftz = now.sat = false;
	check_op("add.f32x2 %d, %a, %b;", "lll", add2, gen);
	check_op("sub.rn.f32x2 %d, %a, %b;", "lll", sub2, gen);
	check_op("mul.f32x2 %d, %a, %b;", "lll", mul2, gen);
	check_op("fma.rn.f32x2 %d, %a, %b, %c;", "llll", fma2, gen);
	now.dir = RP;
	now.ftz = true;
	check_op("fma.rp.ftz.f32x2 %d, %a, %b, %c;", "llll", fma2, gen);
}

int main(void)
{
	seed_init();
	all_forms("add", '+', 2, true, true);
	all_forms("sub", '-', 2, true, true);
	all_forms("mul", '*', 2, true, true);
	all_forms("fma", 'f', 3, false, true);
	all_forms("mad", 'f', 3, false, true);
	all_forms("div", '/', 2, false, false);
	all_forms("rcp", 'r', 1, false, false);
	all_forms("sqrt", 's', 1, false, false);
	bits();
	comparisons();
	approximations();
	gross64("rcp.approx.ftz.f64 %d, %a;", false);
	gross64("rsqrt.approx.ftz.f64 %d, %a;", true);
	pairs();
	return tap_exit();
}
