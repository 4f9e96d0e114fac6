#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The KVM selftests on the kernel that the series is written for (kvm-patches/BASE).
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
WH_TOP=$top WH_KERNEL=host-next exec "$top/tests/kernel/selftests.sh" "$@"
