#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Copies of a kernel's source what its series changes, and no more:
#
#   get-files.sh TREE [SERIES [FILE...]]
#
# TREE is made where it is not there; FILEs are copied, too. SERIES is the one here, or
# a path, with BASE beside it. From KERNEL_SOURCE=DIR
# or, without it, from where build-kernel.sh has unpacked the source; where it has
# not, from the tarball, which takes a quarter of a minute.
set -eu
usage() { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ $# -ge 1 ] || usage
here=$(cd "$(dirname "$0")" && pwd)
tree=$1
series=$(realpath "${2:-$here/series}")
shift $(($# > 2 ? 2 : $#))
base=$(dirname "$series")/BASE
for f in "$series" "$base"; do
	[ -f "$f" ] || { echo "get-files.sh: there is no $f" >&2; exit 2; }
done
mkdir -p "$tree"
tree=$(cd "$tree" && pwd)

# Files that patches change; not those that an earlier patch makes.
changed() {
	(cd "$(dirname "$series")" && xargs cat <"$series") | awk '
		/^--- \/dev\/null/ { getline; made[substr($2, 3)] }
		/^--- a\// && !(substr($2, 3) in made) { print substr($2, 3) }'
}

# By the first two apply.sh knows a kernel tree, the others are selftests/place.sh's.
files=$({ printf '%s\n' Makefile virt/kvm/kvm_main.c MAINTAINERS \
	'tools/testing/selftests/kvm/Makefile*' "$@"; changed; } | sort -u)
release=$(sed -n 's/^release //p' "$base")
unpacked=${KERNEL_SOURCE:-${O:-$here/../build}/kernel/base${release:+-$release}}
if [ -d "$unpacked" ]; then
	cd "$unpacked"
	# The shell expands the pattern, in there.
	# shellcheck disable=SC2086
	cp --parents $files "$tree"
else
	tarball=$("$here/get-source.sh" "$base")
	set -f
	# shellcheck disable=SC2046
	tar -xf "$tarball" -C "$tree" --strip-components=1 --wildcards \
		$(echo "$files" | sed "s|^|$(basename "$tarball" .tar.xz)/|")
fi
