// SPDX-License-Identifier: Apache-2.0
// AlexNet (one column) trains on dummy data. Prints the loss of each step to the
// last bit and a hash of all weights.
//
//	alexnet [batch=64] [steps=10] [image=227] [width=1]	width divides the channels
#include <algorithm>
#include "nn.h"

#define CLASSES	1000

int main(int argc, char **argv)
{
	int batch = option(argc, argv, "batch", 64), steps = option(argc, argv, "steps", 10);
	int image = option(argc, argv, "image", 227), width = option(argc, argv, "width", 1);
	int warm = steps / 5;
	std::vector<float> images((size_t)batch * 3 * image * image);
	std::vector<int> labels(batch);
	Random weights(1), dummy(2);
	Net net({ batch, 3, image, image }, weights);
	double start = 0;

	net.convolve(96 / width, { 11, 4, 0 });
	net.activate();
	net.normalise();
	net.pool({ 3, 2, 0 });
	net.convolve(256 / width, { 5, 1, 2 });
	net.activate();
	net.normalise();
	net.pool({ 3, 2, 0 });
	net.convolve(384 / width, { 3, 1, 1 });
	net.activate();
	net.convolve(384 / width, { 3, 1, 1 });
	net.activate();
	net.convolve(256 / width, { 3, 1, 1 });
	net.activate();
	net.pool({ 3, 2, 0 });
	for (int i = 0; i < 2; i++) {
		net.connect(4096 / width);
		net.activate();
		net.dropout();
	}
	net.connect(CLASSES / width);

	for (float &f : images)
		f = dummy.real();
	for (int &l : labels)
		l = dummy.bits() % (CLASSES / width);
	for (int i = 0; i < steps; i++) {
		if (i == warm)
			start = now();
		printf("step %d loss %a\n", i, net.train(images.data(), labels.data(), 0.001f));
	}
	CHECK(cudaDeviceSynchronize());
	fprintf(stderr, "rate %.1f images/s\n", (double)batch * (steps - warm) / (now() - start));
	print_hash("weights", net.hash());
	return 0;
}
