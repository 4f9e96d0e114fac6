// SPDX-License-Identifier: Apache-2.0
// The test promises that device printf comes out on this process's own standard output, at the
// points of synchronisation. With an argument it prints more than one message can bring, and
// fails an assertion at the end. It needs nvcc and any CUDA device.
#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common.h"

__global__ void say(int v)
{
	printf("value %d of thread %d\n", v, threadIdx.x);
}

__global__ void much(void)
{
	printf("%8d:%s\n", threadIdx.x + blockIdx.x * blockDim.x,
	       "........................................................................");
}

__global__ void fails(int v)
{
	assert(v == 1);
}

static int file = -1, real;

/* Sends what this process prints into a file until the text is asked for. */
static void catch_fd(int fd)
{
	fflush(stdout);
	real = dup(fd);
	file = memfd_create("print", 0);
	dup2(file, fd);
}

static size_t caught(int fd, char *text, size_t size)
{
	ssize_t n;

	fflush(stdout);
	dup2(real, fd);
	n = pread(file, text, size - 1, 0);
	close(file);
	close(real);
	text[n < 0 ? 0 : n] = 0;
	return n;
}

static void print_and_wait(cudaError_t (*wait)(void), const char *name)
{
	char text[256];

	catch_fd(1);
	say<<<1, 1>>>(7);
	NEED(wait());
	caught(1, text, sizeof(text));
	if (!ok(!strcmp(text, "value 7 of thread 0\n"), name))
		diag("got \"%s\"", text);
}

static cudaStream_t stream;
static cudaEvent_t event;
static int *dev;

static cudaError_t by_stream(void)
{
	return cudaStreamSynchronize(0);
}

static cudaError_t by_event(void)
{
	cudaError_t err = cudaEventRecord(event, 0);

	return err ? err : cudaEventSynchronize(event);
}

static cudaError_t by_copy(void)
{
	int v;

	return cudaMemcpy(&v, dev, sizeof(v), cudaMemcpyDeviceToHost);
}

static void test_much(void)
{
	static char text[1 << 20];
	size_t n, lines = 0;

	catch_fd(1);
	much<<<16, 256>>>();
	NEED(cudaDeviceSynchronize());
	n = caught(1, text, sizeof(text));
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	ok_eq(lines, 4096, "more_than_one_message_holds_comes_whole");
	ok_eq(n, 4096 * 82, "and_not_a_byte_more");
}

static void test_assertion(void)
{
	char text[512];

	catch_fd(2);
	fails<<<1, 1>>>(2);
	ok_err(cudaDeviceSynchronize(), cudaErrorAssert, "a_failed_assertion_is_the_error");
	caught(2, text, sizeof(text));
	if (!ok(strstr(text, "Assertion `v == 1` failed") != NULL, "and_its_text_is_on_stderr"))
		diag("got \"%s\"", text);
}

int main()
{
	tap_plan(8);
	NEED(cudaStreamCreate(&stream));
	NEED(cudaEventCreate(&event));
	NEED(cudaMalloc(&dev, 64));
	print_and_wait(cudaDeviceSynchronize, "waiting_for_the_device_prints");
	print_and_wait(by_stream, "waiting_for_a_stream_prints");
	print_and_wait(by_event, "waiting_for_an_event_prints");
	print_and_wait(by_copy, "a_copy_that_waits_prints");
	test_much();
	test_assertion();
	return tap_exit();
}
