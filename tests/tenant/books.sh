# SPDX-License-Identifier: Apache-2.0
# Tests that look at what softgpu really has on its devices source this file after lib.sh.
. "$WH_TOP/tests/tenant/suspended.sh"
M=1048576
paged=$WH_BUILD/tests/tenant/bin/paged
# Workers write nowhere else.
books=$(mktemp /dev/shm/books.XXXXXX)
export WORMHOLE_SOFTGPU_BIND=1 WORMHOLE_SOFTGPU_BOOKS="$books"
trap 'clean_up; rm -f "$books"' EXIT
# A driver frees what a process has had. softgpu's books do, when somebody comes to the device who may
# see that the process is no more, which workers may not.
on_device() {
	LD_LIBRARY_PATH=$WH_BUILD/softgpu "$client" alloc=4096 >/dev/null
	od -An -tu8 -j64 -N8 "$books" | tr -d ' '
}
has_at_most() { [ "$(on_device)" -le "$1" ]; }
is_empty() { [ "$(on_device)" -lt $M ]; }
is_state() { [ "$(state "$1")" = "$2" ]; }
# metric NAME TENANT [LABEL] prints a figure of a tenant's.
metric() { "$wormhole" metrics | sed -n "s/^wormhole_$1{tenant=\"$2\".*$3.*} //p"; }
# start_paged NAME TENANT WORDS... is `start' with the program that checks values.
start_paged() {
	name=$1 tenant=$2
	shift 2
	client=$paged
	start "$name" --tenant "$tenant" -- "$@"
	client=$WH_BUILD/tests/tenant/bin/client
}
