// SPDX-License-Identifier: Apache-2.0
/*
 * Opens and closes a session over a mapped part. Owns the layout of a part
 * (control page, slot pages, message areas, data area) and the private buffers
 * that calls run on; all of it is touched here so that calls do not fault.
 */
#include "limits/ipc.h"
#include "session/handler.h"
#include "session/held.h"
#include "session/image.h"
#include "session/session.h"
#include "tenant/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MSG_SIZE	(64u << 10)
#define RANGES		256u	/* for so many ranges of device memory no call allocates memory */

static struct wh_ctl *ctl_of(struct wh_session *s)
{
	return (struct wh_ctl *)s->part;
}

/* The control page is published last: wh_session_ready() sets READY. */
static bool format_part(struct wh_session *s, uint32_t slots)
{
	struct wh_ctl *ctl = ctl_of(s);
	uint64_t msg = WH_PAGE_SIZE * (1 + slots), data = msg + (uint64_t)slots * MSG_SIZE;
	uint32_t i;

	if (!slots || slots > WH_MAX_SLOTS || s->part_size < data + (1u << 20) ||
	    s->part_size > WH_MAX_PART_SIZE)
		return false;
	/*
	 * The areas of the other slots are new memory, which nobody touches before they are used.
	 */
	memset(s->part, 0, msg + MSG_SIZE);
	*ctl = (struct wh_ctl) {
		.magic = WH_CTL_MAGIC,
		.abi_version = WH_ABI_VERSION,
		.state = WH_CTL_FREE,
		.part_size = s->part_size,
		.nslots = slots,
		.slot_offset = WH_PAGE_SIZE,
		.msg_offset = msg,
		.msg_size = MSG_SIZE,
		.data_offset = data,
		.data_size = s->part_size - data,
		.api_hash = WH_API_HASH,
	};
	s->nslots = slots;
	wh_callers_init(&s->callers);
	s->data = s->part + data;
	s->data_size = s->part_size - data;
	for (i = 0; i < slots; i++) {
		s->frame[i].msg = s->part + msg + (uint64_t)i * MSG_SIZE;
		s->frame[i].max = MSG_SIZE;
	}
	return true;
}

struct wh_session_place wh_session_place(const struct wh_session *s)
{
	return (struct wh_session_place) {
		.msg_offset = (uint64_t)(s->frame[0].msg - (uint8_t *)s->part),
		.msg_size = s->frame[0].max, .slots = s->nslots,
	};
}

/* There is slack behind the request: a driver may read a parameter buffer in whole words. */
bool wh_session_slot(struct wh_session *s, uint32_t slot)
{
	struct wh_frame *f = &s->frame[slot];
	void *req, *rsp;

	if (slot >= s->nslots || f->rsp)
		return slot < s->nslots;
	req = aligned_alloc(64, f->max * 2);
	rsp = aligned_alloc(64, f->max);
	if (!req || !rsp) {
		free(req);
		free(rsp);
		return false;
	}
	f->req = memset(req, 0, f->max * 2);
	f->rsp = memset(rsp, 0, f->max);
	wh_callers_use(s, slot);
	return true;
}

/* Measures for one millisecond, which is good enough for the length of a spin. */
static uint64_t measure_tsc(void)
{
	uint64_t t0 = wh_now_ns(), c0 = __builtin_ia32_rdtsc(), t1;

	do
		t1 = wh_now_ns();
	while (t1 - t0 < 1000000);
	return (__builtin_ia32_rdtsc() - c0) * 1000 / (t1 - t0) + 1;
}

static void free_session(struct wh_session *s)
{
	uint32_t i, edition;

	for (i = 0; i < WH_MAX_SLOTS; i++) {
		free(s->frame[i].req);
		free(s->frame[i].rsp);
	}
	wh_host_free(s);
	for (i = 0; i < WH_LIBS; i++) {
		for (edition = 0; edition < WH_EDITIONS; edition++)
			free(s->library_file[edition][i].functions);
		free(s->library_state[i]);
	}
	free(s->library_work);
	wh_held_free(s);
	wh_handles_free(&s->handles);
	wh_managed_free(s);
	wh_resources_free(s);
	wh_intervals_free(&s->reach.set);
	wh_intervals_free(&s->aliases);
	wh_intervals_free(&s->reserved);
	wh_intervals_free(&s->device_mapped);
	wh_limits_free(s);
	free(s->upload.buf);
	free(s->link);
	free(s);
}

struct wh_session *wh_session_open(void *part, size_t part_size, uint32_t slots,
				   const char *backend, char *err, size_t err_size)
{
	struct wh_session *s = aligned_alloc(_Alignof(struct wh_session), sizeof(*s));

	if (!s) {
		snprintf(err, err_size, "out of memory");
		return NULL;
	}
	memset(s, 0, sizeof(*s));
	s->part = part;
	s->part_size = part_size;
	wh_session_new_thread(s);
	s->tsc_per_us = measure_tsc();
	wh_image_ready();
	if (!wh_limits_init(s)) {
		snprintf(err, err_size, "out of memory");
		free(s);
		return NULL;
	}
	if (!format_part(s, slots)) {
		snprintf(err, err_size, "part of %zu bytes: too small or too big", part_size);
	} else if (!wh_session_slot(s, 0) || !wh_handles_init(&s->handles) ||
		   !wh_intervals_reserve(&s->reach.set, RANGES)) {
		snprintf(err, err_size, "out of memory");
	} else if (wh_backend_load(s, backend, err, err_size)) {
		return s;
	}
	free_session(s);
	return NULL;
}

void wh_session_far(struct wh_session *s, void *far, size_t size, bool one_process)
{
	s->far = far;
	s->far_size = size;
	s->one_process = one_process;
}

bool wh_session_charge_part(struct wh_session *s, size_t bytes, char *err, size_t size)
{
	const struct wh_tenant_limits *l = s->limits.page;

	if (wh_host_take(s, bytes))
		return true;
	snprintf(err, size, "tenant %.63s: %llu MiB of host memory have no room for a part of %zu MiB; give more by "
		 "--host-mem of `wormhole run' or `limit', or serve with a smaller --part-size", l->name,
		 (unsigned long long)l->host_memory >> 20, bytes >> 20);
	return false;
}

void wh_session_ready(struct wh_session *s)
{
	wh_ipc_passes_files(s);	/* it makes a system call, which a client's first call must not */
	__atomic_store_n(&ctl_of(s)->state, WH_CTL_READY, __ATOMIC_RELEASE);
}

/* A launch cannot be cancelled, but the process can end, and its work ends with it. */
void wh_session_out_of_time(struct wh_session *s)
{
	__atomic_store_n(&ctl_of(s)->last, WH_CTL_LAST_TIMEOUT, __ATOMIC_RELEASE);
	fprintf(wh_messages(), "warn: worker %d: a launch held the device for longer than --max-kernel allows "
		"beyond its share; its program gets CUDA_ERROR_LAUNCH_TIMEOUT\n", getpid());
	fflush(wh_messages());
	_exit(1);
}

void wh_session_may_end(struct wh_session *s)
{
	s->out_of_time = wh_session_out_of_time;
}

/*
 * The backend stays loaded: a driver library is not made to be unloaded, and
 * the process that closes its session ends soon.
 */
void wh_session_close(struct wh_session *s)
{
	if (!s)
		return;
	__atomic_store_n(&ctl_of(s)->state, WH_CTL_DEAD, __ATOMIC_RELEASE);
	free_session(s);
}
