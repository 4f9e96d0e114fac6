/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the client's libnppc.so.13, and of the libraries from the same code. */
#ifndef WORMHOLE_NPP_STUB_H
#define WORMHOLE_NPP_STUB_H

#include "library.h"
#include "gen_npp_wire.h"

extern struct wh_library wh_npp_library;

/* The names of functions that refuse, by the numbers of gen_libnpp*.S. */
extern const char *const wh_npp_refused_names[];

/* Registers of a call, as wh_npp_entry (entry.S) has saved them. */
struct wh_npp_saved {
	uint64_t integer[WH_TABLE_INTEGERS];
	uint64_t real[WH_TABLE_FLOATS];
};

/*
 * Each forwarded function jumps to wh_npp_entry, which calls this. `stack` are the function's own
 * words there.
 */
int32_t wh_npp_call(uint32_t number, const struct wh_npp_saved *regs, const uint64_t *stack);
/* Each function that refuses jumps here. */
int32_t wh_npp_refused(uint32_t number);
/* Returns the status of a call that never reached the library. */
NppStatus wh_npp_lost(CUresult res);

#endif
