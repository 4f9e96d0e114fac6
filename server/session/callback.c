// SPDX-License-Identifier: Apache-2.0
/*
 * Callbacks: points of streams and graphs where the driver waits until the client has run a
 * function. Also user objects, about whose end the client is told in the same way. Callbacks are in
 * the client's memory: a value in them can only hold up or release the client's own work.
 */
#include "session/callback.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static uint64_t area_of(uint64_t callback)
{
	return callback & ~(uint64_t)(WH_CALLBACK_AREA - 1);
}

/* Graphs may come to their callbacks at any later time, so only memory that stays is good. */
bool wh_callback_ok(const struct wh_session *s, uint64_t callback)
{
	return callback % sizeof(struct wh_callback) == 0 && callback != area_of(callback) &&
	       wh_part_range(s, area_of(callback), WH_CALLBACK_AREA);
}

static void ring(struct wh_callback *c)
{
	struct wh_callback *bell = (struct wh_callback *)area_of((uintptr_t)c);

	__atomic_add_fetch(&bell->reached, 1, __ATOMIC_RELEASE);
	futex(&bell->reached, FUTEX_WAKE, 1, NULL);
}

/*
 * Runs where the driver runs host functions. It announces that the callback is reached by a plain
 * count and a futex wake. A client in another VM sees only the count, and this side sees only the
 * client's count: hence the short timeout.
 */
static void come_to(struct wh_callback *c)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint32_t mine = __atomic_add_fetch(&c->reached, 1, __ATOMIC_ACQ_REL), done;

	ring(c);
	while ((done = __atomic_load_n(&c->done, __ATOMIC_ACQUIRE), (int32_t)(done - mine) < 0))
		futex(&c->done, FUTEX_WAIT, done, &nap);
}

void CUDA_CB wh_callback_function(void *callback)
{
	come_to(callback);
}

void CUDA_CB wh_callback_copy(void *callback)
{
	/* The code must differ, or the linker could give both functions one address. */
	__asm__ volatile("# the client's part of a copy");
	come_to(callback);
}

void CUDA_CB wh_callback_gone(void *callback)
{
	struct wh_callback *c = callback;

	__atomic_store_n(&c->gone, 1, __ATOMIC_RELEASE);
	ring(c);
}

static void CUDA_CB run_with_status(CUstream stream, CUresult status, void *callback)
{
	struct wh_callback *c = callback;

	(void)stream;
	c->status = status;
	come_to(c);
}

CUresult wh_do_whHostFunc(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whHostFunc *q = f->req;
	CUstream stream;
	void *callback;

	if (f->req_size < sizeof(*q) || !wh_callback_ok(s, q->callback))
		return CUDA_ERROR_INVALID_VALUE;
	callback = (void *)q->callback;
	if (!wh_get(s, WH_H_CUstream, q->stream, (void **)&stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (q->with_status) {
		if (!s->drv.cuStreamAddCallback)
			return wh_missing(s, "cuStreamAddCallback");
		return WH_OUTSIDE(s, s->drv.cuStreamAddCallback(stream, run_with_status, callback,
								0));
	}
	if (!s->drv.cuLaunchHostFunc)
		return wh_missing(s, "cuLaunchHostFunc");
	/* This callback is used once. A graph needs one that stays, so the client asks again. */
	if (wh_capturing(s, stream))
		return CUDA_ERROR_NOT_READY;
	/* softgpu runs the function in this call, and a full queue waits for the device. */
	return WH_OUTSIDE(s, s->drv.cuLaunchHostFunc(stream, wh_callback_function, callback));
}

CUresult wh_do_cuUserObjectCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_user_object *q = f->req;
	struct wh_rsp_user_object *r = wh_reply(f, sizeof(*r));
	CUuserObject object;
	CUresult res;

	if (f->req_size < sizeof(*q) || !wh_callback_ok(s, q->callback))
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->drv.cuUserObjectCreate)
		return wh_missing(s, "cuUserObjectCreate");
	res = s->drv.cuUserObjectCreate(&object, (void *)q->callback, wh_callback_gone, q->refs,
					q->flags);
	if (res == CUDA_SUCCESS)
		r->object = wh_new(s, WH_H_CUuserObject, object, 0);
	return res;
}
