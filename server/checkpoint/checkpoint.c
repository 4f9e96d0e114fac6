// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the device's memory away from a tenant's workers, or gives it back, by the driver's
 * checkpoint calls. It is a process of its own: its owner loads no driver and waits for nobody. It
 * is no worker either: the driver documents these calls as calls on a process by its number, and a
 * worker whose driver is locked can ask that driver for nothing. To reach a process of another
 * user, which may not be looked into, it keeps its owner's rights; so it runs nothing of a
 * client's, and reads nothing of a worker's but words of its account: that it is at rest, and of
 * overcommit how its memory stands, which workers move themselves as far as they can.
 *
 * All workers or none: where one fails, those before it are brought back to where they were. A
 * worker that ends meanwhile is no failure. Where each worker is in a move stands in a file, which
 * outlives this process.
 */
#define _GNU_SOURCE
#include "checkpoint/checkpoint.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "state/devices.h"
#include "tenant/tenant.h"

#define LOOK_MS	50	/* between two looks whether a worker lives */
#define GRACE_NS	5000000000ull	/* for a worker that has nothing to do but answer */

static struct {
	CUresult (*init)(unsigned int flags);
	CUresult (*name)(CUresult error, const char **text);
	CUresult (*state)(int pid, CUprocessState *state);
	CUresult (*lock)(int pid, CUcheckpointLockArgs *args);
	CUresult (*checkpoint)(int pid, CUcheckpointCheckpointArgs *args);
	CUresult (*restore)(int pid, CUcheckpointRestoreArgs *args);
	CUresult (*unlock)(int pid, CUcheckpointUnlockArgs *args);
} drv;

struct job {
	const struct wh_checkpoint *o;
	struct wh_tenant_usage *usage;
	struct wh_checkpoint_worker worker[WH_TENANT_WORKERS];
	unsigned int n;
	uint32_t order[WH_TENANT_WORKERS];	/* the last one of each; 0: none */
	/* it had moved its memory out when it was told to come back */
	bool was_out[WH_TENANT_WORKERS], comes[WH_TENANT_WORKERS];
	unsigned int by_driver;			/* so many workers' memory the driver has taken */
	/* of a move: both devices change places. `place' is a file, for whoever comes after this */
	uint8_t *place;
	CUcheckpointGpuPair pair[WH_TENANT_DEVICES];
	unsigned int pairs;
	uint64_t until_ns;
	struct wh_checkpoint_result *r;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static unsigned int ms_left(const struct job *j)
{
	uint64_t now = now_ns();

	return now >= j->until_ns ? 0 : (unsigned int)((j->until_ns - now) / 1000000) + 1;
}

/* --- The driver ----------------------------------------------------------------------- */

static bool load(const char *backend, struct wh_checkpoint_result *r)
{
	static const struct {
		const char *name;
		void **to;
	} wanted[] = {
		{ "cuInit", (void **)&drv.init },
		{ "cuGetErrorName", (void **)&drv.name },
		{ "cuCheckpointProcessGetState", (void **)&drv.state },
		{ "cuCheckpointProcessLock", (void **)&drv.lock },
		{ "cuCheckpointProcessCheckpoint", (void **)&drv.checkpoint },
		{ "cuCheckpointProcessRestore", (void **)&drv.restore },
		{ "cuCheckpointProcessUnlock", (void **)&drv.unlock },
	};
	void *lib = dlopen(backend, RTLD_NOW | RTLD_LOCAL);
	size_t i;

	if (!lib) {
		snprintf(r->text, sizeof(r->text), "%.200s", dlerror());
		return false;
	}
	for (i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].to = dlsym(lib, wanted[i].name);
		if (*wanted[i].to)
			continue;
		snprintf(r->text, sizeof(r->text), "the driver has no %s: NVIDIA's has it since 570",
			 wanted[i].name);
		return false;
	}
	return true;
}

static const char *named(CUresult res)
{
	const char *text = NULL;

	return drv.name(res, &text) == CUDA_SUCCESS && text ? text : "an unknown error";
}

