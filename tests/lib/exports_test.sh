#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a stub library exports what its header declares and the genuine library
# exports, under the genuine version. It says which genuine library it compares with.
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-/usr/bin/python3}
genuine=${CUDA_LIB:-/usr/local/cuda/lib64}

# "name version" of each export; Base is the version of those that have none.
exports() { objdump -T "$1" | awk '$4 != "*UND*" && $4 != "*ABS*" && NF == 7 { gsub("[()]", "", $6); print $7, $6 }' | sort; }

# declared NAME writes SONAME.want for each library that has functions of a description, today's,
# its parts and those of older majors, without functions that are in no library. To read a
# description takes seconds.
declared() {
	"$PYTHON" -B -c '
import sys
sys.path.insert(0, sys.argv[1] + "/cuda-api")
import describe
import table
d = describe.Describer(f"{sys.argv[1]}/cuda-api/{sys.argv[2]}.api")
api = d.api()
def write(soname, lines):
    with open(f"{sys.argv[3]}/{soname}.want", "w") as f:
        f.writelines(f"{n} {version}\n" for n, version in sorted(lines))
for soname in set((d.profile.parts or {}).values()):
    write(soname, [(n, soname) for n in table.exported(d, api, soname)])
if d.profile.parts:
    sys.exit()
of_none_today = {n for o in d.profile.olders for n in o.gone}
names = [n for n, c in api.calls.items() if c.func and c.verb != "absent" and n not in of_none_today]
names += d.profile.exports
write(sys.argv[4], [(n, d.profile.node(n) or "Base") for n in names])
for old in d.profile.olders:
    write(old.soname, [(n, d.profile.node(n, old.soname) or "Base")
                       for n in [n for n in names if not old.lacks(n)] + old.gone])
' "$WH_TOP" "$1" "$tmp" "$2"
}

# The exports of a description that a later version than the genuine one here may have.
later() { sed -n 's/^later  *\([^ ]*\)$/\1 Base/p' "$WH_TOP/cuda-api/$1.api"; }

check() { # name, soname
	lib=$WH_BUILD/client-stubs/$2
	sort "$tmp/$2.want" >"$tmp/want"
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
		skip "$2_exports_nothing_that_the_genuine_one_does_not" "no $genuine/$2"
	fi
}

parts() { sed -n 's/^part  *\([^ ]*\).*/\1/p' "$WH_TOP/cuda-api/$1.api" | sort -u | grep -vx "$2"; }

echo "TAP version 13"
n_parts=$(libraries | while read -r name _ soname _; do parts "$name" "$soname"; done | wc -l)
echo "1..$((($(libraries | awk '{ n += NF - 3 } END { print n }') + n_parts) * 4))"
while read -r name _ soname _ olders; do
	declared "$name" "$soname"
	for library in "$soname" $(parts "$name" "$soname") $olders; do check "$name" "$library"; done
done <<-END
	$(libraries)
END
