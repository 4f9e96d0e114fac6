// SPDX-License-Identifier: Apache-2.0
/*
 * Gates: points of streams and graphs where the driver waits until the client
 * has run a function; and user objects, whose end the client hears of the same
 * way. Gates are the client's memory: a value in them can hold up or let go
 * only the client's own work.
 */
#include "gate.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void futex(uint32_t *word, int op, uint32_t value, const struct timespec *timeout)
{
	syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

static uint64_t area_of(uint64_t gate)
{
	return gate & ~(uint64_t)(WH_GATE_AREA - 1);
}

/* Graphs pass their gates at any later time: only memory that stays will do. */
bool wh_gate_ok(const struct wh_session *s, uint64_t gate)
{
	return gate % sizeof(struct wh_gate) == 0 && gate != area_of(gate) &&
	       wh_part_range(s, area_of(gate), WH_GATE_AREA);
}

static void ring(struct wh_gate *g)
{
	struct wh_gate *bell = (struct wh_gate *)area_of((uintptr_t)g);

	__atomic_add_fetch(&bell->reached, 1, __ATOMIC_RELEASE);
	futex(&bell->reached, FUTEX_WAKE, 1, NULL);
}

/*
 * Runs where the driver runs host functions. Reaching the gate is announced by
 * a plain count and a futex wake; the client in another VM sees only the
 * count, and this side sees only its count: hence the short timeout.
 */
static void pass_gate(struct wh_gate *g)
{
	static const struct timespec nap = { .tv_nsec = 1000000 };
	uint32_t mine = __atomic_add_fetch(&g->reached, 1, __ATOMIC_ACQ_REL), done;

	ring(g);
	while ((done = __atomic_load_n(&g->done, __ATOMIC_ACQUIRE), (int32_t)(done - mine) < 0))
		futex(&g->done, FUTEX_WAIT, done, &nap);
}

void CUDA_CB wh_gate_function(void *gate)
{
	pass_gate(gate);
}

void CUDA_CB wh_gate_copy(void *gate)
{
	/* Not the same code, or the linker could give both one address. */
	__asm__ volatile("# the client's part of a copy");
	pass_gate(gate);
}

void CUDA_CB wh_gate_gone(void *gate)
{
	struct wh_gate *g = gate;

	__atomic_store_n(&g->gone, 1, __ATOMIC_RELEASE);
	ring(g);
}

static void CUDA_CB gate_callback(CUstream stream, CUresult status, void *gate)
{
	struct wh_gate *g = gate;

	(void)stream;
	g->status = status;
	pass_gate(g);
}

CUresult wh_do_whHostFunc(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whHostFunc *q = f->req;
	CUstream stream;
	void *gate;

	if (f->req_size < sizeof(*q) || !wh_gate_ok(s, q->gate))
		return CUDA_ERROR_INVALID_VALUE;
	gate = (void *)q->gate;
	if (!wh_get(s, WH_H_CUstream, q->stream, (void **)&stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (q->with_status) {
		if (!s->drv.cuStreamAddCallback)
			return wh_missing(s, "cuStreamAddCallback");
		return s->drv.cuStreamAddCallback(stream, gate_callback, gate, 0);
	}
	if (!s->drv.cuLaunchHostFunc)
		return wh_missing(s, "cuLaunchHostFunc");
	/* This gate is for one pass; a graph needs one that stays: the client asks again. */
	if (wh_capturing(s, stream))
		return CUDA_ERROR_NOT_READY;
	return s->drv.cuLaunchHostFunc(stream, wh_gate_function, gate);
}

CUresult wh_do_cuUserObjectCreate(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_user_object *q = f->req;
	struct wh_rsp_user_object *r = wh_reply(f, sizeof(*r));
	CUuserObject object;
	CUresult res;

	if (f->req_size < sizeof(*q) || !wh_gate_ok(s, q->gate))
		return CUDA_ERROR_INVALID_VALUE;
	if (!s->drv.cuUserObjectCreate)
		return wh_missing(s, "cuUserObjectCreate");
	res = s->drv.cuUserObjectCreate(&object, (void *)q->gate, wh_gate_gone, q->refs, q->flags);
	if (res == CUDA_SUCCESS)
		r->object = wh_new(s, WH_H_CUuserObject, object, 0);
	return res;
}
