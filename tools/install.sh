#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh put DESTDIR PREFIX FOLDER: copies what is in FOLDER to DESTDIR/PREFIX, and writes
# there, into lib/wormhole/installed, what it put and which folders it made.
# install.sh remove DESTDIR PREFIX: takes away what that list names. A folder that was there
# before stays, and so does one with files of others.
set -eu
export LC_ALL=C

what=$1 dest=$2 prefix=${3%/} from=${4:-}
case ${prefix:-/} in
/*) ;;
*) echo "error: PREFIX='$prefix' is no absolute path: say it as /usr/local" >&2; exit 2 ;;
esac
name=$prefix/lib/wormhole/installed
list=$dest$name
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Folders that are missing, the upper ones first.
missing_folders() {
	{
		folder=$prefix
		while [ -n "$folder" ]; do
			echo "$folder"
			folder=${folder%/*}
		done
		find "$from" -mindepth 1 -type d -printf "$prefix/%P\n"
	} | sort | while read -r folder; do
		[ -d "$dest$folder" ] || echo "$folder/"
	done
}

# The list is there before the first file is, so that an installation that was broken off can be
# taken away. What an earlier one put stays in it.
put() {
	missing_folders >"$tmp/folders"
	while read -r folder; do install -d -m 755 "$dest$folder"; done <"$tmp/folders"
	{
		cat "$tmp/folders"
		find "$from" -mindepth 1 ! -type d -printf "$prefix/%P\n"
		echo "$name"
		[ ! -f "$list" ] || cat "$list"
	} | sort -u >"$tmp/list"
	install -m 644 "$tmp/list" "$list"
	# A program that runs is replaced, not written into.
	cp -dR --preserve=mode,timestamps --remove-destination "$from/." "$dest$prefix/"
}

remove() {
	[ -f "$list" ] || {
		echo "error: $list: not there, so nothing is known of an installation in this PREFIX" >&2
		echo "error: say the DESTDIR and PREFIX of \`make install', or run it again first" >&2
		exit 1
	}
	cp "$list" "$tmp/list"
	grep -v '/$' "$tmp/list" | while read -r file; do rm -f "$dest$file"; done
	grep '/$' "$tmp/list" | sort -r | while read -r folder; do
		[ ! -d "$dest$folder" ] || rmdir --ignore-fail-on-non-empty "$dest$folder"
	done
}

case $what in
put | remove) "$what" ;;
*) echo "error: '$what' is none of put, remove" >&2; exit 2 ;;
esac
