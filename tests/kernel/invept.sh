#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shows which test notices when one invalidation of the series is missing.
#
#   invept.sh [NAME...]         (make invept-table; about a minute for each)
#
# Each line of the patched source that ends in the comment "flush: NAME" is replaced by an empty
# statement, one at a time, in a kernel tree of its own (build/kernel/invept). Then the kernel
# tests run, on one processor and, if all pass there, on two. The table goes into
# docs/security.md, between its marks (not if NAMEs were given). What ran already with the same
# sources, tests and Bochs does not run again: results are kept in build/invept/. INVEPT_CPUS
# names numbers of processors, instead of "1 2". The exit status is 0 if each removal fails a
# test, 1 if one passes all, 2 for errors.
set -eu -o pipefail

top=${WH_TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${WH_BUILD:-$top/build}
out=$build/invept
tree=$build/kernel/invept
vmx=arch/x86/kvm/vmx
page=$top/docs/security.md
export WH_TOP=$top WH_BUILD=$build
# A calling make's variables are not for the kernel's make.
unset MAKEFLAGS MFLAGS MAKELEVEL
mark='/\* flush: [a-z0-9_-]* \*/$'

say() { printf '  %-8s %s\n' INVEPT "$*"; }
die() { printf 'error: %s\n' "$@" >&2; exit 2; }

# restore brings back the tree as the series has it, with new dates, because make must see the
# change.
restore() {
	[ -d "$tree/pristine" ] || return 0
	local f
	for f in "$tree"/pristine/*; do
		cmp -s "$f" "$tree/src/$vmx/${f##*/}" || cp "$f" "$tree/src/$vmx/"
	done
}

prepare() {
	restore
	make -s -C "$top/kvm-patches" O="$build" series-6.12 || die "there is no series for 6.12"
	O=$build "$top/kvm-patches/build-kernel.sh" invept "$top/tests/bochs/host.config" \
		"$build/series-6.12/series" || die "the kernel does not build"
	rm -rf "$tree/pristine"
	mkdir -p "$tree/pristine"
	cp "$tree/src/$vmx"/wormhole*.[ch] "$tree/pristine/"
	[ -x "$build/bochs-3.0/bochs" ] && [ -e "$build/bochs/host.cpio" ] || die "no bed: make images"
	ls "$build"/selftests/wormhole_*_test >/dev/null 2>&1 || die "no tests: make -C tests/kernel"
}

# points prints "FILE LINE NAME" of each marked line.
points() {
	(cd "$tree/pristine" && grep -Hno "$mark" wormhole*.c || true) |
		sed -n 's|^\([^:]*\):\([0-9]*\):/\* flush: \(.*\) \*/$|\1 \2 \3|p'
}

inputs() {
	{ cat "$tree"/pristine/* "$build"/selftests/wormhole_*_test "$tree/config"
	  echo "${INVEPT_CPUS:-}"
	  cat "$build/bochs-3.0/hash" "$build/bochs/host.cpio" "$build"/series-6.12/*.patch
	} | sha256sum | cut -c1-16
}

# remove FILE LINE removes the statement; its indentation and the marker stay.
remove() { sed -i "$2s|^\([[:space:]]*\).*\(/\* flush: .*\)|\1;\2|" "$tree/src/$vmx/$1"; }

kernel() { # LOG
	make -C "$tree/src" O="$tree/obj" -j"${JOBS:-$(nproc)}" bzImage >"$1" 2>&1 ||
		{ tail -n 20 "$1" >&2; die "the kernel does not build, see $1"; }
}

# boot NAME CPUS prints the names of the points that fail, one in a line.
boot() {
	local log=$out/$key/$1.$2.log
	mkdir -p "$out/$key"
	WH_CPUS=$2 WH_OUT=$out/boot TAP_TIMEOUT=60 "$top/tests/kernel/selftests.sh" \
		--timeout 400 --kernel "$tree/obj/arch/x86/boot/bzImage" >"$log" 2>/dev/null || true
	grep -q '^1\.\.' "$log" || die "the tests did not run, see $log"
	sed -n 's/^not ok [0-9]* - //p' "$log"
}

# cell CPUS prints what a removal broke (points on standard input), as one cell of the table.
cell() { # CPUS
	local points n
	points=$(cat)
	[ -n "$points" ] || return 0
	n=$(($(wc -l <<<"$points") - 1))
	printf '`%s`' "$(head -n1 <<<"$points" | sed 's|^wormhole_||; s|_test/|: |')"
	[ $n = 0 ] || printf ' and %d more points' $n
	[ "$1" = 1 ] || printf ' (two processors)'
}

# run NAME [FILE LINE] puts the result into $out/$key/NAME.
run() {
	local name=$1 cpus result=
	restore
	[ $# = 1 ] || remove "$2" "$3"
	say "$name: build"
	mkdir -p "$out/$key"
	kernel "$out/$key/$name.build"
	for cpus in ${INVEPT_CPUS:-1 2}; do
		say "$name: kernel tests, $cpus processor(s)"
		result=$(boot "$name" "$cpus" | cell "$cpus")
		[ -z "$result" ] || break
	done
	echo "$result" >"$out/$key/$name"
}

# write_page writes the table between its marks.
write_page() {
	grep -q '^<!-- invept: begin' "$page" && grep -q '^<!-- invept: end' "$page" ||
		die "$page has no lines '<!-- invept: begin' and '<!-- invept: end'"
	awk -v table="$1" '
		/^<!-- invept: end/ { inside = 0 }
		!inside { print }
		/^<!-- invept: begin/ {
			inside = 1
			while ((getline line < table) > 0) print line
		}' "$page" >"$page.new"
	mv "$page.new" "$page"
}

mkdir -p "$out"
exec 8>"$out/.lock"
flock -n 8 || die "another one runs in $out"
prepare
trap restore EXIT
list=$(points)
[ -n "$list" ] || die "no line of the series is marked: '/* flush: NAME */' at its end"
twice=$(cut -d' ' -f3 <<<"$list" | sort | uniq -d)
[ -z "$twice" ] || die "marked twice: $twice"
for name in "$@"; do
	grep -q " $name\$" <<<"$list" || die "no line is marked '$name'; there are:" "$(cut -d' ' -f3 <<<"$list")"
done
key=$(inputs)

[ -e "$out/$key/nothing-removed" ] || run nothing-removed
broken=$(cat "$out/$key/nothing-removed")
[ -z "$broken" ] || { rm "$out/$key/nothing-removed"; die "tests fail with nothing removed: $broken"; }

total=$(wc -l <<<"$list") n=0 passed=0
{
	echo '| invalidation removed | in | test that fails |'
	echo '|---|---|---|'
} >"$out/table"
while read -r file line name <&3; do
	n=$((n + 1))
	if [ $# -gt 0 ]; then
		case " $* " in *" $name "*) ;; *) continue ;; esac
	fi
	[ -e "$out/$key/$name" ] || run "$name" "$file" "$line"
	result=$(cat "$out/$key/$name")
	say "$n of $total, $name: ${result:-NO TEST FAILS}"
	[ -n "$result" ] || passed=$((passed + 1))
	echo "| $name | \`${file%.c}\` | ${result:-**none**} |" >>"$out/table"
done 3<<<"$list"
[ $# -gt 0 ] || write_page "$out/table"
[ $passed = 0 ] || { echo "error: $passed removals pass every test" >&2; exit 1; }
