/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that PTX as nvcc writes it loads and computes what the same code does
 * on the CPU, for several -arch values, fast math and debug code. It needs nvcc at build
 * time (kernels.cu); it skips without it.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 1000

static struct ptx_module *mod;
static const char *variant;
static bool fast_math, unfused;

#define ARGS(...) (const uint64_t[]){ __VA_ARGS__ }, \
		  sizeof((uint64_t[]){ __VA_ARGS__ }) / 8
#define P(x) ((uintptr_t)(x))

static void point(bool good, const char *what)
{
	char name[200];

	snprintf(name, sizeof(name), "%s (%s)", what, variant);
	ok(good, name);
}

static uint64_t arg_f32(float f)
{
	return u32_of(f);
}

/* Debug code computes products and sums apart. */
static float muladd(float a, float b, float c)
{
	return unfused ? a * b + c : fmaf(a, b, c);
}

static float frand(void)
{
	return (int64_t)rnd() / 0x1p63f;
}

static bool run(const char *k, uint32_t grid, uint32_t block, uint32_t shared,
		const uint64_t *args, uint32_t n)
{
	return launch(mod, k, grid, block, shared, args, n) == EXEC_OK;
}

static void saxpy(void)
{
	float *x = dev_alloc(4 * N), *y = dev_alloc(4 * N), want[N];
	bool good;

	for (int i = 0; i < N; i++) {
		x[i] = frand();
		y[i] = frand();
		want[i] = muladd(1.5f, x[i], y[i]);
	}
	good = run("saxpy", 4, 256, 0, ARGS(P(y), P(x), arg_f32(1.5), N));
	point(good && !memcmp(y, want, sizeof(want)), "saxpy_is_exact");
	dev_free(x);
	dev_free(y);
}

#define M 64
static void sgemm(void)
{
	float *a = dev_alloc(4 * M * M), *b = dev_alloc(4 * M * M);
	float *c = dev_alloc(4 * M * M);
	uint32_t g[3] = { M / 16, M / 16, 1 }, t[3] = { 16, 16, 1 };
	bool good;

	for (int i = 0; i < M * M; i++) {
		a[i] = frand();
		b[i] = frand();
	}
	good = launch3(mod, "sgemm", g, t, 0, ARGS(P(c), P(a), P(b), M),
		       false) == EXEC_OK;
	for (int i = 0; good && i < M; i++)
		for (int j = 0; good && j < M; j++) {
			float sum = 0;

			for (int k = 0; k < M; k++)
				sum = muladd(a[i * M + k], b[k * M + j],
					     sum);
			good = sum == c[i * M + j];
		}
	point(good, "tiled_sgemm_is_exact");
	dev_free(a);
	dev_free(b);
	dev_free(c);
}

static void reduce(void)
{
	int *in = dev_alloc(4 * N), *out = dev_alloc(4), want = 0;
	bool good;

	for (int i = 0; i < N; i++)
		want += in[i] = (int)rnd() >> 8;
	good = run("reduce", 3, 160, 0, ARGS(P(out), P(in), N));
	point(good && *out == want, "reduction_with_shuffles_sums");
	dev_free(in);
	dev_free(out);
}

static void histogram(void)
{
	unsigned *bins = dev_alloc(1024), want[256] = { 0 };
	uint8_t *in = dev_alloc(N);
	bool good;

	for (int i = 0; i < N; i++)
		want[in[i] = rnd() % 7 * 11]++;
	good = run("histogram", 2, 96, 1024, ARGS(P(bins), P(in), N));
	point(good && !memcmp(bins, want, sizeof(want)),
	      "histogram_in_dynamic_shared_memory_counts");
	dev_free(bins);
	dev_free(in);
}

static void im2col(void)
{
	enum { C = 3, H = 9, W = 7, K = 3, OH = 5, OW = 4,
	       COLS = C * K * K * OH * OW };
	float *im = dev_alloc(4 * C * H * W), *col = dev_alloc(4 * COLS);
	bool good;

	for (int i = 0; i < C * H * W; i++)
		im[i] = frand();
	good = run("im2col", 1, 64, 0, ARGS(P(col), P(im), H, W, K, 1, 2, OH,
					    OW, C * OH * OW));
	for (int i = 0; good && i < COLS; i++) {
		int x = i % OW, y = i / OW % OH, k = i / OW / OH;
		int iy = y * 2 - 1 + k / K % K, ix = x * 2 - 1 + k % K;
		float want = iy < 0 || ix < 0 || iy >= H || ix >= W ? 0 :
			     im[(k / K / K * H + iy) * W + ix];

		good = col[i] == want;
	}
	point(good, "im2col_copies");
	dev_free(im);
	dev_free(col);
}

