// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to a worker for the libraries over the driver: as requests.c, over stand-ins that
 * accept everything and touch all that they are given (tests/lib/stand_ins.h).
 */
#define _GNU_SOURCE
#define STEP	protocol_library_step
#include "steps.h"
