#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Boots the VMX host in Bochs with the program attach, and writes build/bench/attach.md with
# a table, and plots/attach.svg: instructions and memory of a pair by the number of pairs.
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
echo "@data versions kernel $(uname -r)"
# A first TAKE of 256 MiB takes nearly the two seconds that the library waits.
WH_PATIENCE=5 /job/attach && echo "@data end"
RUN
"$WH_TOP/tests/bochs/run_job.py" --plain --timeout 600 --out "$out" \
	--kernel "$WH_BUILD/kernel/host/bzImage" --initrd "$WH_BUILD/bochs/host.cpio" "$out/job"
grep -q '^end' "$out/data"
commit=$(git -C "$WH_TOP" describe --always --abbrev=12 --dirty --match=)
sed -n 's/^attach //p' "$out/data" >"$to/attach.dat"
{
	echo "## Attaching"
	echo
	echo "date $(date +%F), commit $commit, host kernel $(sed -n 's/^versions kernel //p' "$out/data")"
	echo
	cat "$here/attach.in"
	awk -f "$here/attach.awk" "$to/attach.dat"
	echo
	echo "![instructions and memory of a pair by the number of pairs](plots/attach.svg)"
} >"$to/attach.md"
gnuplot -e "dat='$to/attach.dat'; out='$to/attach.svg'" "$here/attach.gp"
cat "$to/attach.md"
