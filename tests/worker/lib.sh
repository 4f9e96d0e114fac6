# SPDX-License-Identifier: Apache-2.0
# Tests of commands beside a supervisor source this file, with `build` set. It has a folder and
# processes that end with the test, and waits until something is true.
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM

# KVM's control device is a stand-in.
wormhole() { LD_PRELOAD=$build/tests/cli/fake_control.so "$build/host/wormhole" "$@"; }
# await COMMAND... runs a command until it succeeds, at most 10 s.
await() {
	await_left=500
	until "$@" >/dev/null 2>&1; do
		await_left=$((await_left - 1))
		[ $await_left -gt 0 ] || return 1
		sleep 0.02
	done
}
