# SPDX-License-Identifier: Apache-2.0
# The programs wormhole-worker and wormhole-supervisor.
VM_WORKER := worker companion options memory interpose alloc vdso
VM_SUPERVISOR := supervisor groups windows channel judge suspend cpulist
# What interpose.c and alloc.c replace for the backend.
INTERPOSED := sched_yield mmap mmap64
INTERPOSED += malloc free calloc realloc memalign aligned_alloc posix_memalign valloc pvalloc
