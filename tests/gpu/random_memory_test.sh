#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises the quota while programs of a tenant make calls at random: NVML's figure of
# the tenant's workers is at most its quota and what the documentation adds
# (tests/limits/random_tenant.c). It runs for WH_MEMORY_SECONDS, by default 300.
: "${WH_TOP:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
export WH_TOP WH_BUILD
. "$WH_TOP/tests/tap.sh"
. "$WH_TOP/tests/world.sh"
# On softgpu `make test` runs this test.
world_init gpu || skip_all "$world_missing"
forget_genuine_libraries

WH_BACKEND=$driver WH_SERVER_PATH=$server_path "$WH_BUILD/tests/limits/random_tenant_test.t" \
	"${WH_MEMORY_SECONDS:-300}" "${WH_SEED:-$(date +%s)}"
