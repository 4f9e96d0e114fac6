#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that a view can show all that NVIDIA's driver maps into a worker that
# computes, by the worker's own list. The server VM's module names a shared mapping that is
# VM_PFNMAP or VM_MIXEDMAP (is_drivers() of wormhole_server.c), and a view has what is named. No
# mapping of the device may be left unnamed, and none may have a memory type that a view cannot
# show (wormhole_device.c).
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
types=/sys/kernel/debug/x86/pat_memtype_list
# The kernel's list of memory types is a file of debugfs, which is mounted for this test alone.
if [ "$(id -u)" = 0 ] && [ ! -e $types ] && [ -z "${WH_MOUNTED:-}" ]; then
	WH_MOUNTED=1 exec unshare -m bash -c \
		'mount -t debugfs debugfs /sys/kernel/debug; exec bash "$0"' "$0"
fi
before=$(cat $types 2>/dev/null)	# before any worker was there
. "$WH_TOP/tests/gpu/gpu.sh"
program=$WH_BUILD/tests/programs/bin/shared/threads
needs_programs "$program"
[ "$world_kind" = gpu ] && [ "$(id -u)" = 0 ] ||
	skip_all "needs a GPU, and root to look into the worker"
[ -e $types ] || skip_all "this kernel has no list of memory types ($types)"

# look PID prints "KIB TYPE PIECES PERMISSIONS FILE FLAGS..." of everything special that the
# server's workers have mapped while process PID lives. It prints each kind and size once, with
# how many there are. TYPE is the memory type, in the kernel's words. PIECES says how many pieces
# follow each other in memory, the longest piece, and how many entries of 2 MiB a view could have;
# for such an entry addresses and pages must end alike.
look() {
	python3 - "$1" "$server_pid" "$types" "$before" <<'PY'
import collections, os, re, sys, time

def children(pid):
    out = []
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/stat") as f:
                if f.read().rpartition(")")[2].split()[1] == str(pid):
                    out += [p] + children(p)
        except OSError:
            pass
    return out

def memory_types(text):
    """How many (KIB, type) the kernel's list of what is not ordinary memory has."""
    ranges = re.findall(r"\[mem 0x([0-9a-f]+)-0x([0-9a-f]+)\] (\S+)", text)
    return collections.Counter((int(end, 16) - int(start, 16) >> 10, kind)
                               for start, end, kind in ranges)

before = memory_types(sys.argv[4])

def memory_type(size, flags):
    """Finds the type of a new mapping by its size, because its physical addresses are not shown."""
    if "pf" not in flags or "sh" not in flags:
        return "write-back"
    with open(sys.argv[3]) as f:
        new = memory_types(f.read()) - before
    kinds = {k for s, k in new if s == size}
    return "/".join(sorted(kinds)) or "unknown"

def pieces(pid, start, end):
    """Looks at ordinary pages alone, because the kernel does not show where others are."""
    with open(f"/proc/{pid}/pagemap", "rb") as f:
        f.seek(start // 4096 * 8)
        raw = f.read((end - start) // 4096 * 8)
    entries = [int.from_bytes(raw[i:i + 8], "little") for i in range(0, len(raw), 8)]
    pfn = [e & (1 << 55) - 1 for e in entries]
    if not all(e >> 63 for e in entries):
        return "pieces=?"
    begins = [i for i in range(len(pfn)) if not i or pfn[i] != pfn[i - 1] + 1] + [len(pfn)]
    longest, large = 0, 0
    for first, last in zip(begins, begins[1:]):
        longest = max(longest, last - first)
        if (pfn[first] - start // 4096 - first) % 512 == 0:
            large += max(0, (start // 4096 + last) // 512 - -(-(start // 4096 + first) // 512))
    return f"pieces={len(begins) - 1},longest={longest * 4}K,large={large}"

def special(pid):
    found, line = {}, None
    try:
        with open(f"/proc/{pid}/smaps") as f:
            for l in f:
                m = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)", l)
                if m:
                    line = m
                elif l.startswith("VmFlags:") and {"pf", "mm", "io"} & set(l.split()) or \
                        l.startswith("VmFlags:") and line[4].startswith("/dev/nvidia"):
                    size = (int(line[2], 16) - int(line[1], 16)) >> 10
                    found[line[1]] = (size, memory_type(size, l.split()),
                                      pieces(pid, int(line[1], 16), int(line[2], 16)), line[3],
                                      line[4] or "-", *l.split()[1:])
    except OSError:
        pass
    return found

most = {}
while os.path.exists(f"/proc/{sys.argv[1]}/exe"):
    for pid in children(sys.argv[2]):
        now = special(pid)
        if len(now) > len(most):
            most = now
    time.sleep(0.02)
for entry, n in sorted(collections.Counter(most.values()).items()):
    print(n, *entry)
PY
}

mapped() { echo "$devices" | grep " $1"; }
of_type() { echo "$devices" | grep -c -E "^[0-9]+ [0-9]+ $1 "; }

plan 7
in_world shm shared timeout 60 "$program" >/dev/null 2>&1 &
list=$(look $!)
wait $!
is program_ends_well $? 0
devices=$(echo "$list" | grep ' /dev/nvidia')
ok worker_has_registers_or_device_memory_mapped mapped pf
ok and_memory_of_the_driver mapped mm
is module_would_name_each_of_them "$(echo "$devices" | grep -v -E '^[0-9]+ [0-9]+ \S+ \S+ ...s .* (pf|mm)( |$)')" ""
ok registers_are_uncached test "$(of_type uncached-minus)" -ge 1
ok device_memory_is_write_combining test "$(of_type write-combining)" -ge 1
is all_have_a_type_that_a_view_shows \
	"$(echo "$devices" | grep -v -E '^[0-9]+ [0-9]+ (write-back|write-combining|uncached-minus|uncached) ')" ""
echo "$list" | sed 's/^/# /'
finish
