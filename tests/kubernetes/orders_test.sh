#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that in whatever order a kubelet calls the DRA driver, and driver, server and node
# end between and in its calls, the tenants and specifications are those of the claims that are
# prepared (orders.py has the model). ORDERS_SEED=N repeats a random order.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
. "$WH_TOP/tests/kubernetes/lib.sh"
$py -B "$WH_TOP/tests/kubernetes/orders.py" "$tmp" "${ORDERS_SEED:-$(od -An -N4 -tu4 /dev/urandom)}"
rc=$?
kill $cluster
exit $rc
