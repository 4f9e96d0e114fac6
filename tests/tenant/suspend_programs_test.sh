#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises over softgpu what tests/gpu/suspend_test.sh promises on a GPU: programs that are
# suspended at random moments, or moved, have the values of a native run. So it tests that test, too.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
unset WH_FRAMEWORKS WH_WORDS
WH_TEST_DEVICE=softgpu exec sh "$WH_TOP/tests/gpu/suspend_test.sh"
