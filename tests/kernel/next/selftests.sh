#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the KVM selftests pass on the kernel that the series is written for
# (kvm-patches/BASE). The emulated processor is affected by MMIO stale data in a way of its own.
# The kernel is told to clear the buffers only for what reaches registers, and to check this at
# each entry.
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
build=${WH_BUILD:-$top/build}
feature=$(sed -n 's/^#define X86_FEATURE_CLEAR_CPU_BUF_VM_MMIO[[:space:]]*(\([0-9]*\*32+[0-9]*\)).*/\1/p' \
	"$build/kernel/host-next/src/arch/x86/include/asm/cpufeatures.h")
[ -n "$feature" ] || { echo "Bail out! X86_FEATURE_CLEAR_CPU_BUF_VM_MMIO is not in host-next"; exit 1; }
WH_TOP=$top WH_KERNEL=host-next exec "$top/tests/kernel/selftests.sh" \
	--args "setcpuid=$(($feature))" "$@"
