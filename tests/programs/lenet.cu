// SPDX-License-Identifier: Apache-2.0
// LeNet (Caffe's shape) learns to read synthetic digits: seven-segment glyphs of changing place,
// size and noise. It prints the loss of each step to the last bit, what it recognises afterwards,
// and a hash of all weights. With threads=N, N networks learn at the same time, each in a thread
// and a stream of its own, and print one after the other.
//
// 	lenet [batch=64] [steps=50] [turn=0] [width=1] [threads=1]	width divides the channels
#include <algorithm>
#include <pthread.h>
#include <thread>
#include "nn.h"

#define SIDE	28

// The bits are the segments top, upper left, upper right, middle, lower left, lower right,
// bottom.
static const unsigned char segments[10] = {
	0x77, 0x24, 0x5d, 0x6d, 0x2e, 0x6b, 0x7b, 0x25, 0x7f, 0x6f,
};

static void line(float *im, int x, int y, int dx, int dy, int n)
{
	for (int i = 0; i <= n; i++)
		for (int t = 0; t < 2; t++)
			im[(y + i * dy + t * dx) * SIDE + x + i * dx + t * dy] = 1;
}

static void draw(float *im, int digit, Random &random)
{
	int n = 6 + random.bits() % 4, x = 3 + random.bits() % 8, y = 2 + random.bits() % 5;
	int s = segments[digit];

	for (int i = 0; i < SIDE * SIDE; i++)
		im[i] = 0.1f * random.real();
	if (s & 0x01) line(im, x, y, 1, 0, n);
	if (s & 0x02) line(im, x, y, 0, 1, n);
	if (s & 0x04) line(im, x + n, y, 0, 1, n);
	if (s & 0x08) line(im, x, y + n, 1, 0, n);
	if (s & 0x10) line(im, x, y + n, 0, 1, n);
	if (s & 0x20) line(im, x + n, y + n, 0, 1, n);
	if (s & 0x40) line(im, x, y + 2 * n, 1, 0, n);
}

static void make_batch(std::vector<float> &images, std::vector<int> &labels, Random &random)
{
	for (size_t i = 0; i < labels.size(); i++) {
		labels[i] = random.bits() % 10;
		draw(&images[i * SIDE * SIDE], labels[i], random);
	}
}

/* Trains one network. The networks differ in what they begin with and in what they see. */
static void learn(int argc, char **argv, int number, FILE *out)
{
	int batch = option(argc, argv, "batch", 64), width = option(argc, argv, "width", 1);
	Steps steps(argc, argv, batch, 50, 10);
	std::vector<float> images((size_t)batch * SIDE * SIDE);
	std::vector<int> labels(batch);
	Random weights(1 + 2 * number), digits(2 + 2 * number);
	Net net({ batch, 1, SIDE, SIDE }, weights);

	net.convolve(20 / width, { 5, 1, 0 });
	net.pool({ 2, 2, 0 });
	net.convolve(50 / width, { 5, 1, 0 });
	net.pool({ 2, 2, 0 });
	net.connect(500 / width);
	net.activate();
	net.connect(10);

	while (steps.next()) {
		make_batch(images, labels, digits);
		fprintf(out, "step %d loss %a\n", steps.number(),
			net.train(images.data(), labels.data(), 0.01f));
	}

	make_batch(images, labels, digits);
	fprintf(out, "recognises %d of %d\n", net.right(images.data(), labels.data()), batch);
	fprintf(out, "weights %016llx\n", (unsigned long long)net.hash());
}

struct Learner {
	char *text = NULL;
	size_t length = 0;
	std::thread thread;
};

/* No thread begins or ends while others have not begun to learn or still learn. */
static void learn_in_thread(int argc, char **argv, int number, Learner *me,
			    pthread_barrier_t *together)
{
	FILE *out = open_memstream(&me->text, &me->length);

	CHECK(cudaStreamCreate(&nn_stream));
	pthread_barrier_wait(together);
	learn(argc, argv, number, out);
	pthread_barrier_wait(together);
	CHECK(cudaStreamDestroy(nn_stream));
	fclose(out);
}

static void learn_together(int argc, char **argv, int n)
{
	std::vector<Learner> learners(n);
	pthread_barrier_t together;

	pthread_barrier_init(&together, NULL, n);
	for (int i = 0; i < n; i++)
		learners[i].thread = std::thread(learn_in_thread, argc, argv, i, &learners[i],
						 &together);
	for (int i = 0; i < n; i++) {
		learners[i].thread.join();
		printf("network %d\n%s", i, learners[i].text);
		free(learners[i].text);
	}
}

int main(int argc, char **argv)
{
	int threads = option(argc, argv, "threads", 1);

	if (threads > 1)
		learn_together(argc, argv, threads);
	else
		learn(argc, argv, 0, stdout);
	return 0;
}
