/* SPDX-License-Identifier: Apache-2.0 */
/* harness.h describes these functions. */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- device memory ---- */

#define MAX_RANGES 4096

static struct exec_range ranges[MAX_RANGES];
static int nranges;

void *dev_alloc(uint64_t size)
{
	void *p;

	if (size > 1ull << 32 || nranges == MAX_RANGES)
		return NULL;
	p = aligned_alloc(256, (size + 511) & ~255ull);
	if (!p)
		return NULL;
	memset(p, 0, size);
	ranges[nranges++] = (struct exec_range){ (uintptr_t)p, size, true };
	return p;
}

void dev_free(void *p)
{
	for (int i = 0; i < nranges; i++)
		if (ranges[i].base == (uintptr_t)p) {
			ranges[i] = ranges[--nranges];
			free(p);
			return;
		}
	diag("dev_free: %p is not allocated", p);
	abort();
}

static bool find_range(void *ctx, uint64_t addr, struct exec_range *out)
{
	(void)ctx;
	for (int i = 0; i < nranges; i++)
		if (addr - ranges[i].base < ranges[i].size) {
			*out = ranges[i];
			return true;
		}
	return false;
}

const struct exec_mem dev_mem = { .find = find_range };

/* ---- modules ---- */

char load_log[512];

static void *var_alloc(void *ctx, const struct ptx_var *var)
{
	(void)ctx;
	return dev_alloc(var->size ? var->size : 1);
}

static void var_free(void *ctx, void *p)
{
	(void)ctx;
	dev_free(p);
}

static const struct ptx_alloc var_mem = { NULL, var_alloc, var_free };

struct ptx_module *load(const char *text)
{
	struct ptx_module *m;

	ptx_load(text, strlen(text), &var_mem, &m, load_log,
		 sizeof(load_log));
	return m;
}

enum ptx_status load_status(const char *text)
{
	struct ptx_module *m;
	enum ptx_status st;

	st = ptx_load(text, strlen(text), &var_mem, &m, load_log,
		      sizeof(load_log));
	ptx_unload(m);
	return st;
}

struct ptx_module *load_body(const char *body)
{
	static const char head[] =
		".version 9.0\n.target sm_90\n.address_size 64\n";
	char *text = malloc(sizeof(head) + strlen(body));
	struct ptx_module *m;

	sprintf(text, "%s%s", head, body);
	m = load(text);
	free(text);
	if (!m)
		diag("load: %s", load_log);
	return m;
}

/* ---- launches ---- */

struct exec_fault fault;
char printed[65536];

static void print(void *ctx, const char *text, size_t len)
{
	size_t n = strlen(printed);

	(void)ctx;
	if (len > sizeof(printed) - 1 - n)
		len = sizeof(printed) - 1 - n;
	memcpy(printed + n, text, len);
	printed[n + len] = 0;
}

/* A kernel that does not end fails its test instead of hanging it. */
#define LAUNCH_SECONDS 20

static volatile bool timed_out;

static void on_alarm(int sig)
{
	(void)sig;
	timed_out = true;
}

static void pack(const struct ptx_func *f, const uint64_t *args,
		 uint32_t nargs, uint8_t *to)
{
	for (uint32_t i = 0; i < f->nparams && i < nargs; i++)
		memcpy(to + f->params[i].offset, &args[i],
		       f->params[i].size < 8 ? f->params[i].size : 8);
}

static enum exec_status run_launch(struct exec_launch *l, const uint64_t *args,
				   uint32_t nargs)
{
	static struct exec_machine *machine;
	static uint8_t params[32768];
	enum exec_status st;

	if (!machine)
		machine = exec_new();
	if (!l->fn)
		return EXEC_BAD_LAUNCH;
	l->params = params;
	l->mem = &dev_mem;
	l->print = print;
	l->cancel = &timed_out;
	printed[0] = 0;
	memset(&fault, 0, sizeof(fault));
	memset(params, 0, sizeof(params));
	pack(l->fn, args, nargs, params);
	timed_out = false;
	signal(SIGALRM, on_alarm);
	alarm(LAUNCH_SECONDS);
	st = exec_run(machine, l, &fault);
	alarm(0);
	return st;
}

enum exec_status launch3(struct ptx_module *m, const char *kernel,
			 const uint32_t grid[3], const uint32_t block[3],
			 uint32_t dyn_shared, const uint64_t *args,
			 uint32_t nargs, bool cooperative)
{
	struct exec_launch l = {
		.fn = ptx_find_entry(m, kernel),
		.grid = { grid[0], grid[1], grid[2] },
		.block = { block[0], block[1], block[2] },
		.dyn_shared = dyn_shared,
		.cooperative = cooperative,
	};

	return run_launch(&l, args, nargs);
}

