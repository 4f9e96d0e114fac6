#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises what code of a hostile client can do in its worker, and that the server
# reports this isolation truthfully. It tests a server that root starts, one that a user starts,
# and one of a container's root (docs/tenants.md). intruder.so is a driver that tries each attack.
# All parts but the user's need root.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

bin=$WH_BUILD/tests/attack/bin
user=30123
M=1048576
as_user() { "$@"; }
[ "$(id -u)" != 0 ] || as_user() { setpriv --reuid $user --regid $user --clear-groups -- "$@"; }

# intrude NAME COMMAND-PREFIX... starts a server of this kind with the intruder as its driver, and
# one client. The intruder's answers are in $tmp/NAME.log, the server's messages in
# $tmp/NAME.said, and `stat` in $tmp/NAME.stat.
intrude() {
	name=$1
	shift
	WORMHOLE_DIR=$tmp/$name/d
	mkdir -p "$tmp/$name"
	echo secret >"$tmp/$name/file"
	chmod 600 "$tmp/$name/file"
	[ "$name" != user ] || [ "$(id -u)" != 0 ] || chown -R $user:$user "$tmp/$name"
	(
		export INTRUDER="$WORMHOLE_DIR" INTRUDER_FILE="${tmp#/}/$name/file" SECRET=1
		"$@" "$wormhole" serve --backend "$bin/intruder.so" --libraries "$WH_BUILD/softgpu" --nvml none \
			--daemon --part-size 16M --host-mem 256M >"$tmp/$name.said" 2>&1
	)
	"$@" "$wormhole" run -- "$client" alloc=4096 >"$tmp/$name.client" 2>&1
	"$@" "$wormhole" stat >"$tmp/$name.stat" 2>&1
	"$@" "$wormhole" stop >>"$tmp/$name.said" 2>&1
	cp "$WORMHOLE_DIR/server.log" "$tmp/$name.log"
}
# got NAME WHAT... prints the intruder's answers to these attacks in one line. The intruder writes
# them into the server's log, in lines "worker of TENANT: intruder: WHAT ANSWER; WHAT ANSWER;
# ...".
got() {
	log=$tmp/$1.log
	shift
	for what in "$@"; do
		sed -n 's/^[^ ]* worker of [^:]*: intruder: //p' "$log" | sed 's/; /\n/g' | sed -n "s/^$what //p" | head -n 1
	done | tr '\n' ' '
}
says() { sed -n 's/^wormhole: info: workers have//p' "$tmp/$1.said"; }
has() { says "$1" | sed 's/; they lack.*//' | grep -c "$2"; }
lacks() { says "$1" | sed 's/.*; they lack//' | grep -c "$2"; }

# everywhere NAME checks the promises that hold for every server, however it was started.
everywhere() {
	tcp=EPERM	# but for ranks of NCCL, who are alone in a network of root's (ranks_test.sh)
	[ "$1" != root ] || tcp=done
	is "${1}s_client_is_served_all_the_same" "$(cat "$tmp/$1.client")" ok
	is "${1}s_worker_starts_no_program_and_no_process" \
		"$(got "$1" execve fork vfork clone clone3)" "EPERM EPERM EPERM EPERM ENOSYS "
	is "${1}s_worker_makes_threads" "$(got "$1" thread)" "done "
	is "${1}s_worker_connects_to_nobody" "$(got "$1" socket_inet socket_stream connect)" "$tcp EPERM EPERM "
	is "${1}s_worker_reaches_no_other_process" \
		"$(got "$1" ptrace kill tgkill kill_all prlimit_server owner)" "EPERM EPERM EPERM EPERM EPERM EPERM "
	is "${1}s_worker_sends_no_signal_by_a_socket" "$(got "$1" owner_by_ioctl group_by_ioctl)" "EPERM EPERM "
	is "${1}s_worker_slows_no_other_process_down" "$(got "$1" priority priorities cpus policy io_priority)" \
		"EPERM EPERM EPERM EPERM EPERM "
	is "${1}s_workers_thread_sets_its_own_priority_and_cpus" "$(got "$1" own_priority own_cpus)" "done done "
	is "${1}s_worker_has_no_other_process_end_first" "$(got "$1" end_first)" "EACCES "
	is "${1}s_worker_leaves_nothing_of_system_v_behind" "$(got "$1" segment semaphore queue)" "EPERM EPERM EPERM "
	is "${1}s_worker_gets_no_more_rights" "$(got "$1" setuid unshare prlimit)" "EPERM EPERM EPERM "
	like "${1}s_worker_has_a_filter_and_gets_no_new_privileges" "$(got "$1" rights)" \
		"^user [0-9]* new_privileges none filter on "
	is "${1}s_worker_makes_nothing_of_the_servers_writable" "$(got "$1" widen_limits widen_board)" "EACCES EACCES "
	is "${1}s_worker_types_into_no_terminal" "$(got "$1" type)" "EPERM "
	is "${1}s_worker_opens_no_terminal" "$(got "$1" terminal)" "EACCES "
	is "${1}s_worker_ends_with_its_server_whatever_it_says" "$(got "$1" outlive)" "EPERM "
	is "${1}s_worker_takes_no_memory_out_of_what_others_have" "$(got "$1" punch_usage punch_seat punch_file)" \
		"EPERM EPERM EPERM "
	is "${1}s_worker_has_no_variable_of_the_servers" "$(got "$1" secret)" "none "
	is "${1}s_worker_opens_nothing_of_the_servers" "$(got "$1" limits_file board lock)" "EACCES EACCES EACCES "
	is "${1}s_worker_makes_no_file" "$(got "$1" make_in_tmp)" "EACCES "
	is "${1}s_worker_reads_no_private_file" "$(got "$1" file)" "EACCES "
	like "${1}s_worker_has_few_files_and_no_core" "$(got "$1" limits)" "files few .*core 0"
	is "$1_says_so" "$(has "$1" 'a filter of system calls.*no way to files')" 1
}

