// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a tenant's files are private and complete, and are read without
 * a lock while a writer changes limits and accounts come and go.
 */
#include "tenant/file.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tap.h"

#define READS	20000	/* while the other thread writes */

static char dir[] = "/tmp/wormhole-file-XXXXXX";
static struct wh_tenant_file own;
static volatile int done;
static uint64_t began;		/* calls of all workers so far */

static void names(void)
{
	char longest[WH_TENANT_NAME + 1];

	ok(wh_tenant_name_ok("a") && wh_tenant_name_ok("Team-1_x.y"), "good_names");
	ok(!wh_tenant_name_ok("") && !wh_tenant_name_ok("1a") && !wh_tenant_name_ok(".a") &&
	   !wh_tenant_name_ok("a/b") && !wh_tenant_name_ok("a b") && !wh_tenant_name_ok("a\"b"),
	   "no_name_leaves_the_folder_or_needs_quotes");
	memset(longest, 'a', sizeof(longest));
	longest[WH_TENANT_NAME] = 0;
	ok(!wh_tenant_name_ok(longest), "longer_name_is_refused");
	longest[WH_TENANT_NAME - 1] = 0;
	ok(wh_tenant_name_ok(longest), "longest_name");
}

static int mode_of(const char *name)
{
	struct stat st;
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return stat(path, &st) ? -1 : (int)(st.st_mode & 0777);
}

/* Can a writable mapping be made of the descriptor that workers get? */
static int writable(int fd)
{
	char byte;

	return pread(fd, &byte, 1, 0) == 1 && pwrite(fd, &byte, 1, 0) == 1;
}

static void files(void)
{
	struct wh_tenant_file again, seen;

	ok(!wh_tenant_file_create(&own, dir, "a", 7, 2), "files_are_made");
	ok(mode_of("a.limits") == 0600 && mode_of("a.usage") == 0600, "files_are_private");
	ok(!writable(own.limits_fd) && writable(own.usage_fd), "workers_cannot_write_limits");
	ok(wh_tenant_file_create(&again, dir, "a", 8, 2) == -EEXIST, "files_that_are_there_are_kept");
	ok(!wh_tenant_file_open(&seen, dir, "a") && !strcmp(seen.limits->name, "a") &&
	   seen.limits->tenant_id == 7 && seen.limits->devices == 2, "reader_sees_them");
	own.limits->version++;
	ok(wh_tenant_file_open(&again, dir, "a") == -EINVAL, "other_version_is_refused");
	own.limits->version--;
	wh_tenant_file_close(&seen);
	ok(wh_tenant_file_open(&seen, dir, "b") == -ENOENT, "missing_tenant_is_missing");
}

/* All words of a limit are equal at any time that a reader may see. */
static void *change_limits(void *arg)
{
	struct wh_device_limit l = { 0 };
	uint32_t i;

	(void)arg;
	for (i = 1; !done; i++) {
		l.memory = l.sm_groups = i;
		l.sm_percent = l.sm_policy = i;
		wh_tenant_limits_set(own.limits, 1, &l);
	}
	return NULL;
}

static void torn_limits(void)
{
	struct wh_tenant_limits copy;
	const struct wh_device_limit *d = &copy.device[1];
	uint64_t last = 0;
	int torn = 0, changes = 0, i;
	pthread_t t;

	done = 0;
	pthread_create(&t, NULL, change_limits, NULL);
	for (i = 0; i < READS || changes < 50; i++)
		if (!wh_tenant_limits_read(own.limits, &copy)) {
			torn += d->memory != d->sm_percent || d->memory != d->sm_groups;
			changes += d->memory != last;
			last = d->memory;
		}
	done = 1;
	pthread_join(t, NULL);
	ok(!torn, "limits_are_never_torn");
	diag("%d reads saw %d changes", i, changes);
	own.limits->sequence++;
	ok(wh_tenant_limits_read(own.limits, &copy) == -EAGAIN, "half_written_limits_are_not_read");
	own.limits->sequence++;
}

/*
 * Each worker counts 10 calls and ends: the sum is always a multiple of 10, at most that
 * of the workers that began.
 */
static void *come_and_go(void *arg)
{
	int i, account;

	(void)arg;
	for (i = 0; !done; i++) {
		account = i % 5;
		wh_tenant_account_open(own.usage, account);
		own.usage->worker[account].calls = 10;
		own.usage->worker[account].device[0].memory = 4096;
		wh_tenant_account_own(own.usage, account, 1000 + i, 1);
		wh_tenant_account_clear(own.usage, account);
	}
	began = 10 * i;
	return NULL;
}

static void workers(void)
{
	struct wh_tenant_sum sum;
	uint64_t last = 0;
	int bad = 0, i;
	pthread_t t;

	done = 0;
	pthread_create(&t, NULL, come_and_go, NULL);
	for (i = 0; i < READS || !last; i++)
		if (wh_tenant_usage_read(own.usage, &sum)) {
			bad += sum.total.calls < last || sum.total.calls % 10;
			last = sum.total.calls;
		}
	done = 1;
	pthread_join(t, NULL);
	ok(!bad, "no_counter_is_lost_or_counted_twice_while_workers_come_and_go");
	ok(wh_tenant_usage_read(own.usage, &sum) && sum.total.calls == began && !sum.workers,
	   "ended_workers_are_all_counted");
	ok(!sum.total.device[0].memory && !sum.total.device[0].memory_peak,
	   "they_hold_nothing");
	wh_tenant_account_open(own.usage, 3);
	own.usage->worker[3].device[0].memory = 100;
	wh_tenant_account_own(own.usage, 3, 77, 78);
	ok(wh_tenant_usage_read(own.usage, &sum) && sum.workers == 1 &&
	   sum.total.device[0].memory == 100 && sum.total.device[0].memory_peak == 100,
	   "living_worker_counts");
}

int main(void)
{
	tap_plan(17);
	if (!mkdtemp(dir))
		return 1;
	names();
	files();
	torn_limits();
	workers();
	wh_tenant_file_remove(&own, dir, "a");
	rmdir(dir);
	return tap_exit();
}
