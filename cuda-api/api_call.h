/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libcuda.so.1 and libcudart say about a call of the program to a watcher, the client's
 * libcupti.so.13. watched.py writes a function for each export, which runs only while there is a
 * watcher. Both libraries share this layout, which goes with the version of the private interface
 * (client-stubs/cuda/library.h).
 */
#ifndef WORMHOLE_API_CALL_H
#define WORMHOLE_API_CALL_H

#include <stdint.h>

enum wh_api {
	WH_API_DRIVER,
	WH_API_RUNTIME,
};

/* A function that programs call: one for each, which lives as long as its library. */
struct wh_api_function {
	const char *name;	/* as it is exported */
	uint32_t api;		/* enum wh_api */
	uint32_t major;		/* of a function of the runtime: whose shape it has */
	/* Of a launch by the runtime: what the program launches, and the kernel's name or NULL. */
	const void *(*kernel)(const void *params);
	const char *(*kernel_name)(const void *kernel);
	uint32_t memo;		/* the watcher's own; 0 at first */
};

/* One call of it, in its thread's stack. */
struct wh_api_call {
	struct wh_api_function *of;
	const void *params;	/* the arguments, as members of a struct; NULL: there are none */
	int *result;		/* valid at the end */
	const struct wh_watcher *watcher;
	uint32_t outer;		/* number of the call that this one is part of; 0: of none */
	uint32_t number;	/* the watcher sets it, if it is 0 */
	uint64_t data[2];	/* the watcher's own */
};

/* Runs in the thread that calls. `end` is called for each call that `begin` was called for. */
struct wh_watcher {
	void (*begin)(struct wh_api_call *c);
	void (*end)(struct wh_api_call *c);
};

#endif
