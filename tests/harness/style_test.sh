#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that tools/style.sh finds nothing, but for lines of the files named here,
# whose number only goes down. It also promises that the script finds a document that says what is
# missing, an include that goes up, a circle of four files, and a header with code that one file
# includes.
: "${WH_TOP:=@TOP@}"
. "$WH_TOP/tests/tap.sh"
known='^style: more than 100 columns: (softgpu/driver/(texobj|vmm)\.c|tests/limits/(share|softgpu)_test\.c):'

git -C "$WH_TOP" rev-parse >/dev/null 2>&1 ||
	skip_all "no git repository: which files are sources is not known"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# claim TEXT prints what the script says of a tree with that text in a document, and in
# docs/status.md.
claim() {
	mkdir -p "$tmp/tools" "$tmp/docs"
	cp "$WH_TOP/tools/style.sh" "$tmp/tools/"
	printf '<!-- SPDX-License-Identifier: Apache-2.0 -->\n# X\n\n%s\n' "$1" |
		tee "$tmp/docs/status.md" >"$tmp/docs/x.md"
	git -C "$tmp" init -q
	git -C "$tmp" add .
	"$tmp/tools/style.sh" 2>/dev/null | grep -o 'docs/.*'
}

# include FROM WHAT prints what the script says of a tree in which a file includes a header.
include() {
	rm -rf "$tmp"/.git "$tmp"/*
	mkdir -p "$tmp/tools" "$tmp/$(dirname "$1")"
	cp "$WH_TOP/tools/style.sh" "$tmp/tools/"
	printf '// SPDX-License-Identifier: Apache-2.0\n#include "%s"\n' "$2" >"$tmp/$1"
	git -C "$tmp" init -q
	git -C "$tmp" add .
	"$tmp/tools/style.sh" 2>/dev/null | sed -n 's/^style: \(.*\): [a-z/-]*\.c:2: *#include .*/\1/p'
}

# circle FILE... prints what the script says of a tree in which each header includes the next one,
# and the last one the first.
circle() {
	rm -rf "$tmp"/.git "$tmp"/*
	mkdir -p "$tmp/tools" "$tmp/host"
	cp "$WH_TOP/tools/style.sh" "$WH_TOP/tools/circles.py" "$tmp/tools/"
	for last in "$@"; do :; done
	for name in "$@"; do
		printf '/* SPDX-License-Identifier: Apache-2.0 */\n#include "%s.h"\n' "$last" >"$tmp/host/$name.h"
		last=$name
	done
	# A source belongs to its header.
	printf '// SPDX-License-Identifier: Apache-2.0\n#include "%s.h"\n' "$1" >"$tmp/host/$1.c"
	git -C "$tmp" init -q
	git -C "$tmp" add .
	"$tmp/tools/style.sh" 2>/dev/null | sed -n 's/^style: a circle of includes: //p'
}

# header INCLUDERS prints what the script says of a tree in which so many files include a header
# with a long function.
header() {
	rm -rf "$tmp"/.git "$tmp"/*
	mkdir -p "$tmp/tools" "$tmp/host"
	cp "$WH_TOP/tools/style.sh" "$tmp/tools/"
	printf '/* SPDX-License-Identifier: Apache-2.0 */\nint f(int n)\n{\n%s}\n' "$(printf '\tn++;\n%.0s' 1 2 3 4 5 6)
" >"$tmp/host/x.h"
	for i in $(seq "$1"); do
		printf '// SPDX-License-Identifier: Apache-2.0\n#include "x.h"\n' >"$tmp/host/$i.c"
	done
	git -C "$tmp" init -q
	git -C "$tmp" add .
	"$tmp/tools/style.sh" 2>/dev/null | sed -n 's/^style: a header with code that one file includes: //p'
}

plan 13
is sources_keep_the_style "$("$WH_TOP/tools/style.sh" | grep -vE "$known|^style: [0-9]+ finds$")" ""
is heading_of_what_is_missing_is_found "$(claim '## Not built yet')" \
	"docs/status.md alone does: docs/x.md:4:## Not built yet"
is claim_of_missing_limits_is_found "$(claim 'Limits are not enforced yet.')" \
	"docs/status.md alone does: docs/x.md:4:Limits are not enforced yet."
is limits_that_there_are_may_be_told "$(claim 'Limits hold for each tenant.')" ""
is include_that_goes_up_is_found "$(include server/limits/x.c session/handler.h)" "an include that goes up or out"
is include_of_a_neighbour_is_found "$(include server/vm/x.c daemon/server.h)" "an include that goes up or out"
is include_that_goes_down_is_none "$(include server/session/x.c limits/charge.h)" ""
is server_that_a_client_library_includes_is_found "$(include client-stubs/cuda/x.c session/session.h)" \
	"sees the other end of a window"
is client_library_that_the_server_includes_is_found "$(include server/daemon/x.c cuda/client.h)" \
	"sees the other end of a window"
is circle_of_four_files_is_found "$(circle a b c d)" "4 files: host/a host/b host/c host/d"
is circle_of_three_files_is_none "$(circle a b c)" ""
is header_with_code_for_one_file_is_found "$(header 1)" "host/x.h, by host/1.c"
is header_with_code_for_two_files_is_none "$(header 2)" ""
finish
