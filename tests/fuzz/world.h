/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the session with which the targets requests and ring begin: over softgpu, which
 * is linked in.
 */
#ifndef WORMHOLE_TESTS_FUZZ_WORLD_H
#define WORMHOLE_TESTS_FUZZ_WORLD_H

#include "fuzz.h"
#include "protocol.h"

#define PART_VA		0x200000000000ULL

static struct fuzz_input *fuzz_input;

static uint64_t pick_of_input(uint64_t below)
{
	return fuzz_pick(fuzz_input, below);
}

/*
 * The part is always at one place, but not at a worker's address, which the sanitizer
 * uses. The driver is what the program itself exports.
 */
static struct wh_session *make_world(void)
{
	void *part = mmap((void *)PART_VA, PART_SIZE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	static struct fuzz_input none;
	struct wh_session *s;
	char err[256] = "no part";

	setenv("WORMHOLE_SOFTGPU_MEM", "32M", 1);
	setenv("WORMHOLE_SOFTGPU_THREADS", "1", 1);
	/* The process of an input is a copy of this one, and has no thread of the driver. */
	setenv("WORMHOLE_SOFTGPU_ASYNC", "0", 1);
	fuzz_input = &none;
	protocol_pick = pick_of_input;
	protocol_send = protocol_dispatch;
	s = part == MAP_FAILED ? NULL : wh_session_open(part, PART_SIZE, WH_MAX_SLOTS, "", err, sizeof(err));
	if (s && protocol_prepare(s)) {
		wh_session_ready(s);
		say_hello(s);
		if (protocol_begin(s))
			return s;
		snprintf(err, sizeof(err), "softgpu does not begin");
	}
	fprintf(stderr, "error: %s\n", err);
	exit(1);
}

#endif
