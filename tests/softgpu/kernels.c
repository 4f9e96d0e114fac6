// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the image of kernels.cu in one of the ways that a program may, runs its kernels
 * and checks them against the CPU. Usage: kernels WAY IMAGE. The exit status is 0 if all
 * is right; otherwise stderr names the first thing that is wrong.
 */
#include <cuda.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 1000

struct mixed {
	char c;
	double d[3];
	short s;
};

/* The structure that the compiler puts around a fatbin. */
struct wrapper {
	uint32_t magic, version;
	const void *data, *extra;
};

static CUmodule mod;

static void check(CUresult rc, const char *what, int line)
{
	const char *name = "?";

	if (!rc)
		return;
	cuGetErrorName(rc, &name);
	fprintf(stderr, "line %d: %s: %s\n", line, what, name);
	exit(1);
}

#define C(call) check(call, #call, __LINE__)

static void expect(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s: wrong\n", what);
	exit(1);
}

static void *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *data;

	if (!f || fseek(f, 0, SEEK_END)) {
		perror(path);
		exit(2);
	}
	*size = ftell(f);
	rewind(f);
	data = calloc(1, *size + 1);
	*size = fread(data, 1, *size, f);
	fclose(f);
	return data;
}

static CUmodule load(const char *way, const char *path)
{
	struct wrapper w = { 0x466243b1, 1, NULL, NULL };
	const void *prelinked[2] = { NULL, NULL };
	static const uint32_t empty[4] = { 0xba55ed50, 0x00100001, 0, 0 };
	CUlibrary lib;
	CUmodule m;
	size_t size;
	void *data = strstr(way, "file") ? NULL : slurp(path, &size);

	w.data = data;
	if (!strcmp(way, "file")) {
		C(cuModuleLoad(&m, path));
	} else if (!strcmp(way, "memory")) {
		C(cuModuleLoadData(&m, data));
	} else if (!strcmp(way, "wrapper")) {
		C(cuModuleLoadFatBinary(&m, &w));
	} else if (!strcmp(way, "prelinked")) {
		w.version = 2;
		w.data = empty;
		w.extra = prelinked;
		prelinked[0] = data;
		C(cuModuleLoadFatBinary(&m, &w));
	} else if (!strcmp(way, "library")) {
		C(cuLibraryLoadData(&lib, &w, NULL, NULL, 0, NULL, NULL, 0));
		C(cuLibraryGetModule(&m, lib));
	} else if (!strcmp(way, "library_file")) {
		C(cuLibraryLoadFromFile(&lib, path, NULL, NULL, 0, NULL, NULL, 0));
		C(cuLibraryGetModule(&m, lib));
	} else {
		fprintf(stderr, "no such way: %s\n", way);
		exit(2);
	}
	free(data);
	return m;
}

static CUfunction get(const char *name)
{
	CUfunction f;

	C(cuModuleGetFunction(&f, mod, name));
	return f;
}

static CUdeviceptr upload(const void *data, size_t size)
{
	CUdeviceptr p;

	C(cuMemAlloc(&p, size));
	C(cuMemcpyHtoD(p, data, size));
	return p;
}

static void saxpy(void)
{
	static float x[N], y[N], out[N];
	float a = 2.5;
	int n = N;
	CUdeviceptr dx, dy;
	void *params[] = { &a, &dx, &dy, &n };

	for (int i = 0; i < N; i++) {
		x[i] = i / 7.0f;
		y[i] = i * 3;
	}
	dx = upload(x, sizeof(x));
	dy = upload(y, sizeof(y));
	C(cuLaunchKernel(get("saxpy"), (N + 127) / 128, 1, 1, 128, 1, 1, 0,
			 NULL, params, NULL));
	C(cuMemcpyDtoH(out, dy, sizeof(out)));
	for (int i = 0; i < N; i++)
		expect(out[i] == fmaf(a, x[i], y[i]), "saxpy");
}

/* Makes the same launch through a packed buffer. */
static void reduce(void)
{
	static int in[N];
	struct { CUdeviceptr in, out; int n; } args = { .n = N };
	size_t size = 20;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &args,
			  CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	int sum = 0, out = 0;

	for (int i = 0; i < N; i++)
		sum += in[i] = i * 37 % 101;
	args.in = upload(in, sizeof(in));
	args.out = upload(&out, sizeof(out));
	C(cuLaunchKernel(get("reduce"), (N + 255) / 256, 1, 1, 256, 1, 1, 0,
			 NULL, NULL, extra));
	C(cuMemcpyDtoH(&out, args.out, 4));
	expect(out == sum, "reduce");
}

