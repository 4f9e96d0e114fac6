# SPDX-License-Identifier: Apache-2.0
# What the driver half is made of: by hand, what gen_exports.py writes, and what is everybody's
# (cuda-api/). The Makefile builds it; tests/fuzz builds it once more with sanitizers.
DRIVER := alloc array books capture context device driver event fatbin func graph graph_exec graph_node \
	  graph_node_calls green hostmem ipc ipc_file join_texts launch library link_calls memcpy memory mempool memset \
	  memsize module objects occupancy pointer procaddr stream texobj userobj vmm
GENSRC := gen_softgpu_streams gen_softgpu_unsupported gen_softgpu_procs
APISRC := gen_errors