static void maxpool(void)
{
	enum { C = 4, H = 11, W = 13, K = 3, OH = 4, OW = 5,
	       OUT = C * OH * OW };
	float *in = dev_alloc(4 * C * H * W), *out = dev_alloc(4 * OUT);
	int *at = dev_alloc(4 * OUT);
	bool good;

	for (int i = 0; i < C * H * W; i++)
		in[i] = frand();
	good = run("maxpool", 2, 64, 0, ARGS(P(out), P(at), P(in), H, W, K, OH,
					     OW, OUT));
	for (int i = 0; good && i < OUT; i++) {
		int c = i / OW / OH, best = -1;
		float max = -INFINITY;

		for (int a = i / OW % OH * K; a < i / OW % OH * K + K; a++)
			for (int b = i % OW * K; b < i % OW * K + K; b++)
				if (a < H && b < W &&
				    in[(c * H + a) * W + b] > max) {
					max = in[(c * H + a) * W + b];
					best = a * W + b;
				}
		good = out[i] == max && at[i] == best;
	}
	point(good, "max_pooling_finds_the_maxima");
	dev_free(in);
	dev_free(out);
	dev_free(at);
}

/* The known answer of Philox4x32-10 for a zero key and counter. */
static void philox(void)
{
	uint32_t *out = dev_alloc(16 * N);
	static const uint32_t want[4] = { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
					  0x9b00dbd8 };
	bool good;

	good = run("philox", 4, 256, 0, ARGS(P(out), 0, 0, N));
	point(good && !memcmp(out, want, 16), "philox_gives_the_known_answer");
	dev_free(out);
}

static bool close64(double got, double want, double ulps)
{
	if (want != want)
		return got != got;
	if (got == want)
		return true;
	return fabs(got - want) <= ulps * fabs(want) * 0x1p-52 + 0x1p-1070;
}

static void math64(void)
{
	static const char *const names[] = { "exp", "log", "sin", "cos", "pow",
		"sqrt", "rcp", "tanh", "atan2", "cbrt", "fmod", "erf" };
	/* CUDA's documented bounds in ulp, plus one; cbrt() is as good as rounded. */
	static const double ulps[] = { 2, 2, 3, 3, 3, 0, 0, 3, 3, 1, 0, 3 };
	double *in = dev_alloc(8 * N), *out = dev_alloc(96 * N);
	bool good;

	for (int i = 0; i < N; i++) {
		in[i] = i < 100 ? (i - 50) * 0.25 : frand() * 700;
		if (i >= 900)
			in[i] = f64(rnd_f64());
	}
	good = run("math64", 8, 128, 0, ARGS(P(out), P(in), N));
	for (int i = 0; good && i < N; i++) {
		/*
		 * The references are wider where the C library is off itself: its cbrt() by 3.5
		 * ulp.
		 */
		double x = in[i], w[12] = { expl(x), logl(fabs(x)), sinl(x),
			cosl(x), powl(fabs(x), 1.7), sqrt(fabs(x)), 1 / x,
			tanhl(x), atan2l(x, 2.0), cbrtl(x), fmod(x, 0.7),
			erfl(x) };

		for (int k = 0; good && k < 12; k++)
			if (!close64(out[12 * i + k], w[k], ulps[k])) {
				diag("%s(%a) = %a, expected %a", names[k], x,
				     out[12 * i + k], w[k]);
				good = false;
			}
	}
	point(good, "double_math_is_within_bounds");
	dev_free(in);
	dev_free(out);
}

static bool close32(float got, double want, double ulps)
{
	if (want != want)
		return got != got;
	if (got == (float)want)
		return true;
	return fabs(got - want) <= ulps * fabs(want) * 0x1p-23 + 0x1p-148;
}

