#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Libraries named one by one, each in a folder of its own that no rule allows for another reason:
# a worker in its sandbox loads each.
. "$(dirname "$0")/lib.sh"

# A program of the library, with its double in the one folder.
run() { # NAME
	case $1 in
	cublaslt) program=cublaslt_posted ;;
	*) program=$1 ;;
	esac
	: >"$FAKE_LOG"
	timeout 60 "$bin/$program" >"$tmp/out" 2>&1
}

mine=$(libraries | while read -r l _; do [ ! -e "$bin/fake_$l.so" ] || echo "$l"; done)
plan $(($(echo "$mine" | wc -l) + 1))

[ "$(echo "$mine" | wc -l)" = "$(libraries | wc -l)" ]
point "each_library_has_a_double"
while read -r l variable soname _; do
	mkdir "$tmp/$l" && cp "$bin/fake_$l.so" "$tmp/$l/$soname"
	export "WORMHOLE_$variable=$tmp/$l/$soname"
done <<-END
	$(libraries)
END
start_server
for l in $mine; do
	run "$l" && ! grep -q '^not ok' "$tmp/out"
	point "${l}_in_a_folder_of_its_own_is_loaded" ||
		cut -c1-200 "$tmp/out" "$tmp/server.err" | sed -n '/^ok/!s/^/# /p' | head -n 20
done