static const char *hint(CUresult res)
{
	switch (res) {
	case CUDA_ERROR_NOT_SUPPORTED:
		return "; this driver cannot save what the program has, such as memory that it shares with "
		       "others (CUDA IPC, NCCL)";
	case CUDA_ERROR_NOT_READY:
		return "; its work on the device has not ended in time: say a longer --wait";
	case CUDA_ERROR_NOT_PERMITTED:
		return "; the server may not look into its workers: run it as root";
	case CUDA_ERROR_OUT_OF_MEMORY:
		return "; there is too little memory";
	default:
		return "";
	}
}

/* Notes the first failure, which is the one that is told. */
static bool failed(struct job *j, unsigned int i, const char *call, CUresult res)
{
	struct wh_checkpoint_result *r = j->r;

	if (*r->text)
		return false;
	r->pid = j->worker[i].pid;
	r->code = (int)res;
	snprintf(r->text, sizeof(r->text), "%s: %s (%d)%s", call, named(res), (int)res, hint(res));
	return false;
}

/* --- Workers -------------------------------------------------------------------------- */

/* A number of a process that has ended may be another's, whose parent is not the monitor. */
static bool lives(const struct job *j, unsigned int i)
{
	char path[40], line[256], state = 'X';
	int parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", j->worker[i].pid);
	f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && strrchr(line, ')'))
		sscanf(strrchr(line, ')'), ") %c %d", &state, &parent);
	if (f)
		fclose(f);
	return parent == j->o->parent && state != 'Z' && state != 'X';
}

static CUprocessState state_of(const struct job *j, unsigned int i)
{
	CUprocessState state = CU_PROCESS_STATE_FAILED;

	drv.state(j->worker[i].pid, &state);
	return state;
}