static void math32(void)
{
	static const char *const names[] = { "exp", "log", "sin", "cos", "pow",
		"sqrt", "rcp", "tanh", "atan2", "cbrt", "fmod", "erf" };
	static const double ulps[] = { 3, 2, 3, 3, 5, 0.5, 0.5, 3, 4, 2, 0.5,
				       3 };
	float *in = dev_alloc(4 * N), *out = dev_alloc(48 * N);
	bool good;

	for (int i = 0; i < N; i++) {
		in[i] = i < 100 ? (i - 50) * 0.25f : frand() * 80;
		if (i >= 900 && !fast_math)
			in[i] = f32(rnd_f32());
	}
	good = run("math32", 8, 128, 0, ARGS(P(out), P(in), N));
	for (int i = 0; good && i < N; i++) {
		double x = in[i], w[12] = { exp(x), log(fabs(x)), sin(x),
			cos(x), pow(fabs(x), 1.7f), sqrt(fabs(x)), 1 / x,
			tanh(x), atan2(x, 2.0), cbrt(x), fmod(x, 0.7f),
			erf(x) };

		/* With fast math, errors are absolute, and operands are sane. */
		for (int k = 0; good && k < 12; k++) {
			float got = out[12 * i + k];
			bool near = fast_math ? fabs(got - w[k]) <=
				    1e-5 * (1 + fabs(w[k])) ||
				    (isinf(w[k]) && isinf(got)) ||
				    w[k] != w[k] || k == 10 :
				    close32(got, w[k], ulps[k]);

			if (near)
				continue;
			diag("%sf(%a) = %a, expected %a", names[k], x, got,
			     w[k]);
			good = false;
		}
	}
	point(good, "float_math_is_within_bounds");
	dev_free(in);
	dev_free(out);
}

static void div64(void)
{
	int64_t *a = dev_alloc(8 * N), *b = dev_alloc(8 * N);
	int64_t *q = dev_alloc(8 * N), *r = dev_alloc(8 * N);
	uint64_t *u = dev_alloc(8 * N);
	bool good;

	for (int i = 0; i < N; i++) {
		a[i] = rnd_int(64);
		do
			b[i] = rnd_int(i & 1 ? 64 : 33);
		while (!b[i] || (b[i] == -1 && a[i] == INT64_MIN));
	}
	good = run("div64", 8, 128, 0, ARGS(P(q), P(r), P(u), P(a), P(b), N));
	for (int i = 0; good && i < N; i++)
		good = q[i] == a[i] / b[i] && r[i] == a[i] % b[i] &&
		       u[i] == (uint64_t)a[i] / (uint64_t)b[i];
	point(good, "int64_division_is_exact");
	dev_free(a);
	dev_free(b);
	dev_free(q);
	dev_free(r);
	dev_free(u);
}

static int collatz(int i)
{
	int v;

	for (v = 0; i > 1; v++)
		i = i & 1 ? 3 * i + 1 : i / 2;
	return v;
}

static int chosen(int c, int i)
{
	uint32_t r = 0;

	for (int k = 0; k < 32; k++)
		r |= ((uint32_t)i >> k & 1) << (31 - k);
	switch (c) {
	case 0: return i * 3;
	case 1: return i ^ 0x55;
	case 2: return i / 7;
	case 3: return i % 11;
	case 4: return __builtin_popcount(i);
	case 5: return i ? __builtin_clz(i) : 32;
	case 6: return r;
	case 7: return -i;
	case 9: return collatz(i);
	default: return -1;
	}
}

static void choose(void)
{
	int *in = dev_alloc(4 * N), *out = dev_alloc(4 * N);
	bool good;

	for (int i = 0; i < N; i++)
		in[i] = rnd() % 12;
	good = run("choose", 8, 128, 0, ARGS(P(out), P(in), N));
	for (int i = 0; good && i < N; i++)
		good = out[i] == chosen(in[i], i);
	point(good, "lanes_of_a_switch_diverge");
	dev_free(in);
	dev_free(out);
}

static int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void recurse(void)
{
	int *in = dev_alloc(4 * 64), *out = dev_alloc(4 * 64);
	bool good;

	for (int i = 0; i < 64; i++)
		in[i] = rnd() % 13;
	good = run("recurse", 1, 64, 0, ARGS(P(out), P(in), 64));
	for (int i = 0; good && i < 64; i++)
		good = out[i] == fib(in[i]);
	point(good, "recursion_works");
	dev_free(in);
	dev_free(out);
}

struct point {
	double x;
	char tag[5];
	short s;
	float v[3];
};

