#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what the programs for Kubernetes make of MIG instances: how slices describe them,
# and that nobody gets one beside another device.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
/usr/bin/python3 -c 'import kubernetes' 2>/dev/null || skip_all "no python3-kubernetes here"
PYTHONPATH=$WH_BUILD/kubernetes exec /usr/bin/python3 -B "$WH_TOP/tests/kubernetes/mig_points.py"
