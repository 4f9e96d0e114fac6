// SPDX-License-Identifier: Apache-2.0
/*
 * The target is a worker that gets requests for the libraries over the driver. It is like
 * requests.c, but runs over stand-ins that accept everything and touch all that they are
 * given (tests/lib/stand_ins.h).
 */
#define _GNU_SOURCE
#define STEP	protocol_library_step
#include "steps.h"
