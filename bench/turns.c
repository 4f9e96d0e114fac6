// SPDX-License-Identifier: Apache-2.0
/*
 * Measures launches and copies in short turns, to be compared with the turns of other
 * processes (builds.py): disturbances of the machine in that tenth of a second affect all
 * of them. The program uses only the driver API, like copy.c.
 *
 * usage: turns		for each line `KIND MS` on stdin one line `KIND CALLS NANOSECONDS` on
 *			stdout, of a turn of about MS milliseconds; ends with stdin
 *
 * KIND is launch (issued 1,000 at a time, then waited for), launch_wait (each is
 * waited for), or {h2d,d2h}_{pageable,pinned}_BYTES.
 */
#include <string.h>

#include "bench.h"
#include "launch.h"

#define LARGEST		(64UL << 20)
#define ISSUED		1000

static CUdeviceptr device;
static char *pageable, *pinned;

/* An action that a turn repeats; `calls` is the number of calls in one action. */
struct kind {
	void (*act)(const struct kind *k);
	unsigned int calls;
	char *host;
	size_t size;
};

static void launches(const struct kind *k)
{
	unsigned int i;

	for (i = 0; i < k->calls; i++)
		cuda_launch_empty();
	cuda_must("cuCtxSynchronize", cuda.synchronize());
}

static void to_device(const struct kind *k)
{
	cuda_must("cuMemcpyHtoD", cuda.to_device(device, k->host, k->size));
}

static void to_host(const struct kind *k)
{
	cuda_must("cuMemcpyDtoH", cuda.to_host(k->host, device, k->size));
}

static int parse_copy(struct kind *k, const char *name)
{
	char side[4], memory[9];

	if (sscanf(name, "%3[a-z2]_%8[a-z]_%zu", side, memory, &k->size) != 3 ||
	    !k->size || k->size > LARGEST)
		return -1;
	k->act = !strcmp(side, "h2d") ? to_device : !strcmp(side, "d2h") ? to_host : NULL;
	k->host = !strcmp(memory, "pageable") ? pageable : !strcmp(memory, "pinned") ? pinned : NULL;
	k->calls = 1;
	return k->act && k->host ? 0 : -1;
}

static int parse(struct kind *k, const char *name)
{
	*k = (struct kind){ .act = launches };
	if (!strcmp(name, "launch"))
		k->calls = ISSUED;
	else if (!strcmp(name, "launch_wait"))
		k->calls = 1;
	else
		return parse_copy(k, name);
	return 0;
}

static void turn(const char *name, const struct kind *k, uint64_t ns)
{
	uint64_t t = bench_ns(), spent;
	unsigned long n = 0;

	do {
		k->act(k);
		n += k->calls;
		spent = bench_ns() - t;
	} while (spent < ns);
	printf("%s %lu %llu\n", name, n, (unsigned long long)spent);
	fflush(stdout);
}

static void start(void)
{
	void *p;

	cuda_start();
	cuda_must("cuMemAlloc", cuda.alloc(&device, LARGEST));
	cuda_must("cuMemAllocHost", cuda.alloc_host(&p, LARGEST));
	pinned = p;
	pageable = aligned_alloc(4096, LARGEST);
	if (!pageable) {
		fprintf(stderr, "error: no %lu bytes of memory\n", LARGEST);
		exit(1);
	}
	/* Unwritten pageable memory would be the kernel's single page of zeros. */
	memset(pageable, 0x5a, LARGEST);
	memset(pinned, 0x5a, LARGEST);
}

int main(void)
{
	char name[64];
	unsigned int ms;
	struct kind k;

	start();
	while (scanf("%63s %u", name, &ms) == 2) {
		if (parse(&k, name)) {
			fprintf(stderr, "error: no such turn: %s (launch, launch_wait, or {h2d,d2h}_{pageable,pinned}_BYTES up to %lu)\n",
				name, LARGEST);
			return 2;
		}
		turn(name, &k, ms * 1000000ULL);
	}
	return 0;
}
