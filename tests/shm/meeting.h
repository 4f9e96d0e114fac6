/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments that ask meeting.so to do something else than the driver's function. */
#ifndef WORMHOLE_TESTS_MEETING_H
#define WORMHOLE_TESTS_MEETING_H

#define MEETING_S	20	/* the longest wait of a call for another one */

/* These are values of cuMemsetD8Async(); the first is a number of a launch's blocks as well. */
#define MEET	0xb1	/* returns when another one is there at the same time */
#define SLOW	0xb2	/* takes 20 ms */
#define AFTER	0xb3	/* fails unless as many slow ones are over as bytes are to be set */
#define HOLD	0xb4	/* the stream, and with it the context, has work until LET_GO */
#define LET_GO	0xb5

/*
 * A number of bytes of cuMemcpyDtoD(): the copy returns after an allocation of MEANWHILE
 * bytes was made. That allocation fails (CUDA_ERROR_NOT_FOUND) while there is no such
 * copy.
 */
#define LONG_COPY	77
#define MEANWHILE	12345

#endif
