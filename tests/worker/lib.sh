# SPDX-License-Identifier: Apache-2.0
# Tests of commands beside a supervisor source this file, with `build` set. It has a folder and
# processes that end with the test.
. "$WH_TOP/tests/tap.sh"
tmp=$(mktemp -d)
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$tmp"' EXIT
# When the test is stopped from outside, the trap on EXIT runs as well.
trap 'exit 1' HUP INT PIPE TERM

# KVM's control device is a stand-in.
wormhole() { LD_PRELOAD=$build/tests/cli/fake_control.so "$build/host/wormhole" "$@"; }
