#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises what a worker program answers to a server VM's supervisor, on a GPU and
# without a VM: the devices as the driver has them, and NVML's figures of a native program that
# holds 512 MiB.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
. "$WH_TOP/tests/gpu/gpu.sh"
client=$WH_BUILD/tests/tenant/bin/client
needs_programs "$client"
said=$world_dir/figures
mkfifo "$said.end"
# The program is started directly and not by a shell, because the driver names it by its process
# number.
LD_LIBRARY_PATH=$native_path "$client" alloc=536870912 ready wait <"$said.end" >"$said" 2>&1 &
pid=$!
exec 5>"$said.end"
await_limit=30
await grep -q '^ready' "$said"

# ask WHAT prints the report as Python: struct wh_devices_report, or packets of struct wh_figures.
ask() {
	LD_LIBRARY_PATH=$server_path python3 -c '
import os, socket, struct, subprocess, sys
ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
ours.settimeout(30)
worker = subprocess.Popen([sys.argv[1], "--backend", sys.argv[2], sys.argv[3], str(its.fileno())],
                          pass_fds=[its.fileno()])
its.close()
if sys.argv[3] == "--devices":
    r = ours.recv(65536)
    n, _, error = struct.unpack_from("<II300s", r)
    print(n, error.rstrip(b"\0").decode() or "fine")
    for i in range(n):
        name, uuid, _, sms = struct.unpack_from("<96s48sQI", r, 608 + i * 184)
        print(uuid.rstrip(b"\0").decode())
else:
    ours.send(b"x")
    for device in range(int(sys.argv[4])):
        r = ours.recv(65536)
        for i in range(struct.unpack_from("<I", r, 48)[0]):
            print(*struct.unpack_from("<IxxxxQ", r, 96 + i * 24))
ours.close()
worker.kill()' "$WH_BUILD/server/wormhole-worker" "$driver" "$@"
}

plan 2
devices=$(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null)
[ "$world_kind" != softgpu ] || devices=GPU-776f726d-686f-6c65-2d73-6f6674677075
is devices_are_the_drivers "$(ask --devices)" "$(echo "$devices" | wc -l) fine
$devices"
if [ "$world_kind" = softgpu ]; then
	skip figure_of_a_native_program_is_what_it_holds "softgpu's NVML knows of no processes"
else
	held=$(ask --figures "$(echo "$devices" | wc -l)" | sed -n "s/^$pid //p")
	ok figure_of_a_native_program_is_what_it_holds [ "${held:-0}" -ge 536870912 ]
fi
exec 5>&-
wait $pid
finish
