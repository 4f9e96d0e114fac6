/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that arithmetic on f16, bf16 and pairs of them is rounded once, fma
 * too, with .ftz, .sat and .relu as PTX says. Minima, comparisons and approximations are
 * those of the exact values.
 */
#include <stdio.h>

#include "quad.h"

/* ---- arithmetic: one reference for both formats, one or two halves ---- */

static struct {
	char op;
	const struct format *f;
	bool pair, ftz, sat, relu, nan, xorsign;
} now;

static uint64_t canonical(uint64_t h)
{
	uint64_t inf = now.f == &F16 ? 0x7c00 : 0x7f80;

	return (h & 0x7fff) > inf ? 0x7fff : h;
}

static uint64_t flush(uint64_t h)
{
	return now.ftz && !(h & 0x7c00) ? h & 0x8000 : h;
}

static struct exact exact_of(__float128 a, __float128 b, __float128 c)
{
	switch (now.op) {
	case '+':
		return q_add(a, b);
	case '-':
		return q_add(a, -b);
	case '*':
		return q_exact(a * b);
	default:
		return q_add(a * b, c);
	}
}

static uint64_t arith(uint64_t ha, uint64_t hb, uint64_t hc)
{
	__float128 a = q_value(flush(ha), now.f), b = q_value(flush(hb), now.f);
	__float128 c = q_value(flush(hc), now.f), r;
	struct exact x = exact_of(a, b, c);

	r = x.v == 0 ? x.v : q_round(x, now.f, RN);
	if (now.relu && !isnanq(r) && signbitq(r))
		r = 0;
	if (now.sat)
		r = q_saturate(r);
	return flush(q_bits(r, now.f));
}

static bool nan_half(uint64_t h)
{
	return (h & 0x7fff) > (now.f == &F16 ? 0x7c00u : 0x7f80u);
}

static int rank(uint64_t h)
{
	return h & 0x8000 ? -(int)(h & 0x7fff) - 1 : (int)h;
}

static uint64_t minmax(uint64_t a, uint64_t b)
{
	uint64_t sign = (a ^ b) & 0x8000, r;
	bool max = now.op == 'M';

	a = flush(a);
	b = flush(b);
	if ((nan_half(a) && nan_half(b)) ||
	    (now.nan && (nan_half(a) || nan_half(b))))
		return 0x7fff;
	if (now.xorsign) {
		a &= 0x7fff;
		b &= 0x7fff;
	}
	r = nan_half(a) ? b : nan_half(b) ? a : (rank(a) < rank(b)) != max ?
	    a : b;
	return now.xorsign ? (r & 0x7fff) | sign : r;
}

static uint64_t half_of(uint64_t a, uint64_t b, uint64_t c)
{
	switch (now.op) {
	case 'm':
	case 'M':
		return minmax(a, b);
	case 'a':
		return flush(a) & 0x7fff;
	case 'n':
		return flush(a) ^ 0x8000;
	default:
		return arith(a, b, c);
	}
}

static uint64_t expected(const uint64_t *s)
{
	uint64_t r = half_of(s[0] & 0xffff, s[1] & 0xffff, s[2] & 0xffff);

	return now.pair ? r | half_of(s[0] >> 16, s[1] >> 16, s[2] >> 16) <<
	       16 : r;
}

static uint64_t gen_half(void)
{
	/* NaNs are canonical, because arithmetic does not keep payloads. */
	uint64_t a = canonical(rnd_f16()), b = canonical(rnd_f16());

	/* The exponents are close, so that sums and products round. */
	if (rnd() & 1)
		a = (a & 0x83ff) | 0x3000 | (rnd() & 0xc00);
	return now.pair ? a | b << 16 : a;
}

