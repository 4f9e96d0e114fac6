// SPDX-License-Identifier: Apache-2.0
/*
 * A program that is linked with libraries that refuse. It begins like a profiler and a
 * reader of files, and prints the answer to each call.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct cufile_error {
	int err, cu_err;
};

int cuptiGetVersion(uint32_t *version);
int cuptiGetResultString(int result, const char **text);
int cuptiSubscribe(void *subscriber, void *callback, void *data);
int cuptiActivityEnable(int kind);
struct cufile_error cuFileDriverOpen(void);
ssize_t cuFileRead(void *file, void *to, size_t size, off_t from, off_t at);
long cuFileUseCount(void);

int main(void)
{
	const char *text = "";
	uint32_t version = 0;
	struct cufile_error e;
	int res;

	res = cuptiGetVersion(&version);
	printf("version %d %u\n", res, version);
	res = cuptiSubscribe(NULL, NULL, NULL);
	cuptiGetResultString(res, &text);
	printf("subscribe %d %s\n", res, text);
	printf("again %d\n", cuptiSubscribe(NULL, NULL, NULL));
	printf("enable %d\n", cuptiActivityEnable(3));
	printf("unknown %d\n", cuptiGetResultString(4711, &text));
	e = cuFileDriverOpen();
	printf("open %d %d\n", e.err, e.cu_err);
	printf("read %zd\n", cuFileRead(NULL, NULL, 0, 0, 0));
	printf("count %ld\n", cuFileUseCount());
	return 0;
}
