// SPDX-License-Identifier: Apache-2.0
/*
 * Nanoseconds of calls on this machine, over a transport that needs no
 * hypervisor. Each sample is the mean of a batch that is long enough for the
 * clock.
 *
 * usage: native baseline | null shm|loopback | cuda NAME
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "session/dispatch.h"
#include "launch.h"
#include "transport.h"

#define GOAL_NS		400000000	/* for each benchmark */
#define BATCH_NS	50000
#define COPY_BYTES	4096

static struct bench bench;
static struct wh_link link_;
static CUdeviceptr device;
static char host[COPY_BYTES], other[COPY_BYTES];

/* --- What is measured ------------------------------------------------------------ */

static void system_call(void)
{
	syscall(SYS_getpid);
}

static void copy(void)
{
	memcpy(other, host, sizeof(host));
	__asm__ volatile("" ::: "memory");
}

static void null_call(void)
{
	int status = link_.t->call(&link_, 0, WH_HANDLER_NULL, 0);

	if (status) {
		fprintf(stderr, "null call: status %d\n", status);
		exit(1);
	}
}

static void to_device(void)
{
	cuda_must("cuMemcpyHtoD", cuda.to_device(device, host, sizeof(host)));
}

static void to_host(void)
{
	cuda_must("cuMemcpyDtoH", cuda.to_host(other, device, sizeof(other)));
}

/* --- How ------------------------------------------------------------------------- */

static uint64_t run(void (*call)(void), unsigned int n)
{
	uint64_t t = bench_ns();

	while (n--)
		call();
	return bench_ns() - t;
}

/* Calls that fill a batch; finding out warms everything up. */
static unsigned int batch_of(void (*call)(void))
{
	unsigned int n = 1;

	while (run(call, n) < BATCH_NS && n < 1u << 24)
		n *= 2;
	return n;
}

static void measure(const char *prefix, const char *what, void (*call)(void))
{
	unsigned int batch = batch_of(call);
	char name[64];
	uint64_t t;

	snprintf(name, sizeof(name), "%s_%s", prefix, what);
	bench_start(&bench, name, "ns");
	do {
		t = run(call, batch);
		bench_add(&bench, (double)t / batch);
		bench.sum += t - (uint64_t)bench.sample[bench.n - 1];
	} while (!bench_over(&bench, GOAL_NS));
	bench_report(&bench);
}

static int null(const char *name)
{
	const struct wh_transport *t = !strcmp(name, "shm") ? &wh_transport_shm :
							      &wh_transport_loopback;
	int status;

	link_.t = t;
	status = t->open(&link_);
	if (status) {
		fprintf(stderr, "%s: status %d\n", name, status);
		return 1;
	}
	measure(name, "null_call", null_call);
	t->close(&link_);
	return 0;
}

/* Whatever libcuda.so.1 is found: softgpu itself is the baseline of the stubs. */
static int all_cuda(const char *name)
{
	cuda_start();
	cuda_must("cuMemAlloc", cuda.alloc(&device, COPY_BYTES));
	memset(host, 42, sizeof(host));
	measure(name, "launch", cuda_launch_empty);
	measure(name, "copy_4k_to_device", to_device);
	measure(name, "copy_4k_to_host", to_host);
	if (!memcmp(host, other, sizeof(host)))
		return 0;
	fprintf(stderr, "%s: the copy is wrong\n", name);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "baseline")) {
		measure("native", "getpid", system_call);
		measure("native", "memcpy_4k", copy);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "null") &&
	    (!strcmp(argv[2], "shm") || !strcmp(argv[2], "loopback")))
		return null(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "cuda"))
		return all_cuda(argv[2]);
	fprintf(stderr, "usage: native baseline | null shm|loopback | cuda NAME\n");
	return 2;
}