static bool await_rest(struct job *j, unsigned int i)
{
	const uint32_t *word = &j->usage->worker[j->worker[i].account].at_rest;
	uint32_t at;

	while ((at = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != j->o->number) {
		if (!lives(j, i))
			return true;
		if (!ms_left(j))
			return failed(j, i, "its calls have not ended in time", CUDA_ERROR_NOT_READY);
		wh_tenant_await(word, at, LOOK_MS);
	}
	return true;
}

/*
 * The driver knows nothing of a worker whose program has not started CUDA yet. It has nothing to
 * lose, and starts no driver before the tenant is resumed. What is charged is its own word; a
 * worker that lies has the driver against it as soon as that knows it.
 */
static bool has_no_driver(const struct job *j, unsigned int i)
{
	const struct wh_worker_usage *u = &j->usage->worker[j->worker[i].account];
	CUprocessState state;
	uint64_t charged = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		charged |= __atomic_load_n(&u->device[d].memory, __ATOMIC_RELAXED);
	return !charged && drv.state(j->worker[i].pid, &state) == CUDA_ERROR_INVALID_VALUE;
}

static bool save(struct job *j, unsigned int i)
{
	CUcheckpointLockArgs lock = { .timeoutMs = ms_left(j) + 1000 };
	int pid = j->worker[i].pid;
	CUresult res = drv.lock(pid, &lock);

	if (res != CUDA_SUCCESS)
		return !lives(j, i) || has_no_driver(j, i) ||
		       failed(j, i, "cuCheckpointProcessLock", res);
	res = drv.checkpoint(pid, NULL);
	return res == CUDA_SUCCESS || !lives(j, i) ||
	       failed(j, i, "cuCheckpointProcessCheckpoint", res);
}

/* --- Workers that move their memory themselves (limits/paging.c) ------------------------ */

static struct wh_worker_usage *usage_of(const struct job *j, unsigned int i)
{
	return &j->usage->worker[j->worker[i].account];
}

/* One that has not come to rest hears no order, and has moved nothing. */
static void give_order(struct job *j, unsigned int i, unsigned int what)
{
	struct wh_worker_usage *u = usage_of(j, i);
	uint32_t order = WH_PAGE_NEXT(__atomic_load_n(&u->order, __ATOMIC_RELAXED), what);

	j->order[i] = 0;
	if (__atomic_load_n(&u->at_rest, __ATOMIC_ACQUIRE) != j->o->number)
		return;
	j->order[i] = order;
	__atomic_store_n(&u->order, order, __ATOMIC_RELEASE);
	wh_tenant_wake(&u->order);
}

/*
 * Returns how the worker's order stands at the end. Its work on the device may last until the
 * job's end, if it is `limited'; what is on its way takes as long as it takes. The words are the
 * worker's: what it says wrongly, its own tenant has to bear.
 */
static enum wh_paging await_order(struct job *j, unsigned int i, bool limited)
{
	const uint32_t *word = &usage_of(j, i)->obeyed;
	uint32_t at;

	while (j->order[i] && lives(j, i)) {
		at = __atomic_load_n(word, __ATOMIC_ACQUIRE);
		if (WH_PAGE_NUMBER(at) != WH_PAGE_NUMBER(j->order[i]))
			at = 0;
		if (WH_PAGE_STATE(at) > WH_PAGING_MOVES)
			return (enum wh_paging)WH_PAGE_STATE(at);
		if (limited && !at && !ms_left(j))
			return WH_PAGING_BUSY;
		wh_tenant_await(word, __atomic_load_n(word, __ATOMIC_ACQUIRE), LOOK_MS);
	}
	return WH_PAGING_DONE;
}

static bool is_out(const struct job *j, unsigned int i)
{
	const struct wh_worker_usage *u = usage_of(j, i);
	uint64_t paged = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		paged |= __atomic_load_n(&u->device[d].paged, __ATOMIC_RELAXED);
	return paged;
}

/* Has the worker moved its memory out, or is it about to? One of the driver's has not. */
static bool may_be_out(const struct job *j, unsigned int i)
{
	const struct wh_worker_usage *u = usage_of(j, i);
	uint32_t order = __atomic_load_n(&u->order, __ATOMIC_ACQUIRE);
	uint32_t obeyed = __atomic_load_n(&u->obeyed, __ATOMIC_ACQUIRE);

	if (j->o->driver_only)
		return false;
	/* Who gave an order back may have ended before the answer (daemon/suspend.c: lost()). */
	if (WH_PAGE_STATE(order) == WH_PAGE_IN &&
	    obeyed != (WH_PAGE_NUMBER(order) | WH_PAGING_DONE))
		return true;
	return is_out(j, i) || (WH_PAGE_STATE(order) == WH_PAGE_OUT &&
				obeyed != (WH_PAGE_NUMBER(order) | WH_PAGING_UNABLE));
}

/*
 * Gives the order to come back. Returns whether there may be something to come: a worker that has
 * not begun with the order before sees this one first, and moves nothing (limits/paging.c). It may
 * be stuck in the driver behind its client's work for any time.
 */
static bool call_back(struct job *j, unsigned int i)
{
	const struct wh_worker_usage *u = usage_of(j, i);
	uint32_t before = __atomic_load_n(&u->order, __ATOMIC_ACQUIRE), obeyed;

	give_order(j, i, WH_PAGE_IN);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	obeyed = __atomic_load_n(&u->obeyed, __ATOMIC_ACQUIRE);
	return WH_PAGE_STATE(before) != WH_PAGE_OUT || is_out(j, i) ||
	       WH_PAGE_NUMBER(obeyed) == WH_PAGE_NUMBER(before);
}

/* All workers do it at the same time. */
static bool page_in(struct job *j)
{
	enum wh_paging how;
	bool good = true;
	unsigned int i;

	j->until_ns = now_ns() + GRACE_NS;
	for (i = 0; i < j->n; i++) {
		j->order[i] = 0;
		j->was_out[i] = may_be_out(j, i);
		j->comes[i] = j->was_out[i] && call_back(j, i);
	}
	for (i = 0; i < j->n; i++) {
		how = await_order(j, i, !j->comes[i]);
		if (how != WH_PAGING_DONE && j->comes[i])
			good = failed(j, i, "cuMemCreate", how == WH_PAGING_FULL ? CUDA_ERROR_OUT_OF_MEMORY :
									CUDA_ERROR_UNKNOWN);
	}
	return good;
}

/*
 * The opposite, for those that came back in vain. What the driver has taken since is away, and a
 * worker whose driver is locked would wait for it, and never answer.
 */
static void page_out_again(struct job *j)
{
	unsigned int i;

	for (i = 0; i < j->n; i++) {
		j->order[i] = 0;
		if (j->was_out[i] && state_of(j, i) == CU_PROCESS_STATE_RUNNING)
			give_order(j, i, WH_PAGE_OUT);
	}
	for (i = 0; i < j->n; i++)
		await_order(j, i, false);
}

static uint8_t *place_of(const struct job *j, unsigned int i)
{
	static uint8_t old;

	return j->place ? &j->place[j->worker[i].account] : &old;
}

/*
 * Is it where the move goes to? Whoever asked the driver before may not have heard the answer, and
 * the driver may still be at it. To ask for the same again finds out.
 */
static bool is_there(struct job *j, unsigned int i)
{
	CUcheckpointRestoreArgs pairs = { .gpuPairs = j->pair, .gpuPairsCount = j->pairs };
	uint8_t *place = place_of(j, i);
	bool to_new = *place == WH_PLACE_TO_NEW, arrived = true;
	CUresult res;

	if (!to_new && *place != WH_PLACE_TO_OLD)
		return *place == WH_PLACE_NEW;
	if (state_of(j, i) == CU_PROCESS_STATE_CHECKPOINTED) {
		res = drv.restore(j->worker[i].pid, &pairs);
		arrived = res == CUDA_SUCCESS || res == CUDA_ERROR_ILLEGAL_STATE;
	}
	*place = arrived == to_new ? WH_PLACE_NEW : WH_PLACE_OLD;
	return *place == WH_PLACE_NEW;
}

/* It has its memory, and has to be without it to go elsewhere. */
static CUresult take_away(int pid, CUprocessState state)
{
	CUresult res = state == CU_PROCESS_STATE_RUNNING ? drv.lock(pid, NULL) : CUDA_SUCCESS;

	return res == CUDA_SUCCESS ? drv.checkpoint(pid, NULL) : res;
}

/*
 * Gives a worker its memory, of the device that it was on, or `there' of the one that the move goes
 * to. Leaves it locked. The driver knows nothing of a worker in state FAILED (has_no_driver()).
 */
static bool bring(struct job *j, unsigned int i, bool there)
{
	CUcheckpointRestoreArgs pairs = { .gpuPairs = j->pair, .gpuPairsCount = j->pairs };
	bool goes = is_there(j, i) != there;
	CUprocessState state = state_of(j, i);
	int pid = j->worker[i].pid;
	CUresult res = CUDA_SUCCESS;

	if (state == CU_PROCESS_STATE_FAILED) {
		*place_of(j, i) = there ? WH_PLACE_NEW : WH_PLACE_OLD;
		return true;
	}
	if (goes && state != CU_PROCESS_STATE_CHECKPOINTED) {
		res = take_away(pid, state);
		if (res != CUDA_SUCCESS)
			return !lives(j, i) || failed(j, i, "cuCheckpointProcessCheckpoint", res);
		state = CU_PROCESS_STATE_CHECKPOINTED;
	}
	if (state != CU_PROCESS_STATE_CHECKPOINTED)
		return true;
	if (goes)
		*place_of(j, i) = there ? WH_PLACE_TO_NEW : WH_PLACE_TO_OLD;
	res = drv.restore(pid, goes ? &pairs : NULL);
	if (goes)
		*place_of(j, i) = there == (res == CUDA_SUCCESS) ? WH_PLACE_NEW : WH_PLACE_OLD;
	return res == CUDA_SUCCESS || !lives(j, i) ||
	       failed(j, i, "cuCheckpointProcessRestore", res);
}

static bool let_go(struct job *j, unsigned int i)
{
	CUresult res = CUDA_SUCCESS;

	if (state_of(j, i) == CU_PROCESS_STATE_LOCKED)
		res = drv.unlock(j->worker[i].pid, NULL);
	return res == CUDA_SUCCESS || !lives(j, i) ||
	       failed(j, i, "cuCheckpointProcessUnlock", res);
}

/* --- Tenants -------------------------------------------------------------------------- */

/* No failure: what stays in memory costs the machine memory, and the tenant nothing. */
static void page_out(struct job *j)
{
	struct wh_paged sum = { 0 };
	unsigned int i;

	for (i = 0; i < j->n; i++)
		if (lives(j, i))
			wh_page_out(j->worker[i].pid, &sum);
	snprintf(j->r->text, sizeof(j->r->text), "%llu MiB of its workers' memory went to swap, and %llu MiB stay%s",
		 (unsigned long long)(sum.out_kib >> 10), (unsigned long long)(sum.left_kib >> 10),
		 sum.out_kib < sum.left_kib ? "; has the swap room (`swapon --show'), and does a cgroup forbid it?" : "");
}

/* What a worker cannot move, the driver takes. */
static bool move_out(struct job *j)
{
	enum wh_paging how;
	bool good = true;
	unsigned int i;

	/* To come to rest may have taken all the time; the driver's lock has this second, too. */
	if (ms_left(j) < 1000)
		j->until_ns = now_ns() + 1000000000ull;
	for (i = 0; i < j->n; i++)
		give_order(j, i, WH_PAGE_OUT);
	for (i = 0; good && i < j->n; i++) {
		how = await_order(j, i, true);
		if (how == WH_PAGING_BUSY)
			good = failed(j, i, "its work has not ended in time", CUDA_ERROR_NOT_READY);
		else if (how != WH_PAGING_DONE && !has_no_driver(j, i))
			j->by_driver += good = save(j, i);
	}
	if (good && j->by_driver)
		snprintf(j->r->text, sizeof(j->r->text), "the driver's checkpoint took the memory of %u of its %u workers, "
			 "who cannot move most of it themselves", j->by_driver, j->n);
	j->r->by_driver = (int32_t)j->by_driver;
	return good;
}

static bool save_all(struct job *j)
{
	bool good = true;
	unsigned int i;

	for (i = 0; good && i < j->n; i++)
		good = save(j, i);
	return good;
}

static bool suspend(struct job *j)
{
	bool good = true, back = true;
	unsigned int i;

	for (i = 0; good && i < j->n; i++)
		good = await_rest(j, i);
	if (good)
		good = j->o->moves_out ? move_out(j) : save_all(j);
	if (good && j->o->page_out)
		page_out(j);
	if (good)
		return true;
	back = page_in(j);
	for (i = 0; i < j->n; i++)
		back &= bring(j, i, false) && let_go(j, i);
	j->r->stays = !back;
	return false;
}

/*
 * One that cannot stays as it is. A worker whose driver is locked would never answer. Another one
 * that does not answer may do so later, and move then.
 */
static bool leave_further(struct job *j)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < j->n; i++) {
		j->order[i] = 0;
		if (state_of(j, i) == CU_PROCESS_STATE_RUNNING)
			give_order(j, i, WH_PAGE_OUT);
	}
	for (i = 0; i < j->n; i++)
		if (await_order(j, i, true) == WH_PAGING_BUSY)
			good = failed(j, i, "it does not answer", CUDA_ERROR_NOT_READY);
	return good;
}

