#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises `wormhole run --user`: another user's program has that user, the user's groups
# and environment, nothing of root's, and a terminal of its own.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

user=nobody
as_him() { "$wormhole" run --user "$user" --mem 64M -- "$@"; }
# names prints the names of the program's environment, none of which may be a variable of root's.
names() { sed 's/=.*//' | sort | tr '\n' ' '; }
# terminal STEPS... -- COMMAND... runs a command at a terminal that belongs to no session.
terminal() { timeout 60 /usr/bin/python3 "$WH_TOP/tests/tenant/terminal.py" 90 30 "$@" 2>&1 | tr -d '\r'; }
# shell STEPS... does the same with a shell with jobs, whose prompt is "here: ".
shell() {
	terminal "wait=here: " "$@" -- env PS1='here: ' setsid --ctty --wait bash --norc --noprofile -i
}
run="$wormhole run --user $user --mem 64M --"

if [ "$(id -u)" != 0 ]; then
	plan 1
	like only_root_runs_programs_of_others "$("$wormhole" run --user root -- true 2>&1)" \
		"--user 'root': only root can run a program as another user"
	finish
fi
if ! setpriv --reuid "$user" --regid "$(id -g $user)" --clear-groups test -x "$client" -a -r "$WH_BUILD/client-stubs"; then
	plan 1
	skip another_users_program "needs a build folder that others may read"
	finish
fi
plan 36
serve
cd /

# --- Who he is --------------------------------------------------------------------------
is program_is_the_users "$(as_him id -u; as_him "$client" alloc=4096)" "$(id -u $user)
ok"
is a_number_names_him_too "$("$wormhole" run --user "$(id -u $user)" --mem 64M -- id -un)" "$user"
is its_groups_are_his_and_none_of_roots \
	"$(setpriv --groups 4,6 "$wormhole" run --user $user --mem 64M -- id -G)" "$(id -G $user)"
is it_has_no_capability "$(setpriv --inh-caps +sys_admin,+setuid "$wormhole" run --user $user --mem 64M -- \
	sed -n 's/^Cap\(Inh\|Prm\|Eff\|Amb\):[[:space:]]*//p' /proc/self/status | sort -u)" 0000000000000000
like who_is_nobody_is_named "$("$wormhole" run --user nemo --mem 64M -- true 2>&1)" "there is no user 'nemo'; .getent passwd"
like tenant_of_another_is_an_error_with_the_next_step "$("$wormhole" run --user $user -- echo ran 2>&1)" \
	"'$user': may not use tenant default .*Permission denied.*--mem, --sm.*tenant create NAME --user $user"
is and_nothing_is_run "$("$wormhole" run --user $user -- echo ran 2>/dev/null; echo $?)" 1

# --- What he has ------------------------------------------------------------------------
is its_environment_is_his "$(env -i PATH="$PATH" WORMHOLE_DIR="$WORMHOLE_DIR" HOME=/root USER=root LOGNAME=root SECRET=1 \
	XDG_RUNTIME_DIR=/run/user/0 BASH_ENV=/x PYTHONPATH=/x "$wormhole" run --user $user --mem 64M -- env |
	names)" "HOME LD_AUDIT LD_LIBRARY_PATH LD_PRELOAD LOGNAME PATH SHELL USER WORMHOLE_SOCKET WORMHOLE_TRANSPORT "
is with_his_names "$(as_him sh -c 'echo "$HOME $USER $LOGNAME"')" \
	"$(getent passwd $user | cut -d: -f6) $user $user"
is how_to_write_and_to_show_passes "$(LANG=C.UTF-8 LC_ALL=C TZ=UTC TERM=dumb CUDA_VISIBLE_DEVICES=0 as_him \
	sh -c 'echo "$LANG $LC_ALL $TZ $TERM $CUDA_VISIBLE_DEVICES"')" "C.UTF-8 C UTC dumb 0"
is nothing_that_root_has_loaded_is_loaded "$(LD_LIBRARY_PATH=/root/lib LD_PRELOAD='' LD_BIND_NOW=1 as_him \
	env | grep -c '/root/lib\|LD_BIND_NOW')" 0
is path_is_not_roots "$(PATH=$tmp:$PATH as_him sh -c 'echo "$PATH"')" /usr/local/bin:/usr/bin:/bin
echo secret >"$tmp/secret"
is nothing_that_root_has_open_is_open "$(exec 7<"$tmp/secret" 8<"$tmp"; as_him find /proc/self/fd -lname "$tmp*" | wc -l)" 0
is but_what_keeps_its_tenant "$(as_him sh -c 'ls /proc/$$/fd; :' 7<"$tmp/secret" | tr '\n' ' ')" "0 1 2 3 "
like standard_files_that_are_closed_are_nothing "$(as_him sh -c 'readlink /proc/$$/fd/2; readlink /proc/$$/fd/0' 2>&- <&-)" \
	"^/dev/null"
