#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a full disk, a claim that nobody understands and an API server that answers
# oddly are errors with words, and neither end the DRA driver nor keep other claims back.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
/usr/bin/python3 -c 'import grpc, kubernetes' 2>/dev/null || skip_all "no python3-grpcio or python3-kubernetes here"
PYTHONPATH=$WH_BUILD/kubernetes exec /usr/bin/python3 -B "$WH_TOP/tests/kubernetes/troubles_points.py" 2>/dev/null
