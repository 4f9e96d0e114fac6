// SPDX-License-Identifier: Apache-2.0
// A helper of exports_test.sh: it calls a refused function three times and loads no driver.
#include <dlfcn.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

int main(int argc, char **argv)
{
	cudaError_t (*refused)(cudaExternalMemory_t *, const struct cudaExternalMemoryHandleDesc *);
	cudaError_t (*last)(void);
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int i;

	if (!lib)
		return 2;
	refused = dlsym(lib, "cudaImportExternalMemory");
	last = dlsym(lib, "cudaGetLastError");
	for (i = 0; i < 3; i++)
		if (refused(NULL, NULL) != cudaErrorNotSupported ||
		    last() != cudaErrorNotSupported || last() != cudaSuccess)
			return 1;
	return 0;
}
