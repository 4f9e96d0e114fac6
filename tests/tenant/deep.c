// SPDX-License-Identifier: Apache-2.0
/*
 * A program that posts launches while its share of time is used up (deep rings, shm.h). It says
 * what they took, and whether their results are right.
 *
 *	deep held N	posts N launches and waits for them; prints the milliseconds of posting, of
 *			all, and of this program's CPU, and whether the result is right
 *	deep events N	the same with an event behind each launch
 *	deep threads N	the same with a second thread that makes every other launch, as a training
 *			does whose backward pass has a thread of its own
 *	deep rounds	for each line read: posts launches of all kinds, and prints `right' or what
 *			it got
 */
#include <cuda.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAUNCHES	300	/* of a round */
#define TURNS		400	/* of a kernel's loop */
#define WARM		600	/* steps; then there are handles for as many new events */

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	/* step does *p = *p * 3 + add, `turns` times. */
	".visible .entry step(.param .u64 p, .param .u32 add, .param .u32 turns)\n{\n"
	".reg .u64 %a; .reg .u32 %v, %n, %t; .reg .pred %q;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [add]; ld.param.u32 %t, [turns];\n"
	"LOOP:\nld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 3, %n; st.global.u32 [%a], %v;\n"
	"sub.u32 %t, %t, 1; setp.ne.u32 %q, %t, 0; @%q bra LOOP;\nret;\n}\n"
	/* wide does *p = *p * 3 + the last word of a large block of parameters. */
	".visible .entry wide(.param .u64 p, .param .align 4 .b8 block[3000])\n{\n"
	".reg .u64 %a; .reg .u32 %v, %n;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [block+2996];\n"
	"ld.global.u32 %v, [%a]; mad.lo.u32 %v, %v, 3, %n; st.global.u32 [%a], %v; ret;\n}\n";

static CUfunction step_fn, wide_fn;
static CUdeviceptr word;
static CUstream stream;
static uint32_t want;

static void need(CUresult res, const char *what)
{
	if (res == CUDA_SUCCESS)
		return;
	printf("%s: error %d\n", what, res);
	exit(1);
}

static double clock_ms(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void prepare(void)
{
	CUmodule module;
	CUcontext ctx;

	need(cuInit(0), "cuInit");
	need(cuDevicePrimaryCtxRetain(&ctx, 0), "context");
	need(cuCtxSetCurrent(ctx), "context");
	need(cuModuleLoadData(&module, ptx), "module");
	need(cuModuleGetFunction(&step_fn, module, "step"), "step");
	need(cuModuleGetFunction(&wide_fn, module, "wide"), "wide");
	need(cuMemAlloc(&word, 4), "memory");
	need(cuMemsetD32(word, 0, 1), "memory");
	need(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
}

static void step(uint32_t add, uint32_t turns)
{
	void *args[] = { &word, &add, &turns };

	need(cuLaunchKernel(step_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "launch");
	while (turns--)
		want = want * 3 + add;
}

static void wide(uint32_t add)
{
	static uint32_t block[750];
	void *args[] = { &word, block };

	block[749] = add;
	need(cuLaunchKernel(wide_fn, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL), "launch");
	want = want * 3 + add;
}

static const char *result(void)
{
	static char text[64];
	uint32_t got;

	need(cuStreamSynchronize(stream), "synchronize");
	need(cuMemcpyDtoH(&got, word, 4), "copy");
	snprintf(text, sizeof(text), "%08x, not %08x", got, want);
	return got == want ? "right" : text;
}

/* Each launch is posted after one that was waited for. */
static void warm_up(void)
{
	step(1, 1);
	wide(2);
	result();
}

/* As a training that looks at the time of each step. */
static void look_at_the_time(void)
{
	CUevent event;

	need(cuEventCreate(&event, CU_EVENT_DEFAULT), "event");
	need(cuEventRecord(event, stream), "record");
	need(cuEventDestroy(event), "end of an event");
}

static struct {
	sem_t go, done;
	uint32_t add, turns;
	CUcontext ctx;
} other;

static void *launches(void *arg)
{
	need(cuCtxSetCurrent(other.ctx), "context");
	for (;;) {
		while (sem_wait(&other.go))
			;
		step(other.add, other.turns);
		sem_post(&other.done);
	}
	return arg;
}

static void start_other(void)
{
	pthread_t t;

	need(cuCtxGetCurrent(&other.ctx), "context");
	sem_init(&other.go, 0, 0);
	sem_init(&other.done, 0, 0);
	if (pthread_create(&t, NULL, launches, NULL))
		exit(1);
}

static void step_in_other(uint32_t add, uint32_t turns)
{
	other.add = add;
	other.turns = turns;
	sem_post(&other.go);
	while (sem_wait(&other.done))
		;
}

enum way { ONE_THREAD, EVENTS, THREADS };

static void step_so(enum way way, int i, uint32_t turns)
{
	if (way == THREADS && i % 2)
		step_in_other(i, turns);
	else
		step(i, turns);
	if (way == EVENTS)
		look_at_the_time();
}

static void held(enum way way, int n)
{
	double began, posted, cpu, end;
	const char *how;
	int i;

	if (way == THREADS)
		start_other();
	warm_up();
	for (i = 0; i < WARM; i++)
		step_so(way, i, 1);
	need(cuStreamSynchronize(stream), "synchronize");
	/* The share of the first half second is used up. */
	for (began = clock_ms(CLOCK_MONOTONIC); clock_ms(CLOCK_MONOTONIC) < began + 500;) {
		step(1, TURNS);
		result();
	}
	cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
	began = clock_ms(CLOCK_MONOTONIC);
	for (i = 0; i < n; i++)
		step_so(way, i, TURNS);
	posted = clock_ms(CLOCK_MONOTONIC);
	how = result();
	end = clock_ms(CLOCK_MONOTONIC);
	printf("%.0f %.0f %.1f %s\n", posted - began, end - began,
	       clock_ms(CLOCK_PROCESS_CPUTIME_ID) - cpu, how);
}

static void rounds(void)
{
	char line[16];
	int i;

	warm_up();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		for (i = 0; i < LAUNCHES; i++) {
			if (i % 3)
				step(i, 1 + i % 5);
			else
				wide(i);
		}
		puts(result());
		fflush(stdout);
	}
}

int main(int argc, char **argv)
{
	prepare();
	if (argc == 3)
		held(!strcmp(argv[1], "events") ? EVENTS :
		     !strcmp(argv[1], "threads") ? THREADS : ONE_THREAD, atoi(argv[2]));
	else
		rounds();
	return 0;
}
