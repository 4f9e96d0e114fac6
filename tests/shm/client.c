// SPDX-License-Identifier: Apache-2.0
/*
 * A small client for the tests of lives and deaths.
 *   once    copies something there and back, exit status 0
 *   loop    says "ready", calls until an error comes, names it, exit status 0
 *   orphan  does what once does, but ends while a child of this process goes on living;
 *           prints the child's number
 * Exit status 3 means that CUDA did not start. Nothing here lives longer than a minute.
 */
#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

static void name_error(CUresult res)
{
	const char *name = "?";

	cuGetErrorName(res, &name);
	printf("%s\n", name);
	fflush(stdout);
}

static CUresult start(CUdeviceptr *p)
{
	CUresult res = start_context();

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

/* The child keeps every descriptor of its parent; the test kills it. */
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
