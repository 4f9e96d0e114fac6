/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of shm that keeps no rules. It connects to $WORMHOLE_SOCKET as a program of
 * ours does, and then writes whatever it wants into its part. The test itself looks into
 * the worker from outside, to see what happened to it.
 */
#ifndef WORMHOLE_TESTS_ATTACK_HOSTILE_H
#define WORMHOLE_TESTS_ATTACK_HOSTILE_H

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL_ODR
#include <cuda.h>

#include "gen_wire.h"
#include "shm.h"
#include "session/dispatch.h"
#include "tap.h"
#include "victim.h"
#include "window.h"
#include "wire_calls.h"

struct hostile {
	int sock, file;
	uint8_t *part;
	size_t part_size;
	struct wh_slot *slot;
	uint8_t *msg, *data;
	struct wh_shm_cell *cell;
	struct wh_shm_ring deep;	/* the slot's second ring */
	uint32_t calls;
	uint64_t ctx;
};

static int hostile_receive(int sock, struct wh_shm_welcome *w)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { w, sizeof(*w) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &ctl, .msg_controllen = sizeof(ctl) };
	int file = -1;

	if (recvmsg(sock, &m, MSG_CMSG_CLOEXEC) == sizeof(*w) && !w->status &&
	    CMSG_FIRSTHDR(&m))
		memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(file));
	return file;
}

/* Connects to the server. Returns false if the server has no worker for this client. */
static bool hostile_connect(struct hostile *h)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	const char *path = getenv("WORMHOLE_SOCKET");
	const struct wh_ctl *ctl;
	struct wh_shm_welcome w;
	int file = -1;

	memset(h, 0, sizeof(*h));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path ? path : "");
	h->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (!connect(h->sock, (struct sockaddr *)&a, sizeof(a)))
		file = hostile_receive(h->sock, &w);
	h->part = file < 0 ? MAP_FAILED : mmap(NULL, w.part_size, PROT_READ | PROT_WRITE,
					       MAP_SHARED, file, 0);
	h->file = file;
	if (h->part == MAP_FAILED) {
		close(h->sock);
		return false;
	}
	ctl = (const struct wh_ctl *)h->part;
	h->part_size = w.part_size;
	h->slot = (struct wh_slot *)(h->part + ctl->slot_offset);
	h->msg = h->part + ctl->msg_offset;
	h->data = h->part + ctl->data_offset;
	h->cell = wh_shm_ring(h->msg + ctl->msg_size).cell;
	h->deep = wh_shm_deep_ring(h->part + ctl->part_size, 0);
	return true;
}

/* Returns the address at which the worker has this place of the part. */
static inline uint64_t hostile_there(const struct hostile *h, const void *place)
{
	return WH_SHM_PART_VA + ((const uint8_t *)place - h->part);
}

static inline void hostile_leave(struct hostile *h)
{
	munmap(h->part, h->part_size);
	close(h->file);
	close(h->sock);
}

static inline void hostile_send(struct hostile *h, uint32_t number)
{
	__atomic_store_n(&h->slot->request, number, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &h->slot->request, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Did the session end within @ms milliseconds? */
static inline bool hostile_ends(const struct hostile *h, int ms)
{
	struct pollfd p = { .fd = h->sock, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* Waits until the worker has answered this call. Returns false if the worker never will. */
static inline bool hostile_await(struct hostile *h, uint32_t number)
{
	while (__atomic_load_n(&h->slot->response, __ATOMIC_ACQUIRE) != number)
		if (hostile_ends(h, 0))
			return false;
	return true;
}

/* Begins a request of @size zero bytes in the message area. */
static inline void *hostile_request(struct hostile *h, uint32_t call, size_t size)
{
	struct wh_req *q = (struct wh_req *)h->msg;

	memset(q, 0, size);
	q->call = call;
	q->ctx = h->ctx;
	return q;
}

/*
 * Sends the request and waits. Returns the result, -1 if the worker did not take the
 * request, or -2 if the worker is gone.
 */
static inline int hostile_call(struct hostile *h, size_t size)
{
	const struct wh_rsp *r = (const struct wh_rsp *)h->msg;

	h->calls++;
	h->slot->request_handler = WH_HANDLER_CUDA;
	h->slot->request_arg[0] = size;
	h->slot->request_arg[1] = h->calls;
	hostile_send(h, h->calls);
	if (!hostile_await(h, h->calls))
		return -2;
	return h->slot->response_status ? -1 : r->result;
}

/*
 * Starts the session as each program does: hello, and a context. The hash of the API is
 * the worker's own.
 */
static int hostile_hello(struct hostile *h)
{
	const struct wh_rsp_cuDevicePrimaryCtxRetain *r = (const void *)h->msg;
	struct wh_req_whHello *q = hostile_request(h, WH_CALL_whHello, sizeof(*q));
	int res;

	q->abi_version = WH_ABI_VERSION;
	q->api_hash = ((const struct wh_ctl *)h->part)->api_hash;
	res = hostile_call(h, sizeof(*q));
	if (res)
		return res;
	hostile_request(h, WH_CALL_cuDevicePrimaryCtxRetain,
			sizeof(struct wh_req_cuDevicePrimaryCtxRetain));
	res = hostile_call(h, sizeof(struct wh_req_cuDevicePrimaryCtxRetain));
	h->ctx = r->pctx;
	return res;
}

/* Connects and says hello. Returns false, after a line of TAP, if the test cannot go on. */
static bool hostile_begin(struct hostile *h)
{
	int res;

	if (!hostile_connect(h)) {
		printf("Bail out! no worker at $WORMHOLE_SOCKET\n");
		return false;
	}
	res = hostile_hello(h);
	if (res)
		printf("Bail out! the worker does not begin: %d\n", res);
	return !res;
}

static inline uint64_t hostile_alloc(struct hostile *h, uint64_t bytes, int *result)
{
	struct wh_req_cuMemAlloc_v2 *q = hostile_request(h, WH_CALL_cuMemAlloc_v2, sizeof(*q));
	const struct wh_rsp_cuMemAlloc_v2 *r = (const void *)h->msg;
	int res;

	q->bytesize = bytes;
	res = hostile_call(h, sizeof(*q));
	if (result)
		*result = res;
	return res ? 0 : r->dptr;
}

/* --- From outside: what an attacker learns in other ways, and what the attack did ------ */

#endif
