// SPDX-License-Identifier: Apache-2.0
/*
 * Compares what the driver says with what the handlers counted. A worker that was taken over can
 * allocate without the handlers, but it cannot hide that from the driver. A tenant whose processes
 * hold more than they may at READINGS readings in a row loses the worker with the most memory
 * beyond its own count, and so on until the rest fits.
 *
 * Beyond its limit a tenant may hold, up to the slack, what its handlers have seen but can no
 * longer undo, or will see when the current call returns (docs/limits.md names it). It may also
 * hold a little that they have not seen, since the figures are not of the same moment. What workers
 * say is only their word: even with all of it, the slack is the most.
 */
#include "figures/figures.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

#include "libraries/nvml_abi.h"

#define READINGS	3	/* readings above the limit in a row */
#define BLIND_READINGS	20	/* readings without any figure, until a warning */

int wh_figures_receive(int fd, struct wh_figures *f)
{
	ssize_t n = recv(fd, f, sizeof(*f), MSG_DONTWAIT);

	if (n <= 0)
		return -1;
	f->uuid[sizeof(f->uuid) - 1] = 0;
	return n >= (ssize_t)offsetof(struct wh_figures, figure) && f->count <= WH_FIGURES_MAX &&
	       (size_t)n == offsetof(struct wh_figures, figure) + f->count * sizeof(f->figure[0]);
}

/* --- Figures ---------------------------------------------------------------------- */

static int device_of(const struct wh_judge *a, const char *uuid)
{
	unsigned int i;

	for (i = 0; i < a->devices; i++)
		if (!strcmp(a->device[i].uuid, uuid))
			return (int)i;
	return -1;
}

static const struct wh_figure_of *figure_of(const struct wh_figures *f, pid_t pid)
{
	uint32_t i;

	for (i = 0; i < f->count; i++)
		if (f->figure[i].pid == (uint32_t)pid)
			return &f->figure[i];
	return NULL;
}

/* The tenant's counters go by its workers' numbers of devices. */
static unsigned int counted_as(const struct wh_judged *t, int device)
{
	return wh_device_index(t->file, (unsigned int)device);
}

static struct wh_device_usage *of(const struct wh_judged *t, int account, int device)
{
	return &t->usage->worker[account].device[counted_as(t, device)];
}

/* The worker's account only shows the figure; the owner's own copy decides. */
static bool note(const struct wh_judged *t, int account, int device, const struct wh_figures *all)
{
	const struct wh_figure_of *f = figure_of(all, t->pid[account]);
	struct wh_device_usage *u = of(t, account, device);
	uint64_t bytes = f && f->bytes != NVML_UNKNOWN_BYTES ? f->bytes : 0;

	t->held->driver[account][device] = bytes;
	__atomic_store_n(&u->memory_driver, bytes, __ATOMIC_RELAXED);
	/* Under a share of time, the worker measures the time itself. */
	if (f && !wh_has_share(&t->limit[device], WH_SM_TEMPORAL))
		__atomic_fetch_add(&u->gpu_ns_driver, f->busy_ns, __ATOMIC_RELAXED);
	return f != NULL;
}

/* --- Judgement -------------------------------------------------------------------- */

/*
 * Returns the worker that holds most beyond what its handlers counted; -1: there is no figure at
 * all.
 */
static int worst(const struct wh_judged *t, int device, uint64_t bound)
{
	uint64_t beyond, most = 0, counted, held;
	int i, out = -1;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		held = t->pid[i] ? t->held->driver[i][device] : 0;
		if (!held)
			continue;
		counted = of(t, i, device)->memory;
		/*
		 * The count is the worker's word, but handlers let nobody have more than the limit.
		 */
		if (counted > bound)
			counted = bound;
		beyond = held > counted ? held - counted : 0;
		if (out < 0 || beyond > most) {
			out = i;
			most = beyond;
		}
	}
	return out;
}

static void stop_worst(const struct wh_judge *a, const struct wh_judged *t, int device,
		       uint64_t held, uint64_t bound)
{
	int account = worst(t, device, bound);

	if (account < 0)
		return;
	a->say("warn", "tenant %s: worker %d stopped: on device %d the driver counts %" PRIu64
	       " bytes for the tenant, its limit is %" PRIu64, t->name, t->pid[account], device,
	       held, t->limit[device].memory);
	a->kill(t->pid[account]);
	t->held->driver[account][device] = 0;
}

static uint64_t held_by_all(const struct wh_judged *t, int device)
{
	uint64_t held = 0;
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->pid[i])
			held += t->held->driver[i][device];
	return held;
}

/* Has any worker a call under way whose memory is seen only after the call? */
static bool takes(const struct wh_judged *t)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (t->pid[i] &&
		    __atomic_load_n(&t->usage->worker[i].taking, __ATOMIC_RELAXED))
			return true;
	return false;
}

/*
 * A lower limit ends nothing. The memory that is held then may be held until it is given back, but
 * no more than that.
 */
static uint64_t bound_of(const struct wh_judged *t, int device, uint64_t held)
{
	uint64_t quota = t->limit[device].memory, *bound = &t->held->bound[device];

	*bound = held < *bound ? held : *bound;
	if (!quota)
		*bound = UINT64_MAX;
	else if (*bound < quota)
		*bound = quota;
	return *bound;
}

static bool may_hold(const struct wh_judge *a, const struct wh_judged *t, int device,
		     uint64_t held, uint64_t bound)
{
	uint64_t counted = wh_tenant_memory(t->usage, counted_as(t, device));

	if (held <= bound)
		return true;
	if (held - bound > a->slack)
		return false;
	counted = counted > bound ? counted : bound;
	return takes(t) || held <= counted || held - counted <= a->unseen;
}

/* Returns true if the tenant holds more than it may. */
static bool judge(const struct wh_judge *a, const struct wh_judged *t, int device)
{
	uint64_t held = held_by_all(t, device), bound = bound_of(t, device, held);

	if (may_hold(a, t, device, held, bound)) {
		t->held->over[device] = 0;
		return false;
	}
	if (++t->held->over[device] < READINGS)
		return true;
	t->held->over[device] = 0;
	stop_worst(a, t, device, held, bound);
	return true;
}

/* Warns if workers hold memory, but the driver names none of them. */
static void mind_blindness(struct wh_judge *a, bool hold, bool seen)
{
	a->blind = hold && !seen ? a->blind + 1 : 0;
	if (a->blind < BLIND_READINGS || a->said_blind)
		return;
	a->said_blind = true;
	a->say("warn", "the driver names no worker's process, as in a container with its own process "
	       "numbers: memory behind the handlers is not noticed; run the server in the host's");
}

bool wh_judge_use(struct wh_judge *a, const struct wh_figures *f)
{
	bool hold = false, seen = false, over = false;
	int device = device_of(a, f->uuid), i;
	struct wh_judged t = { 0 };
	unsigned int at = 0;

	if (device < 0) {
		if (!a->said_unknown)
			a->say("info", "NVML has a device that the backend has not: %s", f->uuid);
		a->said_unknown = true;
		return false;
	}
	if (a->figures)
		a->figures[device] = f->device;
	while (a->next(&at, &t)) {
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (t.pid[i]) {
				seen |= note(&t, i, device, f);
				hold |= of(&t, i, device)->memory != 0;
			}
		over |= judge(a, &t, device);
	}
	mind_blindness(a, hold, seen);
	return over;
}
