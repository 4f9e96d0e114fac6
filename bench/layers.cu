// SPDX-License-Identifier: Apache-2.0
// Measures steps of single layers, forward and backward, as a framework's tests of layers
// make them: convolution, deconvolution, RNN, LSTM, batch normalization, three activations.
// The layers use our own kernels and cuBLAS, or cuDNN if built with WITH_CUDNN. The program
// is unmodified CUDA, so the libraries that it finds decide what is measured. For each
// layer it prints a line
//
//	layer NAME NS-A-STEP STEPS HASH
//
// HASH is computed from the last step's result and gradient: it is the same in every world.
//
//	layers [layer=N] [steps=1] [ms=0] [batch=4] [size=12] [check=0]
//
// layer: only this one; ms: run steps at least for this time; check: compare each gradient
// with differences instead.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#ifdef WITH_CUDNN
#include "layers_dnn.h"
#else
#include "layers.h"
#endif

#define TIMES	6	// steps in time of recurrent layers

static Libraries *libraries;
static int batch, size;

// The constructor of each kind depends on how this program was built.
#ifdef WITH_CUDNN
#define OF(own, dnn)	dnn
#else
#define OF(own, dnn)	own
#endif

static Shape image(int channels) { return { batch, channels, size, size }; }

struct Kind {
	const char *name;
	std::function<Layer *(Random &)> make;
};

static const std::vector<Kind> kinds = {
	{ "convolution", [](Random &r) -> Layer * {
		return new Convolution(libraries, image(4), 8, { 3, 1, 1 }, r); } },
	{ "deconvolution", [](Random &r) -> Layer * {
		return new OF(OwnDeconvolution, DnnDeconvolution)(libraries, image(4), 4,
								  { 4, 2, 1 }, r); } },
	{ "rnn", [](Random &r) -> Layer * {
		return new OF(OwnRecurrent, DnnRecurrent)(libraries, false, TIMES,
							  { TIMES * batch, 16, 1, 1 }, 24, r); } },
	{ "lstm", [](Random &r) -> Layer * {
		return new OF(OwnRecurrent, DnnRecurrent)(libraries, true, TIMES,
							  { TIMES * batch, 16, 1, 1 }, 24, r); } },
	{ "batch_norm", [](Random &r) -> Layer * {
		return new OF(OwnBatchNorm, DnnBatchNorm)(image(8), r); } },
	{ "relu", [](Random &) -> Layer * {
		return new OF(OwnActivation, DnnActivation)(RELU, image(8)); } },
	{ "sigmoid", [](Random &) -> Layer * {
		return new OF(OwnActivation, DnnActivation)(SIGMOID, image(8)); } },
	{ "tanh", [](Random &) -> Layer * {
		return new OF(OwnActivation, DnnActivation)(TANH, image(8)); } },
};

static std::vector<float> some(size_t n, Random &random)
{
	std::vector<float> v(n);

	for (float &f : v)
		f = random.real();
	return v;
}

static void upload(float *dev, const std::vector<float> &host)
{
	CHECK(cudaMemcpy(dev, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
}

static std::vector<float> download(const float *dev, size_t n)
{
	std::vector<float> host(n);

	CHECK(cudaMemcpy(host.data(), dev, n * sizeof(float), cudaMemcpyDeviceToHost));
	return host;
}

// A layer with its inputs at both ends.
struct Subject {
	Random random{ 7 };
	std::unique_ptr<Layer> layer;
	std::vector<float> host_x, host_dy, host_y;
	Buffer x, dy;

	explicit Subject(const Kind &k) : layer(k.make(random))
	{
		host_x = some(layer->in.size(), random);
		host_dy = some(layer->out.size(), random);
		host_y.resize(layer->out.size());
		x.make(host_x.size());
		dy.make(host_dy.size());
		upload(dy.p, host_dy);
	}
	// Does what a test of a layer does: data to the device, both passes, the result to
	// the host.
	void step()
	{
		upload(x.p, host_x);
		layer->forward(x.p);
		layer->backward(x.p, dy.p);
		CHECK(cudaMemcpy(host_y.data(), layer->y.p, host_y.size() * sizeof(float),
				 cudaMemcpyDeviceToHost));
	}
	// The function whose gradient is computed.
	double loss()
	{
		double sum = 0;

		upload(x.p, host_x);
		layer->forward(x.p);
		std::vector<float> y = download(layer->y.p, layer->out.size());
		for (size_t i = 0; i < y.size(); i++)
			sum += (double)y[i] * host_dy[i];
		return sum;
	}
};

static void measure(const Kind &k, long steps, double seconds)
{
	Subject s(k);
	long done = 0;
	double start;

	s.step();
	CHECK(cudaDeviceSynchronize());
	start = now();
	do {
		s.step();
		done++;
	} while (done < steps || now() - start < seconds);
	CHECK(cudaDeviceSynchronize());
	printf("layer %s %.0f %ld %016llx\n", k.name, (now() - start) * 1e9 / done, done,
	       (unsigned long long)hash_device(s.layer->dx.p, s.layer->in.size(),
					       hash_device(s.layer->y.p, s.layer->out.size())));
	fflush(stdout);
}

// Compares differences at some places with the gradient there; each must be within a
// hundredth of the largest gradient.
static bool check(const Kind &k)
{
	const float step = 1e-2f;
	Subject s(k);
	double worst = 0, greatest = 0;

	s.step();
	std::vector<float> dx = download(s.layer->dx.p, s.layer->in.size());
	for (float f : dx)
		greatest = std::max(greatest, (double)fabsf(f));
	for (int i = 0; i < 12; i++) {
		size_t at = s.random.bits() % dx.size();
		float was = s.host_x[at];
		double up, down;

		if (!strcmp(k.name, "relu") && fabsf(was) <= step)
			continue;	// it has a corner there
		s.host_x[at] = was + step;
		up = s.loss();
		s.host_x[at] = was - step;
		down = s.loss();
		s.host_x[at] = was;
		worst = std::max(worst, fabs((up - down) / (2 * step) - dx[at]));
	}
	printf("gradient %s %s: off by %.2g of %.2g\n", k.name,
	       worst < greatest / 100 ? "right" : "wrong", worst, greatest);
	return greatest > 0 && worst < greatest / 100;
}

int main(int argc, char **argv)
{
	long only = option(argc, argv, "layer", -1), steps = option(argc, argv, "steps", 1);
	double seconds = option(argc, argv, "ms", 0) / 1e3;
	bool good = true;

	batch = option(argc, argv, "batch", 4);
	size = option(argc, argv, "size", 12);
	libraries = new Libraries;
	for (size_t i = 0; i < kinds.size(); i++) {
		if (only >= 0 && (size_t)only != i)
			continue;
		if (option(argc, argv, "check", 0))
			good &= check(kinds[i]);
		else
			measure(kinds[i], steps, seconds);
	}
	delete libraries;
	return !good;
}
