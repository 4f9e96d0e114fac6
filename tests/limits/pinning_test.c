// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how a worker makes the host's memory to which overcommit moves what a device
 * has (pinning.c): several threads pin it, part by part, copies need not wait for all of them, and
 * a part that the driver does not pin is there all the same. The driver is a table here that says
 * who asked what, and holds a thread where the test says so.
 */
#define _GNU_SOURCE
#include "limits/paged.h"
#include "tap.h"

#include <dirent.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PARTS	4
#define BYTES	(PARTS * WH_PAGED_PART)
#define LIMIT_S	60
#define CONTEXT	((CUcontext)(uintptr_t)0x1000)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct {
	unsigned int calls, by_others, strange, inside, most_inside;
	const void *refused;	/* this part is not pinned, */
	const void *held;	/* and whoever pins this one waits */
	unsigned int meet;	/* nobody goes on before so many are inside at a time */
} seen;
static __thread CUcontext current;
static pid_t self;

/* True: it came. Who waits for it goes on in time all the same. */
static bool await(bool (*is)(void))
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += LIMIT_S;
	while (!is())
		if (pthread_cond_timedwait(&changed, &lock, &until))
			return false;
	return true;
}

static bool have_met(void)
{
	return seen.most_inside >= seen.meet;
}

static bool is_let_go(void)
{
	return !seen.held;
}

static CUresult host_register(void *p, size_t size, unsigned int flags)
{
	CUresult res;

	pthread_mutex_lock(&lock);
	seen.calls++;
	seen.by_others += gettid() != self;
	seen.strange += current != CONTEXT || size != WH_PAGED_PART ||
			flags != CU_MEMHOSTREGISTER_PORTABLE;
	if (++seen.inside > seen.most_inside)
		seen.most_inside = seen.inside;
	pthread_cond_broadcast(&changed);
	await(have_met);
	if (p == seen.held)
		await(is_let_go);
	seen.inside--;
	res = p == seen.refused ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	return res;
}

static CUresult set_current(CUcontext ctx)
{
	current = ctx;
	return CUDA_SUCCESS;
}

static void begin(struct wh_paged *p)
{
	memset(p, 0, sizeof(*p));
	memset(&seen, 0, sizeof(seen));
	pthread_mutex_init(&p->place_lock, NULL);
	pthread_cond_init(&p->team.settled, NULL);
	p->real.cuMemHostRegister_v2 = host_register;
	p->real.cuCtxSetCurrent = set_current;
	current = CONTEXT;
}

static void end(struct wh_paged *p)
{
	size_t i;

	for (i = 0; i < p->parts; i++) {
		munmap(p->part[i]->at, WH_PAGED_PART);
		free(p->part[i]);
	}
	free(p->part);
}

