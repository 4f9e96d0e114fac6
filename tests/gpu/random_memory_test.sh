#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs of a tenant make calls at random, and NVML's figure of its workers is at most its quota and
# what the documentation adds (tests/limits/random_tenant.c): for WH_MEMORY_SECONDS, 300 if nobody says.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
# On softgpu `make test` does it.
world_init gpu || skip_all "$world_missing"
forget_genuine_libraries

WH_BACKEND=$driver WH_SERVER_PATH=$server_path "$WH_BUILD/tests/limits/random_tenant_test.t" \
	"${WH_MEMORY_SECONDS:-300}" "${WH_SEED:-$(date +%s)}"
