// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: it is linked with libplugin.so, or with an argument opens it
// twice.
#include <dlfcn.h>
#include <stdio.h>

#ifdef LINKED
int plugin_compute(int x);

int main(void)
{
	printf("main %d\n", plugin_compute(1));
	return 0;
}
#else
int main(int argc, char **argv)
{
	int i;

	for (i = 0; i < 2 && argc > 1; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW);
		int (*compute)(int) = lib ? (int (*)(int))dlsym(lib, "plugin_compute") : NULL;

		if (!compute) {
			printf("%s\n", dlerror());
			return 1;
		}
		printf("main %d\n", compute(i));
		fflush(stdout);
		dlclose(lib);
	}
	return 0;
}
#endif
