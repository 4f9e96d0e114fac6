// SPDX-License-Identifier: Apache-2.0
/*
 * Runs processes that work on one buffer in turns, as frameworks with several processes
 * do. Each runs a kernel over all of it and hands over by an event and a word in a pipe;
 * nobody waits for the device in between.
 *
 * 	n=	floats (100000)		rounds=	(20)		processes=	(3)
 */
#include "program.h"

#include <signal.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

struct Handles {
	cudaIpcMemHandle_t memory;
	cudaIpcEventHandle_t turn;
};

__global__ void step(float *p, int n, int who, int round)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] = p[i] * 0.5f + (float)((i + who * 7 + round * 3) % 101) * 0.25f;
}

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static void take(int fd, void *p, size_t n)
{
	must(read(fd, p, n) == (ssize_t)n, "read");
}

static void give(int fd, const void *p, size_t n)
{
	must(write(fd, p, n) == (ssize_t)n, "write");
}

static void turn(float *p, int n, int who, int round, cudaEvent_t event, cudaStream_t stream)
{
	CHECK(cudaStreamWaitEvent(stream, event, 0));
	step<<<(n + 255) / 256, 256, 0, stream>>>(p, n, who, round);
	CHECK_LAUNCH();
	CHECK(cudaEventRecord(event, stream));
}

static int child(int in, int out, int who, int n, int rounds)
{
	cudaStream_t stream;
	cudaEvent_t event;
	Handles h;
	float *p;
	char word;

	take(in, &h, sizeof(h));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaIpcOpenMemHandle((void **)&p, h.memory, cudaIpcMemLazyEnablePeerAccess));
	CHECK(cudaIpcOpenEventHandle(&event, h.turn));
	for (int r = 0; r < rounds; r++) {
		take(in, &word, 1);
		turn(p, n, who, r, event, stream);
		give(out, &word, 1);
	}
	take(in, &word, 1);
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaEventDestroy(event));
	CHECK(cudaIpcCloseMemHandle(p));
	give(out, &word, 1);
	return 0;
}

struct Process {
	int in, out;
	pid_t pid;
};

static Process start(int who, int n, int rounds)
{
	int down[2], up[2];
	pid_t pid;

	must(!pipe(down) && !pipe(up), "pipe");
	pid = fork();
	if (!pid) {
		std::string text[] = { "child=1", "in=" + std::to_string(down[0]),
				       "out=" + std::to_string(up[1]), "who=" + std::to_string(who),
				       "n=" + std::to_string(n), "rounds=" + std::to_string(rounds) };

		close(down[1]);
		close(up[0]);
		execl("/proc/self/exe", "ipc", text[0].c_str(), text[1].c_str(), text[2].c_str(),
		      text[3].c_str(), text[4].c_str(), text[5].c_str(), (char *)NULL);
		_exit(127);
	}
	close(down[0]);
	close(up[1]);
	return { up[0], down[1], pid };
}

int main(int argc, char **argv)
{
	const int n = option(argc, argv, "n", 100000), rounds = option(argc, argv, "rounds", 20);
	const int processes = option(argc, argv, "processes", 3);
	std::vector<Process> other;
	std::vector<float> result(n);
	cudaStream_t stream;
	cudaEvent_t event;
	Handles h;
	float *p;
	char word = 0;

	alarm(100);
	if (option(argc, argv, "child", 0))
		return child(option(argc, argv, "in", 0), option(argc, argv, "out", 0),
			     option(argc, argv, "who", 0), n, rounds);
	for (int i = 1; i < processes; i++)
		other.push_back(start(i, n, rounds));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cudaMalloc(&p, n * sizeof(*p)));
	CHECK(cudaMemset(p, 0, n * sizeof(*p)));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
	CHECK(cudaIpcGetMemHandle(&h.memory, p));
	CHECK(cudaIpcGetEventHandle(&h.turn, event));
	for (Process &o : other)
		give(o.out, &h, sizeof(h));
	for (int r = 0; r < rounds; r++) {
		turn(p, n, 0, r, event, stream);
		for (Process &o : other) {
			give(o.out, &word, 1);
			take(o.in, &word, 1);
		}
	}
	for (Process &o : other) {
		give(o.out, &word, 1);
		take(o.in, &word, 1);
		waitpid(o.pid, NULL, 0);
	}
	CHECK(cudaStreamWaitEvent(stream, event, 0));
	CHECK(cudaMemcpyAsync(result.data(), p, n * sizeof(*p), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	printf("processes %d rounds %d hash %016llx first %g last %g\n", processes, rounds,
	       (unsigned long long)hash_bytes(result.data(), n * sizeof(float)), result[0],
	       result[n - 1]);
	CHECK(cudaEventDestroy(event));
	CHECK(cudaFree(p));
	return 0;
}
