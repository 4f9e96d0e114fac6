// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to a worker: each input is a row of choices by which tests/attack/protocol.c
 * makes requests that are right but for one thing.
 */
#define _GNU_SOURCE
#define STEP	protocol_step
#include "steps.h"
