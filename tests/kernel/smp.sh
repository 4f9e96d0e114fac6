#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the KVM selftests pass on two processors as well.
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
WH_TOP=$top WH_CPUS=2 exec "$top/tests/kernel/selftests.sh" "$@"
