// SPDX-License-Identifier: Apache-2.0
/* Prints what cudnnGetVersion says; opens a file before, if it is given one. */
#include <cudnn.h>
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW))
		printf("%s\n", dlerror());
	printf("%zu\n", cudnnGetVersion());
	return 0;
}
