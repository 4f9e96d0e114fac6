// SPDX-License-Identifier: Apache-2.0
/* The sealed trampoline page as an object, for user space to link in. */
#include "trampoline.h"
#include "gen_trampoline.h"

extern const unsigned char wh_trampoline_page[WH_PAGE_SIZE]
	__attribute__((alias("gen_trampoline")));
