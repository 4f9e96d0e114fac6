// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what NVML shows to a tenant with a quota and two workers. One worker
 * is this program over loopback; the account of the other is written by a thread, as a
 * worker would do.
 */
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <fcntl.h>
#include <nvml.h>
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib_test.h"
#include "tenant/tenant.h"

#define MIB		(1ULL << 20)
#define OTHER_CLIENT	4242

static struct wh_tenant_limits *limits;
static struct wh_tenant_usage *usage;
static struct wh_worker_usage *other;
static nvmlDevice_t gpu;

static void *map_new(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	void *p;

	if (fd < 0 || ftruncate(fd, size))
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

/* The parent process stands for the other worker, because it lives as long as this one. */
static int make_tenant(void)
{
	const char *name = getenv("WORMHOLE_TENANT");
	struct wh_device_limit limit = { .memory = 256 * MIB, .sm_percent = 90,
					 .sm_policy = WH_SM_TEMPORAL };
	char path[512];
	int account;

	snprintf(path, sizeof(path), "%s.limits", name);
	limits = map_new(path, sizeof(*limits));
	snprintf(path, sizeof(path), "%s.usage", name);
	usage = map_new(path, sizeof(*usage));
	if (!limits || !usage || wh_tenant_limits_init(limits, "tenant", 7) ||
	    wh_tenant_usage_init(usage, 7))
		return 0;
	wh_tenant_limits_set(limits, 0, &limit);
	account = wh_tenant_account_take(usage, getppid());
	other = &usage->worker[account];
	other->client_pid = OTHER_CLIENT;
	other->device[0].memory = 100 * MIB;
	other->device[0].gpu_ns = 1000000000;
	return 1;
}

static void test_memory(void)
{
	struct wh_device_limit more = { .memory = 300 * MIB, .sm_percent = 90,
					.sm_policy = WH_SM_TEMPORAL };
	nvmlMemory_v2_t m2 = { .version = nvmlMemory_v2 };
	nvmlMemory_t m = { 0 };

	ok(!nvmlDeviceGetMemoryInfo(gpu, &m) && m.total == 256 * MIB, "total_memory_is_the_quota");
	ok(m.used >= 100 * MIB && m.used < 256 * MIB, "used_is_what_all_workers_of_the_tenant_hold");
	ok_eq(m.free + m.used, m.total, "free_is_the_rest");
	ok(!nvmlDeviceGetMemoryInfo_v2(gpu, &m2) && m2.total == m.total && m2.used == m.used &&
	   !m2.reserved, "second_version_says_the_same");
	other->device[0].memory = 400 * MIB;
	ok(!nvmlDeviceGetMemoryInfo(gpu, &m) && m.used == 256 * MIB && m.free == 0,
	   "use_beyond_the_quota_is_shown_as_all_of_it");
	other->device[0].memory = 100 * MIB;
	wh_tenant_limits_set(limits, 0, &more);
	ok(!nvmlDeviceGetMemoryInfo(gpu, &m) && m.total == 300 * MIB, "changed_quota_is_seen_at_once");
	more.memory = 10000 * MIB;
	wh_tenant_limits_set(limits, 0, &more);
	ok(!nvmlDeviceGetMemoryInfo(gpu, &m) && m.free == 300 * MIB,
	   "free_is_never_more_than_the_device_has");
}

static void test_processes(void)
{
	nvmlProcessDetail_v1_t detail[4];
	nvmlProcessDetailList_t all = { nvmlProcessDetailList_v1, 0, 4, detail };
	nvmlProcessInfo_v1_t old[4];
	nvmlProcessInfo_t list[4];
	unsigned int n = 0;

	ok(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &n, NULL) == NVML_ERROR_INSUFFICIENT_SIZE &&
	   n == 1, "processes_are_counted");
	ok(!nvmlDeviceGetComputeRunningProcesses_v3(gpu, &n, list) && list[0].pid == OTHER_CLIENT &&
	   list[0].usedGpuMemory == 100 * MIB, "process_is_the_client_with_what_its_worker_holds");
	n = 4;
	ok(!nvmlDeviceGetComputeRunningProcesses(gpu, &n, old) && n == 1 &&
	   old[0].pid == OTHER_CLIENT && old[0].usedGpuMemory == 100 * MIB,
	   "first_version_has_its_own_struct");
	ok(!nvmlDeviceGetRunningProcessDetailList(gpu, &all) && all.numProcArrayEntries == 1 &&
	   detail[0].pid == OTHER_CLIENT, "detailed_list_has_it_too");
}

