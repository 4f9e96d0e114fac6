#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a stub library exports what its header declares and the genuine library
# exports, under the genuine version. It says which genuine library it compares with.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
genuine=${CUDA_LIB:-/usr/local/cuda/lib64}

# exports FILE VERSION prints "name version" of each export of that version.
exports() { objdump -T "$1" | awk '$4 != "*UND*" && $6 != "" && NF == 7 { gsub("[()]", "", $6); print $7, $6 }' |
	grep " $2\$" | sort; }

# declared NAME VERSION prints the functions of a description, without those that are in no
# library.
declared() {
	"$PYTHON" -B -c '
import sys
sys.path.insert(0, sys.argv[1] + "/cuda-api")
import describe
d = describe.Describer(f"{sys.argv[1]}/cuda-api/{sys.argv[2]}.api")
api = d.api()
names = [n for n, c in api.calls.items() if c.func and c.verb != "absent"] + d.profile.exports
print("\n".join(f"{n} {sys.argv[3]}" for n in names))
' "$WH_TOP" "$1" "$2" | sort
}

check() { # name, soname, version of its exports
	lib=$WH_BUILD/client-stubs/$2
	version=$3
	declared "$1" "$version" >"$tmp/want"
	exports "$lib" "$version" | grep -v "^$2 " >"$tmp/have"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/have" >"$tmp/diff"
	point "$2_exports_what_is_declared_under_the_genuine_version" || sed 's/^/# /' "$tmp/diff" | head
	objdump -p "$lib" | grep -q "SONAME *$2\$"
	point "$2_has_the_genuine_soname"
	objdump -T "$lib" | grep -q 'WORMHOLE_PRIVATE_3.* wh_library_begin'
	point "$2_needs_our_libcuda"
	if [ -e "$genuine/$2" ]; then
		exports "$genuine/$2" "$version" >"$tmp/genuine"
		[ -s "$tmp/genuine" ] && ! grep -vxFf "$tmp/genuine" "$tmp/have" >"$tmp/diff"
		point "$2_exports_nothing_that_the_genuine_one_does_not" || sed 's/^/# /' "$tmp/diff" | head
	else
		n=$((n + 1))
		echo "ok $n - $2_exports_nothing_that_the_genuine_one_does_not # SKIP no $genuine/$2"
	fi
}

echo "TAP version 13"
echo "1..$(($(libraries | wc -l) * 4))"
while read -r name _ soname version_of _; do
	check "$name" "$soname" "$version_of"
done <<-END
	$(libraries)
END
