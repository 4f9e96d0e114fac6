#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that a trace has what a tenant's programs did: JSON that a viewer opens, with
# the names of kernels, times of the device, and tracks for threads and streams. The trace is
# bounded, and ends with its program.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"
traced=$WH_BUILD/tests/tenant/bin/traced
file=$tmp/trace.json
long=a_kernel_whose_name_is_longer_than_one_record_has_room_for_beta

# of EXPRESSION evaluates Python with all events in e, those with a duration in x, and
# by(category, name).
of() {
	/usr/bin/python3 - "$file" "$1" <<'END'
import json, sys
e = json.load(open(sys.argv[1]))
x = [v for v in e if v['ph'] == 'X']
def by(cat, name=None):
    return [v for v in x if v['cat'] == cat and name in (None, v['name'])]
def tracks(events):
    return {v['tid'] for v in events}
def in_order(events):
    return all(a['ts'] + a['dur'] <= b['ts'] + 0.5 for a, b in zip(events, events[1:]))
print(eval(sys.argv[2]))
END
}

plan 22
serve
"$wormhole" run --trace "$file" --mem 64M -- "$traced" 10
is exit_status_is_the_programs $? 7
like it_is_json_with_a_list_of_events "$(of 'type(e).__name__, len(x) > 30')" "list', True"
is each_launch_has_its_kernels_name "$(of "len(by('launch', 'alpha')), len(by('launch', '$long'))")" "(10, 10)"
is and_its_grid "$(of "by('launch')[0]['args']['grid'], by('launch')[0]['args']['block']")" "([2, 1, 1], [1, 1, 1])"
is the_device_ran_each "$(of "len(by('device', 'alpha')), len(by('device', '$long'))")" "(10, 10)"
is for_some_time "$(of "all(v['dur'] > 0 for v in by('device', 'alpha'))")" True
is in_a_stream_in_their_order "$(of "in_order(by('device', 'alpha')), in_order(by('device', '$long'))")" "(True, True)"
is each_stream_is_a_track "$(of "len(tracks(by('device', 'alpha'))), len(tracks(by('device', 'alpha') + by('device', '$long')))")" "(1, 2)"
is threads_at_the_same_time_are_tracks "$(of "len(tracks(by('launch'))) >= 2")" True
is tracks_have_names "$(of "tracks(x) <= {v['tid'] for v in e if v['name'] == 'thread_name'}")" True
is copies_have_their_bytes "$(of "sorted(v['args']['bytes'] for v in by('copy'))")" "[4, 4, 1000, 1000]"
# A wait is no call where the client knows that its stream is at rest: that is a matter of time. The
# first one of each thread is behind launches.
is waits_are_there "$(of "len(tracks(by('wait'))) >= 2")" True

"$wormhole" run --trace "$file" --sm 5 -- "$traced" 300 20000
is under_a_share_what_is_held_back_is_there "$(of "len(by('held')) > 0 and by('held')[0]['dur'] > 0")" True

"$wormhole" run --trace "$file" --trace-size 200K --mem 64M -- "$traced" 2000 2>"$tmp/err"
ok it_grows_no_larger_than_it_may [ "$(wc -c <"$file")" -le $((200 << 10)) ]
is and_says_that_it_is_not_all "$(of "[v['name'] for v in e if v['name'] == 'truncated']")" "['truncated']"
like so_does_the_command "$(cat "$tmp/err")" "is truncated"

rm -f "$tmp/a.in"
mkfifo "$tmp/a.in"
"$wormhole" run --tenant gamma --mem 64M -- "$traced" 10 1 wait <"$tmp/a.in" >"$tmp/a.out" 2>&1 &
pid_a=$!
exec 9>"$tmp/a.in"
await grep -q ready "$tmp/a.out"
"$wormhole" trace gamma -o "$file" -- sh -c "echo >&9; until [ \$(grep -c ready '$tmp/a.out') = 2 ]; do sleep 0.02; done"
is a_program_that_runs_is_traced_while_a_command_runs "$(of "len(by('launch', 'alpha')), len(by('device', '$long'))")" "(10, 10)"
"$wormhole" trace gamma -o "$file" -- true
is and_not_afterwards "$(of "len(by('launch'))")" 0
echo >&9
exec 9>&-
wait $pid_a
like a_tenant_that_is_not_there_cannot_be_traced "$("$wormhole" trace nobody -o "$file" -- true 2>&1)" "no tenant 'nobody'"
echo mine >"$tmp/victim"
ln -sf "$tmp/victim" "$tmp/link.json"
"$wormhole" run --trace "$tmp/link.json" --mem 64M -- true
is a_link_that_somebody_laid_there_is_not_followed "$(cat "$tmp/victim") $(stat -c %F "$tmp/link.json")" "mine regular file"
like a_device_is_not_replaced "$("$wormhole" run --trace /dev/null --mem 64M -- true 2>&1) $(stat -c %F /dev/null)" \
	"/dev/null: Invalid argument.*character special file"
like a_file_that_cannot_be_written_is_said "$("$wormhole" run --trace /nonexistent/x --mem 64M -- true 2>&1)" "/nonexistent/x"
finish
