/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Floating-point helpers of the handlers: flushing, saturation, the canonical NaN of f32,
 * and single operations with directed rounding. The latter switch MXCSR inside one asm
 * statement, so that the compiler can move no code into it.
 */
#ifndef WORMHOLE_SOFTGPU_EXEC_FP_H
#define WORMHOLE_SOFTGPU_EXEC_FP_H

#include <math.h>

#include "ops.h"

#define F32_NAN 0x7fffffffu

/* Flushes subnormals to zero. The sign stays. */
static inline float ftz32(float f)
{
	u32 v = f32_bits(f);

	return bits_f32(v & 0x7f800000 ? v : v & 0x80000000);
}

/* GPUs return this NaN from every f32 operation, whatever the operands were. */
static inline float canon32(float f)
{
	return f != f ? bits_f32(F32_NAN) : f;
}

/* Applies .sat: clamps to [0, 1], and turns a NaN into +0. */
static inline float sat32(float f)
{
	return f > 0 ? (f < 1 ? f : 1) : 0;
}

static inline double sat64(double f)
{
	return f > 0 ? (f < 1 ? f : 1) : 0;
}

static inline float in32(float f, u32 mode)
{
	return mode & MODE_FTZ ? ftz32(f) : f;
}

static inline float out32(float f, u32 mode)
{
	if (mode & MODE_FTZ)
		f = ftz32(f);
	if (mode & MODE_SAT)
		return sat32(f);
	return canon32(f);
}

/* Returns MXCSR with all exceptions masked and the rounding of a PTX modifier. */
static inline u32 mxcsr_of(u32 mode)
{
	static const u16 rc[4] = { 0x0000, 0x6000, 0x2000, 0x4000 };

	return 0x1f80 | rc[mode & MODE_RND];
}

#define ROUNDED2(name, T, INSN) \
static inline T name(T a, T b, u32 mode) \
{ \
	u32 old, csr = mxcsr_of(mode); \
	__asm__ volatile("stmxcsr %1\n\tldmxcsr %3\n\t" INSN " %2, %0\n\t" \
			 "ldmxcsr %1" : "+x"(a), "=&m"(old) : \
			 "x"(b), "m"(csr)); \
	return a; \
}

#define ROUNDED1(name, T, INSN) \
static inline T name(T a, u32 mode) \
{ \
	u32 old, csr = mxcsr_of(mode); \
	T r; \
	__asm__ volatile("stmxcsr %1\n\tldmxcsr %3\n\t" INSN " %2, %0\n\t" \
			 "ldmxcsr %1" : "=&x"(r), "=&m"(old) : \
			 "x"(a), "m"(csr)); \
	return r; \
}

ROUNDED2(add32_rnd, float, "addss")
ROUNDED2(sub32_rnd, float, "subss")
ROUNDED2(mul32_rnd, float, "mulss")
ROUNDED2(div32_rnd, float, "divss")
ROUNDED1(sqrt32_rnd, float, "sqrtss")
ROUNDED2(add64_rnd, double, "addsd")
ROUNDED2(sub64_rnd, double, "subsd")
ROUNDED2(mul64_rnd, double, "mulsd")
ROUNDED2(div64_rnd, double, "divsd")
ROUNDED1(sqrt64_rnd, double, "sqrtsd")

#ifdef EXEC_V3
#define ROUNDED3(name, T, INSN) \
static inline T name(T a, T b, T c, u32 mode) \
{ \
	u32 old, csr = mxcsr_of(mode); \
	__asm__ volatile("vstmxcsr %1\n\tvldmxcsr %4\n\t" \
			 INSN " %3, %2, %0\n\tvldmxcsr %1" \
			 : "+x"(c), "=&m"(old) : "x"(a), "x"(b), "m"(csr)); \
	return c; \
}

ROUNDED3(fma32_rnd, float, "vfmadd231ss")
ROUNDED3(fma64_rnd, double, "vfmadd231sd")
#else
/*
 * Without the FMA instruction this calls the library's function, which obeys the current
 * rounding.
 */
#define ROUNDED3(name, T, FN) \
static inline T name(T a, T b, T c, u32 mode) \
{ \
	T (*volatile fn)(T, T, T) = FN; \
	u32 old, csr = mxcsr_of(mode); \
	__asm__ volatile("stmxcsr %0\n\tldmxcsr %1" : "=m"(old) : "m"(csr) : \
			 "memory"); \
	c = fn(a, b, c); \
	__asm__ volatile("ldmxcsr %0" : : "m"(old) : "memory"); \
	return c; \
}

ROUNDED3(fma32_rnd, float, fmaf)
ROUNDED3(fma64_rnd, double, fma)
#endif

#endif
