/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trampoline page for C code. Its bytes are gen_trampoline[] of gen_trampoline.h. They
 * must be copied to WH_TRAMPOLINE_VA and run nowhere else.
 */
#ifndef WORMHOLE_TRAMPOLINE_H
#define WORMHOLE_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "window.h"

/* delegate.asm describes it. */
typedef int64_t wh_delegate_fn(struct wh_slot *slot, uint32_t handler, uint64_t arg0,
			       uint32_t index, uint64_t arg1);

/* Computes FNV-1a, 64 bit, of the page with its checksum taken as zero. */
static inline uint64_t wh_trampoline_checksum(const void *page)
{
	const unsigned char *p = page;
	uint64_t h = 0xcbf29ce484222325ULL;
	unsigned int i, c;

	for (i = 0; i < WH_PAGE_SIZE; i++) {
		c = i - offsetof(struct wh_tramp_hdr, checksum);
		h = (h ^ (c < sizeof(uint64_t) ? 0 : p[i])) * 0x100000001b3ULL;
	}
	return h;
}

/* Checks that the page is whole and has this ABI. Returns WH_OK or WH_EVERSION. */
static inline int wh_trampoline_check(const void *page)
{
	struct wh_tramp_hdr h;

	memcpy(&h, page, sizeof(h));
	if (h.magic != WH_TRAMP_MAGIC || h.abi_version != WH_ABI_VERSION ||
	    h.checksum != wh_trampoline_checksum(page))
		return WH_EVERSION;
	return WH_OK;
}

/* Returns delegate_to_server() of the page that is mapped at `page`. */
static inline wh_delegate_fn *wh_trampoline_delegate(const void *page)
{
	struct wh_tramp_hdr h;

	memcpy(&h, page, sizeof(h));
	return (wh_delegate_fn *)((uintptr_t)page + h.delegate);
}

#endif
