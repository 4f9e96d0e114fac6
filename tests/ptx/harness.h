/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of the PTX half use this file: a module with plain malloc()ed device memory
 * that knows its ranges, launches with a list of arguments, and kernels that are one
 * instruction on arrays.
 */
#ifndef WORMHOLE_TESTS_PTX_HARNESS_H
#define WORMHOLE_TESTS_PTX_HARNESS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../tap.h"
#include "../../softgpu/exec/exec.h"
#include "../../softgpu/ptx/ptx.h"

bool ptx_force_isa(int isa);

/* ---- device memory ---- */

void *dev_alloc(uint64_t size);
void dev_free(void *p);
extern const struct exec_mem dev_mem;

/* ---- modules and launches ---- */

extern char load_log[512];

/* Returns NULL when the text does not load; the reason is in load_log. */
struct ptx_module *load(const char *text);
enum ptx_status load_status(const char *text);

/* Loads a body with the usual header in front of it. */
struct ptx_module *load_body(const char *body);

extern struct exec_fault fault;
extern char printed[65536];

/* The arguments are 64-bit words, which are packed as the kernel wants them. */
enum exec_status launch(struct ptx_module *m, const char *kernel,
			uint32_t grid, uint32_t block, uint32_t dyn_shared,
			const uint64_t *args, uint32_t nargs);
enum exec_status launch3(struct ptx_module *m, const char *kernel,
			 const uint32_t grid[3], const uint32_t block[3],
			 uint32_t dyn_shared, const uint64_t *args,
			 uint32_t nargs, bool cooperative);
/* The same in clusters; zeros: the launch gives no shape. */
enum exec_status launch_cluster(struct ptx_module *m, const char *kernel,
				const uint32_t grid[3], const uint32_t block[3],
				const uint32_t cluster[3], uint32_t dyn_shared,
				const uint64_t *args, uint32_t nargs);

/* ---- random and edge values ---- */

extern uint64_t seed;
void seed_init(void);
uint64_t rnd(void);
/* Returns an edge case often: 0, 1, all ones, extremes, NaN, subnormal. */
uint64_t rnd_int(int bits);
uint32_t rnd_f32(void);
uint64_t rnd_f64(void);
uint16_t rnd_f16(void);

static inline float f32(uint32_t v)
{
	float f;

	memcpy(&f, &v, sizeof(f));
	return f;
}

static inline uint32_t u32_of(float f)
{
	uint32_t v;

	memcpy(&v, &f, sizeof(v));
	return v;
}

static inline double f64(uint64_t v)
{
	double f;

	memcpy(&f, &v, sizeof(f));
	return f;
}

static inline uint64_t u64_of(double f)
{
	uint64_t v;

	memcpy(&v, &f, sizeof(v));
	return v;
}

/* ---- one instruction on arrays ---- */

#define OP_N 4096
#define OP_SRC 4

/*
 * Runs @insn for OP_N threads. In it %d is the result (type letter @sig[0]) and %a, %b,
 * %c, %e are the operands: h 16, i 32, l 64 bits, p a predicate (0/1). It makes two
 * launches: with all lanes, and with every third lane guarded out (but for sequences in
 * braces, which get no guard).
 */
bool run_op(const char *insn, const char *sig, uint64_t src[OP_SRC][OP_N],
	    uint64_t *dst);

/* The result that a test expects of one thread. */
typedef uint64_t ref_fn(const uint64_t *s);
typedef uint64_t gen_fn(void);

/*
 * Returns whether all threads have what @ref says, with both sets of handlers. @kind is 0
 * for the same bits, or 4 or 8 for a float of that size, which may be @ulp away, and any
 * NaN is as good as another. @gen makes the operands, where it is given.
 */
bool op_matches(const char *insn, const char *sig, ref_fn *ref,
		gen_fn *const gen[], int kind, int ulp);

/* Makes the same check as a point of the test. */
static inline void check_op(const char *insn, const char *sig, ref_fn *ref,
			    gen_fn *const gen[])
{
	ok(op_matches(insn, sig, ref, gen, 0, 0), insn);
}

static inline void check_f32(const char *insn, const char *sig, ref_fn *ref,
			     int ulp)
{
	ok(op_matches(insn, sig, ref, NULL, 4, ulp), insn);
}

static inline void check_f64(const char *insn, const char *sig, ref_fn *ref,
			     int ulp)
{
	ok(op_matches(insn, sig, ref, NULL, 8, ulp), insn);
}

/* Returns the text of a file of less than 4 MiB, to be freed, or NULL. */
char *slurp(const char *path);

#endif
