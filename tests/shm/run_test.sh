#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the program that it is named after: X.t against a server of its own, X_loopback.t inside
# the program's process. The program itself says what it promises.
. "$(dirname "$0")/lib.sh"
name=$(basename "$0" .t)
# slots* runs over softgpu with a driver that shows which calls run at the same time.
case $name in slots*) WH_BACKEND=$bin/meeting/meeting.so ;; esac

case $name in
*_loopback)
	export WORMHOLE_TRANSPORT=loopback
	export WORMHOLE_BACKEND="$WH_BACKEND"
	export WORMHOLE_SESSION="$WH_BUILD/server/libwormhole-session.so"
	;;
mirrors)
	start_server --part-size 16M
	;;
*)
	start_server
	;;
esac
timeout 60 "$bin/${name%_loopback}"
rc=$?
[ $rc = 0 ] || [ ! -s "$tmp/server.err" ] || sed 's/^/# server: /' "$tmp/server.err"
exit $rc
