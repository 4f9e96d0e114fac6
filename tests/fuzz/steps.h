/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target whose input is a row of choices. STEP, which is defined before, makes a
 * request from some of them.
 */
#include "world.h"

#define MOST	64	/* requests of an input */

static void run(struct fuzz_input *in)
{
	int i;

	fuzz_input = in;
	for (i = 0; i < MOST && in->at < in->end; i++)
		STEP();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	make_world();
	fuzz_share_counters();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_in_process(run, data, size);
	return 0;
}
