// SPDX-License-Identifier: Apache-2.0
/*
 * Measures nanoseconds of calls on this machine, over a transport that needs no hypervisor.
 *
 * usage: native baseline | null shm|loopback | cuda NAME
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "batch.h"
#include "session/dispatch.h"
#include "launch.h"
#include "transport.h"

#define SHAPES		3001		/* more than the client library remembers */
#define COPY_BYTES	4096

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
	int status = link_.t->call(&link_, WH_HANDLER_NULL, 0, 0);

	if (status) {
		fprintf(stderr, "null call: status %d\n", status);
		exit(1);
	}
}

/*
 * Launches another shape each time: the client knows nothing about it, so it waits for the
 * launch.
 */
static void launch_waiting(void)
{
	static unsigned int shape;

	shape = (shape + 1) % SHAPES;
	cuda_must("cuLaunchKernel",
		  cuda.launch(cuda.empty, 1, 1, 1, 1, 1, 1, shape, NULL, NULL, NULL));
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

/* Uses the libcuda.so.1 that is found. With softgpu itself this is the baseline of the stubs. */
static int all_cuda(const char *name)
{
	cuda_start();
	cuda_must("cuMemAlloc", cuda.alloc(&device, COPY_BYTES));
	memset(host, 42, sizeof(host));
	measure(name, "launch_waiting", launch_waiting);
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
