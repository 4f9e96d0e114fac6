// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is linked with a library that refuses. It begins like a reader of files, and
 * prints the answer to each call.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct cufile_error {
	int err, cu_err;
};

struct cufile_error cuFileDriverOpen(void);
ssize_t cuFileRead(void *file, void *to, size_t size, off_t from, off_t at);
long cuFileUseCount(void);

int main(void)
{
	struct cufile_error e;

	e = cuFileDriverOpen();
	cuFileDriverOpen();
	printf("open %d %d\n", e.err, e.cu_err);
	printf("read %zd\n", cuFileRead(NULL, NULL, 0, 0, 0));
	printf("count %ld\n", cuFileUseCount());
	return 0;
}