is files_are_not_for_everybody_to_write "$(umask 0; as_him sh -c umask)" 0022
is and_private_where_roots_are "$(umask 077; as_him sh -c umask)" 0077
mkdir -m 700 "$tmp/closed"
mkdir -m 755 "$tmp/closed/open"
echo secret >"$tmp/closed/open/file"
is a_folder_below_a_closed_one_is_closed "$(cd "$tmp/closed/open" && as_him cat file 2>/dev/null)" ""
like and_that_is_said "$(cd "$tmp/closed/open" && as_him true 2>&1)" "may not enter $tmp/closed/open"
is a_folder_of_his_is_kept "$(cd /usr/bin && as_him pwd)" /usr/bin

# --- Without a terminal ----------------------------------------------------------------
is exit_status_is_the_programs "$(as_him sh -c 'exit 7'; echo $?)" 7
is signal_that_ends_it_is_the_programs "$(as_him sh -c 'kill -TERM $$' 2>/dev/null; echo $?)" 143
like missing_program_is_named "$(as_him /nonexistent 2>&1; echo $?)" "cannot run '/nonexistent' as user '$user'"

# --- At a terminal -----------------------------------------------------------------------
terminal -- sh -c "tty >$tmp/mine; $run tty" >"$tmp/its"
like its_terminal_is_another "$(grep -v -x -F "$(cat "$tmp/mine")" "$tmp/its")" "^/dev/pts/[0-9]*$"
like and_is_his "$(terminal -- sh -c "$run sh -c 'stat -c \"%u %a\" \$(tty)'")" "^$(id -u $user) "
cat >"$tmp/type.py" <<'END'
import fcntl, os, sys, termios
for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):
    try:
        for c in b'echo typed by another > TYPED\n':
            fcntl.ioctl(fd, termios.TIOCSTI, bytes([c]))
    except OSError:
        pass
print('tried')
END
sed -i "s|TYPED|$tmp/typed|" "$tmp/type.py"
chmod 644 "$tmp/type.py"
said=$(shell "keys=$run /usr/bin/python3 $tmp/type.py\n" wait=tried "wait=here: " 'keys=echo all $((1 + 1))\n' "wait=all 2" 'keys=exit\n')
like it_is_run_there "$said" tried
is it_types_nothing_into_roots "$(cat "$tmp/typed" 2>/dev/null)" ""
# /dev/tty is the terminal of the program's session, whatever its files are.
shell "keys=tty >$tmp/mine; $run sh -c 'ps -o tty= -p \$\$' </dev/null >$tmp/out 2>&1; echo done\$((1 + 1))\n" wait=done2 'keys=exit\n' >/dev/null
like nor_where_all_its_files_are_others "$(grep -v -x -F "$(sed 's|/dev/||' "$tmp/mine")" "$tmp/out")" "pts/"
said=$(terminal "wait=30 90" size=70x20 "wait=20 70" 'keys=\x03' -- \
	sh -c "exec $run sh -c \"trap 'stty size' WINCH; stty size; while :; do sleep 0.1; done\"")
like its_terminal_is_as_large_and_becomes_so "$said" "^20 70"
like roots_is_as_it_was "$said" "terminal restored"
like what_is_typed_is_the_programs "$(terminal wait=ready 'keys=word\n' "wait=got word" -- sh -c "$run sh -c 'echo ready; read w; echo got \$w'")" \
	"^got word"
like interrupt_ends_it_and_its_caller_knows "$(terminal wait=ready 'keys=\x03' "wait=said 130" -- \
	sh -c "$run sh -c 'echo ready; sleep 60'; echo said \$?")" "said 130"
said=$(shell "keys=$run sh -c 'echo rea''dy; read w; echo got \$w'\n" wait=ready 'keys=\x1a' wait=Stopped "wait=here: " \
	'keys=jobs\n' "wait=Stopped" "wait=here: " 'keys=fg\n' "wait=read w" 'keys=again\n' "wait=got again" "wait=here: " 'keys=exit\n')
like stopped_it_is_a_job_that_goes_on "$said" "^got again"
like signal_to_the_command_is_the_programs "$(terminal wait=ready -- sh -c \
	"$run sh -c 'trap \"echo told; exit 3\" USR1; echo ready; while :; do sleep 0.1; done' & await=\$!; \
	while ! pgrep -u $user -f 'echo told' >/dev/null; do sleep 0.1; done; kill -USR1 \$await; wait \$await; echo said \$?")" "^said 3"
is what_goes_into_a_pipe_is_as_it_was "$(terminal -- sh -c "printf 'a\nb\n' | $run cat | od -An -c" | head -n 1 | tr -s ' ')" ' a \n b \n'
is all_that_it_wrote_is_shown "$(terminal -- sh -c "$run seq 20000" | grep -c '^[0-9]*$')" 20001
finish
