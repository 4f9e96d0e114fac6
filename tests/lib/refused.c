// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is linked with a library of which functions refuse. It calls such functions, and
 * prints the answers.
 */
#include <stdio.h>

struct cufile_error {
	int err, cu_err;
};

struct cufile_error cuFileGetBARSizeInKB(int device, size_t *kib);
struct cufile_error cuFileStatsStart(void);
long cuFileUseCount(void);

int main(void)
{
	struct cufile_error e;
	size_t kib = 7;

	e = cuFileGetBARSizeInKB(0, &kib);
	cuFileGetBARSizeInKB(0, &kib);
	printf("bar %d %d %zu\n", e.err, e.cu_err, kib);
	e = cuFileStatsStart();
	printf("stats %d %d\n", e.err, e.cu_err);
	printf("count %ld\n", cuFileUseCount());
	return 0;
}
