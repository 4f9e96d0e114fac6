#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install-deps.sh [--list] [all|shm|demo|hardware|deb|none]: installs what a Debian 12 machine lacks to
# build and test Wormhole: the packages of tools/debian-packages (`shm`, `demo`, `hardware`: those above
# its line; `deb`: those of shm and its own), NVIDIA's compiler (get-nvcc.sh) and headers
# (get-headers.sh; the demo and the image for hardware need none), and for `all` promtool (get-promtool.sh), static runtimes
# of other versions (get-runtimes.sh), Python packages (get-clients.sh) and Kubernetes' schemas
# (get-kubernetes.sh). If nothing is missing, it ends quickly.
# `--list` only names the missing packages; `none` installs no packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)

list=
[ "${1:-}" != --list ] || { list=1; shift; }
group=${1:-all}
case $group in
all) rest= ;;
demo | hardware) rest="/^# --- $group:/,\$d;" ;;
deb) rest='/^# --- shm:/,/^# --- deb:/d; /^# --- deb:/,$d;' ;;
shm | none) rest='/^# --- shm:/,$d;' ;;
*) echo "error: '$group' is none of all, shm, demo, hardware, deb, none" >&2; exit 2 ;;
esac

wanted() {
	sed "$rest s/#.*//" "$here/debian-packages" | tr -s ' \t' '\n\n' | sed '/^$/d'
}

# dpkg-query prints one line for each package in its arguments that is installed.
missing() {
	wanted | sort -u >"$tmp/wanted"
	# shellcheck disable=SC2046
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(cat "$tmp/wanted") \
		2>/dev/null | sed -n 's/^installed //p' | sort -u >"$tmp/have" || true
	comm -23 "$tmp/wanted" "$tmp/have"
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "error: need root or sudo to install: $lack" >&2
		echo "error: where others stand in for these: make DEPS=none" >&2
		exit 1
	fi
}

# A new kernel's source is in the archive some hours before its headers. So what is installed is the
# source of the headers that are here, or that are to come.
chosen() {
	for p in "$@"; do
		case $p in
		linux-source-*)
			v=$(LC_ALL=C apt-cache policy "linux-headers-${p#linux-source-}-cloud-amd64" |
				sed -n -e 's/^ *Installed: \([0-9]\)/\1/p' -e 's/^ *Candidate: //p' | head -n 1)
			[ -z "$v" ] || ! apt-cache policy "$p" | grep -qF " $v " || p=$p=$v ;;
		esac
		echo "$p"
	done
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if [ -z "$list" ] && [ "$group" = none ]; then
	lack=
elif command -v dpkg-query >/dev/null; then
	lack=$(missing | tr '\n' ' ')
else
	echo "error: not a Debian system: install the equivalents of tools/debian-packages" >&2
	echo "error: and say so: make DEPS=none" >&2
	exit 1
fi
if [ -n "$list" ]; then
	echo "$lack"
	exit 0
fi
if [ -n "$lack" ]; then
	echo "  DEPS     apt-get install $lack"
	as_root apt-get -q update | sed -u 's/^/           /'
	# shellcheck disable=SC2046,SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -q \
		-o Dpkg::Use-Pty=0 install --no-install-recommends $(chosen $lack) \
		</dev/null | sed -u 's/^/           /'
	lack=$(missing | tr '\n' ' ')
	if [ -n "$lack" ]; then
		echo "error: still missing after apt-get: $lack" >&2
		exit 1
	fi
fi
"$here/get-nvcc.sh"
case $group in demo | hardware) ;; *) "$here/get-headers.sh" ;; esac
[ "$group" = all ] || exit 0

# Most of a fetch is waiting, so all of them wait at the same time.
fetches=
for what in promtool runtimes clients kubernetes; do
	"$here/get-$what.sh" &
	fetches="$fetches $!"
done
for pid in $fetches; do
	wait "$pid"
done