enum exec_status launch_cluster(struct ptx_module *m, const char *kernel,
				const uint32_t grid[3], const uint32_t block[3],
				const uint32_t cluster[3], uint32_t dyn_shared,
				const uint64_t *args, uint32_t nargs)
{
	struct exec_launch l = {
		.fn = ptx_find_entry(m, kernel),
		.grid = { grid[0], grid[1], grid[2] },
		.block = { block[0], block[1], block[2] },
		.cluster = { cluster[0], cluster[1], cluster[2] },
		.dyn_shared = dyn_shared,
	};

	return run_launch(&l, args, nargs);
}

enum exec_status launch(struct ptx_module *m, const char *kernel,
			uint32_t grid, uint32_t block, uint32_t dyn_shared,
			const uint64_t *args, uint32_t nargs)
{
	enum exec_status st;
	uint32_t g[3] = { grid, 1, 1 }, b[3] = { block, 1, 1 };

	st = launch3(m, kernel, g, b, dyn_shared, args, nargs, false);
	if (st != EXEC_OK)
		diag("%s: %s", exec_status_name(st), fault.msg);
	return st;
}

/* ---- values ---- */

uint64_t seed;
static uint64_t state;

void seed_init(void)
{
	const char *s = getenv("WH_TEST_SEED");

	seed = s ? strtoull(s, NULL, 0) : 1;
	state = seed * 0x9e3779b97f4a7c15ull + 1;
	diag("WH_TEST_SEED=%llu", (unsigned long long)seed);
}

