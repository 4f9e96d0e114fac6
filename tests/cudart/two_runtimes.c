// SPDX-License-Identifier: Apache-2.0
// A helper of preload_test.sh: it is linked with two libraries that have a static runtime each,
// of CUDA 13 and of an older one.
#include <stdio.h>

int plugin_compute(int x);
int old_runtime_error(void);

int main(void)
{
	int old = old_runtime_error();

	printf("13 %d old %s\n", plugin_compute(1), old ? "refused" : "ran");
	return 0;
}
