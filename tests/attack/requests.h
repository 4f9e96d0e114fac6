/* SPDX-License-Identifier: Apache-2.0 */
/* One right request for each call; gen_requests.py writes the tables. */
#ifndef WORMHOLE_TESTS_ATTACK_REQUESTS_H
#define WORMHOLE_TESTS_ATTACK_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The kinds of value in a field. `value` of HANDLE, OBJECT and BOX is the type in the
 * worker's table.
 */
enum what { ADDRESS, ORDINAL, WORD, HANDLE, HOST, OBJECT, BOX, TEXT };

struct field {
	uint32_t at, bytes;
	enum what what;
	uint64_t value;
};

struct call {
	const char *name;
	uint32_t library, number;
	size_t size;
	const struct field *field;
	size_t fields;
};

#define PADDED(size)	(((size) + WH_WIRE_ALIGN - 1) & ~(size_t)(WH_WIRE_ALIGN - 1))
#define FIXED(type)	PADDED(sizeof(type))
/* The name that every field for a name gets: the test's kernel. */
#define TEXT_SENT	"kernel"

#include "gen_requests.h"

#endif
