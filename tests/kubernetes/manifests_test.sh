#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the manifests of a cluster are what Kubernetes' schemas have, that what they name
# is there, that their privileges are those that they state, and that the driver takes the examples.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
schemas=$WH_BUILD/kubernetes-schemas/_definitions.json
/usr/bin/python3 -c 'import grpc, kubernetes, jsonschema, yaml' 2>/dev/null || skip_all "a Python module is missing"
[ -e "$schemas" ] || skip_all "no schemas of Kubernetes: tools/get-kubernetes.sh"
need_built "$WH_BUILD/kubernetes/dra_pb2.py"
PYTHONPATH=$WH_BUILD/kubernetes exec /usr/bin/python3 -B "$WH_TOP/tests/kubernetes/manifests_points.py" \
	"$WH_TOP/packaging/kubernetes" "$schemas" "$WH_BUILD/host"
