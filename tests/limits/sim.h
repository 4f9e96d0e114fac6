/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device and its driver in virtual time, for tests of the SM limit. It has streams of
 * kernels with a known length, timing events, and processes that are time-sliced in equal
 * parts while more than one has work: in parts without a length, or of one that a test says. It is
 * deterministic.
 */
#ifndef WORMHOLE_TESTS_LIMITS_SIM_H
#define WORMHOLE_TESTS_LIMITS_SIM_H

#include <stdint.h>

uint64_t sim_tsc(void);
#define WH_TSC()	sim_tsc()
#define WH_FUTEX_WAKE(word)	((void)(word))

#endif