/* --- Utilisation -------------------------------------------------------------- */

static volatile int ending;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Counts half of the time that passes as the device's work for the other worker. */
static void *work(void *counter)
{
	uint64_t start = now_ns(), *ns = counter, before = *ns;

	while (!ending)
		__atomic_store_n(ns, before + (now_ns() - start) / 2, __ATOMIC_RELAXED);
	return NULL;
}

static void start_work(pthread_t *thread, uint64_t *counter)
{
	ending = 0;
	pthread_create(thread, NULL, work, counter);
}

static void end_work(pthread_t thread)
{
	ending = 1;
	pthread_join(thread, NULL);
}

static int near(unsigned int got, unsigned int want)
{
	if (got + 10 >= want && got <= want + 10)
		return 1;
	diag("expected about %u, got %u", want, got);
	return 0;
}

/*
 * The thread that counts may have to wait for a CPU at the end of a window, so one window of some
 * counts.
 */
#define TRIES	10

static void test_utilization(void)
{
	nvmlProcessUtilizationInfo_v1_t info[4];
	nvmlProcessesUtilizationInfo_t all = { nvmlProcessesUtilizationInfo_v1, 4, 0, info };
	nvmlProcessUtilizationSample_t s[4];
	nvmlUtilization_t u = { 0, 0 };
	int i, rates = 0, process = 0, newer = 0;
	unsigned int n = 4;
	pthread_t thread;

	start_work(&thread, &other->device[0].gpu_ns);
	/* The window that is open now began before the work, so the next one counts. */
	nvmlDeviceGetUtilizationRates(gpu, &u);
	for (i = 0; i < TRIES && !(rates && process && newer); i++) {
		nanosleep(&(struct timespec){ 0, 300000000 }, NULL);
		n = all.processSamplesCount = 4;
		rates = !nvmlDeviceGetUtilizationRates(gpu, &u) && near(u.gpu, 50);
		process = !nvmlDeviceGetProcessUtilization(gpu, s, &n, 0) && n == 1 &&
			  s[0].pid == OTHER_CLIENT && near(s[0].smUtil, 50);
		newer = !nvmlDeviceGetProcessesUtilizationInfo(gpu, &all) &&
			all.processSamplesCount == 1 && info[0].pid == OTHER_CLIENT &&
			near(info[0].smUtil, 50);
	}
	ok(rates, "utilisation_is_the_tenants_own");
	ok(u.memory <= u.gpu, "memory_utilisation_is_no_more");
	ok(process, "process_has_its_part");
	ok(newer, "newer_form_says_the_same");
	n = 4;
	ok_eq(nvmlDeviceGetProcessUtilization(gpu, s, &n, s[0].timeStamp + 10000000),
	      NVML_ERROR_NOT_FOUND, "nothing_is_newer_than_the_future");
	end_work(thread);
	nvmlDeviceGetUtilizationRates(gpu, &u);
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	nvmlDeviceGetUtilizationRates(gpu, &u);
	nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
	ok(!nvmlDeviceGetUtilizationRates(gpu, &u) && u.gpu == 0, "idle_tenant_has_none");
}

/* Tests the figure that the server reads from the driver, some times a second. */
static void test_sampled_utilization(void)
{
	struct wh_device_limit none = { 0 };
	nvmlUtilization_t u = { 0, 0 };
	pthread_t thread;
	int i, good = 0;

	wh_tenant_limits_set(limits, 0, &none);
	start_work(&thread, &other->device[0].gpu_ns_driver);
	nanosleep(&(struct timespec){ 1, 100000000 }, NULL);
	nvmlDeviceGetUtilizationRates(gpu, &u);
	for (i = 0; i < TRIES && !good; i++) {
		nanosleep(&(struct timespec){ 1, 100000000 }, NULL);
		good = !nvmlDeviceGetUtilizationRates(gpu, &u) && near(u.gpu, 50);
	}
	ok(good, "without_a_share_it_is_what_the_driver_counts");
	end_work(thread);
}

int main(void)
{
	tap_plan(19);
	if (!ok(make_tenant(), "tenant_is_made"))
		return tap_exit();
	nvmlInit_v2();
	nvmlDeviceGetHandleByIndex_v2(0, &gpu);
	test_memory();
	test_processes();
	test_utilization();
	test_sampled_utilization();
	return tap_exit();
}
