# SPDX-License-Identifier: Apache-2.0
# Tests that compare records of answers_main.c source this file.

# section NAME FILE prints one section of a record.
section() {
	awk -v want="[$1]" '/^\[/ { on = ($0 == want); next } on' "$2"
}

# differences NAME FROM TO KNOWN prints what of the section is neither equal in both records nor
# listed in KNOWN. $answers_dir is a folder for it.
differences() {
	section "$1" "$2" >"$answers_dir/from"
	section "$1" "$3" >"$answers_dir/to"
	section "$1" "$4" | grep '^[<>]' >"$answers_dir/known"
	diff "$answers_dir/from" "$answers_dir/to" | grep '^[<>]' | diff "$answers_dir/known" -
}
