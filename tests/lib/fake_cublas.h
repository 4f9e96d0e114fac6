/* SPDX-License-Identifier: Apache-2.0 */
/* Values of alpha and of attributes that have a meaning to the fake libraries. */
#ifndef WORMHOLE_TESTS_FAKE_CUBLAS_H
#define WORMHOLE_TESTS_FAKE_CUBLAS_H

#define HOLD	12345.0f	/* wait until C is not 0; after 0.25 s of CPU time it becomes -1 */
#define FAIL	666.0f		/* CUBLAS_STATUS_EXECUTION_FAILED */
#define REFUSED	(-13)		/* alignment of a tensor; when finalizing, its vector's length */

#endif
