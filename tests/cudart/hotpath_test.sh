#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test runs bin/hotpath, whose driver is fake_driver.c. hotpath.c says what it promises. It
# needs neither nvcc nor a device.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
LD_LIBRARY_PATH=$WH_BUILD/tests/cudart/fake:$WH_BUILD/client-stubs
export LD_LIBRARY_PATH
exec "$WH_BUILD/tests/cudart/bin/hotpath"