readable() {
	[ "$(id -u)" != 0 ] || as_user test -r "$WH_BUILD/softgpu/libcuda.so.1" -a -x "$WH_BUILD/host/wormhole"
}
landlock() { "$WH_BUILD/server/wormhole-server" --protection 2>/dev/null | grep -q '^files on'; }
skip_all() {
	why=$1
	shift
	for p in "$@"; do skip "$p" "$why"; done
}
everywhere_points() {
	for p in client_is_served_all_the_same worker_starts_no_program_and_no_process worker_makes_threads \
		worker_connects_to_nobody worker_reaches_no_other_process worker_sends_no_signal_by_a_socket \
		worker_slows_no_other_process_down workers_thread_sets_its_own_priority_and_cpus \
		worker_has_no_other_process_end_first worker_leaves_nothing_of_system_v_behind worker_gets_no_more_rights \
		worker_has_a_filter_and_gets_no_new_privileges worker_makes_nothing_of_the_servers_writable \
		worker_types_into_no_terminal worker_opens_no_terminal worker_ends_with_its_server_whatever_it_says \
		worker_takes_no_memory_out_of_what_others_have worker_has_no_variable_of_the_servers worker_opens_nothing_of_the_servers worker_makes_no_file \
		worker_reads_no_private_file worker_has_few_files_and_no_core; do
		echo "${1}s_$p"
	done
	echo "$1_says_so"
}

plan 82
# The answers of a server that a user starts.
if ! readable; then
	# shellcheck disable=SC2046
	skip_all "needs a build folder that others may read" $(everywhere_points user) \
		users_worker_sees_loopback_alone user_says_that_workers_are_the_users user_says_that_no_cgroup_is_writable
elif ! landlock; then
	# shellcheck disable=SC2046
	skip_all "this kernel has no Landlock" $(everywhere_points user) \
		users_worker_sees_loopback_alone user_says_that_workers_are_the_users user_says_that_no_cgroup_is_writable
else
	intrude user as_user
	everywhere user
	if [ "$(has user "namespaces (by user")" = 1 ]; then
		is users_worker_sees_loopback_alone "$(got user devices)" "lo "
	else
		skip users_worker_sees_loopback_alone "no user namespaces here"
	fi
	is user_says_that_workers_are_the_users "$(lacks user "a user of each tenant's own (only root can")" 1
	if [ "$(has user "memory by cgroup")" = 1 ]; then
		skip user_says_that_no_cgroup_is_writable "one is"
	else
		is user_says_that_no_cgroup_is_writable "$(lacks user "memory by cgroup (.*)")" 1
	fi
fi

root_points="roots_worker_sees_loopback_alone roots_tenants_have_namespaces_of_their_own
	roots_worker_has_few_processes roots_worker_is_a_user_that_nobody_else_is
	root_says_which_users_workers_are stat_says_what_protects"
container_points="containers_workers_have_users_of_their_own container_lacks_namespaces_and_says_why
	container_lacks_cgroups_and_says_why user_namespaces_workers_have_users_that_it_knows"
if [ "$(id -u)" != 0 ] || ! readable || ! landlock; then
	# shellcheck disable=SC2046,SC2086
	skip_all "needs root, Landlock and a build folder that others may read" $(everywhere_points root) \
		$root_points $(everywhere_points container) $container_points
	finish
fi

# --- Root's server ---------------------------------------------------------------------
intrude root env
everywhere root
is roots_worker_sees_loopback_alone "$(got root devices)" "lo "
is roots_tenants_have_namespaces_of_their_own "$(got root namespaces | tr ' ' '\n' |
	grep -v -x -F -e "$(readlink /proc/self/ns/net)" -e "$(readlink /proc/self/ns/ipc)" |
	sed -n 's/^\([a-z]*\):\[[0-9]*\]$/\1/p' | sort | tr '\n' ' ')" "ipc net "
like roots_worker_has_few_processes "$(got root limits)" "processes few"
is roots_worker_is_a_user_that_nobody_else_is "$(got root rights | awk '{ print ($2 >= 1884768256 && $2 < 1884772368) }')" 1
like root_says_which_users_workers_are "$(says root)" "a user of each tenant's own ([0-9]* to [0-9]*)"
like stat_says_what_protects "$(cat "$tmp/root.stat")" "^workers are protected by: user calls files network"

# --- A container's -----------------------------------------------------------------------
intrude container "$WH_BUILD/tests/tenant/bin/contained"
everywhere container
is containers_workers_have_users_of_their_own "$(has container "a user of each tenant's own")" 1
is container_lacks_namespaces_and_says_why "$(lacks container "namespaces (namespaces: Operation not permitted)")" 1
is container_lacks_cgroups_and_says_why "$(lacks container "memory by cgroup (.*)")" 1
# The kernel lets nobody make a user namespace in a chroot.
if ! unshare -U true 2>/dev/null; then
	skip user_namespaces_workers_have_users_that_it_knows "no user namespaces here"
	finish
fi
intrude inner "$WH_BUILD/tests/tenant/bin/contained" -u
like user_namespaces_workers_have_users_that_it_knows "$(says inner)" "a user of each tenant's own (60600 to"
finish
