# SPDX-License-Identifier: Apache-2.0
# Lists the objects of the driver half: hand-written ones, those that gen_exports.py
# generates, and those that other libraries use as well (cuda-api/). The Makefile builds
# them; tests/fuzz builds them a second time with sanitizers.
DRIVER := alloc array books capability capture checkpoint cluster conditional context decompress device driver \
	  event fatbin func graph graph_exec graph_node graph_node_calls graph_run green hints hostmem ipc ipc_file \
	  join_texts launch library link_calls machine memcpy memory memory_save mempool mempool_share memset memsize \
	  module objects occupancy pointer procaddr queue stream tensormap texobj texref userobj vmm watch
GENSRC := gen_softgpu_streams gen_softgpu_unsupported gen_softgpu_procs
APISRC := gen_errors
