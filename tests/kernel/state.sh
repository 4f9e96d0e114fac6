#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The kernel tests, on Debian's kernel and on the one that the series is written for, would take a
# third of `make test`, and depend on few files. Beside this script, `passed` has the sum of these
# files when the tests last passed. While it is still theirs, `make test` leaves these tests out.
#
#	state.sh passed		whether it is
#	state.sh keep		writes it: `make test-next` says so when all tests passed
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

# The files that the kernel, its machine and the selftests are made of.
inputs() {
	find kvm-patches tests/kernel -type f ! -name '*.md' ! -name passed ! -name state.sh
	for f in get-bochs.sh '*.patch' bochsrc.in loader.asm machine.py run_job.py vmcpu.c \
		job.sh host-init host.config vms.config host.list; do
		find tests/bochs -maxdepth 1 -name "$f"
	done
}

sum() {
	cd "$top"
	{
		sed -n -e '/^HOST /p' -e '/^kernel:/,/^$/p' -e '/^next:/,/^$/p' tests/bochs/Makefile
		inputs | LC_ALL=C sort | tr '\n' '\0' | xargs -0 sha256sum
	} | sha256sum | cut -d' ' -f1
}

case ${1:-} in
passed) [ "$(sum)" = "$(sed -n '/^#/!p' "$here/passed" 2>/dev/null)" ] ;;
keep)
	sum=$(sum)
	{
		echo "# SPDX-License-Identifier: Apache-2.0"
		echo "# What the kernel tests passed with. Written by \`make test-next\` (state.sh)."
		echo "$sum"
	} >"$here/passed.new"
	mv "$here/passed.new" "$here/passed"
	;;
*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
