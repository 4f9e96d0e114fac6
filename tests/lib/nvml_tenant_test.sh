#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NVML's view of a tenant with a quota and another worker, over loopback.
. "$(dirname "$0")/lib.sh"
use_loopback
WORMHOLE_TENANT="$tmp/tenant" timeout 60 "$bin/nvml_tenant"
