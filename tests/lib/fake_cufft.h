/* SPDX-License-Identifier: Apache-2.0 */
/* Directions that have a meaning to the fake library. */
#ifndef WORMHOLE_TESTS_FAKE_CUFFT_H
#define WORMHOLE_TESTS_FAKE_CUFFT_H

#define HOLD	77	/* wait until the output is not 0; after 0.25 s of CPU time it becomes -1 */
#define FAIL	78	/* CUFFT_EXEC_FAILED */

/* The bytes of a plan's work area; nx is the first of its dimensions. */
#define FAKE_AREA(nx)	((size_t)(nx) * 100)

#endif
