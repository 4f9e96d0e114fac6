#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the example of a cluster's objects is what Kubernetes' schemas have, and that
# the driver takes its parameters.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
schemas=$WH_BUILD/kubernetes-schemas/_definitions.json
/usr/bin/python3 -c 'import kubernetes, jsonschema, yaml' 2>/dev/null || skip_all "a Python module is missing"
[ -e "$schemas" ] || skip_all "no schemas of Kubernetes: tools/get-kubernetes.sh"
PYTHONPATH=$WH_BUILD/kubernetes exec /usr/bin/python3 -B "$WH_TOP/tests/kubernetes/example_points.py" \
	"$WH_TOP/packaging/kubernetes/example.yaml" "$schemas"
