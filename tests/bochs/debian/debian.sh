#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what `make demo` shows, with the worker that has all libraries. Host, server
# VM and client VM run Debian's own cloud kernel, and only two modules of the host are ours.
# demo/table.py prints the points.
set -eu

: "${WH_TOP:=@TOP@}" "${WH_BUILD:=@BUILD@}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
need bochs/debian/vmlinuz bochs/debian/modules/kvm-intel.ko bochs/debian/server.cpio bochs/host.cpio \
	bochs/device/driver-cloud/wh_test_gpu.ko tests/vm/client.cpio
need_built "$WH_BUILD/examples/shared/vectorAdd"
WH_KERNELS=debian WH_CPUS=2 exec "$WH_TOP/tests/bochs/demo.sh" --tap