static void by_value(void)
{
	struct mixed m = { 5, { 0.5, 10, 100 }, -1000 };
	unsigned char last = 200;
	double out = 0;
	CUdeviceptr p = upload(&out, sizeof(out));
	void *params[] = { &m, &p, &last };

	C(cuLaunchKernel(get("by_value"), 1, 1, 1, 1, 1, 1, 0, NULL, params,
			 NULL));
	C(cuMemcpyDtoH(&out, p, sizeof(out)));
	expect(out == 5 + 110.5 - 1000 + 200, "by_value");
}

static void reverse(void)
{
	int data[256], out[256];
	CUfunction f = get("reverse");
	CUlaunchConfig config = { 1, 1, 1, 256, 1, 1, 60000, NULL, NULL, 0 };
	CUdeviceptr p;
	void *params[] = { &p };

	for (int i = 0; i < 256; i++)
		data[i] = i * i;
	p = upload(data, sizeof(data));
	expect(cuLaunchKernelEx(&config, f, params, NULL) ==
	       CUDA_ERROR_INVALID_VALUE, "60000 bytes without leave");
	C(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
			     60000));
	C(cuLaunchKernelEx(&config, f, params, NULL));
	C(cuMemcpyDtoH(out, p, sizeof(out)));
	for (int i = 0; i < 256; i++)
		expect(out[i] == data[255 - i], "reverse");
}

static void variables(void)
{
	float coeff[16], out[16];
	CUdeviceptr c, v, p;
	size_t size;
	int counter;
	void *params[] = { &p };

	for (int i = 0; i < 16; i++)
		coeff[i] = i + 0.5f;
	C(cuMemAlloc(&p, sizeof(out)));
	C(cuModuleGetGlobal(&c, &size, mod, "coeff"));
	expect(size == 64, "size of coeff");
	C(cuMemcpyHtoD(c, coeff, 64));
	C(cuLaunchKernel(get("variables"), 1, 1, 1, 16, 1, 1, 0, NULL, params,
			 NULL));
	C(cuMemcpyDtoH(out, p, sizeof(out)));
	for (int i = 0; i < 16; i++)
		expect(out[i] == coeff[i] * 2 + (15 - i), "variables");
	C(cuModuleGetGlobal(&v, &size, mod, "counter"));
	C(cuMemcpyDtoH(&counter, v, 4));
	expect(counter == 42, "counter");
}

static void meet(void)
{
	int zero = 0, out = 0;
	CUdeviceptr here = upload(&zero, 4), p = upload(&zero, 4);
	void *params[] = { &here, &p };

	C(cuLaunchCooperativeKernel(get("meet"), 24, 1, 1, 64, 1, 1, 0, NULL,
				    params));
	C(cuMemcpyDtoH(&out, p, 4));
	expect(out == 24, "meet");
}

/* The shell checks the output. */
static void hello(void)
{
	int n = 7;
	void *params[] = { &n };

	C(cuLaunchKernel(get("hello"), 2, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	C(cuCtxSynchronize());
}

static CUresult fault(const char *name, CUdeviceptr p, int n)
{
	void *both[] = { &p, &n }, *one[] = { &n };
	CUresult rc;

	rc = cuLaunchKernel(get(name), 1, 1, 1, 1, 1, 1, 0, NULL,
			    !strcmp(name, "claims") ? one : both, NULL);
	rc = rc ? CUDA_ERROR_UNKNOWN : cuCtxSynchronize();
	fprintf(stderr, "the fault is %d\n", rc);
	return rc;
}

/* A fault ends the use of the device, so each fault is a run of its own. */
static int faults(const char *which)
{
	CUdeviceptr p;

	C(cuMemAlloc(&p, 400));
	if (!strcmp(which, "assert"))
		return fault("claims", 0, 2) != CUDA_ERROR_ASSERT;
	if (!strcmp(which, "beyond"))
		return fault("writes", p, 128) != CUDA_ERROR_ILLEGAL_ADDRESS;
	if (!strcmp(which, "freed")) {
		C(cuMemFree(p));
		return fault("writes", p, 0) != CUDA_ERROR_ILLEGAL_ADDRESS;
	}
	if (!strcmp(which, "stack"))
		return fault("writes", (CUdeviceptr)&p, 0) !=
		       CUDA_ERROR_ILLEGAL_ADDRESS;
	if (!strcmp(which, "constant")) {	/* no fault on a real device */
		C(cuModuleGetGlobal(&p, NULL, mod, "coeff"));
		return fault("writes", p, 0) != CUDA_SUCCESS;
	}
	return 2;
}

int main(int argc, char **argv)
{
	CUcontext ctx;

	if (argc < 3)
		return 2;
	C(cuInit(0));
	C(cuDevicePrimaryCtxRetain(&ctx, 0));
	C(cuCtxSetCurrent(ctx));
	mod = load(argv[1], argv[2]);
	if (argc > 3)
		return faults(argv[3]);
	saxpy();
	reduce();
	by_value();
	reverse();
	variables();
	meet();
	hello();
	return 0;
}