/* The struct is a parameter of 32 bytes, so it is packed here, not by launch(). */
static void structs(void)
{
	struct point p = { 1.25, "abcd", 77, { 1, 2, 3 } };
	struct point *out = dev_alloc(64 * sizeof(p));
	struct exec_machine *m = exec_new();
	struct {
		uint64_t out;
		struct point p;
		int n;
	} params = { P(out), p, 64 };
	struct exec_launch l = {
		.fn = ptx_find_entry(mod, "structs"), .grid = { 2, 1, 1 },
		.block = { 32, 1, 1 }, .params = &params, .mem = &dev_mem,
	};
	bool good = l.fn && l.fn->params[2].offset ==
		    (char *)&params.n - (char *)&params &&
		    exec_run(m, &l, NULL) == EXEC_OK;

	for (int i = 0; good && i < 64; i++) {
		struct point w = p;

		w.x += i;
		w.tag[1] += i;
		w.s -= i;
		w.v[i % 3] = i;
		good = w.x == out[i].x && !memcmp(w.tag, out[i].tag, 5) &&
		       w.s == out[i].s && !memcmp(w.v, out[i].v, 12);
	}
	point(good, "structs_are_passed_and_returned");
	exec_free(m);
	dev_free(out);
}

static void pointers(void)
{
	int *out = dev_alloc(4 * 64);
	bool good = run("pointers", 1, 64, 0, ARGS(P(out), 64));

	for (int i = 0; good && i < 64; i++)
		good = out[i] == (i % 4 == 0 ? -i : i % 4 == 2 ? i * i :
				  2 * i);
	point(good, "functions_are_called_through_a_table");
	dev_free(out);
}

static void hello(void)
{
	char want[4096] = "";
	bool good = run("hello", 1, 4, 0, ARGS(4));

	for (int i = 0; i < 4; i++)
		sprintf(want + strlen(want), "%d %s %5.2f %lld|%-4x|%c|%%\n",
			i, i & 1 ? "odd" : "even", i * 1.5,
			1234567890123ll * (i + 1), i + 250, 'a' + i);
	if (strcmp(printed, want))
		diag("printed: %s", printed);
	point(good && !strcmp(printed, want), "printf_formats_its_arguments");
	good = launch3(mod, "hello", (uint32_t[]){ 1, 1, 1 },
		       (uint32_t[]){ 4, 1, 1 }, 0, ARGS(2), false) ==
	       EXEC_ASSERT;
	point(good && strstr(fault.msg, "Assertion `i < n` failed") &&
	      fault.tid[0] == 2, "failed_assertion_stops_the_launch");
}

static void scan(void)
{
	int *in = dev_alloc(4 * 512), *out = dev_alloc(4 * 512), sum = 0;
	bool good;

	for (int i = 0; i < 512; i++)
		in[i] = rnd() % 100;
	good = run("scan", 2, 256, 0, ARGS(P(out), P(in)));
	for (int i = 0; good && i < 512; i++) {
		sum = i % 256 ? sum + in[i] : in[i];
		good = out[i] == sum;
	}
	point(good, "scan_with_barriers_sums");
	dev_free(in);
	dev_free(out);
}

static void spinlock(void)
{
	int *lock = dev_alloc(8);
	bool good = run("spinlock", 2, 64, 0, ARGS(P(lock), P(lock + 1)));

	point(good && lock[0] == 0 && lock[1] == 128,
	      "lanes_of_a_warp_share_a_lock");
	dev_free(lock);
}

static void lastblock(void)
{
	int *mem = dev_alloc(4 * 64), want = 0;
	bool good = run("lastblock", 20, 32, 0, ARGS(P(mem), P(mem + 2),
						     P(mem + 1)));

	for (int i = 0; i < 20; i++)
		want += 3 * i;
	point(good && mem[1] == want, "last_block_sees_all_others");
	dev_free(mem);
}

static double half_value(uint16_t h)
{
	int e = h >> 10 & 31;
	double v = e ? ldexp(1024 + (h & 1023), e - 25) :
		   ldexp(h & 1023, -24);

	return h >> 15 ? -v : v;
}

static void halves(void)
{
	uint16_t *a = dev_alloc(4 * 64), *b = dev_alloc(4 * 64);
	uint16_t *out = dev_alloc(4 * 64);
	bool good;

	for (int i = 0; i < 128; i++) {
		a[i] = 0x3000 + (rnd() & 0x8fff);
		b[i] = 0x3000 + (rnd() & 0x8fff);
	}
	good = run("halves", 1, 64, 0, ARGS(P(out), P(a), P(b), 64));
	for (int i = 0; good && i < 128; i++) {
		double x = half_value(a[i]), y = half_value(b[i]);
		double w = x * y + (x + y), g = half_value(out[i]);

		/* The bound allows two roundings to 11 bits, of the sum and of the result. */
		good = fabs(g - w) <= (fabs(w) + fabs(x + y)) * 0x1p-11;
	}
	point(good, "half_arithmetic_rounds_once");
	dev_free(a);
	dev_free(b);
	dev_free(out);
}

