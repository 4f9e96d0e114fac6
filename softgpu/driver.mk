# SPDX-License-Identifier: Apache-2.0
# What the driver half is made of: by hand, and what gen_exports.py writes. The Makefile
# builds it; tests/fuzz builds it once more with sanitizers.
DRIVER := alloc array capture context device driver errors event fatbin func gexec gnode graph \
	  gtyped hostmem ipc ipc_file join launch library link memcpy memory mempool memset memsize module objects \
	  occupancy pointer procaddr stream texobj userobj vmm
GENSRC := gen_softgpu_streams gen_softgpu_unsupported gen_softgpu_procs
