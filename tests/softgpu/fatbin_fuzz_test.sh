#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The test promises that no image, however broken, leads the reader of images outside it. It needs
# no hardware.
: "${WH_TOP:=$(cd "$(dirname "$0")/../../.." && pwd)}"
: "${WH_BUILD:=$WH_TOP/build}"
exec "$WH_BUILD/tests/softgpu/fatbin_fuzz" "${WH_SEED:-1}"
