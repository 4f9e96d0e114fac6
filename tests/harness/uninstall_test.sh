#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that `make uninstall` takes away what `make install` put, and nothing else. That
# what was installed works is in tests/tenant/install_test.sh.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL DESTDIR PREFIX

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
need_built "$WH_BUILD/host/wormhole"
make_it() { make -s -C "$WH_TOP" O="$WH_BUILD" DEPS=none "$@" 2>&1; }
left() { find "$1" -mindepth 1 -printf '%P\n' | sort | tr '\n' ' '; }
# put and take do what make does, with a folder of the test's own.
put() { "$WH_TOP/tools/install.sh" put "$tmp/e" /opt/w "$1"; }
take() { "$WH_TOP/tools/install.sh" remove "$tmp/e" "${1:-/opt/w}" 2>&1; }

plan 10
is installing_succeeds "$(make_it install DESTDIR="$tmp/d")" ""
is installing_again_succeeds "$(make_it install DESTDIR="$tmp/d")" ""
is uninstalling_succeeds "$(make_it uninstall DESTDIR="$tmp/d")" ""
is nothing_is_left "$(left "$tmp/d")" ""
make_it install DESTDIR="$tmp/d" PREFIX=/usr >/dev/null
make_it uninstall DESTDIR="$tmp/d" PREFIX=/usr/ >/dev/null
is nor_below_another_prefix "$(left "$tmp/d")" ""

mkdir -p "$tmp/e/opt/w/bin" "$tmp/one/bin" "$tmp/one/lib/wormhole/old" "$tmp/two/lib/wormhole/new"
touch "$tmp/e/opt/w/bin/others" "$tmp/one/bin/it" "$tmp/one/lib/wormhole/old/it" "$tmp/two/lib/wormhole/new/it"
put "$tmp/one"
touch "$tmp/e/opt/w/lib/wormhole/mine"
put "$tmp/two"
is what_two_versions_put_is_there "$(left "$tmp/e/opt/w")" \
	"bin bin/it bin/others lib lib/wormhole lib/wormhole/installed lib/wormhole/mine lib/wormhole/new lib/wormhole/new/it lib/wormhole/old lib/wormhole/old/it "
take
is both_are_taken_away_and_others_files_stay "$(left "$tmp/e/opt/w")" "bin bin/others lib lib/wormhole lib/wormhole/mine "
rm -r "$tmp/e/opt/w/lib" "$tmp/e/opt/w/bin/others"
put "$tmp/one"
take
is a_folder_that_was_there_stays "$(left "$tmp/e/opt/w")" "bin "
like without_a_list_nothing_is_taken "$(take; echo $?)" "/opt/w/lib/wormhole/installed: not there"
like a_prefix_that_is_no_path_is_refused "$(take opt/w)" "PREFIX='opt/w' is no absolute path"
finish
