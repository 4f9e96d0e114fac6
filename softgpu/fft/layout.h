/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of the stand-in for cuFFT and their callers agree on. */
#ifndef WORMHOLE_SOFTGPU_FFT_LAYOUT_H
#define WORMHOLE_SOFTGPU_FFT_LAYOUT_H

#define FFT_RANK	3	/* of fewer dimensions the first are 1 long */

enum fft_kind { FFT_C2C, FFT_R2C, FFT_C2R };

/* One side of a plan: how long each dimension of the transform is, and where its elements are. */
struct fft_layout {
	long long n[FFT_RANK];
	long long stride[FFT_RANK];
	long long dist;		/* from one of the batch to the next */
};

#endif
