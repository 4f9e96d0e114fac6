#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Boots the VMX host in Bochs with the program attach, and writes build/bench/attach.dat
# with a line for each pair (attach.c). parts/pairs.py reads the file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
: "${WH_TOP:=$here/..}" "${WH_BUILD:=$WH_TOP/build}"
out=$WH_BUILD/bochs/attach
to=$WH_BUILD/bench
rm -rf "$out/job"
mkdir -p "$out/job" "$to"
cp "$to/attach" "$out/job/attach"
cat >"$out/job/run" <<'RUN'
modprobe kvm_intel 2>/dev/null
# A first TAKE of 256 MiB takes nearly the two seconds that the library waits.
WH_PATIENCE=5 /job/attach && echo "@data end"
RUN
"$WH_TOP/tests/bochs/run_job.py" --plain --timeout 600 --out "$out" \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" "$out/job" >&2
grep -q '^end' "$out/data"
sed -n 's/^attach //p' "$out/data" >"$to/attach.dat"