static bool bring_all(struct job *j, bool there)
{
	bool good = true;
	unsigned int i;

	for (i = 0; good && i < j->n; i++)
		good = bring(j, i, there);
	return good;
}

static bool let_all_go(struct job *j)
{
	bool good = true;
	unsigned int i;

	for (i = 0; i < j->n; i++)
		good &= let_go(j, i);
	return good;
}

/* Those that have their memory hold it in vain, if others have it not. */
static bool stay(struct job *j)
{
	unsigned int i;

	for (i = 0; i < j->n; i++)
		if (state_of(j, i) == CU_PROCESS_STATE_LOCKED)
			drv.checkpoint(j->worker[i].pid, NULL);
	page_out_again(j);
	for (i = 0; i < j->n; i++)
		j->r->half |= lives(j, i) && is_there(j, i);
	j->r->stays = true;
	return false;
}

/* What workers are charged for is their own word: one that says less may find no room. */
static bool has_room(struct job *j)
{
	uint64_t need[WH_TENANT_DEVICES] = { 0 };
	const struct wh_worker_usage *u;
	unsigned int i, d;
	bool taken;

	for (i = 0; i < j->n; i++) {
		u = &j->usage->worker[j->worker[i].account];
		taken = state_of(j, i) == CU_PROCESS_STATE_CHECKPOINTED;
		for (d = 0; d < WH_TENANT_DEVICES; d++)
			need[d] += __atomic_load_n(taken ? &u->device[d].memory :
						   &u->device[d].paged, __ATOMIC_RELAXED);
	}
	if (wh_device_room(j->o, need, j->r->text, sizeof(j->r->text)))
		return true;
	j->r->code = CUDA_ERROR_OUT_OF_MEMORY;
	return false;
}

