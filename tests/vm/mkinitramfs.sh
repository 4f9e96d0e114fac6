#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes an initramfs (cpio, not compressed: the guests' loader copies it for
# free, unpacking costs instructions) from one or more lists:
#
#   mkinitramfs.sh OUT.cpio LIST...
#
# A list has one entry a line; words may contain $WH_TOP and $WH_BUILD:
#
#   dir PATH [MODE]
#   file PATH SOURCE [MODE]		MODE as in SOURCE when left out
#   slink PATH TARGET
#   exec PATH SOURCE		a program or library, with the shared libraries
#				it needs, where the program loader looks
#   needs PATH SOURCE		only these libraries, for what is at PATH; not those
#				that are beside it in the image
#   busybox			/bin/busybox and a link for each applet
#   include LIST
#
# A relative SOURCE starts at the top of the tree. Archives may be appended to
# each other (cat base.cpio overlay.cpio): later files win. OUT.cpio.d names
# all that went in, for make.
set -eu -o pipefail

[ $# -ge 2 ] || { sed -n '4,23s/^# \{0,1\}//p' "$0"; exit 2; }
WH_TOP=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
out=$(realpath "$1")
shift
lists=()
for l in "$@"; do
	lists+=("$(realpath "$l")")
done
cd "$WH_TOP"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
missing=()
sources=("${lists[@]}")

die() { echo "mkinitramfs: $*" >&2; exit 1; }

put() {
	[ -e "$2" ] || die "$2 is missing (for $1)"
	sources+=("$(realpath "$2")")
	mkdir -p "$root$(dirname "$1")"
	cp -L --remove-destination "$2" "$root$1"
	chmod "${3:-$(stat -Lc %a "$2")}" "$root$1"
}

# ldd lists what the loader would take; `missing` is settled at the end, because the image may
# bring a library of that name elsewhere.
put_needs() {
	local line lib
	while read -r line; do
		case $line in
		*'=> not found'*)
			missing+=("${line%% *} $1") ;;
		*/*' (0x'*)	# other lines are the loader's complaints
			lib=$(grep -o '/[^ ]*' <<<"${line#*=>}" | head -n1)
			[ -e "$root$lib" ] || [ -e "$root${1%/*}/${lib##*/}" ] || put "$lib" "$lib" ;;
		esac
	done < <(ldd "$2" 2>/dev/null || true)
}

put_exec() {
	put "$1" "$2" 755
	put_needs "$1" "$2"
}

put_busybox() {
	local b applet
	b=$(command -v busybox) || die "busybox is missing (Debian package busybox-static)"
	! ldd "$b" >/dev/null 2>&1 || die "$b is not static (Debian package busybox-static)"
	put /bin/busybox "$b" 755
	for applet in $("$b" --list); do
		[ "$applet" = busybox ] || ln -sf busybox "$root/bin/$applet"
	done
}

entry() {
	case $1 in
	dir)	mkdir -p "$root$2"; chmod "${3:-755}" "$root$2" ;;
	file)	put "$2" "$3" "${4:-}" ;;
	slink)	mkdir -p "$root$(dirname "$2")"; ln -sfn "$3" "$root$2" ;;
	exec)	put_exec "$2" "$3" ;;
	needs)	put_needs "$2" "$3" ;;
	busybox) put_busybox ;;
	include) sources+=("$(realpath "$2")"); read_list "$2" ;;
	*)	die "unknown entry: $*" ;;
	esac
}

read_list() {
	local line words
	while read -r line; do
		line=${line%%#*}
		[ -n "${line// /}" ] || continue
		read -ra words <<<"$line"
		for i in "${!words[@]}"; do
			words[i]=${words[i]//'$WH_BUILD'/$WH_BUILD}
			words[i]=${words[i]//'$WH_TOP'/$WH_TOP}
		done
		entry "${words[@]}"
	done <"$1"
}

for l in "${lists[@]}"; do
	read_list "$l"
done
for m in "${missing[@]}"; do
	[ -n "$(find "$root" -name "${m%% *}" -print -quit)" ] ||
		die "${m#* } needs ${m%% *}, which is not found and not in the image"
done
(cd "$root" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
	cpio -o0 -H newc --owner 0:0 --reproducible --quiet) >"$out.new"
printf '%s\n' "${sources[@]}" | sort -u |
	awk -v out="$out" '{ all = all " \\\n  " $0; phony = phony $0 ":\n" }
		END { printf "%s:%s\n%s", out, all, phony }' >"$out.d"
mv "$out.new" "$out"
