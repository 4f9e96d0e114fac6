#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Puts the selftests into a kernel tree that has the KVM patches: place.sh TREE.
# Sources go where that tree has its own, each with a line in the Makefile and in
# MAINTAINERS. In a git tree each group is a commit, one of the series' last patches,
# by the author and of the date of the patch before.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:?usage: place.sh KERNEL-TREE}
kvm=tools/testing/selftests/kvm
# Newer kernels (6.14 on) call the architecture otherwise, and so does this.
arch=x86_64
makefile=$kvm/Makefile
if [ -e "$tree/$makefile.kvm" ]; then
	arch=x86
	makefile=$makefile.kvm
fi
placed=
# By bytes, as what is sorted in MAINTAINERS.
export LC_ALL=C

# Insert @2 into the Makefile after the last line that starts with @1.
list() {
	awk -v start="$1" -v line="$2" '
		{ text[NR] = $0; if (index($0, start) == 1) last = NR }
		END { for (i = 1; i <= NR; i++) {
			print text[i]; if (i == last) print line } }' \
		"$tree/$makefile" > "$tree/$makefile.new"
	mv "$tree/$makefile.new" "$tree/$makefile"
}

# Name a file in the series' entry of MAINTAINERS, whose files are sorted.
maintain() {
	awk -v new="F:	$1" '
		/\(WORMHOLE\)$/	{ inside = 1 }
		inside && /^F:/		{ if (new != "" && new < $0) { print new; new = "" } }
		inside && /^$/		{ if (new != "") print new; inside = 0; new = "" }
					{ print }' "$tree/MAINTAINERS" > "$tree/MAINTAINERS.new"
	mv "$tree/MAINTAINERS.new" "$tree/MAINTAINERS"
}

# put FOLDER NAME: FOLDER/x86_64/NAME, where FOLDER may be nothing.
put() {
	to=$kvm/$1${1:+/}$arch/$2
	mkdir -p "$tree/${to%/*}"
	cp "$here/$1${1:+/}x86_64/$2" "$tree/$to"
	maintain "$to"
	placed="$placed $to"
}

# Names are without spaces; -f: the kernel ignores what it does not know.
commit() {
	[ -e "$tree/.git" ] || return 0
	who=$(git -C "$tree" log -1 --format='%an <%ae>')
	# shellcheck disable=SC2086
	git -C "$tree" add -f MAINTAINERS "$makefile" $placed
	git -C "$tree" commit -q --author "$who" --date "$(git -C "$tree" log -1 --format=%aD)" -F -
	placed=
}

tests() {
	for t; do
		put "" "wormhole_${t}_test.c"
		list "TEST_GEN_PROGS_$arch" \
			"TEST_GEN_PROGS_$arch += $arch/wormhole_${t}_test"
	done
}

put include wormhole.h
for f in wormhole wormhole_device wormhole_fuzz wormhole_gate wormhole_guest wormhole_host wormhole_pair wormhole_points wormhole_regs; do
	put lib $f.c
	list "LIBKVM_$arch" "LIBKVM_$arch += lib/$arch/$f.c"
done
tests off
commit <<'M'
KVM: selftests: Add helpers for calls between VMs

Add two small VMs in one process: a server, whose CPL 0 code plays the
guest module, and a client, both with page tables of their own and code
at CPL 3, which the library's ordinary guests do not have.  The test
program is the guest image, so that guest code is plain C beside the
host's, and a vCPU is driven like a remote procedure call.

wormhole_off_test needs nothing but KVM: it proves these helpers and that
a VM without a role sees nothing of the feature.
M
tests cap leaf attach
commit <<'M'
KVM: selftests: Test roles and hypercalls of calls between VMs

Test every errno of KVM_CAP_X86_WORMHOLE and /dev/kvm-wormhole, and every
status of every CPUID leaf: who may call it, in which order, with which
arguments.  Each negative request differs from a valid one in one thing.
M
tests cost switch slots companion servers handoff irq park device large
commit <<'M'
KVM: selftests: Test calls between VMs

Test that 10,000 calls take no VM exit, that calls of four threads meet
inside of their handlers, that a process calls two servers, that system
calls, faults and exceptions in a call come back right from the server's
vCPU, that timer, NMI, SMI and signals interrupt a call in the client's
own world, that a parked server uses no CPU time, and that calls work on
a device without an exit.  Report what each way costs, and whether it took
the exits and handoffs that it should.
M
tests notify flush split revoke zap mm life process limits race lock signal twice fire
commit <<'M'
KVM: selftests: Test invalidation and the ends of calls between VMs

Race a reader in a view against remaps of its page; change the server's
memory from the host; take away what a driver has mapped while a client
uses it; end the memory of a server's VMM before its files; end pairs by
every means at every moment, in one process and in two, and look for
leaked memory and pins.  Compare what a notifier event costs with few and
with many pages in views.  Hold threads in the middle of entries, fills,
attaches and handoffs, and let others meet them there.
M
tests enter user view hijack forge gate lstar barrier fuzz cover tables storm
commit <<'M'
KVM: selftests: Test hostile callers of calls between VMs

Let a client's kernel enter a view and do there what only a kernel can,
and let a hijacked worker do what user code can.  Each attack may hurt
its own pair only: another client's call must work after it.  Count the
barriers between pairs.  Let both VMs ask for anything at all, and one of
them as often as it can.
M
