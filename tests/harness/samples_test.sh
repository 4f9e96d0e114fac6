#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises how tests/gpu/samples.py compares: what differs natively from run to run may
# differ, everything else must not. It finds a program that differs in its status, a line or a
# file. Here "forwarded" is only a variable.
: "${WH_TOP:=@TOP@}"
. "$WH_TOP/tests/tap.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# program NAME TEXT makes a script; $ours tells it that it is forwarded.
program() {
	mkdir -p "$dir/all/$1"
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/all/$1/$1"
	chmod +x "$dir/all/$1/$1"
}
samples() { python3 -B "$WH_TOP/tests/gpu/samples.py" "$@"; }
verdict() { sed -n "s/^$1	//p" "$dir/said"; }

program equal 'echo "$1 in $(date +%N) ms, at 0x$(date +%N)"; echo 1 >out.txt'
printf 'first\nsecond\n' >"$dir/all/equal/args"
cp "$dir/all/equal/equal" "$dir/all/equal/equal-static"
program chance 'echo "value $(od -An -N8 -tu8 /dev/urandom) is fine"; od -N8 /dev/urandom >out.bin'
program word 'echo "value $(od -An -N8 -tu8 /dev/urandom) is ${ours:-fine}"'
program line 'echo a; [ -n "$ours" ] || echo b'
program more 'echo a; [ -z "$ours" ] || echo b'
program file '[ -n "$ours" ] || echo a >out.txt'
program contents 'echo "x$ours" >out.txt'
program status '[ -z "$ours" ] || exit 4'
program busy "if [ -n \"\$ours\" ] && mkdir '$dir/first' 2>/dev/null; then echo busy; else echo quiet; fi"
program fails 'echo no device; exit 3'

plan 15
is each_program_and_argument_line_is_a_name "$(samples names "$dir/all" | grep equal | tr '\n' ' ')" \
	"equal equal_2 equal-static "
is words_choose "$(WH_WORDS="fil fails" samples names "$dir/all" | tr '\n' ' ')" "fails file "
WH_JOBS=2 samples run "$dir/all" "$dir/work" env ours=wrong >"$dir/said"
is each_has_a_verdict "$(wc -l <"$dir/said")" "$(samples names "$dir/all" | wc -l)"
is times_and_addresses_do_not_count "$(verdict equal)" "same	1 native"
like what_native_runs_say_differently_may_differ "$(verdict chance)" '^same	[23] native'
like a_word_beside_it_may_not "$(verdict word)" '^differs.* is wrong", natively'
is a_line_that_lacks_is_found "$(verdict line)" 'differs	"the end", natively "b"'
is so_is_one_too_many "$(verdict more)" 'differs	"b", natively the end'
is a_file_that_is_not_written_is_found "$(verdict file)" 'differs	out.txt is not written'
is so_are_other_contents "$(verdict contents)" 'differs	out.txt has other contents'
is so_is_another_status "$(verdict status)" 'differs	status 4:'
is what_differs_among_others_is_compared_alone "$(verdict busy)" "same	1 native"
is what_fails_natively_says_so "$(verdict fails)" 'native	status 3: no device'
is data_are_left_as_they_were "$(find "$dir/all" -name 'out.*')" ""

# One thread writes a file in order to execute it, while another thread's child may still have it
# open for writing. This must not fail.
n=0
while [ $n -lt 60 ]; do
	n=$((n + 1))
	mkdir -p "$dir/many/small$n"
	cp "$dir/all/contents/contents" "$dir/many/small$n/small$n"
done
for n in 1 2 3; do
	WH_JOBS=4 samples run "$dir/many" "$dir/work" env >>"$dir/started"
done
is many_are_copied_while_others_start "$(grep -c '	same	' "$dir/started")" 180
finish
