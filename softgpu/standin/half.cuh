/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of f16 and bf16 beside those of number.cuh, and the place of a thread in a launch of
 * blocks of 256, for the kernels of a stand-in.
 */
#ifndef WORMHOLE_SOFTGPU_HALF_H
#define WORMHOLE_SOFTGPU_HALF_H

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "number.cuh"

typedef long long i64;

#define BLOCK	256

/* The type in which sums of elements are made, and the ways there and back. */
template <class T> struct sum_of { typedef T type; };
template <> struct sum_of<__half> { typedef float type; };
template <> struct sum_of<__nv_bfloat16> { typedef float type; };

template <class T> FN T wide(T v) { return v; }
FN float wide(__half v) { return __half2float(v); }
FN float wide(__nv_bfloat16 v) { return __bfloat162float(v); }

template <class T> FN void put(T *p, T v) { *p = v; }
FN void put(__half *p, float v) { *p = __float2half(v); }
FN void put(__nv_bfloat16 *p, float v) { *p = __float2bfloat16(v); }

FN i64 me() { return (i64)blockIdx.x * BLOCK + threadIdx.x; }
FN i64 all() { return (i64)gridDim.x * BLOCK; }

#endif