static bool form(const char *name, char op, int nsrc, const char *mods,
		 bool bf16, bool pair)
{
	static const char *const args[] = { "", "%a", "%a, %b", "%a, %b, %c" };
	gen_fn *gen[OP_SRC] = { gen_half, gen_half, gen_half };
	char insn[100], sig[5];

	memset(&now, 0, sizeof(now));
	now.op = op;
	now.f = bf16 ? &BF16 : &F16;
	now.pair = pair;
	now.ftz = strstr(mods, "ftz");
	now.sat = strstr(mods, "sat");
	now.relu = strstr(mods, "relu");
	now.nan = strstr(mods, "NaN");
	now.xorsign = strstr(mods, "xorsign");
	memset(sig, pair ? 'i' : 'h', sizeof(sig));
	sig[nsrc + 1] = 0;
	snprintf(insn, sizeof(insn), "%s%s.%s%s %%d, %s;", name, mods,
		 bf16 ? "bf16" : "f16", pair ? "x2" : "", args[nsrc]);
	return op_matches(insn, sig, expected, gen, 0, 0);
}

/* Tests @mods for f16; bf16 only knows those of @bmods. */
static void forms(const char *name, char op, int nsrc,
		  const char *const *mods, const char *const *bmods)
{
	bool good = true, bgood = true;
	char point[100];

	for (int pair = 0; pair < 2; pair++) {
		for (int i = 0; mods[i]; i++)
			good &= form(name, op, nsrc, mods[i], false, pair);
		for (int i = 0; bmods[i]; i++)
			bgood &= form(name, op, nsrc, bmods[i], true, pair);
	}
	snprintf(point, sizeof(point), "%s_of_f16_and_f16x2", name);
	ok(good, point);
	snprintf(point, sizeof(point), "%s_of_bf16_and_bf16x2", name);
	ok(bgood, point);
}

static void arithmetic(void)
{
	static const char *const sum[] = { "", ".rn", ".ftz", ".sat",
					   ".rn.ftz.sat", NULL };
	static const char *const bsum[] = { "", ".rn", NULL };
	static const char *const fma[] = { ".rn", ".rn.ftz", ".rn.sat",
					   ".rn.relu", ".rn.ftz.relu", NULL };
	static const char *const bfma[] = { ".rn", ".rn.relu", NULL };
	static const char *const mm[] = { "", ".ftz", ".NaN", ".xorsign.abs",
					  ".ftz.NaN.xorsign.abs", NULL };
	static const char *const bmm[] = { "", ".NaN", ".xorsign.abs", NULL };
	static const char *const un[] = { "", ".ftz", NULL };
	static const char *const bun[] = { "", NULL };

	forms("add", '+', 2, sum, bsum);
	forms("sub", '-', 2, sum, bsum);
	forms("mul", '*', 2, sum, bsum);
	forms("fma", 'f', 3, fma, bfma);
	forms("min", 'm', 2, mm, bmm);
	forms("max", 'M', 2, mm, bmm);
	forms("abs", 'a', 1, un, bun);
	forms("neg", 'n', 1, un, bun);
}

/* ---- comparisons ---- */

static const char *cmp;
static bool second;

static bool holds(uint64_t ha, uint64_t hb)
{
	__float128 a = q_value(ha, now.f), b = q_value(hb, now.f);
	bool un = isnanq(a) || isnanq(b);

	if (!strcmp(cmp, "num") || !strcmp(cmp, "nan"))
		return un == (cmp[1] == 'a');
	if (un)
		return cmp[2] == 'u';
	if (cmp[0] == 'e' || cmp[0] == 'n')
		return (a == b) == (cmp[0] == 'e');
	return (cmp[1] == 'e' && a == b) || (cmp[0] == 'l' ? a < b : a > b);
}

static uint64_t compared(const uint64_t *s)
{
	int sh = second ? 16 : 0;

	return holds(s[0] >> sh & 0xffff, s[1] >> sh & 0xffff);
}

