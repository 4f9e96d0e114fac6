// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is cleared and not flushed yet. One that takes a page out of a view is held
 * between the two; whoever else takes it away then finds nothing, and may not go on
 * before no CPU has it: by NOTIFY and by the host, both ways round. Needs a kernel
 * with CONFIG_KVM_WORMHOLE_TEST, and two CPUs.
 */
#include <string.h>
#include <sys/mman.h>
#include "wormhole.h"

#define PAGE_VA		0x7e0000000000ULL	/* alone in its page table */
#define FAR_GPA		0x20000000ULL		/* memslot of its own */
#define FAR_PAGES	4
#define OLD		0x01d
#define NEW		0x4e3
#define STALE		0x57a1e

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;
static struct wh_vcpu *other;		/* of the server's kernel */
static u64 *words, *far;

/* What the reader and this program tell each other. */
enum { STOP, ROUNDS, WRONG, SEEN };

/* Read at @a0 until told to stop; what nobody may see any more is counted. */
static s64 read_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *w = (void *)WH_DATA_VA, val;

	while (!READ_ONCE(w[STOP])) {
		u64 wrong = READ_ONCE(w[SEEN]);

		val = READ_ONCE(*(u64 *)a0);
		if (val == wrong)
			WRITE_ONCE(w[WRONG], w[WRONG] + 1);
		WRITE_ONCE(w[ROUNDS], w[ROUNDS] + 1);
	}
	return 0x600d;
}

enum { H_READ };
static const wh_handler_fn handlers[] = { read_handler };

static bool goes_on(u64 rounds)
{
	u64 from = READ_ONCE(words[ROUNDS]);

	return wh_poll(READ_ONCE(words[ROUNDS]) - from >= rounds, 3000);
}

/*
 * The reader, this thread and the server's other vCPU on CPU 1; who is held on CPU 0,
 * where nobody runs beside it. The page is the first of FAR_GPA.
 */
static bool start_reading(void)
{
	wh_pin(0, 1);
	wh_pin(client.vcpu->tid, 1);
	wh_pin(worker.vcpu->tid, 1);
	wh_pin(other->tid, 1);
	wh_pin(srv.boss->tid, 0);
	/* KVM flushes all of a CPU to which a vCPU comes: not later than here. */
	wh_leaf(other, &srv.kernel, 0, WH_LEAF_VERSION, 0, 0, 0, 0);
	memset(words, 0, 4 * sizeof(*words));
	words[SEEN] = STALE;
	far[0] = OLD;
	*wh_pte(&worker.as, PAGE_VA) = FAR_GPA | WH_USER_RW;
	wh_delegate_start(&client, client.vcpu, 0, H_READ, PAGE_VA, 0);
	return goes_on(100);
}

static void finish_reading(void)
{
	WRITE_ONCE(words[STOP], 1);
	if (!wh_join(client.vcpu, 3) || client.vcpu->res.rax != 0x600d)
		wh_diag("the reader did not end");
}

static s64 notify_by(struct wh_vcpu *vcpu, u64 phase)
{
	return wh_leaf(vcpu, &srv.kernel, 0, WH_LEAF_NOTIFY, worker.pair, PAGE_VA,
		       PAGE_VA + WH_PAGE, phase).rax;
}

/* Held once it has cleared the page. */
static bool start_notify(void)
{
	wh_point("zap", "hold", 1);
	wh_leaf_start(srv.boss, &srv.kernel, 0, WH_LEAF_NOTIFY, worker.pair, PAGE_VA,
		      PAGE_VA + WH_PAGE, WH_NOTIFY_BEGIN);
	return wh_point_waits("zap");
}

static bool finish_notify(void)
{
	wh_point("zap", "go", 0);
	return wh_join(srv.boss, 6) && srv.boss->res.rax == WH_OK &&
	       notify_by(srv.boss, WH_NOTIFY_END) == WH_OK;
}

