#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Build one kernel from Debian's source of it, cached by content:
#
#   build-kernel.sh NAME FRAGMENT[,FRAGMENT...] [SERIES|-] [TARGET...]
#
# tinyconfig plus the fragments, with the patches that SERIES lists (names
# relative to it, one per line). The file BASE beside SERIES says what source; without a
# series it is 6.12/BASE; see get-source.sh. TARGETs are extra make targets or
# variables; bzImage is always built, `modules` where there are any.
#
#   $O/kernel/base/      unpacked source (base-RELEASE/ of a fetched one), shared and never written to
#   $O/kernel/NAME/src   source of this kernel: base itself, or a hard-linked
#                        copy of it with the series applied
#   $O/kernel/NAME/obj   build tree (KBUILD_OUTPUT; KDIR of external modules)
#   $O/kernel/NAME/bzImage, config, hash
#
# Nothing is done when `hash` matches the inputs. When they changed, only what
# depends on the change is compiled again. O defaults to build/ of this tree,
# JOBS to the number of CPUs.
set -eu -o pipefail

usage() { sed -n '4,22s/^# \{0,1\}//p' "$0"; exit 2; }
[ $# -ge 2 ] || usage

top=$(cd "$(dirname "$0")/.." && pwd)
out=${O:-$top/build}
jobs=${JOBS:-$(nproc)}
name=$1
IFS=, read -ra fragments <<<"$2"
series=${3:--}
shift $(($# > 3 ? 3 : $#))
targets=("$@")
# A calling make's variables are not for the kernel's.
unset MAKEFLAGS MFLAGS MAKELEVEL O
export KBUILD_BUILD_USER=wormhole KBUILD_BUILD_HOST=wormhole
export KBUILD_BUILD_TIMESTAMP='Thu Jan  1 00:00:00 UTC 1970'
mkdir -p "$out/kernel/$name"
out=$(cd "$out" && pwd)
dir=$out/kernel/$name
basis=$top/kvm-patches/6.12/BASE
[ "$series" = - ] || basis=$(dirname "$series")/BASE
# A source that is fetched changes with its release; Debian's own with the machine's.
release=$(sed -n 's/^release //p' "$basis")
base=$out/kernel/base${release:+-$release}
tarball=$(O=$out "$top/kvm-patches/get-source.sh" "$basis")

. "$top/tools/follow.sh"
die() { echo "kernel $name: $*" >&2; exit 1; }

so_far() { # WHAT LOG SECONDS
	printf '  %-8s %s: %d s, %d steps, %s\n' KERNEL "$name $1" "$3" "$(wc -l <"$2")" \
		"$(tail -n1 "$2" | tr -s ' ' | cut -c1-50)"
}

# Run a command with its output in a log, and say every 5 s how far it is.
progress() {
	local what=$1 log=$2 start=$SECONDS
	shift 2
	"$@" >"$log" 2>&1 </dev/null &
	follow $! 5 so_far "$what" "$log" || {
		tail -n 30 "$log" >&2
		# Other jobs went on after what failed: it stands far above the end.
		grep -m 5 -A 3 -e ' error: ' -e 'No rule to make' -e 'undefined reference' "$log" >&2 || :
		die "$what failed, see $log"
	}
	printf '  %-8s %s: done in %d s\n' KERNEL "$name $what" $((SECONDS - start))
}

patch_files() {
	[ "$series" = - ] && return
	grep -v -e '^#' -e '^[[:space:]]*$' "$series" |
		sed "s|^|$(dirname "$series")/|" || true
}

# Everything that the result depends on, but for the source tarball's bytes:
# its size and date stand for them, to keep the check quick.
input_hash() {
	{
		stat -c '%s %Y' "$tarball"
		${CC:-gcc} --version | head -n1
		echo "${targets[@]}"
		cat "${fragments[@]}"
		patch_files | xargs -r cat
		sed -n '/^set -eu/,$p' "$0"
	} | sha256sum | cut -d' ' -f1
}

unpack() {
	rm -rf "$base.part"
	mkdir -p "$base.part"
	tar -xJvf "$tarball" -C "$base.part" --strip-components=1
	mv "$base.part" "$base"
}

unpack_base() {
	exec 9>"$out/kernel/.${base##*/}.lock"
	flock 9
	[ -d "$base" ] || progress unpack "$dir/unpack.log" unpack
	exec 9>&-
}

# Names of the files that a list of patches touches.
touched() {
	xargs -r sed -n -e 's|^+++ b/\([^\t]*\).*|\1|p' -e 's|^--- a/\([^\t]*\).*|\1|p' | sort -u
}

# Take the last series out of the tree and put this one in. Files that come
# out the same keep their old date, so that make leaves their users alone; the
# others are private copies with a new one (never a link into base).
apply_series() {
	local f src=$dir/src old=$dir/src.old
	rm -rf "$old"
	while read -r f; do
		if [ -e "$src/$f" ]; then
			mkdir -p "$old/$(dirname "$f")"
			mv "$src/$f" "$old/$f"
		fi
		if [ -e "$base/$f" ]; then
			cp "$base/$f" "$src/$f"
		fi
	done < <({ cat "$dir/touched"; patch_files | touched; } | sort -u)
	patch_files | touched >"$dir/touched"
	while read -r f; do
		patch -d "$src" -p1 -F0 -s --no-backup-if-mismatch <"$f" ||
			die "$f does not apply"
	done < <(patch_files)
	[ -d "$old" ] || return 0
	while read -r f; do
		if cmp -s "$old/$f" "$src/$f"; then
			touch -r "$old/$f" "$src/$f"
		fi
	done < <(cd "$old" && find . -type f)
	rm -rf "$old"
}

prepare_source() {
	if [ "$series" = - ]; then
		[ -L "$dir/src" ] || { rm -rf "$dir/src"; ln -s "../${base##*/}" "$dir/src"; }
		return
	fi
	if [ -L "$dir/src" ] || [ ! -e "$dir/touched" ] ||
		[ "$(cat "$dir/base" 2>/dev/null || echo "$base")" != "$base" ]; then
		rm -rf "$dir/src" "$dir/src.part"
		progress copy "$dir/copy.log" cp -al "$base" "$dir/src.part"
		mv "$dir/src.part" "$dir/src"
		: >"$dir/touched"
		echo "$base" >"$dir/base"
	fi
	apply_series
}

kmake() { make -C "$dir/src" O="$dir/obj" -j"$jobs" "$@"; }

configure() {
	kmake tinyconfig
	(cd "$dir/obj" && "$dir/src/scripts/kconfig/merge_config.sh" -m .config "${fragments[@]}")
	kmake olddefconfig
}

# A requested option that did not survive (a missing dependency) is an error. Of an option that
# several fragments name the last one counts.
check_config() {
	local line bad=0
	while read -r line; do
		grep -qxF -- "$line" "$dir/obj/.config" && continue
		[[ $line == '# '* ]] && ! grep -q "^$(cut -d' ' -f2 <<<"$line")=" "$dir/obj/.config" && continue
		echo "kernel $name: not in the configuration: $line" >&2
		bad=1
	done < <(sed -nE 's/^(# )?(CONFIG_[A-Z0-9_a-z]+)(=.*| is not set)$/\2 &/p' "${fragments[@]}" |
		awk '{ name = $1; sub(/^[^ ]* /, ""); last[name] = $0 } END { for (n in last) print last[n] }')
	[ $bad = 0 ] || die "correct $(printf '%s ' "${fragments[@]}")"
}

exec 8>"$dir/.lock"
until flock -w 8 8; do
	printf '  %-8s %s\n' KERNEL "$name: another make builds it, waiting"
done
for i in "${!fragments[@]}"; do
	fragments[i]=$(realpath "${fragments[i]}")
done
hash=$(input_hash)
if [ "$(cat "$dir/hash" 2>/dev/null)" = "$hash" ]; then
	printf '  %-8s %s\n' KERNEL "$name is current"
	exit 0
fi
rm -f "$dir/hash"
unpack_base
prepare_source
mkdir -p "$dir/obj"
# tinyconfig rewrites .config; kbuild compares values, so that costs nothing.
progress configure "$dir/config.log" configure
check_config
grep -qx CONFIG_MODULES=y "$dir/obj/.config" && targets+=(modules)
progress build "$dir/build.log" kmake bzImage "${targets[@]}"
ln -sf obj/arch/x86/boot/bzImage "$dir/bzImage"
ln -sf obj/.config "$dir/config"
echo "$hash" >"$dir/hash"
