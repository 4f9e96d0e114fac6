/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of every element type, which tests of stand-ins keep as double complex on the host.
 * Values are made so that the type has them, and are copied to the device and back as such.
 */
#ifndef WORMHOLE_TESTS_NUMBERS_H
#define WORMHOLE_TESTS_NUMBERS_H

#include <complex.h>
#include <cuda.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef double complex num;

enum { F, D, C, Z, HALF, BF16, TYPES };

static const char *const letter[TYPES] = { "float", "double", "complex", "double_complex", "half",
					   "bf16" };

/* A name of a point: the type, then what is expected. */
static inline const char *named(int t, const char *what)
{
	static char room[200];

	snprintf(room, sizeof(room), "%s_%s", letter[t], what);
	return room;
}

static inline size_t element(int t)
{
	return (size_t[]){ 4, 8, 8, 16, 2, 2 }[t];
}

/* What one operation may be off by, for values of about one. */
static inline double tolerance(int t)
{
	return (double[]){ 1e-4, 1e-12, 1e-4, 1e-12, 2e-3, 2e-2 }[t];
}

static inline double noise(void)
{
	static uint32_t seed = 1;

	seed = seed * 1664525 + 1013904223;
	return (int32_t)seed / 2147483648.0;
}

/* In f16 and bf16 values have seven bits, so that products of two are exact in f32. */
static inline num random_of(int t)
{
	double v = t >= HALF ? (int)(noise() * 128) / 128.0 : (float)noise();

	return CMPLX(v, t == C || t == Z ? (float)noise() : 0);
}

static inline uint16_t half_of(double v)
{
	_Float16 h = (_Float16)v;
	uint16_t bits;

	memcpy(&bits, &h, 2);
	return bits;
}

static inline double of_half(uint16_t bits)
{
	_Float16 h;

	memcpy(&h, &bits, 2);
	return h;
}

static inline uint16_t bf16_of(double v)
{
	float f = v;
	uint32_t bits;

	memcpy(&bits, &f, 4);
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static inline double of_bf16(uint16_t v)
{
	uint32_t bits = (uint32_t)v << 16;
	float f;

	memcpy(&f, &bits, 4);
	return f;
}

static inline void number_put(int t, CUdeviceptr to, const num *from, int n)
{
	char *room = malloc(n * sizeof(num));

	for (int k = 0; k < n; k++)
		switch (t) {
		case F: ((float *)room)[k] = creal(from[k]); break;
		case D: ((double *)room)[k] = creal(from[k]); break;
		case C: ((float complex *)room)[k] = from[k]; break;
		case Z: ((num *)room)[k] = from[k]; break;
		case HALF: ((uint16_t *)room)[k] = half_of(creal(from[k])); break;
		default: ((uint16_t *)room)[k] = bf16_of(creal(from[k]));
		}
	cuMemcpyHtoD(to, room, n * element(t));
	free(room);
}

static inline void number_get(int t, CUdeviceptr at, num *to, int n)
{
	char *room = malloc(n * sizeof(num));

	cuMemcpyDtoH(room, at, n * element(t));
	for (int k = 0; k < n; k++)
		switch (t) {
		case F: to[k] = ((float *)room)[k]; break;
		case D: to[k] = ((double *)room)[k]; break;
		case C: to[k] = ((float complex *)room)[k]; break;
		case Z: to[k] = ((num *)room)[k]; break;
		case HALF: to[k] = of_half(((uint16_t *)room)[k]); break;
		default: to[k] = of_bf16(((uint16_t *)room)[k]);
		}
	free(room);
}

#endif
