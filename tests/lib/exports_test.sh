#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a stub library exports what its header declares and the genuine library
# exports, under the genuine version. It says which genuine library it compares with.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
genuine=${CUDA_LIB:-/usr/local/cuda/lib64}

# "name version" of each export; Base is the version of those that have none.
exports() { objdump -T "$1" | awk '$4 != "*UND*" && $4 != "*ABS*" && NF == 7 { gsub("[()]", "", $6); print $7, $6 }' | sort; }

# declared NAME [SONAME] prints the functions of a description, without those that are in no
# library; or those of the library of an older major, which has that soname. With parts, a folder
# takes a file of each.
declared() {
	"$PYTHON" -B -c '
import sys
sys.path.insert(0, sys.argv[1] + "/cuda-api")
import describe
d = describe.Describer(f"{sys.argv[1]}/cuda-api/{sys.argv[2]}.api")
api = d.api()
base = "Base"
of_none_today = {n for o in d.profile.olders for n in o.gone}
names = [n for n, c in api.calls.items() if c.func and c.verb != "absent" and n not in of_none_today]
names += d.profile.exports
older = sys.argv[3:]
if d.profile.parts:
    import table
    for soname in sorted(set(d.profile.parts.values())):
        with open(f"{sys.argv[3]}/{soname}.want", "w") as f:
            f.writelines(f"{n} {soname}\n" for n in sorted(table.exported(d, api, soname)))
    sys.exit()
if older:
    old = next(o for o in d.profile.olders if o.soname == older[0])
    names = [n for n in names if not old.lacks(n)] + old.gone
print("\n".join(f"{n} {d.profile.node(n, *older) or base}" for n in names))
' "$WH_TOP" "$@" | sort
}

# The exports of a description that a later version than the genuine one here may have.
later() { sed -n 's/^later  *\([^ ]*\)$/\1 Base/p' "$WH_TOP/cuda-api/$1.api"; }

check() { # name, soname, the same if it is that of an older major
	lib=$WH_BUILD/client-stubs/$2
	if grep -q '^part ' "$WH_TOP/cuda-api/$1.api"; then
		# To read that description takes seconds: once for all of its libraries.
		[ -e "$tmp/$2.want" ] || declared "$1" "$tmp"
		sort "$tmp/$2.want" >"$tmp/want"
	else
		declared "$1" ${3:-} >"$tmp/want"
	fi
	exports "$lib" >"$tmp/have"
	[ -s "$tmp/want" ] && diff "$tmp/want" "$tmp/have" >"$tmp/diff"
	point "$2_exports_what_is_declared_under_the_genuine_version" || sed 's/^/# /' "$tmp/diff" | head
	objdump -p "$lib" | grep -q "SONAME *$2\$"
	point "$2_has_the_genuine_soname"
	objdump -T "$lib" | grep -q 'WORMHOLE_PRIVATE_4.* wh_library_begin'
	point "$2_needs_our_libcuda"
	if [ -e "$genuine/$2" ]; then
		exports "$genuine/$2" >"$tmp/genuine"
		[ -s "$tmp/genuine" ] && later "$1" >>"$tmp/genuine" && ! grep -vxFf "$tmp/genuine" "$tmp/have" >"$tmp/diff"
		point "$2_exports_nothing_that_the_genuine_one_does_not" || sed 's/^/# /' "$tmp/diff" | head
	else
		n=$((n + 1))
		echo "ok $n - $2_exports_nothing_that_the_genuine_one_does_not # SKIP no $genuine/$2"
	fi
}

parts() { sed -n 's/^part  *\([^ ]*\).*/\1/p' "$WH_TOP/cuda-api/$1.api" | sort -u | grep -vx "$2"; }

echo "TAP version 13"
n_parts=$(libraries | while read -r name _ soname _; do parts "$name" "$soname"; done | wc -l)
echo "1..$((($(libraries | awk '{ n += NF - 3 } END { print n }') + n_parts) * 4))"
while read -r name _ soname _ olders; do
	check "$name" "$soname"
	for part in $(parts "$name" "$soname"); do check "$name" "$part" "$part"; done
	for older in $olders; do check "$name" "$older" "$older"; done
done <<-END
	$(libraries)
END
