/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the stand-in for cuFFT share. */
#ifndef WORMHOLE_SOFTGPU_FFT_H
#define WORMHOLE_SOFTGPU_FFT_H

#include "../standin/standin.h"

#include <cufftXt.h>
#include <stdint.h>

#include "layout.h"

#define EXPORT __attribute__((visibility("default")))

/* The description of a transform. It exists before a plan is made of it. */
struct fft_shape {
	enum fft_kind kind;
	bool wide;		/* numbers are double */
	long long batch;
	struct fft_layout in, out;
	bool basic;		/* no gaps, except what fft_run() adds for a transform in place */
};

struct fft_plan {
	bool used;		/* the number belongs to a plan */
	bool made;
	bool allocate;		/* the plan allocates its work area when it is made */
	CUstream stream;
	struct fft_shape shape;
	CUdeviceptr roots[FFT_RANK];	/* roots of unity, for each dimension longer than 1 */
	CUdeviceptr own_area;	/* the area that the plan allocated */
	CUdeviceptr area;	/* the area that the plan uses */
};

/* Finds a plan by its number and makes the driver ready. Returns NULL if there is no such plan. */
struct fft_plan *fft_plan(cufftHandle number);

/* Return the number of elements of all lines, and the bytes of the work area. */
long long fft_total(const struct fft_shape *h);
size_t fft_work_size(const struct fft_shape *h);

/* shape.c: make a shape of the program's parameters, or return what is wrong with them. */
cufftResult fft_shape(struct fft_shape *h, int rank, const long long *n, const long long *inembed,
		      long long istride, long long idist, const long long *onembed,
		      long long ostride, long long odist, cufftType type, long long batch);
cufftResult fft_shape_int(struct fft_shape *h, int rank, const int *n, const int *inembed,
			  int istride, int idist, const int *onembed, int ostride, int odist,
			  cufftType type, int batch);
/* Finds the type of a transform by the types of its numbers. */
cufftResult fft_type(cudaDataType in, cudaDataType out, cudaDataType execution, cufftType *type);

/* exec.c */
cufftResult fft_run(struct fft_plan *p, CUdeviceptr in, CUdeviceptr out, bool inverse);

#endif
