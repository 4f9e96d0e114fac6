#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test promises that all that the documentation names exists: every path of the tree or of the
# kernel series, every link, every file, function() and kernel selftest. A name is a text in
# backticks in README.md, docs/*.md or a folder's README. The test needs nothing but the sources
# (and build/gen for generated functions).
set -u

here=$(cd "$(dirname "$0")" && pwd)
WH_BUILD=${WH_BUILD:-$(cd "$here/../.." && pwd)}
WH_TOP=${WH_TOP:-$(cd "$WH_BUILD/.." && pwd)}
cd "$WH_TOP" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0

SOURCES="bench client-stubs cuda-api examples host hypercall-abi packaging server softgpu tests tools trampoline"

# These may be named: patched kernel files, functions, selftests.
grep -h '^+++ b/' kvm-patches/*.patch | sed 's,^+++ b/,,' | sort -u >"$tmp/kernel"
# shellcheck disable=SC2086
{
	find $SOURCES kvm-patches "$WH_BUILD/gen" -type f ! -name '*.md' ! -path 'tests/docs/*' \
		-print0 2>/dev/null |
		xargs -0 grep -IhoE '\b[A-Za-z_][A-Za-z0-9_]*[ ]?\('
	# Symbols of the trampoline have no parentheses.
	grep -hoE '^[A-Za-z_]\w*:' trampoline/*.asm
} | tr -d ' (:' | sort -u >"$tmp/functions"

names() { grep -o '`[^`]*`' "$1" | tr -d '`' | sort -u; }

# exists: a path is named from the top, from the document's own folder, or as in the kernel.
exists() {
	case $2 in
	*'*'*) compgen -G "$2" >/dev/null || compgen -G "${1%/*}/$2" >/dev/null ;;
	*) [ -e "$2" ] || [ -e "$(dirname "$1")/$2" ] || grep -qxF -e "$2" "$tmp/kernel" ;;
	esac
}

# paths prints words with a slash that begin with a folder of ours or of the kernel, which has a
# `tools/` as well.
paths() {
	names "$1" | grep -E '^[a-zA-Z][A-Za-z0-9_.*/-]*$' | grep / | grep -v '^tools/include' |
		grep -E '^(arch|Documentation|virt|docs|kvm-patches|bench|client-stubs|cuda-api|examples|host|hypercall-abi|server|softgpu|tests|tools|trampoline)/'
}

# files prints names without a folder. They are below the document's own folder, or in the kernel.
# NVIDIA's headers are left out.
files() {
	names "$1" | grep -E '^[A-Za-z0-9_.-]+\.(c|h|\[ch\]|sh|py|asm|inc|mk|api|cu|def|S|config)$' |
		grep -vE '^(cu|nvml|nvjpeg|npp)[A-Za-z]*\.h$|NAME' | sed 's/\.\[ch\]$/.c/'
}

links() { grep -oE '\]\([^)]+\)' "$1" | sed 's/^](//; s/[#)].*//' | grep -v -e '^https\?:' -e '^$' | sort -u; }

functions() { names "$1" | grep -oE '^[A-Za-z_][A-Za-z0-9_]*\(\)$' | tr -d '()'; }

selftests() { names "$1" | grep -E '^wormhole_[a-z_]*_test$'; }

missing_paths() {
	paths "$1" | while read -r p; do
		exists "$1" "$p" || echo "$1: no such path: $p"
	done
}

missing_files() {
	files "$1" | while read -r f; do
		[ -n "$(find "$(dirname "$1")" -name build -prune -o -name "$f" -print)" ] ||
			grep -qE "/${f//./\\.}$" "$tmp/kernel" || echo "$1: no such file: $f"
	done
}

missing_links() {
	links "$1" | while read -r p; do
		[ -e "$(dirname "$1")/$p" ] || echo "$1: no such link: $p"
	done
}

missing_functions() {
	functions "$1" | comm -23 - "$tmp/functions" | sed "s,^,$1: no such function: ,"
}

missing_selftests() {
	selftests "$1" | while read -r t; do
		[ -e "kvm-patches/selftests/x86_64/$t.c" ] || echo "$1: no such selftest: $t"
	done
}

# A line of docs/specification*.md names test files, and points that are in them.
missing_points() {
	grep '^|' "$1" | while read -r line; do
		files=$(grep -oE '`(tests|kvm-patches)/[^`]*(\.(sh|c|py)|/run)`' <<<"$line" | tr -d '`')
		[ -n "$files" ] || continue
		for p in $(sed -E 's,.*/([a-z0-9_]*\.(sh|c|py)|run)`,,' <<<"$line" | grep -oE '`[^`]*`' | tr -d '`'); do
			# shellcheck disable=SC2086
			grep -qF -e "$p" $files || echo "$1: no such point: $p"
		done
	done
}

ok() {
	n=$((n + 1))
	if [ -s "$tmp/log" ]; then
		echo "not ok $n - $1"
		sed 's/^/# /' "$tmp/log"
	else
		echo "ok $n - $1"
	fi
}

# The check itself must be able to fail, and to succeed.
control() {
	{
		echo 'in `server/session/dispatch.c` the `wh_dispatch_slot()` of `wormhole_switch_test`'
		echo '`server/nothing.c` `wh_nothing_such()` `wormhole_nothing_test` `cuda.h` `nothing_here.c`'
		echo '[there](control.md) [not there](nothing.md#there) [elsewhere](https://example.org/)'
		echo '| x | `tests/unit/fuzz_test.c`: `random_requests_do_no_harm`, `no_such_point` |'
	} >"$tmp/control.md"
	{
		missing_paths "$tmp/control.md"
		missing_files "$tmp/control.md"
		missing_links "$tmp/control.md"
		missing_functions "$tmp/control.md"
		missing_selftests "$tmp/control.md"
		missing_points "$tmp/control.md"
	} | sed 's/.*: //' >"$tmp/found"
	printf '%s\n' server/nothing.c nothing_here.c nothing.md wh_nothing_such wormhole_nothing_test no_such_point |
		diff - "$tmp/found" >"$tmp/log"
}

docs=$(ls README.md CONTRIBUTING.md docs/*.md ./*/README.md ./*/*/README.md ./*/*/*/README.md 2>/dev/null | sed 's,^\./,,' | grep -v '^build/')
echo "TAP version 13"
echo "1..7"
control
ok "names_that_do_not_exist_are_found"
for what in paths files links functions selftests points; do
	for d in $docs; do
		"missing_$what" "$d"
	done >"$tmp/log"
	ok "named_${what}_exist"
done
