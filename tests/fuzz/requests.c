// SPDX-License-Identifier: Apache-2.0
/*
 * The target is a worker that gets requests. Each input is a row of choices by which
 * tests/attack/protocol.c makes requests that are right but for one thing.
 */
#define _GNU_SOURCE
#define STEP	protocol_step
#include "steps.h"
