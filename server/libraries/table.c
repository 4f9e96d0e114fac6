// SPDX-License-Identifier: Apache-2.0
/* The libraries that a worker can serve, by number; each table is generated. */
#include "session/library.h"

#define DECLARE(name, variable)	extern const struct wh_library wh_library_##name;
WH_EACH_LIBRARY(DECLARE)

#define ENTRY(name, variable)	[WH_LIB_##name] = &wh_library_##name,
const struct wh_library *const wh_libraries[WH_LIBS] = { WH_EACH_LIBRARY(ENTRY) };
