#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that in whatever order a kubelet calls the device plugin, and plugin, kubelet, server
# and node end between and in its calls, containers have shares as they asked for, no device gives more
# than it has, and what is left is what the kubelet may give out (vgpu_orders.py has the model).
# ORDERS_SEED=N repeats a random order.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
by_itself=1
. "$WH_TOP/tests/kubernetes/node.sh"
export WORMHOLE_SOFTGPU_MEM=64M,128M
$py -B "$WH_TOP/tests/kubernetes/vgpu_orders.py" "$tmp" "${ORDERS_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}"
