#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs bin/hotpath, whose driver is fake_driver.c. Needs neither nvcc nor a device.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
LD_LIBRARY_PATH=$WH_BUILD/tests/cudart/fake:$WH_BUILD/client-stubs
export LD_LIBRARY_PATH
exec "$WH_BUILD/tests/cudart/bin/hotpath"
