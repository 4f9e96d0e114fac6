#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what the drivers of a cluster ask its API server, by the simulation of bench/nodes.py:
# nothing of what does not change, and one question for a claim.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
/usr/bin/python3 -c 'import grpc, kubernetes' 2>/dev/null || skip_all "a Python module is missing"
need_built "$WH_BUILD/kubernetes/cluster.py"
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$WH_TOP/bench/nodes.py" --build "$WH_BUILD" --load --nodes 12 --claims 60 --hours 0.25 >"$out" 2>&1

# of LINE prints what the line says, of a simulation in which slices are read again seldom.
of() { sed -n "/every 300 s/,\$s/^$1: \([^;]*\);.*/\1/p" "$out"; }
plan 8
is node_that_starts_asks_three_times "$(of 'all nodes start')" \
	"36 requests (12 GET nodes, 12 GET resourceslices, 12 POST resourceslices)"
is claim_is_asked_for_once "$(of 'all claims are prepared')" "60 requests (60 GET resourceclaims)"
is prepared_claim_is_not_asked_for_again "$(of 'all are prepared again')" "0 requests (none)"
like slice_is_read_a_few_times_in_a_quarter_of_an_hour "$(of '900 s without a change')" \
	'^\(2[4-9]\|3[0-6]\) requests (.* GET resourceslices)$'
is change_of_devices_is_written_at_once "$(of 'a device of each node fails')" \
	"24 requests (12 GET resourceslices, 12 PUT resourceslices)"
is end_of_a_claim_asks_nothing "$(of 'all claims are taken back')" "0 requests (none)"
is each_node_asks_once_in_a_look_while_the_api_server_is_away "$(of 'a look while the API server is away')" \
	"12 requests (12 GET resourceslices)"
is and_once_after_it "$(of 'the look after it')" "12 requests (12 GET resourceslices)"
finish