/* Nobody goes on before all have their memory. */
static bool resume(struct job *j)
{
	return has_room(j) && page_in(j) && bring_all(j, false) ? let_all_go(j) : stay(j);
}

/* All workers come to the other device, or go back to the old one. */
static bool move(struct job *j)
{
	j->r->moved = has_room(j) && page_in(j) && bring_all(j, true);
	if (j->r->moved)
		return let_all_go(j) || stay(j);
	if (!bring_all(j, false) || j->o->stays || !let_all_go(j))
		return stay(j);
	j->r->stays = false;
	return false;
}

/* The list is "ACCOUNT:PID,ACCOUNT:PID,…". */
static bool take_workers(struct job *j, const char *list)
{
	int used;

	while (list && *list) {
		struct wh_checkpoint_worker *w = &j->worker[j->n];

		if (j->n == WH_TENANT_WORKERS ||
		    sscanf(list, "%u:%d%n", &w->account, &w->pid, &used) != 2 ||
		    w->account >= WH_TENANT_WORKERS || w->pid <= 0)
			return false;
		j->n++;
		list += used;
		list += *list == ',';
	}
	return true;
}

/* Reads "GPU-" and hexadecimal digits, with more hyphens between them. Returns what follows; NULL. */
static const char *take_uuid(const char *text, CUuuid *out)
{
	unsigned int n = 0, byte;

	text = strchr(text, '-');
	for (; text && n < sizeof(out->bytes); n++) {
		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1)
			return NULL;
		out->bytes[n] = (char)byte;
		text += 2;
	}
	return text;
}

