#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises NVML's view of a tenant with a quota and another worker, over loopback
# (nvml_tenant_test.c).
. "$(dirname "$0")/lib.sh"
use_loopback
WORMHOLE_TENANT="$tmp/tenant" timeout 60 "$bin/nvml_tenant"
