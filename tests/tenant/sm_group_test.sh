#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the size of the groups of SMs in which spatial shares are counted: the
# driver's own size, or the one that an administrator asks for. softgpu has 16 SMs, in groups of 8
# or, not scheduled together, of 2. tests/attack/contexts_test.sh tests what kernels see of them.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

groups() { control '{"op":"info"}' | sed 's/.*"sm_groups":\([0-9]*\),"sm_group_size":\([0-9]*\).*/\1 of \2/'; }
limits() { field "$1" "d['sm_groups'], d['sm_group_size']"; }
# refused SIZE prints what a server says that does not start with groups of this size.
refused() { serve --sm-group "$1" && "$wormhole" stop; cat "$tmp/serve"; }
warned() { grep -c 'below the driver.s own size' "$tmp/serve"; }

plan 15
serve
is by_default_groups_have_the_drivers_own_size "$(groups)" "2 of 8"
is and_that_costs_nothing "$(warned)" 0
is a_tenant_says_so_without_a_share "$(limits default)" "(0, 8)"
"$wormhole" stop

serve --sm-group 2
is an_administrator_gets_smaller_ones "$(groups)" "8 of 2"
is and_is_told_once_what_they_cost "$(warned)" 1
for percent in 40 30 20 10; do
	"$wormhole" tenant create "t$percent" --sm $percent --sm-policy spatial
done
is shares_are_counted_in_them "$(limits t40) $(limits t30) $(limits t20) $(limits t10)" "(3, 2) (2, 2) (2, 2) (1, 2)"
like who_comes_too_late_is_told_their_size "$("$wormhole" tenant create late --sm 10 --sm-policy spatial 2>&1)" \
	"10 % of its SMs are 1 of 8 groups of 2 SMs, but other tenants have 8"
"$wormhole" stop

serve --sm-group 16
is and_larger_ones "$(groups)" "1 of 16"
is which_cost_nothing "$(warned)" 0
"$wormhole" stop

like what_the_driver_rounds_up_is_refused "$(refused 12)" \
	"--sm-group 12: device 0 (Wormhole softgpu) cannot be divided so; of its 16 SMs 2 are the least, and from 8 on mult"
like and_more_than_there_are "$(refused 18)" "--sm-group 18: device 0 (Wormhole softgpu) cannot be divided so"
like an_odd_number_is_refused "$(refused 3)" "--sm-group: '3' SMs: a group has a multiple of 2"
like and_none "$(refused 0)" "--sm-group: '0' is not a number from 2"
like by_the_server_itself_too "$("$WH_BUILD/server/wormhole-server" --backend x --sm-group 3 2>&1)" "'3' SMs: a group has a mul"
like none_of_them_serves "$("$wormhole" tenant list 2>&1)" "no server answers"
finish
