#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that commands and programs find the server: root's in /run/wormhole, wherever
# root logged in, and one of their own before that. The test has a
# /run of its own, for which it needs root.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
if [ -z "$WH_OWN_RUN" ]; then
	. "$WH_TOP/tests/tap.sh"
	[ "$(id -u)" = 0 ] || skip_all "needs root, for a /run of its own"
	setpriv --reuid 65534 --clear-groups test -r "$WH_BUILD/tests" ||
		skip_all "user nobody may not read $WH_BUILD"
	export WH_OWN_RUN=1 WH_TOP WH_BUILD
	unshare -m true 2>/dev/null || skip_all "no mount namespace may be made here"
	exec unshare -m sh "$0"
fi
mount -t tmpfs -o mode=755 none /run || exit 1
. "$WH_TOP/tests/tenant/lib.sh"

unset WORMHOLE_DIR
mkdir -p /run/user/0 /run/user/65534
chown 65534 /run/user/65534
export XDG_RUNTIME_DIR=/run/user/0
# as_nobody COMMAND... runs it as a user who has logged in.
as_nobody() { XDG_RUNTIME_DIR=/run/user/65534 setpriv --reuid 65534 --regid 65534 --clear-groups "$@" 2>&1; }
stop_it() { "$wormhole" stop >/dev/null 2>&1; as_nobody "$wormhole" stop >/dev/null 2>&1; clean_up; }
trap stop_it EXIT

plan 14
is without_one_the_error_names_both_places "$(as_nobody "$wormhole" stat)" \
	"wormhole: error: no server is at /run/user/65534/wormhole or /run/wormhole, and no VMs can have a role here; start one by \`wormhole serve', or name its --dir"
is and_so_does_that_of_who_would_control_it "$(as_nobody "$wormhole" tenant create x)" \
	"wormhole: error: no server answers at /run/user/65534/wormhole or /run/wormhole: No such file or directory; start one by \`wormhole serve', or name its --dir"
like and_a_program_is_told_of_both "$(as_nobody "$wormhole" run -- "$client" alloc=4096)" \
	"no server's socket at /run/user/65534/wormhole or /run/wormhole that you may use"
serve
ok roots_server_is_in_run_whatever_root_has_set [ -S /run/wormhole/server.sock ]
ok and_root_finds_it_there "$wormhole" stat
like a_user_without_a_tenant_learns_whom_to_ask_for_what "$(as_nobody "$wormhole" run -- "$client" alloc=4096)" \
	"not open to you; ask who runs it for a tenant (.wormhole tenant create NAME --user nobody'), then name that"
"$wormhole" tenant create users --mem 64M --user nobody
is a_users_program_finds_it "$(as_nobody "$wormhole" run --tenant users -- "$client" alloc=4096)" ok
is a_program_that_loads_the_libraries_finds_it_too \
	"$(LD_LIBRARY_PATH=$WH_BUILD/client-stubs WORMHOLE_TRANSPORT=shm "$client" alloc=4096)" ok
like who_may_not_control_it_is_told_so "$(as_nobody "$wormhole" tenant create x)" "only root and the server's user may control it"

is what_is_not_there_ends_as_in_a_shell "$("$wormhole" run -- /no/such 2>/dev/null; echo $?)" 127
is what_is_no_program_too "$("$wormhole" run -- / 2>/dev/null; echo $?)" 126

as_nobody "$wormhole" serve --backend softgpu --daemon --part-size 16M >"$tmp/serve" 2>&1
ok a_users_server_is_the_users [ -S /run/user/65534/wormhole/server.sock ]
ok and_comes_before_roots as_nobody "$wormhole" stat
is for_programs_too "$(as_nobody "$wormhole" run -- "$client" alloc=4096)" ok
finish
