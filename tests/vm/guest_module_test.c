// SPDX-License-Identifier: Apache-2.0
/*
 * Runs in a VM whose module was built with fake_hypercall.h, with two windows: 4 MiB at
 * the lower PCI address, 2 MiB at the higher one, and a device before both that is too
 * small. The test promises the device's contract, by what user space sees and by the
 * leaves in the kernel log.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "driver/wh_test_driver.h"
#include "leaf_log.h"
#include "window.h"

#define DEVICE		"/dev/wormhole-server"
#define TEST_DRIVER	"/dev/wh-test-driver"
#define PART_SIZE	0x40000UL
#define PART		2
#define BAR_SIZE	0x400000UL	/* of window 0 */
#define SYSFS		"/sys/class/misc/wormhole-server/"

/* --- Helpers --------------------------------------------------------------- */

static int open_device(void)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		perror(DEVICE);
		exit(1);
	}
	return fd;
}

static int bind_part(int fd, uint32_t window, uint32_t part, uint64_t size)
{
	struct wh_srv_bind b = { .window = window, .part = part, .part_size = size };

	return ioctl(fd, WH_SRV_BIND, &b) ? -errno : 0;
}

/* Returns the errno of a mapping that must not work, or 0; *at gets a mapping that does. */
static int map(void **at, uint64_t va, size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap((void *)va, size, prot, flags | (va ? MAP_FIXED_NOREPLACE : 0), fd,
		       offset);

	if (p == MAP_FAILED)
		return errno;
	if (at)
		*at = p;
	else
		munmap(p, size);
	return 0;
}

static long read_number(const char *path)
{
	long value = -1;
	FILE *f = fopen(path, "re");

	if (f && fscanf(f, "%ld", &value) != 1)
		value = -1;
	if (f)
		fclose(f);
	return value;
}

static void refuse(unsigned int leaf)
{
	FILE *f = fopen("/sys/module/wormhole_server/parameters/refuse", "we");

	if (f) {
		fprintf(f, "%u", leaf);
		fclose(f);
	}
}

/* Allows this thread to run on these CPUs (a bit each) and no others. */
static void run_on(unsigned int cpus)
{
	cpu_set_t set;
	int cpu;

	CPU_ZERO(&set);
	for (cpu = 0; cpu < 32; cpu++)
		if (cpus & 1U << cpu)
			CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("sched_setaffinity");
}