uint64_t rnd(void)
{
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

uint64_t rnd_int(int bits)
{
	uint64_t max = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint64_t v = rnd();

	switch (v >> 60) {
	case 0:
		return 0;
	case 1:
		return 1;
	case 2:
		return max;
	case 3:
		return max >> 1;
	case 4:
		return max ^ max >> 1;
	case 5:
	case 6:
		return v & 63;
	case 7:
		return -(v & 63) & max;
	case 8:
		return (1ull << v % bits) & max;
	default:
		return v & max;
	}
}

uint32_t rnd_f32(void)
{
	static const uint32_t edge[] = {
		0, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
		0x7fc00000, 0x7f800001, 0xffffffff, 1, 0x80000001, 0x007fffff,
		0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000, 0x40490fdb,
		0x4f000000, 0xcf000000, 0x5f000000, 0x3f7fffff, 0x34000000,
	};
	uint64_t v = rnd();

	switch (v >> 61) {
	case 0:
		return edge[v % (sizeof(edge) / sizeof(edge[0]))];
	case 1:
		return v & 0x807fffff;
	case 2:
	case 3:
		return v & 0xffffffff;
	default:
		/* Exponents near 0 keep sums and products in range. */
		return (v & 0x807fffff) | (0x70 + (v >> 32) % 32) << 23;
	}
}

uint64_t rnd_f64(void)
{
	static const uint64_t edge[] = {
		0, 1ull << 63, 0x3ff0000000000000, 0x7ff0000000000000,
		0xfff0000000000000, 0x7ff8000000000000, 1, 0x000fffffffffffff,
		0x0010000000000000, 0x7fefffffffffffff, 0x3fe0000000000000,
		0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000,
		0x47f0000000000000, 0x36a0000000000000, 0x380fffffe0000000,
		0xffefffffffffffff, 0x41efffffffe00000, 0x3ca0000000000000,
	};
	uint64_t v = rnd();

	switch (rnd() & 7) {
	case 0:
		return edge[v % (sizeof(edge) / sizeof(edge[0]))];
	case 1:
		return v & 0x800fffffffffffff;
	case 2:
	case 3:
		return v;
	default:
		return (v & 0x800fffffffffffff) |
		       (0x3f0 + (rnd() & 31)) << 52;
	}
}

uint16_t rnd_f16(void)
{
	static const uint16_t edge[] = {
		0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7c01, 1,
		0x03ff, 0x0400, 0x7bff, 0x3f80, 0x7f80, 0xff80, 0x7fc0, 0x0080,
	};
	uint64_t v = rnd();

	return v >> 62 ? v & 0xffff : edge[v % (sizeof(edge) / 2)];
}

/* ---- one instruction ---- */

static int bytes_of(char sig)
{
	return sig == 'l' ? 8 : sig == 'h' ? 2 : 4;
}

#define POISON 0xa5a5a5a5a5a5a5a5ull

/* Writes the loads, the instruction under guard %g, and the store of the result. */
static void op_text(char *t, const char *insn, const char *sig)
{
	static const char names[] = "dabce";
	int n = strlen(sig);

	strcpy(t, ".version 9.0\n.target sm_100\n.address_size 64\n"
	       ".entry op(.param .u64 pd, .param .u64 pa, .param .u64 pb,\n"
	       ".param .u64 pc, .param .u64 pe, .param .u32 third)\n{\n"
	       ".reg .b64 %x<9>;\n.reg .b32 %i<9>;\n.reg .pred %g, %never;\n");
	for (int i = 0; i < n; i++)
		sprintf(t + strlen(t), ".reg .%s %%%c;\n", sig[i] == 'p' ?
			"pred" : sig[i] == 'h' ? "b16" : sig[i] == 'l' ?
			"b64" : "b32", names[i]);
	strcat(t, "mov.u32 %i1, %ctaid.x;\nmov.u32 %i2, %ntid.x;\n"
	       "mov.u32 %i3, %tid.x;\nmad.lo.s32 %i1, %i1, %i2, %i3;\n"
	       "ld.param.u32 %i5, [third];\nrem.u32 %i4, %i1, %i5;\n"
	       "setp.ne.u32 %g, %i4, 1;\nsetp.ne.u32 %never, %i1, %i1;\n");
	for (int i = 0; i < n; i++) {
		sprintf(t + strlen(t), "ld.param.u64 %%x1, [p%c];\n"
			"mad.wide.u32 %%x%d, %%i1, %d, %%x1;\n", names[i],
			i + 2, bytes_of(sig[i]));
		if (sig[i] == 'p') {
			sprintf(t + strlen(t), "ld.global.u32 %%i7, [%%x%d];\n"
				"setp.ne.u32 %%%c, %%i7, 0;\n", i + 2,
				names[i]);
			continue;
		}
		sprintf(t + strlen(t), "ld.global.%s %%%c, [%%x%d];\n",
			sig[i] == 'h' ? "b16" : sig[i] == 'l' ? "b64" : "b32",
			names[i], i + 2);
	}
	/* The result starts with a value that a guarded instruction must leave alone. */
	if (sig[0] == 'p')
		strcat(t, "setp.eq.u32 %d, 0, 0;\n");
	else
		sprintf(t + strlen(t), "mov.%s %%d, %lld;\n",
			sig[0] == 'h' ? "b16" : sig[0] == 'l' ? "b64" : "b32",
			(long long)(sig[0] == 'l' ? POISON : sig[0] == 'h' ?
				    0xa5a5 : 0xa5a5a5a5));
	sprintf(t + strlen(t), "%s %s\n", insn[0] == '{' ? "" : "@%g", insn);
	if (sig[0] == 'p')
		strcat(t, "selp.u32 %i7, 1, 0, %d;\nst.global.u32 [%x2], %i7;"
		       "\n}\n");
	else
		sprintf(t + strlen(t), "st.global.%s [%%x2], %%d;\n}\n",
			sig[0] == 'h' ? "b16" : sig[0] == 'l' ? "b64" : "b32");
}

static void put(uint8_t *p, int bytes, uint32_t i, uint64_t v)
{
	memcpy(p + (size_t)i * bytes, &v, bytes);
}

static uint64_t get(const uint8_t *p, int bytes, uint32_t i)
{
	uint64_t v = 0;

	memcpy(&v, p + (size_t)i * bytes, bytes);
	return v;
}

static bool run_with(struct ptx_module *m, const char *sig, uint8_t *mem[5],
		     uint32_t third, uint64_t *dst)
{
	int db = bytes_of(sig[0]);
	uint64_t args[6] = { 0 };

	for (uint32_t i = 0; i < OP_N; i++)
		put(mem[0], db, i, POISON);
	for (int i = 0; i < 5; i++)
		args[i] = (uintptr_t)mem[i];
	args[5] = third;
	if (launch(m, "op", OP_N / 128, 128, 0, args, 6) != EXEC_OK)
		return false;
	for (uint32_t i = 0; i < OP_N; i++)
		dst[i] = get(mem[0], db, i);
	return true;
}

bool run_op(const char *insn, const char *sig, uint64_t src[OP_SRC][OP_N],
	    uint64_t *dst)
{
	static char text[65536];
	static uint64_t part[OP_N];
	int n = strlen(sig), db = bytes_of(sig[0]);
	uint64_t keep = db == 8 ? POISON : POISON & ((1ull << 8 * db) - 1);
	uint8_t *mem[5];
	struct ptx_module *m;
	bool ok;

	op_text(text, insn, sig);
	m = load(text);
	if (!m) {
		diag("%s: %s", insn, load_log);
		return false;
	}
	for (int k = 0; k < 5; k++)
		mem[k] = dev_alloc(8 * OP_N);
	for (int k = 1; k < n; k++)
		for (uint32_t i = 0; i < OP_N; i++)
			put(mem[k], bytes_of(sig[k]), i, src[k - 1][i]);
	/* A divisor above all thread numbers guards out one lane only. */
	ok = run_with(m, sig, mem, 1u << 30, dst) &&
	     run_with(m, sig, mem, 3, part);
	for (uint32_t i = 0; ok && i < OP_N; i++) {
		uint64_t want = i % 3 == 1 && insn[0] != '{' ?
				(sig[0] == 'p' ? 1 : keep) : dst[i];

		/* Thread 1 is guarded out in both launches. */
		if (i != 1 && part[i] != want) {
			diag("%s: thread %u of a partial warp has 0x%llx, "
			     "not 0x%llx", insn, i,
			     (unsigned long long)part[i],
			     (unsigned long long)want);
			ok = false;
		}
	}
	for (int k = 0; k < 5; k++)
		dev_free(mem[k]);
	ptx_unload(m);
	return ok;
}

static bool is_nan32(uint64_t v)
{
	return (v & 0x7fffffff) > 0x7f800000;
}

static bool is_nan64(uint64_t v)
{
	return v << 1 > 0xffe0000000000000ull;
}

static int64_t order32(uint64_t v)
{
	return v >> 31 & 1 ? -(int64_t)(v & 0x7fffffff) : (int64_t)v;
}

static int64_t order64(uint64_t v)
{
	return (int64_t)v < 0 ? -(int64_t)(v & INT64_MAX) : (int64_t)v;
}

/* Compares two results. @kind is 0 for bits, or 4 or 8 for a float of that size. */
static bool same(uint64_t got, uint64_t want, int kind, int ulp)
{
	int64_t d;

	if (kind == 4 && is_nan32(want))
		return is_nan32(got);
	if (kind == 8 && is_nan64(want))
		return is_nan64(got);
	if (got == want || !kind)
		return got == want;
	if (kind == 8 && (is_nan64(got) || got >> 63 != want >> 63))
		return ulp && got << 1 == 0 && want << 1 == 0;
	d = kind == 4 ? order32(got) - order32(want) :
	    order64(got) - order64(want);
	return d <= ulp && d >= -ulp && !(kind == 4 && is_nan32(got));
}

static bool good_on_all(const char *insn, const char *sig, ref_fn *ref,
			int kind, int ulp, uint64_t src[OP_SRC][OP_N])
{
	static uint64_t dst[OP_N];
	bool good = run_op(insn, sig, src, dst);

	for (uint32_t i = 0; good && i < OP_N; i++) {
		uint64_t s[OP_SRC], want;

		if (i == 1)
			continue;
		for (int k = 0; k < OP_SRC; k++)
			s[k] = src[k][i];
		want = ref(s);
		if (same(dst[i], want, kind, ulp))
			continue;
		diag("%s: 0x%llx, 0x%llx, 0x%llx, 0x%llx gives 0x%llx, "
		     "expected 0x%llx", insn, (unsigned long long)s[0],
		     (unsigned long long)s[1], (unsigned long long)s[2],
		     (unsigned long long)s[3], (unsigned long long)dst[i],
		     (unsigned long long)want);
		good = false;
	}
	return good;
}

static uint64_t operand(char sig, int kind)
{
	int bits = 8 * bytes_of(sig);

	if (sig == 'p')
		return rnd() & 1;
	if (!kind)
		return rnd_int(bits);
	return bits == 64 ? rnd_f64() : bits == 16 ? rnd_f16() : rnd_f32();
}

bool op_matches(const char *insn, const char *sig, ref_fn *ref,
		gen_fn *const gen[], int kind, int ulp)
{
	static uint64_t src[OP_SRC][OP_N];
	int n = strlen(sig) - 1;
	bool good = true;

	memset(src, 0, sizeof(src));
	for (int k = 0; k < n; k++)
		for (uint32_t i = 0; i < OP_N; i++)
			src[k][i] = gen && gen[k] ? gen[k]() :
				    operand(sig[k + 1], kind);
	for (int isa = 0; isa < 2; isa++) {
		if (!ptx_force_isa(isa) ||
		    good_on_all(insn, sig, ref, kind, ulp, src))
			continue;
		diag("with handler set %d", isa);
		good = false;
	}
	ptx_force_isa(-1);
	return good;
}

char *slurp(const char *path)
{
	FILE *f = fopen(path, "r");
	char *p = calloc(1, 4 << 20);

	if (!f || !p || !fread(p, 1, (4 << 20) - 1, f)) {
		free(p);
		p = NULL;
	}
	if (f)
		fclose(f);
	return p;
}
