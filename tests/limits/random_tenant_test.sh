#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# random_tenant_test.sh [SECONDS [SEED]]: the test promises that several programs of a tenant
# which make random calls stay within its quota, by the driver's own books (random_tenant.c). It
# runs over softgpu, or with WH_BACKEND over a GPU's driver. WH_QUOTA is the tenant's quota in
# bytes. WH_UNSAID is what may stay on a GPU of streams that were undone, in bytes: by default a block for
# each thread.
# WH_SERVER_PATH has the folders of the server's libraries. With WH_ALONE=--alone there are never
# two calls at the same time.
: "${WH_TOP:=@TOP@}"
: "${WH_BUILD:=@BUILD@}"
. "$WH_TOP/tests/tenant/lib.sh"

bin=$WH_BUILD/tests/limits/bin
seconds=${1:-${WH_SECONDS:-15}}
seed=${2:-${WH_SEED:-1}}
usage=$WORMHOLE_DIR/tenants/random.usage
if [ -n "$WH_BACKEND" ]; then
	quota=${WH_QUOTA:-6442450944}
	books="--nvml $(dirname "$WH_BACKEND")/libnvidia-ml.so.1 --unsaid ${WH_UNSAID:-25165824}"
	LD_LIBRARY_PATH=$WH_SERVER_PATH "$wormhole" serve --backend "$WH_BACKEND" --daemon >"$tmp/serve" 2>&1
else
	quota=${WH_QUOTA:-201326592}
	# The books must be where workers may write; workers of root's server have such a folder of
	# their tenant's own.
	WORMHOLE_SOFTGPU_BOOKS=/dev/shm/$(basename "$tmp")
	trap 'clean_up; rm -f "$WORMHOLE_SOFTGPU_BOOKS"' EXIT
	books="--books $WORMHOLE_SOFTGPU_BOOKS"
	export WORMHOLE_SOFTGPU_MEM=1G WORMHOLE_SOFTGPU_BOOKS
	serve
fi || {
	echo "Bail out! no server: $(cat "$tmp/serve")"
	exit 1
}
"$wormhole" tenant create random --mem "${quota}B" || exit 1
# shellcheck disable=SC2086
"$bin/random_tenant" --quota "$quota" --usage "$usage" --stage "$tmp/stage" $books \
	--log "$WORMHOLE_DIR/server.log" --seconds "$seconds" \
	--seed "$seed" $WH_ALONE -- "$wormhole" run --tenant random -- "$bin/random_player" && exit
tail -n 20 "$WORMHOLE_DIR/server.log" | sed 's/^/# /'
exit 1