static unsigned int threads(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned int n = 0;
	struct dirent *e;

	while (d && (e = readdir(d)))
		n += *e->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

/* Asks for all parts, and writes each: false, one is not there. */
static bool use_all(struct wh_paged *p)
{
	size_t i;
	char *at;

	for (i = 0; i < PARTS; i++) {
		at = wh_pinning_part(p, i);
		if (!at)
			return false;
		at[0] = at[WH_PAGED_PART - 1] = (char)i;
	}
	return true;
}

/* A whole way; returns whether all parts were there. */
static bool way(struct wh_paged *p)
{
	bool good;

	wh_pinning_begin(p, CONTEXT, BYTES);
	good = use_all(p);
	wh_pinning_end(p);
	return good;
}

static unsigned int cpus(cpu_set_t *set)
{
	return sched_getaffinity(0, sizeof(*set), set) ? 1 : (unsigned int)CPU_COUNT(set);
}

static void on_one_cpu(const cpu_set_t *all)
{
	cpu_set_t one;
	int i = 0;

	while (!CPU_ISSET(i, all))
		i++;
	CPU_ZERO(&one);
	CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* --- Points ------------------------------------------------------------------------------ */

static void several_threads(void)
{
	struct wh_paged p;

	begin(&p);
	seen.meet = 2;
	ok(way(&p) && seen.most_inside >= 2 && seen.by_others == PARTS,
	   "several_threads_pin_parts_at_the_same_time");
	ok_eq(seen.calls, PARTS, "each_part_is_pinned_once");
	ok_eq(seen.strange, 0, "each_in_the_context_that_has_the_memory");
	ok_eq(threads(), 1, "no_thread_is_left_at_the_end");
	ok(way(&p) && seen.calls == PARTS, "what_is_pinned_stays_so");
	end(&p);
}

static void early_parts(void)
{
	struct wh_paged p;
	char *first;

	begin(&p);
	/* The table is there from here on, and nothing of it is pinned. */
	wh_pinning_ahead(&p, BYTES, &(uint32_t){ 1 }, 1);
	seen.held = p.part[PARTS - 1]->at;
	wh_pinning_begin(&p, CONTEXT, BYTES);
	first = wh_pinning_part(&p, 0);
	pthread_mutex_lock(&lock);
	ok(first && seen.held, "a_part_is_used_while_another_one_is_pinned");
	seen.held = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	use_all(&p);
	wh_pinning_end(&p);
	end(&p);
}

static void one_refused(void)
{
	char text[200] = "";
	FILE *f = tmpfile(), *was = wh_messages();
	struct wh_paged p;
	bool good;

	begin(&p);
	wh_pinning_ahead(&p, BYTES, &(uint32_t){ 1 }, 1);
	seen.refused = p.part[2]->at;
	wh_messages_to(f);
	good = way(&p);
	wh_messages_to(was);
	rewind(f);
	ok(good && p.part[1]->pinned && !p.part[2]->pinned && p.part[3]->pinned,
	   "a_part_that_is_not_pinned_is_there_all_the_same");
	ok(fgets(text, sizeof(text), f) && strstr(text, "1 of 4 parts") && strstr(text, "error 2") &&
	   !fgets(text, sizeof(text), f), "which_is_said_once");
	fclose(f);
	seen.refused = NULL;
	ok(way(&p) && p.part[2]->pinned, "and_tried_again_on_the_next_way");
	end(&p);
}

static void one_cpu(const cpu_set_t *all)
{
	struct wh_paged p;

	on_one_cpu(all);
	begin(&p);
	ok(way(&p) && seen.calls == PARTS && !seen.by_others, "with_one_cpu_nobody_helps");
	end(&p);
	sched_setaffinity(0, sizeof(*all), all);
}

static size_t resident(const struct wh_paged *p)
{
	static unsigned char page[WH_PAGED_PART >> 12];
	size_t i, k, n = 0;

	for (i = 0; i < p->parts; i++)
		for (k = 0; !mincore(p->part[i]->at, WH_PAGED_PART, page) && k < sizeof(page); k++)
			n += page[k] & 1;
	return n << 12;
}

static void ahead(void)
{
	uint32_t order = 16;
	struct wh_paged p;

	begin(&p);
	wh_pinning_ahead(&p, BYTES, &order, 32);
	ok_eq((long long)p.parts, 0, "an_order_that_is_over_makes_nothing_ahead");
	wh_pinning_ahead(&p, BYTES, &order, 16);
	ok_eq((long long)resident(&p), (long long)BYTES, "pages_are_made_ahead");
	ok_eq(seen.calls, 0, "for_which_the_driver_is_not_asked");
	end(&p);
}

int main(void)
{
	cpu_set_t all;

	self = gettid();
	tap_plan(13);
	if (cpus(&all) > 1) {
		several_threads();
		early_parts();
	} else {
		skip("several_threads_pin_parts_at_the_same_time", "one CPU");
		skip("each_part_is_pinned_once", "one CPU");
		skip("each_in_the_context_that_has_the_memory", "one CPU");
		skip("no_thread_is_left_at_the_end", "one CPU");
		skip("what_is_pinned_stays_so", "one CPU");
		skip("a_part_is_used_while_another_one_is_pinned", "one CPU");
	}
	one_refused();
	one_cpu(&all);
	ahead();
	return tap_exit();
}
