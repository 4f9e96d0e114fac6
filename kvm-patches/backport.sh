#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Makes the series for an older kernel: backport.sh VERSION OUT.
#
# The files that the series adds are the same on each kernel. What it changes in the
# kernel's own files stands once more for VERSION, in VERSION/hooks.patch. OUT, made
# where it is not there, gets `series`, the two patches that it names, and BASE. The
# same sources give the same bytes, whoever runs it. Needs no kernel source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=${1:?usage: backport.sh VERSION OUT}
out=${2:?usage: backport.sh VERSION OUT}
[ -f "$here/$version/hooks.patch" ] || {
	echo "backport.sh: there is nothing for Linux $version; there is for:" \
		"$(cd "$here" && ls -d [0-9]*/ | tr -d / | xargs)" >&2
	exit 2
}
mkdir -p "$out"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
cd "$here"

# Name and date are those of the series' first patch.
head_of() { # SUBJECT
	first=$(head -n1 series)
	sed -n '1,/^Subject: /{/^Subject: /!p}' "$first"
	printf 'Subject: [PATCH] %s\n\n' "$1"
	cat
	printf -- '---\n'
}

# Paths of the files that the series makes.
added() {
	xargs cat <series | awk '/^--- \/dev\/null/ { getline; print substr($2, 3) }' | sort -u
}

# The parts of the series that are for those files.
parts_of_added() {
	xargs cat <series | awk -v list="$tmp/added" '
		BEGIN { while ((getline f < list) > 0) mine["b/" f] }
		/^diff --git / { keep = $4 in mine }
		/^-- $/ || /^From [0-9a-f]* Mon Sep 17/ { keep = 0 }
		keep'
}

# A whole file as a patch that makes it.
as_patch() {
	printf 'diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n' "$1" "$1" "$1"
	printf '@@ -0,0 +1,%d @@\n' "$(wc -l <"$tmp/tree/$1")"
	sed 's/^/+/' "$tmp/tree/$1"
}

mkdir "$tmp/tree"
added >"$tmp/added"
parts_of_added | patch -s -p1 -F0 --no-backup-if-mismatch -d "$tmp/tree"
{
	head_of "KVM: VMX: Add calls between VMs" <<M
The files that the series for newer kernels adds, as they are there.
M
	while read -r f; do as_patch "$f"; done <"$tmp/added"
} >"$tmp/1"
{
	head_of "KVM: x86: Hook calls between VMs into Linux $version" <<M
What the series changes in KVM's own files, for this version, with what
newer kernels have and this one lacks.
M
	cat "$version/hooks.patch"
} >"$tmp/2"
mv "$tmp/1" "$out/0001-KVM-VMX-Add-calls-between-VMs.patch"
mv "$tmp/2" "$out/0002-KVM-x86-Hook-calls-between-VMs-into-Linux-$version.patch"
cp "$version/BASE" "$out/BASE"
(cd "$out" && ls 000[12]-*.patch) >"$tmp/series"
mv "$tmp/series" "$out/series"
