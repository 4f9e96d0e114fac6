// SPDX-License-Identifier: Apache-2.0
/*
 * An ordinary program whose kernel tries to read or write the environment of the worker,
 * which the program itself cannot see. It prints "read|write RESULT seen|not seen".
 * $ATTACK_SERVER is the number of the server's process.
 */
#include <cuda.h>
#include <stdint.h>

#include "start.h"
#include "victim.h"

#define MARK	0x6b65726e656c2121ULL

static const char ptx[] =
	".version 8.0\n.target sm_75\n.address_size 64\n"
	".visible .entry reach(.param .u64 from, .param .u64 to)\n{\n"
	"	.reg .u64 %a, %b, %v;\n"
	"	ld.param.u64 %a, [from];\n"
	"	ld.param.u64 %b, [to];\n"
	"	ld.u64 %v, [%a];\n"
	"	st.u64 [%b], %v;\n"
	"	ret;\n}\n";

static CUresult copy_word(CUfunction f, CUdeviceptr from, CUdeviceptr to)
{
	void *args[] = { &from, &to };
	CUresult res = cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);

	return res ? res : cuCtxSynchronize();
}

static CUresult prepare(CUfunction *f, CUdeviceptr *word)
{
	const uint64_t mark = MARK;
	CUresult res = start_kernel(ptx, "reach", f);

	if (!res)
		res = cuMemAlloc(word, sizeof(mark));
	return res ? res : cuMemcpyHtoD(*word, &mark, sizeof(mark));
}

int main(int argc, char **argv)
{
	uint64_t end = 0, there = 0, got = 0, target;
	CUdeviceptr word;
	CUfunction f;
	CUresult res = prepare(&f, &word);
	int pid = worker_process();
	bool reads = argc == 2 && !strcmp(argv[1], "read"), seen;

	if (argc != 2 || res) {
		fprintf(stderr, "kernel_reach read|write: %d\n", res);
		return 2;
	}
	target = worker_mapping(pid, "[stack]", &end) ? (end - 256) & ~63ULL : 0;
	if (!target || !worker_read(pid, target, &there, sizeof(there))) {
		fprintf(stderr, "nobody but root can look into worker %d\n", pid);
		return 2;
	}
	res = reads ? copy_word(f, target, word) : copy_word(f, word, target);
	if (reads)
		seen = !cuMemcpyDtoH(&got, word, sizeof(got)) && got == there;
	else
		seen = worker_read(pid, target, &got, sizeof(got)) && got == MARK;
	printf("%s %d %s\n", argv[1], res, seen ? "seen" : "not seen");
	return 0;
}
