#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that forwarded answers are the driver's, with a real driver behind.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
WH_TEST_DEVICE=${WH_TEST_DEVICE:-gpu} exec sh "$WH_TOP/tests/shm/answers_test.sh"
