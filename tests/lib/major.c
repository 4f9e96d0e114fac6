// SPDX-License-Identifier: Apache-2.0
/*
 * Opens libraries by name, as programs of CUDA 11, 12 and 13 are linked with them, and uses each.
 * It prints cuBLAS' major version, or, after "given:", the status of a call with the handle that
 * was made last, by whichever library. Of others it prints the status of a function that 13 lacks:
 * cusolverDnPotrf(), which CUDA 12's cuSOLVER has, and cusparseDgthr() of CUDA 11's cuSPARSE. Of
 * cublasLt it is the status of a question with what CUDA 11 has: a descriptor in its shorter
 * struct, and an attribute that later ones lack.
 */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GIVEN	"given:"
#define POINTER_MODES	10	/* CUBLASLT_MATMUL_PREF_POINTER_MODE_MASK */

static cublasHandle_t handle;

/* The handle is made first, which is the library's first call. */
static int cublas(void *library)
{
	cublasStatus_t (*create)(cublasHandle_t *handle);
	cublasStatus_t (*version)(cublasHandle_t handle, int *value);
	int value;

	*(void **)&create = dlsym(library, "cublasCreate_v2");
	*(void **)&version = dlsym(library, "cublasGetVersion_v2");
	if (!create || !version || create(&handle) || version(handle, &value))
		return -1;
	return value / 10000;
}

static int cublas_given(void *library)
{
	cublasStatus_t (*rotg)(cublasHandle_t handle, float *a, float *b, float *c, float *s);
	float a = 3, b = 4, c, s;

	*(void **)&rotg = dlsym(library, "cublasSrotg_v2");
	return rotg ? (int)rotg(handle, &a, &b, &c, &s) : -1;
}

static int cusolver(void *library)
{
	cusolverStatus_t (*potrf)(cusolverDnHandle_t handle, cusolverDnParams_t params,
				  cublasFillMode_t uplo, int64_t n, cudaDataType type, void *A,
				  int64_t lda, cudaDataType compute, void *buffer, size_t size,
				  int *info);
	cusolverStatus_t (*create)(cusolverDnHandle_t *handle);
	cusolverDnHandle_t made;

	*(void **)&create = dlsym(library, "cusolverDnCreate");
	*(void **)&potrf = dlsym(library, "cusolverDnPotrf");
	return potrf && create && !create(&made) ?
	       (int)potrf(made, NULL, CUBLAS_FILL_MODE_LOWER, 3, CUDA_R_64F, NULL, 4, CUDA_R_64F,
			  NULL, 0, NULL) : -1;
}

static int cusparse(void *library)
{
	int (*gather)(void *handle, int nnz, const double *y, double *values, const int *indices,
		      int base);
	int (*create)(void **handle);
	void *made;

	*(void **)&create = dlsym(library, "cusparseCreate");
	*(void **)&gather = dlsym(library, "cusparseDgthr");
	return gather && create && !create(&made) ? gather(made, 1, NULL, NULL, NULL, 0) : -1;
}

#define SIZE_11	184

/* Asks for one algorithm, with a preference that has an attribute of CUDA 11. */
static int ask(void *library, void *product)
{
	int (*make)(void **preference);
	int (*set)(void *preference, int attribute, const void *value, size_t size);
	int (*lay)(void **layout, int type, uint64_t rows, uint64_t cols, int64_t ld);
	int (*start)(void **handle);
	int (*heuristic)(void *handle, void *product, void *a, void *b, void *c, void *d,
			 void *preference, int wanted, cublasLtMatmulHeuristicResult_t *found,
			 int *n);
	cublasLtMatmulHeuristicResult_t found;
	void *preference, *layout, *lt;
	uint32_t modes = 1;
	int n, res;

	*(void **)&make = dlsym(library, "cublasLtMatmulPreferenceCreate");
	*(void **)&set = dlsym(library, "cublasLtMatmulPreferenceSetAttribute");
	*(void **)&lay = dlsym(library, "cublasLtMatrixLayoutCreate");
	*(void **)&start = dlsym(library, "cublasLtCreate");
	*(void **)&heuristic = dlsym(library, "cublasLtMatmulAlgoGetHeuristic");
	if (make(&preference) || lay(&layout, CUDA_R_32F, 4, 4, 4) || start(&lt))
		return -1;
	res = set(preference, POINTER_MODES, &modes, sizeof(modes));
	return res ? res : heuristic(lt, product, layout, layout, layout, layout, preference, 1,
				     &found, &n);
}

static int cublaslt(void *library)
{
	int (*create)(void **descriptor, int compute, int scale);
	int (*init)(void *descriptor, size_t size, int compute, int scale);
	char of_11[SIZE_11 + 1] = { [SIZE_11] = 7 };
	void *made = NULL;
	int res;

	*(void **)&create = dlsym(library, "cublasLtMatmulDescCreate");
	*(void **)&init = dlsym(library, "cublasLtMatmulDescInit_internal");
	if (!create || !init || create(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F) || !made)
		return -1;
	res = init(of_11, SIZE_11, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	if (of_11[SIZE_11] != 7)
		return -1;
	return res ? res : ask(library, of_11);
}

static int use(const char *name, void *library)
{
	if (strstr(name, "cublasLt"))
		return cublaslt(library);
	if (strstr(name, "cublas"))
		return cublas(library);
	return strstr(name, "cusparse") ? cusparse(library) : cusolver(library);
}

int main(int argc, char **argv)
{
	const char *name;
	void *library;
	bool given;
	int i;

	for (i = 1; i < argc; i++) {
		given = !strncmp(argv[i], GIVEN, strlen(GIVEN));
		name = argv[i] + (given ? strlen(GIVEN) : 0);
		library = dlopen(name, RTLD_NOW);
		if (!library) {
			printf("%s\n", dlerror());
			return 1;
		}
		printf("%d\n", given ? cublas_given(library) : use(name, library));
	}
	return 0;
}
