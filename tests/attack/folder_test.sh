#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises which folders a server accepts as its own, and that it does no harm to files
# that lie there.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

serve_in() { "$wormhole" serve --backend softgpu --daemon --part-size 16M --dir "$1" 2>&1; }
mode() { stat -c '%a %u' "$1"; }

plan 14
mkdir -m 777 "$tmp/open"
like folder_that_others_write_to_is_refused "$(serve_in "$tmp/open")" "$tmp/open: mode 0777 lets others write there; chmod go-w"
is and_left_as_it_was "$(ls -A "$tmp/open")" ""
mkdir -m 775 "$tmp/group"
like so_is_a_groups "$(serve_in "$tmp/group")" "mode 0775 lets others write"
mkdir -m 777 "$tmp/way"
mkdir -m 755 "$tmp/way/d"
like so_is_one_whose_parent_others_write_to "$(serve_in "$tmp/way/d")" "may change what it stands in"
ln -s "$tmp/open" "$tmp/link"
like so_is_a_link_to_one "$(serve_in "$tmp/link")" "lets others write there"

# The folder has links where the server makes its sockets; the server must not follow them.
mkdir -m 755 "$tmp/good"
echo mine >"$tmp/victim"
chmod 600 "$tmp/victim"
for f in server.sock control.sock; do ln -s "$tmp/victim" "$tmp/good/$f"; done
serve_in "$tmp/good" >/dev/null
ok link_in_place_of_a_socket_is_replaced test -S "$tmp/good/server.sock" -a ! -L "$tmp/good/server.sock"
is and_not_followed "$(mode "$tmp/victim") $(cat "$tmp/victim")" "600 $(id -u) mine"
"$wormhole" stop --dir "$tmp/good"
rm -f "$tmp/good/server.lock"
ln -s "$tmp/victim" "$tmp/good/server.lock"
like link_in_place_of_the_lock_is_refused "$(serve_in "$tmp/good")" "server.lock: "
is and_not_written_to "$(cat "$tmp/victim")" mine

points="folder_of_another_user_is_refused and_nothing_of_roots_is_given_away nor_put_there folder_below_another_users_is_refused
	tenants_socket_is_its_users"
if [ "$(id -u)" != 0 ]; then
	for p in $points; do skip "$p" "needs root"; done
	finish
fi
# The owner of the folder changes it between one step of the server and the next; no change may
# have an effect.
mkdir -m 1777 "$tmp/public"
theirs=$tmp/public/theirs
setpriv --reuid 30123 --regid 30123 --clear-groups -- /usr/bin/python3 - "$theirs" "$tmp/victim" \
	<"$WH_TOP/tests/attack/folder.py" >"$tmp/ready" &
attacker=$!
trap 'kill -KILL $attacker 2>/dev/null; "$wormhole" stop --force --dir "$theirs" >/dev/null 2>&1; clean_up' EXIT
await grep -q ready "$tmp/ready"
for _ in 1 2 3 4 5 6 7 8; do
	serve_in "$theirs"
	"$wormhole" tenant create t --user 30123 --dir "$theirs" >/dev/null 2>&1
	"$wormhole" stop --force --dir "$theirs" >/dev/null 2>&1
done >"$tmp/said"
is folder_of_another_user_is_refused "$(sort -u "$tmp/said")" \
	"wormhole: error: $theirs: belongs to user 30123 and not to the server's, 0; give a folder of yours by --dir"
is and_nothing_of_roots_is_given_away "$(mode "$tmp/victim") $(cat "$tmp/victim")" "600 0 mine"
is nor_put_there "$(find "$theirs" -user 0)" ""
mkdir -m 755 "$theirs/ours"
like folder_below_another_users_is_refused "$(serve_in "$theirs/ours")" "user 30123 may change what it stands in"
kill $attacker
wait $attacker 2>/dev/null
rm -f "$tmp/good/server.lock"
serve_in "$tmp/good" >/dev/null
"$wormhole" tenant create t --user nobody --dir "$tmp/good"
is tenants_socket_is_its_users "$(mode "$tmp/good/tenants/t.sock")" "600 65534"
"$wormhole" stop --dir "$tmp/good"
finish
