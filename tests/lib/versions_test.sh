#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what a server with several folders of libraries does. It says what is in them.
# A client gets the version that its program has, the one that its user wishes for, or the newest,
# and is told where that does not exist.
. "$(dirname "$0")/lib.sh"
unset WORMHOLE_CUDNN WORMHOLE_CUBLASLT
old=$bin/versions/14 new=$bin/versions/19
wormhole=$WH_BUILD/host/wormhole

got() { # the version that a client with these variables sees
	env "$@" timeout 30 "$bin/version" 2>"$tmp/err"
}
# own COMMAND... does the same with a library of the program's own, which the loader replaces by
# ours. The files are such that nobody could load them.
own() {
	LD_AUDIT=$WH_BUILD/client-stubs/libwormhole-audit.so timeout 30 "$@" 2>"$tmp/err"
}
# library FOLDER VERSION makes a library as toolkits have it, behind a link.
library() { mkdir -p "$1" && : >"$1/libcudnn.so.$2" && ln -sf "libcudnn.so.$2" "$1/libcudnn.so.9"; }
# wheel FOLDER NAME-VERSION [FILE] makes a Python package that has the file.
wheel() {
	mkdir -p "$1/nvidia/cudnn/lib" "$1/$2.dist-info"
	: >"$1/nvidia/cudnn/lib/libcudnn.so.9"
	echo "${3:-nvidia/cudnn/lib/libcudnn.so.9},sha256=x,1" >"$1/$2.dist-info/RECORD"
}
says() { grep -q "$1" "$2" || { sed 's/^/# /' "$2"; false; }; }

plan 30

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
	says 'libcudnn.so.9: 9.20 was wished; the newest that the server has is 9.19.2' "$tmp/err"
point "client_that_asks_for_more_is_told_both"
[ "$(got WORMHOLE_CUDNN_VERSION=new)" = 91902 ] && says 'WORMHOLE_CUDNN_VERSION=new is no version' "$tmp/err"
point "what_is_no_version_is_said"

# --- The server's own search leads to the parts of another version (the program's search is as it
# was)
stop_server
client_search=$LD_LIBRARY_PATH
LD_LIBRARY_PATH=$old:$client_search start_server --lib-path "$old:$new"
LD_LIBRARY_PATH=$client_search
says "info: cudnn 9.19.2 is $new/libcudnn.so.9\$" "$tmp/server.err"
point "library_is_asked_with_the_parts_of_its_own_folder"
[ "$(got A=)" = 91902 ]
point "and_loaded_with_them"
stop_server
start_server --lib-path "$new:$bin/versions/0"
[ "$(got A=)" = 91903 ]
point "with_a_library_of_another_folder_that_it_looks_for"
stop_server
start_server --lib-path "$new:$bin/versions/1"
[ "$(got A=)" = 91904 ]
point "cudnn_has_the_compiler_of_its_cuda_version"
stop_server
start_server --lib-path "$old:$new"

# --- The version that the program came with
library "$tmp/older" 9.14.2 && library "$tmp/between" 9.16.0 && library "$tmp/newer" 9.20.1
[ "$(own "$bin/version" "$tmp/older/libcudnn.so.9")" = 91402 ] && [ ! -s "$tmp/err" ]
point "program_that_opens_a_library_of_its_own_gets_that_version"
mkdir "$tmp/program" && cp "$bin/version" "$tmp/program" && library "$tmp/program/own" 9.14.2
[ "$(own "$tmp/program/version")" = 91402 ] && [ ! -s "$tmp/err" ]
point "program_that_finds_one_by_rpath_too"
[ "$(LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$tmp/older own "$bin/version")" = 91402 ]
point "and_one_behind_ours_in_the_search"
wheel "$tmp/site" nvidia_cudnn_cu13-9.14.2.56
wheel "$tmp/site" nvidia_other-9.20.0.1 nvidia/cudnn/lib/libcudnn_ops.so.9
[ "$(own "$bin/version" "$tmp/site/nvidia/cudnn/lib/libcudnn.so.9")" = 91402 ] && [ ! -s "$tmp/err" ]
point "version_of_a_wheel_is_its_packages"
mkdir "$tmp/none" && : >"$tmp/none/libcudnn.so.9"
[ "$(own "$bin/version" "$tmp/none/libcudnn.so.9")" = 91902 ] && [ ! -s "$tmp/err" ]
point "where_nothing_says_it_the_newest_serves"
[ "$(own "$bin/version" "$tmp/between/libcudnn.so.9")" = 91902 ] && [ ! -s "$tmp/err" ]
point "version_that_the_server_has_not_is_a_newer_one"
[ "$(own "$bin/version" "$tmp/newer/libcudnn.so.9")" = 91902 ] && says \
	"libcudnn.so.9: the program has 9.20.1 ($tmp/newer/libcudnn.so.9.20.1); the newest that the server has is 9.19.2" \
	"$tmp/err"
point "program_with_a_newer_one_is_told_both_and_the_file"
[ "$(wc -l <"$tmp/err")" = 1 ]
point "once"
[ "$(WORMHOLE_CUDNN_VERSION=9.19 own "$bin/version" "$tmp/older/libcudnn.so.9")" = 91902 ] && [ ! -s "$tmp/err" ]
point "what_the_user_wishes_counts_before_it"
[ "$(own "$bin/version")" = 91902 ] && [ ! -s "$tmp/err" ]
point "program_without_one_gets_the_newest"
[ "$(timeout 30 "$bin/version" 2>"$tmp/err")" = 91902 ] && [ ! -s "$tmp/err" ]
point "so_does_one_without_the_loaders_auditor"
stop_server

# A library that crashes when it is asked is left out, and the next one is served.
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

unset WORMHOLE_CUDNN WORMHOLE_CUBLASLT
mkdir "$tmp/serve"
"$wormhole" serve --backend "$WH_BACKEND" --dir "$tmp/serve" --nvml none --libraries "$old" --libraries "$new" \
	--daemon >/dev/null 2>"$tmp/err" &&
	[ "$(got WORMHOLE_SOCKET="$tmp/serve/server.sock")" = 91902 ]
point "serve_takes_several_folders"
"$wormhole" stop --dir "$tmp/serve"

# Workers may have another working folder than the one in which the server was started.
cd "$WH_BUILD" || exit 1
start_server --backend softgpu/libcuda.so.1 --lib-path "${old#"$WH_BUILD"/}:${new#"$WH_BUILD"/}"
[ "$(got A=)" = 91902 ]
point "folders_may_be_named_from_where_the_server_starts"
stop_server
WORMHOLE_CUDNN=${old#"$WH_BUILD"/}/libcudnn.so.9 && export WORMHOLE_CUDNN
start_server --backend softgpu/libcuda.so.1
[ "$(got A=)" = 91402 ]
point "and_so_may_a_file"
stop_server