/* The driver wants to be told of all devices, also of those that stay. */
static bool take_pairs(struct job *j)
{
	const char *text = getenv(WH_DEVICES_VARIABLE);
	unsigned int a, b;
	CUuuid uuid;

	while (text && *text && j->pairs < WH_TENANT_DEVICES) {
		text = take_uuid(text, &j->pair[j->pairs].oldUuid);
		if (!text || (*text && *text++ != ','))
			return false;
		j->pair[j->pairs].newUuid = j->pair[j->pairs].oldUuid;
		j->pairs++;
	}
	if (sscanf(j->o->swap, "%u:%u", &a, &b) != 2 || a >= j->pairs || b >= j->pairs)
		return false;
	uuid = j->pair[a].newUuid;
	j->pair[a].newUuid = j->pair[b].newUuid;
	j->pair[b].newUuid = uuid;
	return true;
}

/* Of a move alone. */
static bool take_places(struct job *j)
{
	void *p;

	if (!j->o->swap)
		return true;
	p = mmap(NULL, WH_TENANT_WORKERS, PROT_READ | PROT_WRITE, MAP_SHARED, j->o->places, 0);
	if (p == MAP_FAILED || !take_pairs(j)) {
		snprintf(j->r->text, sizeof(j->r->text), "the devices of the move: %.40s", j->o->swap);
		return false;
	}
	j->place = p;
	return true;
}

static bool work(struct job *j)
{
	CUresult res;

	j->usage = mmap(NULL, sizeof(*j->usage), PROT_READ | PROT_WRITE, MAP_SHARED,
			j->o->usage, 0);
	if (j->usage == MAP_FAILED || !take_workers(j, j->o->workers)) {
		snprintf(j->r->text, sizeof(j->r->text), "the tenant's counters: %s", strerror(errno));
		return false;
	}
	if (!take_places(j) || !load(j->o->backend, j->r))
		return false;
	/* The driver restores a process only where somebody has called this. */
	res = drv.init(0);
	if (res != CUDA_SUCCESS) {
		snprintf(j->r->text, sizeof(j->r->text), "cuInit: %s (%d)", named(res), (int)res);
		return false;
	}
	j->until_ns = now_ns() + (uint64_t)j->o->wait_ms * 1000000;
	switch (j->o->job) {
	case WH_JOB_MOVE: return move(j);
	case WH_JOB_RESUME: return resume(j);
	case WH_JOB_FURTHER: return leave_further(j);
	default: return suspend(j);
	}
}

int wh_checkpoint_main(const struct wh_checkpoint *o)
{
	static struct wh_checkpoint_result r;
	struct job j = { .o = o, .r = &r };

	/* A client that goes away must not take this process with it in the middle. */
	signal(SIGPIPE, SIG_IGN);
	/* Until something is done, a tenant is what it was. */
	r.stays = o->job != WH_JOB_SUSPEND;
	r.failed = !work(&j);
	return write(o->result, &r, sizeof(r)) != sizeof(r) || r.failed;
}
