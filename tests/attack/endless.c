// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose kernel never ends, under a share of time.
 *
 * 	endless		launches it and waits; prints its result, and the results of later calls
 * 	endless copy	the same, but waits in a copy to the host,
 * 	endless free	or in giving memory back,
 * 	endless product	or in a product of cuBLAS whose result it wants on the host
 * 	endless stay	launches it, says `under way`, and makes no further call
 * 	endless once	launches a kernel that ends at once, and prints its result
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

static const char code[] =
	".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry spin(.param .u64 p,.param .u64 n)\n{\n"
	".reg .u64 %rd<4>;\n.reg .pred %p1;\nld.param.u64 %rd1,[p];\nld.param.u64 %rd2,[n];\n"
	"cvta.to.global.u64 %rd1,%rd1;\nmov.u64 %rd3,0;\nL:\nadd.u64 %rd3,%rd3,1;\n"
	"st.volatile.global.u64 [%rd1],%rd3;\nsetp.lt.u64 %p1,%rd3,%rd2;\n@%p1 bra L;\nret;\n}\n";

static int (*dot)(void *handle, int n, CUdeviceptr x, int incx, CUdeviceptr y, int incy,
		  float *sum);
static void *handle;

/* Makes cuBLAS prepare its work on the device before the endless kernel starts. */
static CUresult prepare_product(CUdeviceptr d)
{
	void *cublas = dlopen("libcublas.so.13", RTLD_NOW);
	int (*create)(void **handle) = cublas ? dlsym(cublas, "cublasCreate_v2") : NULL;
	float sum;

	dot = cublas ? dlsym(cublas, "cublasSdot_v2") : NULL;
	if (!create || !dot || create(&handle) || dot(handle, 1, d, 1, d, 1, &sum))
		return CUDA_ERROR_NOT_FOUND;
	return cuCtxSynchronize();
}

/* cuBLAS has statuses of its own, so the driver is asked for the result of the kernel. */
static CUresult wait_in_product(CUdeviceptr d)
{
	float sum;

	dot(handle, 1, d, 1, d, 1, &sum);
	return cuCtxSynchronize();
}

/* Waits in a call that makes the program wait for its kernel although it did not ask for that. */
static CUresult wait_in(const char *how, CUdeviceptr d)
{
	char byte;

	if (!strcmp(how, "product"))
		return wait_in_product(d);
	if (!strcmp(how, "copy"))
		return cuMemcpyDtoH(&byte, d, 1);
	if (!strcmp(how, "free"))
		return cuMemFree(d);
	return cuCtxSynchronize();
}

int main(int argc, char **argv)
{
	bool stay = argc > 1 && !strcmp(argv[1], "stay"), once = argc > 1 && !strcmp(argv[1], "once");
	unsigned long steps = once ? 1 : ~0ul;
	CUdeviceptr d = 0;
	void *args[] = { &d, &steps };
	CUfunction f;
	CUresult res = start_kernel(code, "spin", &f);

	if (!res)
		res = cuMemAlloc(&d, 8);
	if (!res && argc > 1 && !strcmp(argv[1], "product"))
		res = prepare_product(d);
	if (res) {
		printf("start %d\n", (int)res);
		return 1;
	}
	/*
	 * This line comes before the launch: with a driver that runs kernels inside the launch,
	 * nothing comes after it.
	 */
	if (stay)
		puts("under way");
	fflush(stdout);
	res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL);
	while (stay)
		pause();
	if (!res)
		res = wait_in(argc > 1 ? argv[1] : "", d);
	printf("%d", (int)res);
	if (!once)
		printf(" %d %d", (int)cuMemAlloc(&d, 8), (int)cuCtxSynchronize());
	putchar('\n');
	return 0;
}
