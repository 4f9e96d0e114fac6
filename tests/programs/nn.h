/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small network trainer over cuBLAS and own kernels, or with -DWITH_CUDNN
 * over cuDNN and cuBLAS: a list of layers, softmax loss, SGD with momentum.
 */
#ifndef WORMHOLE_NN_H
#define WORMHOLE_NN_H

#include <cmath>
#include <memory>
#include <cublas_v2.h>
#include <curand.h>
#include "nn_kernels.h"

/* A buffer of floats in device memory, which lives as long as its owner. */
struct Buffer {
	float *p = NULL;
	size_t n = 0;

	void make(size_t count)
	{
		n = count;
		CHECK(cudaMalloc(&p, n * sizeof(float)));
		CHECK(cudaMemset(p, 0, n * sizeof(float)));
	}
	~Buffer() { cudaFree(p); }
};

struct Parameter {
	Buffer value, gradient, velocity;

	/* Fills the buffer with uniform numbers, whose variance keeps the signals' size. */
	void make(size_t n, int inputs, Random &random)
	{
		float scale = inputs ? sqrtf(3.0f / inputs) : 0;
		std::vector<float> host(n);

		value.make(n);
		gradient.make(n);
		velocity.make(n);
		for (size_t i = 0; i < n; i++)
			host[i] = scale * random.real();
		CHECK(cudaMemcpy(value.p, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
	}
};

/* All layers use these libraries. */
struct Libraries {
	cublasHandle_t blas;
	curandGenerator_t random;

	Libraries()
	{
		CHECK_STATUS(cublasCreate(&blas));
		CHECK_STATUS(cublasSetStream(blas, nn_stream));
		CHECK_STATUS(curandCreateGenerator(&random, CURAND_RNG_PSEUDO_XORWOW));
		CHECK_STATUS(curandSetPseudoRandomGeneratorSeed(random, 1701));
		CHECK_STATUS(curandSetStream(random, nn_stream));
	}
	~Libraries()
	{
		CHECK_STATUS(curandDestroyGenerator(random));
		CHECK_STATUS(cublasDestroy(blas));
	}
};

struct Layer {
	Shape in, out;
	Buffer y, dx;
	Libraries *lib = NULL;

	virtual ~Layer() { }
	virtual void forward(const float *x) = 0;
	virtual void backward(const float *x, const float *dy) = 0;
	virtual std::vector<Parameter *> parameters() { return {}; }
	void set_shapes(const Shape &from, const Shape &to)
	{
		in = from;
		out = to;
		y.make(out.size());
		dx.make(in.size());
	}
};

/* C (m x n, row by row) = alpha * op(A) * op(B) + beta * C */
static inline void gemm(cublasHandle_t blas, bool ta, bool tb, int m, int n, int k, const float *a,
			const float *b, float beta, float *c)
{
	const float one = 1;

	CHECK_STATUS(cublasSgemm(blas, tb ? CUBLAS_OP_T : CUBLAS_OP_N,
				 ta ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k, &one, b, tb ? k : n,
				 a, ta ? m : k, &beta, c, n));
}

struct FullyConnected : Layer {
	Parameter weight, bias;

	FullyConnected(Libraries *l, const Shape &s, int outputs, Random &random)
	{
		lib = l;
		set_shapes(s, { s.n, outputs, 1, 1 });
		weight.make((size_t)outputs * s.image(), s.image(), random);
		bias.make(outputs, 0, random);
	}
	void forward(const float *x) override
	{
		gemm(lib->blas, false, true, in.n, out.c, in.image(), x, weight.value.p, 0, y.p);
		LAUNCH(add_bias, out.size(), y.p, bias.value.p, out.c, 1);
	}
	void backward(const float *x, const float *dy) override
	{
		gemm(lib->blas, true, false, out.c, in.image(), in.n, dy, x, 0, weight.gradient.p);
		launch_bias_gradient(dy, bias.gradient.p, out);
		gemm(lib->blas, false, false, in.n, in.image(), out.c, dy, weight.value.p, 0, dx.p);
	}
	std::vector<Parameter *> parameters() override { return { &weight, &bias }; }
};

/* The mask of dropout comes from cuRAND, whose position goes on from step to step. */
struct Dropout : Layer {
	Buffer random;

	Dropout(Libraries *l, const Shape &s)
	{
		lib = l;
		set_shapes(s, s);
		random.make(s.size());
	}
	void forward(const float *x) override
	{
		CHECK_STATUS(curandGenerateUniform(lib->random, random.p, random.n));
		LAUNCH(drop, in.size(), x, random.p, y.p);
	}
	void backward(const float *, const float *dy) override
	{
		LAUNCH(drop, in.size(), dy, random.p, dx.p);
	}
};

#ifdef WITH_CUDNN
#include "nn_cudnn.h"
#else
#include "nn_blas.h"
#endif

class Net {
public:
	Net(const Shape &input, Random &r) : random(r), next(input), batch(input)
	{
		x.make(input.size());
		CHECK(cudaMalloc(&label, input.n * sizeof(int)));
		loss.make(input.n);
	}
	~Net() { cudaFree(label); }

	void convolve(int outputs, const Window &w)
	{
		add(new Convolution(&lib, next, outputs, w, random));
	}
	void activate() { add(new Activation(&lib, next)); }
	void pool(const Window &w) { add(new Pooling(&lib, next, w)); }
	void normalise() { add(new Normalisation(&lib, next)); }
	void connect(int outputs) { add(new FullyConnected(&lib, next, outputs, random)); }
	void dropout() { add(new Dropout(&lib, next)); }

	/* Makes one step of training; the loss is read, as solvers that print it do. */
	float train(const float *images, const int *labels, float rate)
	{
		float mean = run(images, labels);

		for (size_t i = layers.size(); i-- > 0;)
			layers[i]->backward(i ? layers[i - 1]->y.p : x.p,
					    i + 1 < layers.size() ? layers[i + 1]->dx.p : top.p);
		for (auto &l : layers)
			for (Parameter *p : l->parameters())
				LAUNCH(sgd, p->value.n, p->value.p, p->gradient.p, p->velocity.p,
				       rate, 0.9f, 5e-4f);
		return mean;
	}

	/* Returns how many images of the batch are recognised. */
	int right(const float *images, const int *labels)
	{
		int classes = next.c, n = 0;
		std::vector<float> score(next.size());

		run(images, labels);
		CHECK(cudaMemcpy(score.data(), layers.back()->y.p, score.size() * sizeof(float),
				 cudaMemcpyDeviceToHost));
		for (int i = 0; i < batch.n; i++) {
			const float *s = &score[(size_t)i * classes];

			n += std::max_element(s, s + classes) - s == labels[i];
		}
		return n;
	}

	uint64_t hash()
	{
		uint64_t h = hash_bytes("", 0);

		for (auto &l : layers)
			for (Parameter *p : l->parameters())
				h = hash_device(p->value.p, p->value.n, h);
		return h;
	}

private:
	void add(Layer *l)
	{
		layers.emplace_back(l);
		next = l->out;
	}

	float run(const float *images, const int *labels)
	{
		std::vector<float> each(batch.n);
		double sum = 0;

		if (!top.p)
			top.make(next.size());
		CHECK(cudaMemcpy(x.p, images, x.n * sizeof(float), cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(label, labels, batch.n * sizeof(int), cudaMemcpyHostToDevice));
		for (size_t i = 0; i < layers.size(); i++)
			layers[i]->forward(i ? layers[i - 1]->y.p : x.p);
		LAUNCH(softmax_loss, batch.n, layers.back()->y.p, label, loss.p, top.p, next.c);
		CHECK(cudaMemcpy(each.data(), loss.p, batch.n * sizeof(float),
				 cudaMemcpyDeviceToHost));
		for (float f : each)
			sum += f;
		return (float)(sum / batch.n);
	}

	Libraries lib;
	std::vector<std::unique_ptr<Layer>> layers;
	Random &random;
	Shape next, batch;
	Buffer x, top, loss;
	int *label;
};

/*
 * The steps of a training and their rate, which is measured after the first ones. It is
 * measured over all other steps, or with `turn=N` over N steps at a time: each time for a
 * line on stdin, until one says "end". So several processes can train in turns.
 */
class Steps {
	int batch, steps, warm, turn;
	int done = 0, first = 0;
	double start = 0;

	void say_rate()
	{
		CHECK(cudaDeviceSynchronize());
		fprintf(stderr, "rate %.6g images/s\n", (double)batch * (done - first) / (now() - start));
	}
	/* Prints the rate between two measurements. Returns whether there is more to measure. */
	bool again()
	{
		char line[8];

		if (done > warm)
			say_rate();
		if (turn ? !fgets(line, sizeof(line), stdin) || !strncmp(line, "end", 3) : done == steps)
			return false;
		first = done;
		start = now();
		return true;
	}

public:
	/* The first 1/part of `steps` is not measured. */
	Steps(int argc, char **argv, int batch, int preset, int part) : batch(batch)
	{
		steps = option(argc, argv, "steps", preset);
		turn = option(argc, argv, "turn", 0);
		warm = steps / part;
	}
	/* Returns whether there is another step, which the caller then makes. */
	bool next()
	{
		bool between = done == warm || (turn ? done > warm && (done - warm) % turn == 0 :
						       done == steps);

		if (between && !again())
			return false;
		done++;
		return true;
	}
	int number() const { return done - 1; }
};

#endif
