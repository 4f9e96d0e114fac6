# SPDX-License-Identifier: Apache-2.0
# The programs wormhole-worker and wormhole-supervisor.
VM_WORKER := worker companion options memory interpose vdso
VM_SUPERVISOR := supervisor groups windows channel judge cpulist
