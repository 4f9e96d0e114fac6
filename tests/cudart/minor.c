// SPDX-License-Identifier: Apache-2.0
// A helper of minor_test.sh. `minor LIBRARY` prints the answers to what a program first asks a
// runtime. `minor LIBRARY FUNCTION...` prints what these functions return, and the last error
// behind each.
#include <dlfcn.h>
#include <stdio.h>

static int call(void *lib, const char *name)
{
	int (*function)(void), (*last)(void);

	*(void **)&function = dlsym(lib, name);
	*(void **)&last = dlsym(lib, "cudaGetLastError");
	if (!function || !last)
		return 2;
	printf("%d ", function());
	printf("%d\n", last());
	return 0;
}

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*count)(int *), (*version)(int *), n = -1, v = -1, i, rc = 0;

	if (!lib)
		return 2;
	for (i = 2; i < argc; i++)
		rc |= call(lib, argv[i]);
	if (argc > 2)
		return rc;
	*(void **)&count = dlsym(lib, "cudaGetDeviceCount");
	*(void **)&version = dlsym(lib, "cudaDriverGetVersion");
	printf("count %d ", count(&n));
	printf("version %d ", version(&v));
	printf("%d\n", v);
	return 0;
}
