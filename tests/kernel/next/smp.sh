#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the same as selftests.sh, on two processors.
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
WH_TOP=$top WH_CPUS=2 exec "$top/tests/kernel/next/selftests.sh" "$@"
