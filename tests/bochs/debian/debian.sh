#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make demo` shows, as a test, with the worker of all libraries: host, server VM and client
# VM on Debian's own cloud kernel, of which two modules in the host alone are ours. The
# points are those of demo/table.py.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
need bochs/debian/vmlinuz bochs/debian/modules/kvm-intel.ko bochs/debian/server.cpio bochs/host.cpio \
	bochs/device/driver-cloud/wh_test_gpu.ko tests/vm/client.cpio
need_built "$WH_BUILD/examples/shared/vectorAdd"
WH_KERNELS=debian WH_CPUS=2 exec "$WH_TOP/tests/bochs/demo.sh" --tap
