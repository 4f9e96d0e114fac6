/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor that the fake cuSPARSE makes and the fake cuSOLVER looks into, as
 * NVIDIA's libraries do.
 */
#ifndef WORMHOLE_TESTS_FAKE_MATDESCR_H
#define WORMHOLE_TESTS_FAKE_MATDESCR_H

#include <cusparse.h>

#define FAKE_MATDESCR	0x6d61746465736372ULL

struct cusparseMatDescr {
	unsigned long long is_one;
	int number, type, fill, diag, base;
};

/*
 * Prints a descriptor: "NULL" for NULL, and "none" for what is no descriptor of the fake
 * library.
 */
#define MATDESCR_FORMAT	"%s#%d type=%d fill=%d diag=%d base=%d"
#define MATDESCR_ARGS(d) (!(d) ? "NULL" : (d)->is_one == FAKE_MATDESCR ? "descr" : "none"), \
	(d) ? (d)->number : 0, (d) ? (d)->type : 0, (d) ? (d)->fill : 0, (d) ? (d)->diag : 0, \
	(d) ? (d)->base : 0

#endif
