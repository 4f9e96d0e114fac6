#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that bytes which cross between host and device are counted once, whatever the
# copy.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
client=$WH_BUILD/tests/tenant/bin/copies

# counts POINT WAY UP DOWN runs copies.c and compares the bytes that were counted.
counts() {
	start "$2" --tenant "$2" --mem none -- "$2"
	is "$1" "$(field "$2" "t['bytes_to_device'], t['bytes_from_device']") $(grep -v '^ready$' "$tmp/$2.out")" \
		"($3, $4) "
	finish_client "$2"
	fd=3
}

plan 7
serve
counts copies_within_the_message_are_counted tiny 128 0
counts copies_between_unified_addresses_are_counted unified 4096 1000
counts copies_of_rows_are_counted flat $((32 * 5 + 16 * 3)) $((24 * 7))
counts copies_of_boxes_are_counted box $((8 * 4 * 3)) $((8 * 2 * 5 + 8 * 2 * 2))
counts copies_of_arrays_are_counted arrays $((64 + 16 * 4)) $((16 * 2))
counts batches_are_counted batch 5000 $((8 * 2 * 2))
counts what_does_not_cross_is_not none 0 0
finish