/* The worker's kernel gives its process another page, and the old one to somebody. */
static void recycle(u64 gpa)
{
	*(u64 *)wh_gpa(&srv.vm, gpa) = NEW;
	WRITE_ONCE(*wh_pte(&worker.as, PAGE_VA), gpa | WH_USER_RW);
	WRITE_ONCE(far[0], STALE);
}

static void test_two_notifies(u64 gpa)
{
	bool ran = start_reading(), held = start_notify();

	held = notify_by(other, WH_NOTIFY_BEGIN) == WH_OK && held && ran;
	recycle(gpa);
	held = goes_on(100) && held;
	wh_ok(held && !words[WRONG], "second_notify_of_a_page_waits_for_the_flush_of_the_first");
	held = finish_notify() && notify_by(other, WH_NOTIFY_END) == WH_OK && held;
	finish_reading();
	wh_ok(held, "and_both_come_to_their_end");
}

/* The host takes the page away; who reads the old one afterwards reads what is freed. */
static void test_host_during_notify(void)
{
	bool ran = start_reading(), held = start_notify();

	madvise(far, WH_PAGE, MADV_DONTNEED);
	WRITE_ONCE(words[SEEN], OLD);
	held = goes_on(100) && held && ran;
	wh_ok(held && !words[WRONG], "host_that_takes_a_page_waits_for_the_flush_of_a_notify");
	held = finish_notify() && held;
	finish_reading();
}

static void *drop_far(void *arg)
{
	wh_pin(0, 0);
	madvise(far, WH_PAGE, MADV_DONTNEED);
	return arg;
}

static void test_notify_during_host(u64 gpa)
{
	bool ran = start_reading(), held;
	pthread_t thread;

	wh_point("zap", "hold", 1);
	pthread_create(&thread, NULL, drop_far, NULL);
	held = wh_point_waits("zap") && ran;
	held = notify_by(other, WH_NOTIFY_BEGIN) == WH_OK && held;
	*(u64 *)wh_gpa(&srv.vm, gpa) = NEW;
	WRITE_ONCE(*wh_pte(&worker.as, PAGE_VA), gpa | WH_USER_RW);
	WRITE_ONCE(words[SEEN], OLD);
	held = goes_on(100) && held;
	wh_ok(held && !words[WRONG], "notify_of_a_page_waits_for_the_flush_of_the_host");
	wh_point("zap", "go", 0);
	pthread_join(thread, NULL);
	held = notify_by(other, WH_NOTIFY_END) == WH_OK && held;
	finish_reading();
}

static void skip_all(const char *why)
{
	wh_skip("second_notify_of_a_page_waits_for_the_flush_of_the_first", why);
	wh_skip("and_both_come_to_their_end", why);
	wh_skip("host_that_takes_a_page_waits_for_the_flush_of_a_notify", why);
	wh_skip("notify_of_a_page_waits_for_the_flush_of_the_host", why);
}

int main(void)
{
	u64 gpa;

	wh_require_feature();
	if (!wh_points_there())
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST");
	wh_plan(5);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	other = wh_vcpu_create(&srv.vm);
	wh_server_register(&srv);
	far = mmap(NULL, FAR_PAGES * WH_PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	wh_set_memslot(&srv.vm, 2, 0, FAR_GPA, FAR_PAGES * WH_PAGE, far);
	wh_worker_start(&worker, &srv, 0, handlers, WH_ARRAY_SIZE(handlers));
	wh_map(&worker.as, PAGE_VA, FAR_GPA, WH_USER_RW);
	gpa = wh_page_alloc(&srv.vm);
	wh_client_create(&client, 2, &srv, 0);
	words = (u64 *)(client.part_mem + WH_DATA_OFFSET);
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "attach_succeeds");
	if (wh_two_cpus()) {
		test_two_notifies(gpa);
		test_host_during_notify();
		test_notify_during_host(gpa);
	} else {
		skip_all("one CPU");
	}
	return wh_exit();
}
