// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to a worker for the libraries over the driver: as requests.c, over stand-ins that
 * accept everything and touch all that they are given (tests/lib/stand_ins.h).
 */
#define _GNU_SOURCE
#include "world.h"

#define MOST	64	/* requests of an input */

static void run(struct fuzz_input *in)
{
	int i;

	fuzz_input = in;
	for (i = 0; i < MOST && in->at < in->end; i++)
		protocol_library_step();
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
