# SPDX-License-Identifier: Apache-2.0
# Names the files of this folder; libcuda.so.1 is linked with them.
TRANSPORT := transport transport_loopback transport_shm lanes transport_ring transport_vmfunc namespace client_window
