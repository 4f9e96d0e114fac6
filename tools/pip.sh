#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pip.sh ARGUMENT...: runs pip with these arguments, in a virtual environment of its own in
# build/venv, which is made once. Debian's python3 has no pip without more packages.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${WH_BUILD:-$here/../build}
mkdir -p "$build"
venv=$build/venv
exec 9>"$build/.venv.lock"
flock 9
if [ ! -e "$venv/made" ]; then
	/usr/bin/python3 -m venv "$venv" || {
		echo "error: python3 -m venv does not work (package python3-venv)" >&2
		exit 1
	}
	: >"$venv/made"
fi
exec 9>&-
# Not venv/bin/pip, which names the folder that it was made in.
exec "$venv/bin/python3" -m pip --disable-pip-version-check "$@"
