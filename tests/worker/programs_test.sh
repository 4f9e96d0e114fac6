#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that the programs of a server VM, run where there is no Wormhole, say so and
# change nothing. It also promises that they may execute no VMFUNC but the trampoline's.
set -u

here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
. "$WH_TOP/tests/tap.sh"
worker=$WH_BUILD/server/wormhole-worker
supervisor=$WH_BUILD/server/wormhole-supervisor
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# expect STATUS PATTERN NAME COMMAND... checks a command's status and output.
expect() {
	want=$1 pattern=$2 name=$3
	shift 3
	"$@" >"$out" 2>&1
	rc=$?
	[ $rc = "$want" ] && grep -q -e "$pattern" "$out"
	point "$name" || { diag "status $rc, expected $want and: $pattern"; diag "$(cat "$out")"; }
}

# stray_vmfunc FILE... finds the bytes 0f 01 d4 in the executable segments of the files, at any
# offset.
stray_vmfunc() {
	/usr/bin/python3 - "$@" <<'END'
import struct, sys
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    phoff, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, flags, off = struct.unpack_from("<IIQ", data, phoff + i * size)
        filesz, = struct.unpack_from("<Q", data, phoff + i * size + 32)
        if kind == 1 and flags & 1:
            found = data[off:off + filesz].count(b"\x0f\x01\xd4")
            print(f"{path}: {found} in {filesz} executable bytes")
            if found or not filesz:
                sys.exit(1)
END
}

! grep -q hypervisor /proc/cpuinfo || [ ! -e /dev/wormhole-server ] || skip_all "this is a server VM"
plan 8
expect 2 "backend is missing" worker_needs_a_backend "$worker" --cpu 1
expect 2 "cpu is missing" worker_needs_a_cpu "$worker" --backend b
expect 2 "whole pages: 4097" worker_refuses_broken_sizes "$worker" --backend b --cpu 1 --part-size 4097
expect 2 "bad option" worker_refuses_unknown_options "$worker" --bogus
expect 1 "no Wormhole here" worker_says_what_machine_it_needs "$worker" --backend b --cpu 0
expect 1 "no Wormhole server VM" supervisor_says_what_machine_it_needs "$supervisor" --backend b
expect 2 "unexpected argument" supervisor_passes_options_on_behind_two_dashes_only \
	"$supervisor" --backend b --parts 1 x
expect 0 "wormhole-worker: 0 in" no_vmfunc_outside_the_trampoline \
	stray_vmfunc "$worker" "$WH_BUILD/client-stubs/libcuda.so.1"
finish
