#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A server with several folders of libraries: it says what is in them, a client gets the
# newest of a library or the one that it wishes for, and is told where that is not there.
. "$(dirname "$0")/lib.sh"
unset WORMHOLE_CUDNN
old=$bin/versions/14 new=$bin/versions/19
wormhole=$WH_BUILD/host/wormhole

got() { # the version that a client with these variables sees
	env "$@" timeout 30 "$bin/version" 2>"$tmp/err"
}
says() { grep -q "$1" "$2" || { sed 's/^/# /' "$2"; false; }; }

echo "TAP version 13"
echo "1..13"

start_server --lib-path "$old:$tmp/nothing:$new"
says "info: cudnn 9.19.2 is $new/libcudnn.so.9\$" "$tmp/server.err"
point "server_says_the_newest_version"
says "info: cudnn 9.14.2 is $old/libcudnn.so.9, for clients that wish for it" "$tmp/server.err"
point "and_the_others"
"$wormhole" stat --dir "$tmp" --json | tr -d ' \n\t' | grep -q '"libraries":{"cudnn":\["9.19.2","9.14.2"\]}'
point "stat_shows_them"
"$wormhole" stat --dir "$tmp" | grep -q '^libraries: cudnn 9.19.2 9.14.2$'
point "in_a_line_too"
[ "$(got A=)" = 91902 ] && [ ! -s "$tmp/err" ]
point "client_gets_the_newest"
[ "$(got WORMHOLE_CUDNN_VERSION=9.14)" = 91402 ] && [ ! -s "$tmp/err" ]
point "client_that_wishes_for_another_gets_that"
[ "$(got WORMHOLE_CUDNN_VERSION=9.14.2)" = 91402 ]
point "by_its_patch_too"
[ "$(got WORMHOLE_CUDNN_VERSION=9.16)" = 91902 ] && [ ! -s "$tmp/err" ]
point "version_that_is_not_there_is_a_newer_one"
[ "$(got WORMHOLE_CUDNN_VERSION=9.20)" = 91902 ] &&
	says 'libcudnn.so.9 9.20 was wished; the newest that the server has is 9.19.2' "$tmp/err"
point "client_that_asks_for_more_is_told_both"
[ "$(got WORMHOLE_CUDNN_VERSION=new)" = 91902 ] && says 'WORMHOLE_CUDNN_VERSION=new is no version' "$tmp/err"
point "what_is_no_version_is_said"
stop_server

# What crashes when it is asked stays out of it, and the next one is served.
FAKE_CRASH=1 && export FAKE_CRASH
start_server --lib-path "$old:$new"
! grep -q 'info: cudnn' "$tmp/server.err" && [ "$(got A=)" = 91402 ]
point "library_that_crashes_when_asked_is_taken_by_its_folder"
unset FAKE_CRASH
stop_server

WORMHOLE_CUDNN=$old/libcudnn.so.9 && export WORMHOLE_CUDNN
start_server --lib-path "$new"
[ "$(got A=)" = 91402 ]
point "file_that_the_administrator_names_counts_before_all"
stop_server

unset WORMHOLE_CUDNN
mkdir "$tmp/serve"
"$wormhole" serve --backend "$WH_BACKEND" --dir "$tmp/serve" --nvml none --libraries "$old" --libraries "$new" \
	--daemon >/dev/null 2>"$tmp/err" &&
	[ "$(got WORMHOLE_SOCKET="$tmp/serve/server.sock")" = 91902 ]
point "serve_takes_several_folders"
"$wormhole" stop --dir "$tmp/serve"
