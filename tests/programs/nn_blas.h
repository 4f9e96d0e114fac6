/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by im2col, cuBLAS and own kernels, image by image as Caffe does it. */
#ifndef WORMHOLE_NN_BLAS_H
#define WORMHOLE_NN_BLAS_H

struct Convolution : Layer {
	Window win;
	int taps, places;	/* rows and columns of the matrix of an image */
	Parameter weight, bias;
	Buffer col;

	Convolution(Libraries *l, const Shape &s, int outputs, const Window &w, Random &random)
		: win(w)
	{
		lib = l;
		set_shapes(s, { s.n, outputs, w.out(s.h), w.out(s.w) });
		taps = s.c * w.k * w.k;
		places = out.h * out.w;
		weight.make((size_t)outputs * taps, taps, random);
		bias.make(outputs, 0, random);
		col.make((size_t)taps * places);
	}
	void forward(const float *x) override
	{
		for (int i = 0; i < in.n; i++) {
			LAUNCH(im2col, col.n, x + (size_t)i * in.image(), col.p, in, win, out.h,
			       out.w);
			gemm(lib->blas, false, false, out.c, places, taps, weight.value.p, col.p, 0,
			     y.p + (size_t)i * out.image());
		}
		LAUNCH(add_bias, out.size(), y.p, bias.value.p, out.c, places);
	}
	void backward(const float *x, const float *dy) override
	{
		launch_bias_gradient(dy, bias.gradient.p, out);
		for (int i = 0; i < in.n; i++) {
			const float *d = dy + (size_t)i * out.image();

			LAUNCH(im2col, col.n, x + (size_t)i * in.image(), col.p, in, win, out.h,
			       out.w);
			gemm(lib->blas, false, true, out.c, taps, places, d, col.p, i ? 1 : 0,
			     weight.gradient.p);
			gemm(lib->blas, true, false, taps, places, out.c, weight.value.p, d, 0,
			     col.p);
			LAUNCH(col2im, in.image(), col.p, dx.p + (size_t)i * in.image(), in, win,
			       out.h, out.w);
		}
	}
	std::vector<Parameter *> parameters() override { return { &weight, &bias }; }
};

struct Activation : Layer {
	Activation(Libraries *, const Shape &s) { set_shapes(s, s); }
	void forward(const float *x) override { LAUNCH(relu, in.size(), x, y.p); }
	void backward(const float *, const float *dy) override
	{
		LAUNCH(relu_gradient, in.size(), y.p, dy, dx.p);
	}
};

struct Pooling : Layer {
	Window win;
	int *where;

	Pooling(Libraries *, const Shape &s, const Window &w) : win(w)
	{
		set_shapes(s, { s.n, s.c, w.out(s.h), w.out(s.w) });
		CHECK(cudaMalloc(&where, out.size() * sizeof(int)));
	}
	~Pooling() { cudaFree(where); }
	void forward(const float *x) override
	{
		LAUNCH(max_pool, out.size(), x, y.p, where, in, win, out.h, out.w);
	}
	void backward(const float *, const float *dy) override
	{
		LAUNCH(max_pool_gradient, in.size(), dy, where, dx.p, in, win, out.h, out.w);
	}
};

struct Normalisation : Layer {
	Buffer scale;

	Normalisation(Libraries *, const Shape &s)
	{
		set_shapes(s, s);
		scale.make(s.size());
	}
	void forward(const float *x) override
	{
		LAUNCH(lrn_scale, in.size(), x, scale.p, in.c, in.h * in.w);
		LAUNCH(lrn, in.size(), x, scale.p, y.p);
	}
	void backward(const float *x, const float *dy) override
	{
		LAUNCH(lrn_gradient, in.size(), x, y.p, scale.p, dy, dx.p, in.c, in.h * in.w);
	}
};

#endif
