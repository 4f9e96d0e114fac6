#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tenants survive kill -9 of servers and workers at ten random points under
# load (kills.py); `make soak` has a hundred points in each of its rounds.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

plan 2
at_random "$WH_TOP/tests/tenant/kills.py" 10
is whoever_is_killed_others_have_right_results_and_nothing_is_left $? 0
diag "$said"
like and_programs_ran "$said" "^10 points: .* [0-9][0-9] programs, 0 finds"
finish
