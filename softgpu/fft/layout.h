/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts that the kernels of the stand-in for cuFFT and their callers share. */
#ifndef WORMHOLE_SOFTGPU_FFT_LAYOUT_H
#define WORMHOLE_SOFTGPU_FFT_LAYOUT_H

#define FFT_RANK	3	/* with fewer dimensions, the first ones have length 1 */

enum fft_kind { FFT_C2C, FFT_R2C, FFT_C2R };

/* One side of a plan: the length of each transform dimension, and the places of its elements. */
struct fft_layout {
	long long n[FFT_RANK];
	long long stride[FFT_RANK];
	long long dist;		/* distance from one transform of the batch to the next */
};

#endif
