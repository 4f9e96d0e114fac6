/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in for cuFFT: what its files share. */
#ifndef WORMHOLE_SOFTGPU_FFT_H
#define WORMHOLE_SOFTGPU_FFT_H

#include "../standin/standin.h"

#include <cufftXt.h>
#include <stdint.h>

#include "layout.h"

#define EXPORT __attribute__((visibility("default")))

/* A transform, before and after anything is made of it. */
struct fft_shape {
	enum fft_kind kind;
	bool wide;		/* double */
	long long batch;
	struct fft_layout in, out;
	bool basic;		/* without gaps, but for what fft_run() adds in place */
};

struct fft_plan {
	bool used;		/* there is such a plan */
	bool made;
	bool allocate;		/* its work area is allocated when it is made */
	CUstream stream;
	struct fft_shape shape;
	CUdeviceptr roots[FFT_RANK];	/* of each dimension that is longer than 1 */
	CUdeviceptr own_area;	/* allocated */
	CUdeviceptr area;	/* in use */
};

/* A plan by its number, with the driver ready; NULL where there is none. */
struct fft_plan *fft_plan(cufftHandle number);

/* Elements of all lines; bytes of the work area. */
long long fft_total(const struct fft_shape *h);
size_t fft_work_size(const struct fft_shape *h);

/* shape.c: what the program's parameters describe, or why they are none. */
cufftResult fft_shape(struct fft_shape *h, int rank, const long long *n, const long long *inembed,
		      long long istride, long long idist, const long long *onembed,
		      long long ostride, long long odist, cufftType type, long long batch);
cufftResult fft_shape_int(struct fft_shape *h, int rank, const int *n, const int *inembed,
			  int istride, int idist, const int *onembed, int ostride, int odist,
			  cufftType type, int batch);
/* The same by types of numbers. */
cufftResult fft_type(cudaDataType in, cudaDataType out, cudaDataType execution, cufftType *type);

/* exec.c */
cufftResult fft_run(struct fft_plan *p, CUdeviceptr in, CUdeviceptr out, bool inverse);

#endif
