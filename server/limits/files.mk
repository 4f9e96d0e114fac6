# SPDX-License-Identifier: Apache-2.0
# The archive liblimits.a, one area a line.
LIMITS := join usage_lock host
LIMITS += memory blocks overhead pool sizes figure
LIMITS += bucket kinds guarantee turns claims gpu_time under_way awaited hold
LIMITS += sms sm_split
LIMITS += ipc ipc_files ipc_pools ipc_paged
LIMITS += paged paged_calls paging pinning
LIMITS += trace trace_device