static void votes(void)
{
	int *in = dev_alloc(4 * 32);
	uint32_t *out = dev_alloc(8 * 32), m = 0, any = 0;
	bool good;

	for (int i = 0; i < 32; i++) {
		in[i] = (int)(rnd() % 20) - 8;
		m |= (uint32_t)(in[i] > 0) << i;
		any |= in[i] == 7;
	}
	good = run("votes", 1, 32, 0, ARGS(P(out), P(in)));
	for (int i = 0; good && i < 32; i++) {
		uint32_t w = m;

		for (int k = 0; in[i] > 0 && k < 32; k++)
			if (in[k] > 0 && (in[k] & 3) == (in[i] & 3))
				w ^= 1u << k;
		good = out[i] == w && out[i + 32] == (any | 2);
	}
	point(good, "votes_and_matches_agree");
	dev_free(in);
	dev_free(out);
}

static void localmem(void)
{
	int *out = dev_alloc(4 * 64);
	bool good = run("localmem", 2, 32, 0, ARGS(P(out), 50));

	for (int i = 0; good && i < 64; i++) {
		int a[32];

		for (int k = 0; k < 32; k++)
			a[(k * 7 + i) & 31] = k * i;
		for (int k = 0; k < 50; k++)
			a[(a[k & 31] + k) & 31] += k;
		good = out[i] == a[i & 31];
	}
	point(good, "arrays_in_local_memory_keep_values");
	dev_free(out);
}

static void wild(void)
{
	int *p = dev_alloc(64);
	uint32_t one[3] = { 1, 1, 1 }, b[3] = { 32, 1, 1 };
	enum exec_status st = launch3(mod, "wild", one, b, 0,
				      ARGS(P(p), 1 << 20), false);

	point(st == EXEC_ILLEGAL_ADDRESS && fault.tid[0] == 5 &&
	      fault.addr == P(p) + (4ull << 20), "wild_pointer_is_caught");
	dev_free(p);
}

static void shape(void)
{
	int *out = dev_alloc(4 * 24 * 60);
	uint32_t g[3] = { 2, 3, 4 }, b[3] = { 5, 4, 3 };
	bool good = launch3(mod, "shape", g, b, 0, ARGS(P(out)), false) ==
		    EXEC_OK;

	for (int i = 0; good && i < 24 * 60; i++)
		good = out[i] == i / 60 * 1000 + i % 60;
	point(good, "grid_and_block_have_three_dimensions");
	dev_free(out);
}

static void run_all(void)
{
	saxpy();
	sgemm();
	reduce();
	histogram();
	im2col();
	maxpool();
	philox();
	math64();
	math32();
	div64();
	choose();
	recurse();
	structs();
	pointers();
	hello();
	scan();
	spinlock();
	lastblock();
	halves();
	votes();
	localmem();
	wild();
	shape();
}

static void run_variant(const char *dir, const char *name, int isa)
{
	char path[512], what[100], *text;

	snprintf(path, sizeof(path), "%s/cuda/kernels_%s.ptx", dir, name);
	snprintf(what, sizeof(what), "%s, %s", name, isa ? "v3" : "v1");
	variant = what;
	fast_math = strstr(name, "fast");
	unfused = strstr(name, "debug");
	text = slurp(path);
	mod = text ? load(text) : NULL;
	if (!mod)
		diag("%s: %s", path, text ? load_log : "cannot read");
	point(mod, "module_of_nvcc_loads");
	if (mod)
		run_all();
	ptx_unload(mod);
	free(text);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "sm_75", "sm_90", "sm_120",
					     "fast", "debug", "lineinfo" };
	char dir[400], first[450];

	(void)argc;
	snprintf(dir, sizeof(dir), "%s", argv[0]);
	*(strrchr(dir, '/') ? strrchr(dir, '/') : dir) = 0;
	snprintf(first, sizeof(first), "%s/cuda/kernels_sm_75.ptx", dir);
	if (access(first, R_OK)) {
		printf("1..0 # SKIP no nvcc when this was built\n");
		return 0;
	}
	seed_init();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (int isa = 0; isa < 2; isa++)
			if (ptx_force_isa(isa) && (isa || i < 3))
				run_variant(dir, names[i], isa);
	return tap_exit();
}