static int open_bound(void **part)
{
	int fd = open_device();

	if (bind_part(fd, 0, PART, PART_SIZE) ||
	    map(part, 0, PART_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {
		perror("bind");
		exit(1);
	}
	return fd;
}

/* A process that is in a state and waits there until it is told to go on, or killed. */
struct child {
	pid_t pid;
	int go, ready;
};

static void await(int fd)
{
	char c;

	if (read(fd, &c, 1) < 0)
		_exit(3);
}

static void tell(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(3);
}

static struct child spawn(void (*run)(int fd), int fd)
{
	struct child c;
	int down[2], up[2];

	if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
		exit(1);
	c.pid = fork();
	if (!c.pid) {
		close(down[1]);
		run(fd);
		tell(up[1]);
		await(down[0]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	c.go = down[1];
	c.ready = up[0];
	await(c.ready);
	return c;
}

/* Returns when all of the process is gone. */
static void end(struct child *c, int sig)
{
	if (sig)
		kill(c->pid, sig);
	close(c->go);
	waitpid(c->pid, NULL, 0);
	close(c->ready);
}

/* --- The device -------------------------------------------------------------- */

static void test_info(void)
{
	struct wh_srv_info info = { 0 };
	int fd = open_device();

	ok_eq(ioctl(fd, WH_SRV_INFO, &info), 0, "info_answers");
	ok_eq(info.abi_version, WH_ABI_VERSION, "info_has_the_abi_version");
	ok(info.windows == 2 && info.window_size[0] == 0x400000 &&
	   info.window_size[1] == 0x200000, "windows_are_numbered_by_pci_address");
	ok(access("/sys/bus/pci/devices/0000:00:03.0/driver", F_OK) && errno == ENOENT,
	   "one_of_less_than_two_mib_is_no_window");
	ok_eq(read_number(SYSFS "windows"), 2, "sysfs_has_the_number_of_windows");
	ok(ioctl(fd, _IO(WH_IOC_MAGIC, 99), 0) < 0 && errno == ENOTTY,
	   "an_unknown_ioctl_is_refused");
	close(fd);
}

static void test_bind(void)
{
	int fd = open_device();

	ok_eq(bind_part(fd, 2, 0, PART_SIZE), -ENXIO, "bind_refuses_a_window_that_is_not_there");
	ok_eq(bind_part(fd, 0, 16, PART_SIZE), -ERANGE, "bind_refuses_a_part_behind_the_window");
	ok_eq(bind_part(fd, 0, 0xffffffff, PART_SIZE), -ERANGE, "bind_refuses_an_overflow");
	ok_eq(bind_part(fd, 0, 0, 0), -EINVAL, "bind_refuses_an_empty_part");
	ok_eq(bind_part(fd, 0, 0, PART_SIZE + 8), -EINVAL, "bind_refuses_a_torn_page");
	ok_eq(bind_part(fd, 0, 0, 2 * WH_MAX_PART_SIZE), -EINVAL, "bind_refuses_a_giant_part");
	ok_eq(bind_part(fd, 0, 15, PART_SIZE), 0, "bind_takes_the_last_part");
	ok_eq(bind_part(fd, 0, 15, PART_SIZE), -EBUSY, "bind_happens_once");
	close(fd);
}

/* --- Mappings ---------------------------------------------------------------- */

static void test_map_refusals(int fd)
{
	const int rw = PROT_READ | PROT_WRITE;

	ok_eq(map(NULL, 0, PART_SIZE, rw, MAP_PRIVATE, fd, 0), EINVAL,
	      "a_private_mapping_is_refused");
	ok_eq(map(NULL, 0, PART_SIZE, PROT_READ, MAP_SHARED, fd, 0), EINVAL,
	      "a_read_only_mapping_is_refused");
	ok_eq(map(NULL, 0, PART_SIZE, rw | PROT_EXEC, MAP_SHARED, fd, 0), EPERM,
	      "an_executable_mapping_is_refused");
	ok_eq(map(NULL, 0, PART_SIZE + 0x1000, rw, MAP_SHARED, fd, 0), ENXIO,
	      "a_mapping_longer_than_the_part_is_refused");
	ok_eq(map(NULL, 0, 0x1000, rw, MAP_SHARED, fd, PART_SIZE), ENXIO,
	      "a_mapping_behind_the_part_is_refused");
}

/* Maps the BAR itself, through sysfs; the test puts the lower address at 00:04.0. */
static volatile uint32_t *bar_of_window_0(void)
{
	int fd = open("/sys/bus/pci/devices/0000:00:04.0/resource2", O_RDWR | O_CLOEXEC);
	void *p;

	if (fd < 0 || map(&p, 0, BAR_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))
		return NULL;
	close(fd);
	return p;
}

static int touch_all(volatile char *p, size_t size)
{
	struct rusage before, after;
	size_t i;

	getrusage(RUSAGE_SELF, &before);
	for (i = 0; i < size; i += 0x1000)
		p[i] = 1;
	getrusage(RUSAGE_SELF, &after);
	return (int)(after.ru_minflt - before.ru_minflt);
}

static uint64_t bar_address(const char *device)
{
	char path[64], line[3][64] = { "" };
	int i;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", device);
	f = fopen(path, "re");
	for (i = 0; f && i < 3; i++)
		if (!fgets(line[i], sizeof(line[i]), f))
			break;
	if (f)
		fclose(f);
	return strtoull(line[2], NULL, 16);
}

/* Does what the driver of a GPU does for cuMemHostRegister(): tests/vm/driver/. */
static void test_pins(volatile uint64_t *part)
{
	struct wh_test_pin pin = { .va = (uint64_t)part, .pages = PART_SIZE / 0x1000,
				   .write = 0x600d };
	int driver = open(TEST_DRIVER, O_RDWR | O_CLOEXEC);

	part[0] = 0xbeef;
	if (!ok(!ioctl(driver, WH_TEST_PIN, &pin), "a_driver_can_pin_all_of_the_part"))
		perror("WH_TEST_PIN");
	ok(pin.read == 0xbeef && part[0] == 0x600d, "and_sees_what_the_worker_does");
	ok(pin.pa == bar_address("0000:00:04.0") + PART * PART_SIZE,
	   "where_a_device_would_look_for_it");
	close(driver);
}

static void test_part(void)
{
	volatile uint32_t *bar = bar_of_window_0(), *part;
	int fd = open_device();

	ok_eq(map(NULL, 0, PART_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), ENXIO,
	      "nothing_is_mapped_before_bind");
	bind_part(fd, 0, PART, PART_SIZE);
	test_map_refusals(fd);
	if (!ok(!map((void **)&part, WH_WINDOW_VA, PART_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0), "the_part_is_mapped_at_the_window_address"))
		exit(tap_exit());
	ok_eq(touch_all((volatile char *)part, PART_SIZE), 0, "its_pages_never_fault");
	part[5] = 0xfeedbeef;
	ok(bar && bar[PART * PART_SIZE / 4 + 5] == 0xfeedbeef, "it_is_this_part_of_the_bar");
	ok(mprotect((void *)part, 0x1000, PROT_READ | PROT_EXEC) && errno == EACCES,
	   "it_cannot_be_made_executable");
	test_pins((volatile uint64_t *)part);
	munmap((void *)part, PART_SIZE);
	munmap((void *)bar, BAR_SIZE);
	close(fd);
}

static void test_trampoline(void)
{
	const int rx = PROT_READ | PROT_EXEC;
	const struct wh_tramp_hdr *h;
	int fd = open_device();

	ok_eq(map(NULL, 0, 0x1000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, WH_SRV_MMAP_TRAMPOLINE),
	      EPERM, "the_trampoline_cannot_be_mapped_writable");
	ok_eq(map(NULL, 0, 0x2000, rx, MAP_SHARED, fd, WH_SRV_MMAP_TRAMPOLINE), EINVAL,
	      "it_is_one_page");
	if (!ok(!map((void **)&h, WH_TRAMPOLINE_VA, 0x1000, rx, MAP_SHARED, fd,
		     WH_SRV_MMAP_TRAMPOLINE), "it_is_mapped_at_its_address"))
		exit(tap_exit());
	ok(h->magic == WH_TRAMP_MAGIC && h->abi_version == WH_ABI_VERSION,
	   "it_is_the_trampoline");
	ok(mprotect((void *)h, 0x1000, PROT_READ | PROT_WRITE) && errno == EACCES,
	   "it_cannot_be_made_writable");
	munmap((void *)h, 0x1000);
	close(fd);
}

/* --- Registration ------------------------------------------------------------- */

static void test_register(void)
{
	int fd = open_device();
	struct leaf l;

	ok(ioctl(fd, WH_SRV_REGISTER, 1) && errno == ENXIO, "a_worker_without_a_part_is_refused");
	bind_part(fd, 1, 3, PART_SIZE);
	ok(ioctl(fd, WH_SRV_SLOT, 0) && errno == ENXIO, "a_slot_before_its_worker_is_refused");
	refuse(WH_LEAF_WORKER_REGISTER);
	ok(ioctl(fd, WH_SRV_REGISTER, 1) && errno == EBUSY, "what_kvm_refuses_is_refused");
	refuse(0);
	leaf_mark();
	ok(!ioctl(fd, WH_SRV_REGISTER, 1), "and_may_be_tried_again");
	ok(leaf_count(WH_LEAF_WORKER_REGISTER, &l) == 1 && l.arg[0] == 1 && l.arg[1] == 3 &&
	   l.arg[2] == PART_SIZE, "register_names_window_part_and_size");
	ok(ioctl(fd, WH_SRV_REGISTER, 1) && errno == EEXIST, "a_worker_registers_once");
	leaf_mark();
	close(fd);
	ok_eq(leaf_count(WH_LEAF_RELEASE, &l), 1, "closing_the_file_releases_once");
}

static void test_slot(void)
{
	struct leaf l;
	void *part;
	int fd = open_bound(&part);

	ioctl(fd, WH_SRV_REGISTER, 1);
	ok(ioctl(fd, WH_SRV_SLOT, WH_MAX_SLOTS) && errno == EINVAL, "slot_numbers_are_bounded");
	leaf_mark();
	ok(!ioctl(fd, WH_SRV_SLOT, 3), "a_slot_is_registered");
	ok(leaf_count(WH_LEAF_SLOT_REGISTER, &l) == 1 && l.arg[1] == 3,
	   "slot_register_names_it");
	ok_eq(read_number(SYSFS "slots"), 1, "sysfs_counts_the_slot");
	munmap(part, PART_SIZE);
	close(fd);
	ok_eq(read_number(SYSFS "slots"), 0, "and_forgets_it_with_the_worker");
}

/* --- Calls that come ------------------------------------------------------------ */

#define NEWS	"/sys/module/wormhole_server/parameters/news"

struct waiter {
	int fd;
	unsigned long slot;
	pid_t tid;
	int result;
	int done;
};

static void *wait_for_call(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	w->result = ioctl(w->fd, WH_SRV_WAIT, w->slot) ? -errno : 0;
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Does the thread sleep in the kernel? There is no other call in which it could sleep. */
static int sleeps(const struct waiter *w)
{
	pid_t tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE);
	char path[64], state = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = tid ? fopen(path, "r") : NULL;
	if (f && fscanf(f, "%*d %*s %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

static void say_call(const char *slot)
{
	int fd = open(NEWS, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, slot, strlen(slot)) < 0)
		perror(NEWS);
	close(fd);
}

static void wait_elsewhere(int fd)
{
	if (!ioctl(fd, WH_SRV_WAIT, 2) || errno != EPERM)
		_exit(1);
}

static void test_wait(void)
{
	struct waiter w = { .slot = 2 };
	int status, stayed = 1, i;
	pthread_t thread;
	void *part;
	pid_t pid;

	w.fd = open_bound(&part);
	ok(ioctl(w.fd, WH_SRV_WAIT, 2) && errno == EPERM, "who_is_no_worker_cannot_wait");
	ioctl(w.fd, WH_SRV_REGISTER, 1);
	ioctl(w.fd, WH_SRV_SLOT, 2);
	ok(ioctl(w.fd, WH_SRV_WAIT, WH_SRV_COMPANION + WH_MAX_SLOTS) && errno == EINVAL,
	   "slots_to_wait_for_are_bounded");
	pid = fork();
	if (!pid) {
		wait_elsewhere(w.fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(!status, "another_process_cannot_wait_for_its_calls");
	say_call("2");
	ok(!ioctl(w.fd, WH_SRV_WAIT, 2), "a_call_that_came_before_is_not_lost");
	pthread_create(&thread, NULL, wait_for_call, &w);
	for (i = 0; i < 5000 && !sleeps(&w); i++)
		usleep(1000);
	say_call("3");
	say_call("18");		/* a WAKE in slot 2 */
	for (i = 0; i < 20; i++)
		stayed &= !__atomic_load_n(&w.done, __ATOMIC_ACQUIRE) && (usleep(1000), 1);
	ok(stayed, "a_thread_sleeps_while_calls_come_for_others");
	say_call("2");
	pthread_join(thread, NULL);
	ok(!w.result, "an_nmi_wakes_the_thread_that_next_names");
	ok(!ioctl(w.fd, WH_SRV_WAIT, WH_SRV_COMPANION + 2), "a_wake_is_for_the_slots_companion");
	munmap(part, PART_SIZE);
	close(w.fd);
}

/* --- Mappings of drivers ------------------------------------------------------- */

static uint64_t map_driver(int fd, int kind, int flags)
{
	void *p = NULL;

	if (map(&p, 0, 0x1000, PROT_READ | PROT_WRITE, flags, fd, kind * 0x1000))
		perror("mmap of the driver");
	return (uint64_t)p;
}

/* Were exactly these pages named for the pair, each once, in any order? */
static int named(uint64_t pair, const uint64_t *page, int n)
{
	unsigned int seen = 0;
	struct leaf l;
	int i, count = 0;

	while (leaf_next(&l)) {
		if (l.leaf != (WH_LEAF_DEVICE & 0xff))
			continue;
		count++;
		for (i = 0; i < n; i++)
			if (l.arg[0] == pair && l.arg[1] == page[i] &&
			    l.arg[2] == page[i] + 0x1000)
				seen |= 1U << i;
	}
	if (count != n || seen != (1U << n) - 1)
		diag("%d names, 0x%x of them right", count, seen);
	return count == n && seen == (1U << n) - 1;
}

/* Runs in a child, which is not the worker. */
static void ask_for_names(int fd)
{
	if (!ioctl(fd, WH_SRV_DEVICES, 0) || errno != EPERM)
		_exit(3);
}

static void test_devices(void)
{
	int driver = open(TEST_DRIVER, O_RDWR | O_CLOEXEC), fd;
	uint64_t page[3];
	struct child c;
	struct leaf l;
	void *part;

	fd = open_bound(&part);
	ok(ioctl(fd, WH_SRV_DEVICES, 0) && errno == ENXIO, "a_driver_s_mapping_is_a_worker_s");
	page[0] = map_driver(driver, WH_TEST_PFN, MAP_SHARED);
	page[1] = map_driver(driver, WH_TEST_PAGE, MAP_SHARED);
	map_driver(driver, WH_TEST_WATCHED, MAP_SHARED);
	refuse(WH_LEAF_DEVICE);
	leaf_mark();
	ok(ioctl(fd, WH_SRV_REGISTER, 1) && errno == EBUSY, "a_name_that_kvm_refuses_is_an_error");
	ok_eq(leaf_count(WH_LEAF_RELEASE, &l), 1, "which_leaves_no_pair");
	refuse(0);
	leaf_mark();
	ioctl(fd, WH_SRV_REGISTER, 1);
	ok(named(0x70 + 4, page, 2), "register_names_what_drivers_have_mapped_and_nobody_watches");
	page[2] = map_driver(driver, WH_TEST_PFN, MAP_SHARED);
	leaf_mark();
	ok(!ioctl(fd, WH_SRV_DEVICES, 0) && named(0x70 + 4, page, 3),
	   "later_ones_are_named_when_the_worker_asks");
	c = spawn(ask_for_names, fd);
	ok(c.pid > 0, "and_nobody_else_asks");
	end(&c, 0);
	close(driver);
	munmap(part, PART_SIZE);
	close(fd);
}

/* --- Notices -------------------------------------------------------------------- */

/* Was there exactly one begin, then one end, for this range? */
static int noticed(uint64_t start, uint64_t end)
{
	struct leaf b, e, more;

	return leaf_next(&b) && leaf_next(&e) && !leaf_next(&more) &&
	       b.leaf == 0x13 && e.leaf == 0x13 && b.arg[0] == e.arg[0] &&
	       b.arg[1] == start && e.arg[1] == start && b.arg[2] == end && e.arg[2] == end &&
	       b.arg[3] == WH_NOTIFY_BEGIN && e.arg[3] == WH_NOTIFY_END;
}

static void test_notices(void)
{
	const size_t size = 0x8000;
	struct leaf l;
	void *part, *p;
	int fd = open_bound(&part);
	uint64_t a;

	map(&p, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	a = (uint64_t)p;
	leaf_mark();
	madvise(p, 0x1000, MADV_DONTNEED);
	ok(!leaf_next(&l), "nothing_is_noticed_before_register");
	ioctl(fd, WH_SRV_REGISTER, 1);
	leaf_mark();
	madvise(p + 0x1000, 0x2000, MADV_DONTNEED);
	ok(noticed(a + 0x1000, a + 0x3000), "madvise_is_noticed_with_its_range");
	leaf_mark();
	mprotect(p + 0x4000, 0x1000, PROT_READ);
	ok(noticed(a + 0x4000, a + 0x5000), "mprotect_is_noticed_with_its_range");
	leaf_mark();
	munmap(p + 0x4000, 0x4000);
	ok(noticed(a + 0x4000, a + 0x8000), "munmap_is_noticed_with_its_range");
	munmap(p, 0x4000);
	leaf_mark();
	munmap(part, PART_SIZE);
	ok(noticed((uint64_t)part, (uint64_t)part + PART_SIZE), "unmapping_the_part_is_noticed");
	close(fd);
}

static volatile int stop_churn;

/* The size has enough pages that a range is open for a while. */
#define CHURN_SIZE	0x100000

static void *churn(void *arg)
{
	run_on(1 << 1);
	while (!stop_churn) {
		mprotect(arg, CHURN_SIZE, PROT_READ);
		mprotect(arg, CHURN_SIZE, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

struct storm {
	int open_ranges, bad, seen;
};

/* Whatever notices came, begins and ends must alternate. */
static void look(struct storm *s)
{
	struct leaf l;

	while (leaf_next(&l)) {
		if (l.leaf != 0x13)
			continue;
		s->seen++;
		s->open_ranges += l.arg[3] == WH_NOTIFY_BEGIN ? 1 : -1;
		if (s->open_ranges < 0 || s->open_ranges > 1)
			s->bad++;
	}
}

/* Registers a worker in the middle of changes, again until some changes are noticed. */
static int stormy_worker(void)
{
	struct storm s = { 0 };
	int fd = open_device(), i;

	bind_part(fd, 0, 0, PART_SIZE);
	leaf_mark();
	ioctl(fd, WH_SRV_REGISTER, 1);
	for (i = 0; i < 2000 && s.seen < 4; i++) {
		usleep(500);
		look(&s);
	}
	close(fd);
	look(&s);
	return s.seen >= 4 && !s.bad;
}

static void test_register_in_a_storm(void)
{
	int i, good = 0;
	pthread_t t;
	void *p;

	map(&p, 0, CHURN_SIZE, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	stop_churn = 0;
	pthread_create(&t, NULL, churn, p);
	for (i = 0; i < 40; i++)
		good += stormy_worker();
	stop_churn = 1;
	pthread_join(t, NULL);
	munmap(p, CHURN_SIZE);
	ok_eq(good, 40, "no_end_comes_without_its_begin");
}

/* --- Ends ------------------------------------------------------------------------ */

static void worker(int fd)
{
	ioctl(fd, WH_SRV_REGISTER, 1);
}

static void try_slot(int fd)
{
	if (!ioctl(fd, WH_SRV_SLOT, 0) || errno != EPERM)
		_exit(1);
}

static void worker_that_execs(int fd)
{
	ioctl(fd, WH_SRV_REGISTER, 1);
	leaf_mark();
	fcntl(fd, F_SETFD, 0);
	execl("/bin/busybox", "busybox", "true", NULL);
}

static void nothing(int fd)
{
	(void)fd;
}

static int has_mapping(const char *maps)
{
	char line[512];
	FILE *f = fopen(maps, "re");
	int found = 0;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, "wormhole-server") != NULL;
	if (f)
		fclose(f);
	return found;
}

static void test_children(void)
{
	char maps[64];
	struct child c;
	struct leaf l;
	void *part;
	int fd = open_bound(&part), status = -1;
	pid_t pid;

	ioctl(fd, WH_SRV_REGISTER, 1);
	c = spawn(nothing, fd);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", c.pid);
	ok(has_mapping("/proc/self/maps") && !has_mapping(maps),
	   "a_child_does_not_inherit_the_part");
	leaf_mark();
	end(&c, 0);
	ok_eq(leaf_count(WH_LEAF_RELEASE, &l), 0, "a_child_that_ends_releases_nothing");
	pid = fork();
	if (!pid) {
		try_slot(fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "a_child_cannot_be_a_slot");
	munmap(part, PART_SIZE);
	close(fd);
}

/* This process keeps the file of a worker that dies. */
static void test_death(int sig, const char *name)
{
	void *part;
	int fd = open_bound(&part);
	struct child c = spawn(worker, fd);
	struct leaf l;
	int before, after;

	leaf_mark();
	end(&c, sig);
	before = leaf_count(WH_LEAF_RELEASE, &l);
	leaf_mark();
	close(fd);
	after = leaf_count(WH_LEAF_RELEASE, &l);
	diag("released %d times at the end, %d times at the close", before, after);
	ok(before == 1 && !after, name);
	munmap(part, PART_SIZE);
}

static void test_exec(void)
{
	int fd = open_device(), status;
	struct leaf l;
	pid_t pid;

	bind_part(fd, 0, 1, PART_SIZE);
	leaf_mark();
	pid = fork();
	if (!pid) {
		worker_that_execs(fd);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	ok(!status && leaf_count(WH_LEAF_RELEASE, &l) == 1, "exec_releases_once");
	close(fd);
}

int main(void)
{
	leaf_mark();
	tap_plan(69);
	test_info();
	test_bind();
	test_part();
	test_trampoline();
	test_register();
	test_slot();
	test_wait();
	test_devices();
	test_notices();
	test_register_in_a_storm();
	test_children();
	test_death(0, "a_worker_that_exits_is_released_once");
	test_death(SIGKILL, "a_worker_that_is_killed_is_released_once");
	test_exec();
	return tap_exit();
}
