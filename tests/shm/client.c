// SPDX-License-Identifier: Apache-2.0
/*
 * A small client for the tests of lives and deaths.
 *   once    copy something there and back, exit 0
 *   loop    say "ready", call until an error comes, name it, exit 0
 *   orphan  as once, but end while a child of this process goes on living, whose
 *           number is printed
 * Exit 3: CUDA did not start. Nothing here lives longer than a minute.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void name_error(CUresult res)
{
	const char *name = "?";

	cuGetErrorName(res, &name);
	printf("%s\n", name);
	fflush(stdout);
}

static CUresult start(CUdeviceptr *p)
{
	CUcontext ctx;
	CUresult res = cuInit(0);

	if (res == CUDA_SUCCESS)
		res = cuDevicePrimaryCtxRetain(&ctx, 0);
	if (res == CUDA_SUCCESS)
		res = cuCtxSetCurrent(ctx);
	return res ? res : cuMemAlloc(p, 65536);
}

static CUresult round_trip(CUdeviceptr p)
{
	char out[65536], in[65536] = "";
	CUresult res;

	memset(out, 42, sizeof(out));
	res = cuMemcpyHtoD(p, out, sizeof(out));
	if (res == CUDA_SUCCESS)
		res = cuMemcpyDtoH(in, p, sizeof(in));
	if (res == CUDA_SUCCESS && memcmp(in, out, sizeof(in)))
		res = CUDA_ERROR_UNKNOWN;
	return res;
}

/* Keeps every descriptor of its parent; killed by the test. */
static void leave_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(60);
		for (;;)
			pause();
	}
	printf("%d\n", pid);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "once";
	CUdeviceptr p;
	CUresult res;

	alarm(60);
	res = start(&p);
	if (res == CUDA_SUCCESS)
		res = round_trip(p);
	if (res != CUDA_SUCCESS) {
		name_error(res);
		return 3;
	}
	if (!strcmp(mode, "orphan"))
		leave_child();
	if (strcmp(mode, "loop"))
		return 0;
	puts("ready");
	fflush(stdout);
	while (res == CUDA_SUCCESS)
		res = round_trip(p);
	name_error(res);
	return 0;
}