static uint64_t set_result(const uint64_t *s)
{
	uint64_t one = now.f == &F16 ? 0x3c00 : 0x3f80, r = 0;

	if (now.op == 'u')
		one = 0xffff;
	for (int i = 0; i <= now.pair; i++)
		if (holds(s[0] >> 16 * i & 0xffff, s[1] >> 16 * i & 0xffff))
			r |= one << 16 * i;
	return r;
}

static bool setp_forms(bool bf16)
{
	gen_fn *gen[OP_SRC] = { gen_half, gen_half };
	const char *t = bf16 ? "bf16" : "f16";
	bool good = true;
	char insn[100];

	memset(&now, 0, sizeof(now));
	now.f = bf16 ? &BF16 : &F16;
	second = false;
	snprintf(insn, sizeof(insn), "setp.%s.%s %%d, %%a, %%b;", cmp, t);
	good &= op_matches(insn, "phh", compared, gen, 0, 0);
	now.pair = true;
	snprintf(insn, sizeof(insn), "setp.%s.%sx2 %%d|_, %%a, %%b;", cmp, t);
	good &= op_matches(insn, "pii", compared, gen, 0, 0);
	second = true;
	snprintf(insn, sizeof(insn), "setp.%s.%sx2 _|%%d, %%a, %%b;", cmp, t);
	good &= op_matches(insn, "pii", compared, gen, 0, 0);
	snprintf(insn, sizeof(insn), "set.%s.%sx2.%sx2 %%d, %%a, %%b;", cmp, t,
		 t);
	good &= op_matches(insn, "iii", set_result, gen, 0, 0);
	now.op = 'u';
	snprintf(insn, sizeof(insn), "set.%s.u32.%sx2 %%d, %%a, %%b;", cmp, t);
	good &= op_matches(insn, "iii", set_result, gen, 0, 0);
	return good;
}

static void comparisons(void)
{
	static const char *const ops[] = { "eq", "ne", "lt", "le", "gt", "ge",
		"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan" };
	bool good[2] = { true, true };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		for (int b = 0; b < 2; b++) {
			cmp = ops[i];
			good[b] &= setp_forms(b);
		}
	ok(good[0], "comparisons_of_f16_and_f16x2");
	ok(good[1], "comparisons_of_bf16_and_bf16x2");
}

/* ---- ex2, tanh ---- */

static void approximation(const char *insn, bool bf16, bool tanh)
{
	static uint64_t src[OP_SRC][OP_N], dst[OP_N];
	const struct format *f = bf16 ? &BF16 : &F16;
	bool good;

	memset(&now, 0, sizeof(now));
	now.f = f;
	for (int i = 0; i < OP_N; i++)
		src[0][i] = gen_half();
	good = run_op(insn, "hh", src, dst);
	for (int i = 0; good && i < OP_N; i++) {
		__float128 a = q_value(src[0][i], f), got = q_value(dst[i], f);
		__float128 want = tanh ? tanhq(a) : exp2q(a);
		__float128 q = q_round(q_exact(want), f, RN);

		if (bf16 && !tanh && fabsq(q) < 0x1p-126Q)
			q = 0;
		good = i == 1 || (isnanq(want) ? isnanq(got) :
		       isinfq(q) ? isinfq(got) :
		       fabsq(got - q) <= fabsq(q) * 0x1p-7Q * (bf16 ? 1 :
							       0.25Q) +
		       scalbnq(1, f->emin - f->prec + 1));
		if (!good)
			diag("%s: 0x%llx gives 0x%llx", insn,
			     (unsigned long long)src[0][i],
			     (unsigned long long)dst[i]);
	}
	ok(good, insn);
}

int main(void)
{
	seed_init();
	arithmetic();
	comparisons();
	approximation("ex2.approx.f16 %d, %a;", false, false);
	approximation("ex2.approx.ftz.bf16 %d, %a;", true, false);
	approximation("tanh.approx.f16 %d, %a;", false, true);
	approximation("tanh.approx.bf16 %d, %a;", true, true);
	return tap_exit();
}
