// SPDX-License-Identifier: Apache-2.0
/*
 * `load ROUNDS SEED` is a program under load. Each round puts numbers on the device, has
 * a kernel change them, takes them back and checks each. It says "right N" after each
 * round, and "done" after the last; "wrong N" (status 1) if a number is wrong, or the
 * error's name (status 2).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "start.h"

#define MOST	65536u	/* numbers of a round */

static const char ptx[] =
	".version 8.0\n.target sm_70\n.address_size 64\n"
	".visible .entry change(.param .u64 p, .param .u32 n, .param .u32 k)\n{\n"
	".reg .pred %q;\n.reg .u32 %r<8>;\n.reg .u64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [n];\nld.param.u32 %r7, [k];\n"
	"mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\n"
	"mad.lo.u32 %r2, %r2, %r3, %r4;\nsetp.ge.u32 %q, %r2, %r1;\n@%q bra $L_end;\n"
	"mul.wide.u32 %d2, %r2, 4;\nadd.u64 %d3, %d1, %d2;\nld.global.u32 %r5, [%d3];\n"
	"mad.lo.u32 %r6, %r5, %r7, %r2;\nst.global.u32 [%d3], %r6;\n$L_end:\nret;\n}\n";

static uint32_t numbers[MOST], results[MOST];
static CUfunction change;

static CUresult compute(uint32_t n, uint32_t k)
{
	CUdeviceptr p;
	void *param[] = { &p, &n, &k };
	CUresult res = cuMemAlloc(&p, n * 4);

	if (res)
		return res;
	res = cuMemcpyHtoD(p, numbers, n * 4);
	if (!res)
		res = cuLaunchKernel(change, (n + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, param,
				     NULL);
	if (!res)
		res = cuMemcpyDtoH(results, p, n * 4);
	return res ? res : cuMemFree(p);
}

static int round_of(unsigned int number, uint32_t *state)
{
	uint32_t n, k, i;
	const char *name = "?";
	CUresult res;

	*state = *state * 1664525 + 1013904223;
	n = 1 + (*state >> 8) % MOST;
	k = *state | 1;
	for (i = 0; i < n; i++)
		numbers[i] = i * k ^ number;
	res = compute(n, k);
	if (res) {
		cuGetErrorName(res, &name);
		printf("%s\n", name);
		return 2;
	}
	for (i = 0; i < n && results[i] == numbers[i] * k + i; i++)
		;
	printf("%s %u\n", i < n ? "wrong" : "right", number);
	return i < n;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 1, i;
	uint32_t state = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	const char *name = "?";
	CUresult res;
	int rc;

	setvbuf(stdout, NULL, _IOLBF, 0);
	res = start_kernel(ptx, "change", &change);
	if (res) {
		cuGetErrorName(res, &name);
		printf("%s\n", name);
		return 2;
	}
	for (i = 1; i <= rounds; i++) {
		rc = round_of(i, &state);
		if (rc)
			return rc;
	}
	printf("done\n");
	return 0;
}
