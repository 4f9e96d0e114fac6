/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between the host's command and the supervisor of a server VM, by a port of virtio
 * (WH_CHANNEL_PORT) for which QEMU has a socket. Each request is answered, and the sender waits for
 * the answer. Both ends are of one release, and say so. Each end treats what the other sends as
 * bytes of a stranger: it trusts no size or number in them, and drops what it does not understand.
 */
#ifndef WORMHOLE_TENANT_CHANNEL_H
#define WORMHOLE_TENANT_CHANNEL_H

#include <stdint.h>

#include "tenant/file.h"
#include "tenant/spec.h"
#include "tenant/tenant.h"

#define WH_CHANNEL_PORT		"org.wormhole.control"
#define WH_CHANNEL_MAGIC	0x4e4e414843544857ULL	/* "WHTCHANN" */
/* The data of messages are structs of tenant.h, unchanged. */
#define WH_CHANNEL_VERSION	(4u << 16 | WH_TENANT_VERSION)

enum wh_channel_what {
	WH_CHANNEL_LOOK = 1,	/* no data follow; the answer is a look, then the windows */
	WH_CHANNEL_LIMIT,	/* data: wh_channel_limit; the answer has none */
	/*
	 * Data: wh_channel_suspend. What it asks for has begun when the answer comes, or is
	 * refused. Both answers have a wh_channel_suspended.
	 */
	WH_CHANNEL_SUSPEND,
	WH_CHANNEL_SUSPENDED,	/* data: wh_channel_which; how it stands with a suspension */
};
#define WH_CHANNEL_ANSWER	0x80000000u

struct wh_channel_head {
	uint64_t magic;
	uint64_t nonce;		/* number of the request; its answer has the same */
	uint32_t version;
	uint32_t what;
	uint32_t refused;	/* in an answer: a line of text follows that says why */
	uint32_t size;		/* bytes of what follows */
};

#define WH_CHANNEL_WINDOWS	16u
#define WH_CHANNEL_TEXT		400u	/* of a refusal */

struct wh_channel_look {
	uint32_t windows;
	uint32_t resv;
};

/* The accounts of living workers follow, at most WH_TENANT_WORKERS. */
struct wh_channel_window {
	struct wh_tenant_limits limits;
	struct wh_tenant_sum sum;
	uint64_t cpu_ns;	/* CPU time of its workers, in the server VM */
	uint32_t workers;
	uint32_t resv;
};

#define WH_CHANNEL_MEMORY	1u
#define WH_CHANNEL_SM		2u
#define WH_CHANNEL_POLICY	4u
#define WH_CHANNEL_PERCENT	8u	/* with MEMORY: `memory` is percent of the device's */
#define WH_CHANNEL_MAX		16u
#define WH_CHANNEL_CLASS	32u

struct wh_channel_limit {
	uint32_t window;
	uint32_t n;
	struct {
		int32_t device;		/* or WH_ALL_DEVICES */
		uint32_t has;		/* WH_CHANNEL_* */
		uint64_t memory;
		uint32_t sm_percent, sm_policy, sm_max, sm_class;
	} spec[WH_LIMIT_SPECS];
};

struct wh_channel_suspend {
	uint32_t window;
	uint32_t resume;	/* 1: it is to go on */
	uint32_t wait_ms;	/* how long calls and work under way may last */
	uint32_t resv;
};

struct wh_channel_which {
	uint32_t window;
	uint32_t resv;
};

/*
 * Requests to suspend or resume the window are counted as they begin; the last one that is over
 * says how it went.
 */
struct wh_channel_suspended {
	uint32_t state;		/* enum wh_suspension */
	uint32_t begun, settled;
	uint32_t failed;	/* 1: what has settled last has failed, as `text' says */
	char text[WH_CHANNEL_TEXT];
};

/* The most bytes that may follow a head. */
#define WH_CHANNEL_MOST	(sizeof(struct wh_channel_look) + WH_CHANNEL_WINDOWS * \
			 (sizeof(struct wh_channel_window) + \
			  WH_TENANT_WORKERS * sizeof(struct wh_worker_usage)))

#endif
