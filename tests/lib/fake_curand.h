/* SPDX-License-Identifier: Apache-2.0 */
/* A number that has a meaning to the fake library. */
#ifndef WORMHOLE_TESTS_FAKE_CURAND_H
#define WORMHOLE_TESTS_FAKE_CURAND_H

#define HOLD_NUMBERS	777	/* so many: wait until the first is not 0, 0.25 s at most */

#endif
