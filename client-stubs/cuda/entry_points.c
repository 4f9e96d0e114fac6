// SPDX-License-Identifier: Apache-2.0
/*
 * The table behind cuGetProcAddress(), generated from the types that NVIDIA publishes for exactly
 * this purpose. It has the exports, which tell a watcher, so the linker's names in this object stay
 * as they are (Makefile).
 */
#include "stubs.h"
#include "entry_points.h"
#include "gen_entry_points.h"

const size_t wh_entry_point_count = sizeof(wh_entry_points) / sizeof(*wh_entry_points);
