// SPDX-License-Identifier: Apache-2.0
/*
 * Opens libraries by name, as programs of CUDA 12 and 13 are linked with them, and uses each. It
 * prints cuBLAS' major version, and the status of cusolverDnPotrf(), which only CUDA 12's cuSOLVER
 * has.
 */
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The handle is made first, which is the library's first call. */
static int cublas(void *library)
{
	cublasStatus_t (*create)(cublasHandle_t *handle);
	cublasStatus_t (*version)(cublasHandle_t handle, int *value);
	cublasHandle_t handle;
	int value;

	*(void **)&create = dlsym(library, "cublasCreate_v2");
	*(void **)&version = dlsym(library, "cublasGetVersion_v2");
	if (!create || !version || create(&handle) || version(handle, &value))
		return -1;
	return value / 10000;
}

static int cusolver(void *library)
{
	cusolverStatus_t (*potrf)(cusolverDnHandle_t handle, void *params, int uplo, long n,
				  int type, void *A, long lda);

	*(void **)&potrf = dlsym(library, "cusolverDnPotrf");
	return potrf ? (int)potrf(NULL, NULL, 0, 1, 0, NULL, 1) : -1;
}

int main(int argc, char **argv)
{
	void *library;
	int i;

	for (i = 1; i < argc; i++) {
		library = dlopen(argv[i], RTLD_NOW);
		if (!library) {
			printf("%s\n", dlerror());
			return 1;
		}
		printf("%d\n", strstr(argv[i], "cublas") ? cublas(library) : cusolver(library));
	}
	return 0;
}
