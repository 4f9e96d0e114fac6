// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that parameters of NPP's functions are where the tables say
 * (cuda-api/table.py): the compiler calls one function of each shape, and every address and the
 * stream must come in the place that the worker checks. An address in any other place would pass
 * unseen.
 */
#include <npp.h>
#include <stdbool.h>

#include "npp_stub.h"
#include "tap.h"

#include "gen_npp_shapes.h"

#define ADDRESS(n)	(0xabc000ull + (n) * 16)
#define STREAM		0x5170000ull
#define DEVICE		77

static uint32_t came;
static unsigned int addresses, wrong;

static uint64_t word(const struct wh_npp_saved *regs, const uint64_t *stack, unsigned int place)
{
	return place < WH_TABLE_INTEGERS ? regs->integer[place] : stack[place - WH_TABLE_INTEGERS];
}

/* In the place of the client's: looks at what a call brings. */
int32_t wh_npp_call(uint32_t number, const struct wh_npp_saved *regs, const uint64_t *stack)
{
	const struct wh_table_shape *shape = &wh_npp_shapes[wh_npp_shape[number]];
	const struct wh_table_arg *a = wh_npp_args + shape->first, *end = a + shape->args;

	came = number;
	addresses = 0;
	for (; a < end; a++) {
		if (a->kind != WH_TABLE_STREAM)
			wrong += word(regs, stack, a->place) != ADDRESS(addresses++);
		else if (word(regs, stack, a->place) != STREAM ||
			 (uint32_t)word(regs, stack, a->place + 1) != DEVICE ||
			 a->place + 6 != WH_TABLE_INTEGERS + shape->words)
			wrong++;
	}
	return NPP_NO_ERROR;
}

int32_t wh_npp_refused(uint32_t number)
{
	(void)number;
	return NPP_NOT_SUPPORTED_MODE_ERROR;
}

static const NppStreamContext context = {
	.hStream = (cudaStream_t)STREAM, .nCudaDeviceId = DEVICE,
};

int main(void)
{
	unsigned int calls = 0, others = 0, fewer = 0, before;

	tap_plan(3);
#define CALL(name, number, count, ...)					\
	before = wrong;							\
	came = 0;							\
	name(__VA_ARGS__);						\
	calls++;							\
	others += came != (number);					\
	fewer += addresses != (count);					\
	if (wrong != before)						\
		diag("%s: a parameter is in another place", #name);
#include "gen_places.h"
	ok(calls > 100 && !others, "each_function_comes_by_its_number");
	ok(!wrong, "addresses_and_the_stream_are_where_the_table_says");
	ok(!fewer, "no_address_is_left_out");
	return tap_exit();
}
