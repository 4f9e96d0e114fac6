// SPDX-License-Identifier: Apache-2.0
// AlexNet (one column) trains on dummy data. It prints the loss of each step to the last bit and
// a hash of all weights.
//
// 	alexnet [batch=64] [steps=10] [turn=0] [image=227] [width=1]	width divides the channels
#include <algorithm>
#include "nn.h"

#define CLASSES	1000

int main(int argc, char **argv)
{
	int batch = option(argc, argv, "batch", 64), image = option(argc, argv, "image", 227);
	int width = option(argc, argv, "width", 1);
	Steps steps(argc, argv, batch, 10, 5);
	std::vector<float> images((size_t)batch * 3 * image * image);
	std::vector<int> labels(batch);
	Random weights(1), dummy(2);
	Net net({ batch, 3, image, image }, weights);

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
	while (steps.next())
		printf("step %d loss %a\n", steps.number(),
		       net.train(images.data(), labels.data(), 0.001f));
	print_hash("weights", net.hash());
	return 0;
}
