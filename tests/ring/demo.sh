#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make demo-ring`: starts a server over softgpu on this machine and a client VM under stock QEMU,
# with Debian's own cloud kernel and nothing of ours but the client libraries. Runs CUDA programs
# there over the transport ring, with a quota and a share, and shows a table.
set -eu
WH_TOP=$(cd "$(dirname "$0")/../.." && pwd)
WH_BUILD=${WH_BUILD:-$WH_TOP/build}
export WH_TOP WH_BUILD
wormhole=$WH_BUILD/host/wormhole
tmp=$(mktemp -d)
export WORMHOLE_DIR="$tmp/d"
clean_up() {
	"$wormhole" stop --force >/dev/null 2>&1 || :
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 1' HUP INT PIPE TERM

say() { printf '  %-8s %s\n' DEMO "$*"; }
fail() {
	echo "error: $1" >&2
	tail -n 20 "$2" >&2
	exit 1
}

"$WH_TOP/tests/vm/mkinitramfs.sh" "$tmp/overlay.cpio" "$WH_TOP/tests/ring/demo.list"
cat "$WH_BUILD/tests/vm/client.cpio" "$tmp/overlay.cpio" >"$tmp/initrd"
say "server of this machine, over softgpu"
. "$WH_TOP/tests/reach.sh"
"$wormhole" serve --backend softgpu --daemon --state none >"$tmp/serve" 2>&1 ||
	fail "the server does not start:" "$tmp/serve"
say "client VM under $(qemu-system-x86_64 --version | head -n 1), a tenant of 1 GB and 50 %"
timeout 300 "$wormhole" run --tenant demo --mem 1G --sm 50 -- "$wormhole" client start --ring \
	--kernel "$WH_BUILD/bochs/debian/vmlinuz" --initrd "$tmp/initrd" --append "console=ttyS0 quiet panic=-1" \
	--accel "${WH_ACCEL:-tcg}" demo </dev/null >"$tmp/log" 2>&1 || fail "the VM has failed:" "$tmp/log"
tr -d '\r' <"$tmp/log" >"$tmp/console"
grep -q '^@done' "$tmp/console" || fail "the VM has not come to its end:" "$tmp/console"
sed -n 's/^@uname /  DEMO     the client ran Linux /p; s/^@memory /  DEMO     it saw a GPU of /p' "$tmp/console"
echo
awk '
	BEGIN		{ printf "%-18s %-7s %-9s %s\n", "program", "result", "seconds", "what it said" }
	/^@begin /	{ name = $2; said = "" }
	/^@time /	{ seconds = $2 }
	/PASS|FAIL/	{ said = $0 }
	/^@end /	{ if ($2 ~ "/") printf "%-18s %-7s %-9s %s\n", $2, $3 == 0 ? "ok" : "failed", seconds, said
			  bad += $3 != 0 }
	END		{ exit bad != 0 }' "$tmp/console"
