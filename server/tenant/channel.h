/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host's command and the supervisor of a server VM say to each other, by a port
 * of virtio (WH_CHANNEL_PORT) that QEMU has a socket for. A request is answered; who asks
 * waits for the answer. Both ends are of one release, and say so. Each takes what the
 * other sends for bytes of a stranger: neither a size nor a number in it is believed, and
 * what is not understood is dropped.
 */
#ifndef WORMHOLE_TENANT_CHANNEL_H
#define WORMHOLE_TENANT_CHANNEL_H

#include <stdint.h>

#include "tenant/file.h"
#include "tenant/spec.h"
#include "tenant/tenant.h"

#define WH_CHANNEL_PORT		"org.wormhole.control"
#define WH_CHANNEL_MAGIC	0x4e4e414843544857ULL	/* "WHTCHANN" */
/* What follows are structs of tenant.h as they are. */
#define WH_CHANNEL_VERSION	(1u << 16 | WH_TENANT_VERSION)

enum wh_channel_what {
	WH_CHANNEL_LOOK = 1,	/* nothing follows; the answer: a look, then the windows */
	WH_CHANNEL_LIMIT,	/* wh_channel_limit; the answer: nothing */
};
#define WH_CHANNEL_ANSWER	0x80000000u

struct wh_channel_head {
	uint64_t magic;
	uint64_t nonce;		/* of the request; its answer has the same */
	uint32_t version;
	uint32_t what;
	uint32_t refused;	/* of an answer: a line of text follows that says why */
	uint32_t size;		/* of what follows */
};

#define WH_CHANNEL_WINDOWS	16u
#define WH_CHANNEL_TEXT		400u	/* of a refusal */

struct wh_channel_look {
	uint32_t windows;
	uint32_t resv;
};

/* Followed by the accounts of living workers, at most WH_TENANT_WORKERS. */
struct wh_channel_window {
	struct wh_tenant_limits limits;
	struct wh_tenant_sum sum;
	uint64_t cpu_ns;	/* of its workers, in the server VM */
	uint32_t workers;
	uint32_t resv;
};

#define WH_CHANNEL_MEMORY	1u
#define WH_CHANNEL_SM		2u
#define WH_CHANNEL_POLICY	4u

struct wh_channel_limit {
	uint32_t window;
	uint32_t n;
	struct {
		int32_t device;		/* or WH_ALL_DEVICES */
		uint32_t has;		/* WH_CHANNEL_* */
		uint64_t memory;
		uint32_t sm_percent, sm_policy;
	} spec[WH_LIMIT_SPECS];
};

/* The most that may follow a head. */
#define WH_CHANNEL_MOST	(sizeof(struct wh_channel_look) + WH_CHANNEL_WINDOWS * \
			 (sizeof(struct wh_channel_window) + \
			  WH_TENANT_WORKERS * sizeof(struct wh_worker_usage)))

#endif
