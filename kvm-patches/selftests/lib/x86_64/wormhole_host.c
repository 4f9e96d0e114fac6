// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Wormhole tests' own surroundings: what the environment asks for, chance,
 * and what the host's files say.
 */
#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "wormhole.h"

u64 wh_env(const char *name, u64 otherwise)
{
	const char *s = getenv(name);

	return s ? strtoull(s, NULL, 0) : otherwise;
}

u64 wh_seed(void)
{
	u64 seed = wh_env("WH_SEED", time(NULL) * 0x9e3779b97f4a7c15ULL) | 1;

	wh_diag("WH_SEED=0x%llx", (unsigned long long)seed);
	return seed;
}

int wh_write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	int err = 0;

	if (!f)
		return -errno;
	if (fputs(text, f) < 0)
		err = -errno;
	if (fclose(f) && !err)
		err = -errno;
	return err;
}

long wh_number_in(const char *path, const char *key)
{
	FILE *f = fopen(path, "r");
	size_t n = strlen(key);
	char line[256];
	long val = 0;

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && strchr(": \t", line[n]))
			val = strtol(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return val;
}

/* Each CPU counts for itself until somebody asks. */
static void refresh_vmstat(void)
{
	wh_write_file("/proc/sys/vm/stat_refresh", "1");
}

/* Free pages that CPUs keep for themselves; MemFree leaves them out. */
static long percpu_kb(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	char line[256];
	long pages, sum = 0;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	if (f)
		fclose(f);
	return sum * (WH_PAGE / 1024);
}

long wh_free_kb(void)
{
	refresh_vmstat();
	return wh_number_in("/proc/meminfo", "MemFree") + percpu_kb();
}

long wh_pinned_pages(void)
{
	refresh_vmstat();
	return wh_number_in("/proc/vmstat", "nr_foll_pin_acquired") -
	       wh_number_in("/proc/vmstat", "nr_foll_pin_released");
}

u64 wh_region_base(void)
{
	u32 eax, ebx, ecx, edx;

	__cpuid(0x80000008, eax, ebx, ecx, edx);
	return BIT_ULL((eax & 0xff) < 48 ? (eax & 0xff) - 1 : 47);
}

int wh_take_away(void *page)
{
	struct uffdio_register reg = {
		.range = { .start = (u64)(uintptr_t)page, .len = WH_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0)
		return -1;
	if (ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &reg) ||
	    madvise(page, WH_PAGE, MADV_DONTNEED))
		wh_die("userfaultfd");
	return fd;
}
