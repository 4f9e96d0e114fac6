/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of libraries whose code is tables (cuda-api/table.py): registers and stack of a call
 * as the x86-64 calling convention has them, and what its addresses are.
 */
#ifndef WORMHOLE_WIRE_TABLE_H
#define WORMHOLE_WIRE_TABLE_H

#include <stdint.h>

#include "wire.h"

#define WH_TABLE_INTEGERS	6
#define WH_TABLE_FLOATS		8
#define WH_TABLE_WORDS		40	/* of the stack, at most */
/* A place is a register below this, and else a word of the stack behind it. */
#define WH_TABLE_PLACES		(WH_TABLE_INTEGERS + WH_TABLE_WORDS)

enum wh_table_kind {
	WH_TABLE_DEVICE,	/* an address of device memory */
	WH_TABLE_DEVICES,	/* an array of such addresses, in host memory */
	WH_TABLE_IN,		/* so many bytes of host memory that the call reads */
	WH_TABLE_OUT,		/* ... or writes */
	WH_TABLE_STREAM,	/* a stream, and the number of a device behind it */
};

struct wh_table_arg {
	uint8_t kind;
	uint8_t place;
	uint16_t bytes;
};

struct wh_table_shape {
	uint16_t first;		/* in the table of arguments */
	uint8_t args;
	uint8_t words;		/* of the stack */
};

/*
 * Behind it, each padded: the words of the stack, and the bytes of DEVICES and IN in order. In the
 * place of an address of host memory is 1, or 0 for NULL. The response has the bytes of OUT.
 */
struct wh_req_table {
	struct wh_req hdr;
	uint64_t integer[WH_TABLE_INTEGERS];
	uint64_t real[WH_TABLE_FLOATS];
};
struct wh_rsp_table {
	struct wh_rsp hdr;
};

#endif
