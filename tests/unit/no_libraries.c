// SPDX-License-Identifier: Apache-2.0
/* A worker without libraries, because the tests here are about the driver's calls. */
#include "session/library.h"

const struct wh_library *const wh_libraries[WH_LIBS];
