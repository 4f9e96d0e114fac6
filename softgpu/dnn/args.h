/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of the stand-in for cuDNN take, for both sides of a launch. */
#ifndef WORMHOLE_SOFTGPU_DNN_ARGS_H
#define WORMHOLE_SOFTGPU_DNN_ARGS_H

#define DNN_RANK	8	/* CUDNN_DIM_MAX */
#define DNN_SPACE	3	/* dimensions of an image, at most */

/* A tensor: sizes and distances in elements, the first dimension is the outermost. */
struct tensor_args {
	void *at;
	int rank;
	int n[DNN_RANK];
	long long stride[DNN_RANK];
};

/*
 * An image or filter: outer (images, or filters), channels, then three dimensions; those that
 * the tensor lacks come first and are of size one.
 */
struct image_args {
	void *at;
	int n[2 + DNN_SPACE];
	long long stride[2 + DNN_SPACE];
};

/* A window that moves over images: of a convolution, or of a pooling. */
struct window_args {
	int size[DNN_SPACE], pad[DNN_SPACE], step[DNN_SPACE], apart[DNN_SPACE];
	int groups;
	int flipped;	/* a true convolution turns the filter around */
	int mode;	/* of cudnnPoolingMode_t */
};

/* A batch normalisation: parameters are of channels, or of each element of an image. */
struct norm_args {
	double epsilon, factor;
	int each;	/* a parameter for each element, not for each channel */
};

#endif
