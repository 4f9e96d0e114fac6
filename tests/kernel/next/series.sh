#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# series-next as files.
set -eu
top=${WH_TOP:-$(cd "$(dirname "$0")/../../.." && pwd)}
WH_TOP=$top exec sh "$top/tests/patches/series_test.sh" -next
