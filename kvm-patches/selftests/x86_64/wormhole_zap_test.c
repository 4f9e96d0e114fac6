// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a change of the server's memory costs its host, by the number of pages that
 * views map: an event about a page that no view has, one that a view has, and events
 * and ends about all of them, which let others run. Beside points it prints
 *
 *	# cost zap PAGES RUNS UNIT NO-VIEW A-VIEW
 *
 * for the median event. WH_T_PAGES: how many pages (20,000; in steps of 262,144 tables
 * are shared, so that a million fit into the server). Needs VMFUNC.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "wormhole.h"

#define MANY_VA		0x100000000000ULL
#define GIGABYTE	0x40000000ULL
#define PAGES_OF_1G	(GIGABYTE / WH_PAGE)
#define ROUNDS		50
#define RAM		512		/* pages of the server behind all of them */
#define MS		1000000ULL
/* With runs of one page each, a view may have so many; beyond, more if it is told so. */
#define MAX_PAGES	500000
#define MAX_TABLES	"/sys/module/kvm_intel/parameters/wormhole_max_tables"

static const wh_handler_fn handlers[] = { wh_add_handler };
static struct wh_server srv;
static struct wh_worker worker;
static u64 ram, many;

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The median event about one page that is there. */
static u64 one_event(u8 *page)
{
	u64 t[ROUNDS];
	int i;

	for (i = 0; i < ROUNDS; i++) {
		WRITE_ONCE(*page, 1);
		t[i] = now();
		madvise(page, WH_PAGE, MADV_DONTNEED);
		t[i] = now() - t[i];
	}
	qsort(t, ROUNDS, sizeof(t[0]), compare);
	return t[ROUNDS / 2];
}

/* Each page a run of its own: the one before it is the next one in memory. */
static u64 page_at(u64 i)
{
	return ram + (RAM - 1 - i % RAM) * WH_PAGE;
}

static u64 *entry_of_1g(u64 va)
{
	u64 *table = wh_gpa(&srv.vm, worker.as.cr3);

	table = wh_gpa(&srv.vm, table[va >> 39 & 511] & WH_PTE_ADDR);
	return &table[va >> 30 & 511];
}

static void map_many(void)
{
	u64 i, first = many < PAGES_OF_1G ? many : PAGES_OF_1G;

	for (i = 0; i < first; i++)
		wh_map(&worker.as, MANY_VA + i * WH_PAGE, page_at(i), WH_USER_RW);
	for (i = 1; i < many / PAGES_OF_1G; i++)
		*entry_of_1g(MANY_VA + i * GIGABYTE) = *entry_of_1g(MANY_VA);
}

static u64 in_views(void)
{
	struct wh_host_stat st;

	return wh_stat(srv.vm.id, &st) ? 0 : st.view_pages;
}

static void test_events(void)
{
	u8 *unused = wh_gpa(&srv.vm, WH_RAM_SIZE - WH_PAGE);
	u64 none, no_view, a_view, pages;

	none = one_event(unused);
	wh_worker_park(&worker);
	pages = in_views();
	no_view = one_event(unused);
	wh_ok(pages > many && no_view < none * 3 / 2,
	      "event_about_a_page_of_no_view_costs_no_more_with_many_pages_in_views");
	/* Mapped once, at an address of its own; the first event takes it out. */
	a_view = now();
	madvise(wh_gpa(&srv.vm, worker.callstack_gpa), WH_PAGE, MADV_DONTNEED);
	a_view = now() - a_view;
	wh_ok(in_views() == pages - 1 && a_view < none * 3,
	      "nor_does_one_about_a_page_of_a_view_walk_the_others");
	wh_diag("%llu ns with empty views; %llu pages in views: %llu ns, about one of them %llu",
		(unsigned long long)none, (unsigned long long)pages,
		(unsigned long long)no_view, (unsigned long long)a_view);
	wh_diag("cost zap %llu %llu ns %llu %llu", (unsigned long long)pages,
		(unsigned long long)many, (unsigned long long)no_view,
		(unsigned long long)a_view);
}

/* --- Others run meanwhile ---------------------------------------------------------------- */

static bool stop;
static u64 latest;

/* Wants to run each millisecond, before all others on this CPU. */
static void *be_on_time(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };
	struct timespec ts;
	u64 due;

	wh_pin(0, 0);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		wh_die("sched_setscheduler");
	clock_gettime(CLOCK_MONOTONIC, &ts);
	while (!READ_ONCE(stop)) {
		ts.tv_nsec += MS;
		if (ts.tv_nsec >= 1000000000) {
			ts.tv_nsec -= 1000000000;
			ts.tv_sec++;
		}
		due = ts.tv_sec * 1000000000ULL + ts.tv_nsec;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		clock_gettime(CLOCK_MONOTONIC, &ts);
		due = ts.tv_sec * 1000000000ULL + ts.tv_nsec - due;
		if (due > latest)
			latest = due;
	}
	return arg;
}

/* Is nobody kept waiting for more than a tenth of what @what takes? */
static bool lets_others_run(void (*what)(void), const char *name)
{
	pthread_t thread;
	u64 t;

	latest = 0;
	WRITE_ONCE(stop, false);
	pthread_create(&thread, NULL, be_on_time, NULL);
	wh_ms_pause();
	t = now();
	what();
	t = now() - t;
	WRITE_ONCE(stop, true);
	pthread_join(thread, NULL);
	wh_diag("%s: %llu us, and at most %llu of them in a piece", name,
		(unsigned long long)t / 1000, (unsigned long long)latest / 1000);
	return wh_ok(t > 10 * MS && latest < t / 10, name);
}

static void one_event_for_all(void)
{
	madvise(wh_gpa(&srv.vm, ram), RAM * WH_PAGE, MADV_DONTNEED);
}

static void notify_all(void)
{
	wh_notify(&worker, MANY_VA, MANY_VA + many * WH_PAGE, WH_NOTIFY_BEGIN);
}

static void kill_all(void)
{
	wh_kill(srv.vm.id);
}

/* Its thread learns that the pair is dead, and the worker is as new. */
static void take_again(void)
{
	wh_kill(srv.vm.id);
	wh_worker_again(&worker);
}

static void test_pauses(void)
{
	wh_pin(0, 0);
	wh_pin(srv.boss->tid, 0);
	lets_others_run(one_event_for_all, "event_that_takes_all_of_them_out_lets_others_run");
	wh_ok(in_views() < many, "and_they_are_out");
	take_again();
	lets_others_run(notify_all, "so_does_a_notice_of_the_server_about_all");
	take_again();
	lets_others_run(kill_all, "and_the_end_of_their_pair");
}

int main(void)
{
	u64 i;

	wh_require_feature();
	wh_plan(6);
	wh_watchdog(100);
	many = wh_env("WH_T_PAGES", 20000);
	if (many > MAX_PAGES && wh_write_file(MAX_TABLES, "65536"))
		wh_die(MAX_TABLES);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, 1);
	ram = wh_page_alloc(&srv.vm);
	for (i = 1; i < RAM; i++)
		wh_page_alloc(&srv.vm);
	map_many();
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		wh_die("worker");
	test_events();
	test_pauses();
	return wh_exit();
}
