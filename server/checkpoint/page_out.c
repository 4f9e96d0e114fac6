// SPDX-License-Identifier: Apache-2.0
/*
 * Asks the kernel to write what a suspended worker has in memory to the machine's swap. Only memory
 * that is the worker's alone and that it may write is named: code comes from files anyway, and what
 * a worker shares is others', too. Whoever touches it, as the driver does at the resumption, has it
 * back from the kernel. Nothing here reads the worker's memory, or believes what it says.
 */
#define _GNU_SOURCE
#include "checkpoint/checkpoint.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define RANGES	256	/* named to the kernel at a time */
#define MAX_PART	(1ull << 30)	/* of a range: a call ends so soon */

bool wh_page_out_can(char *err, size_t err_size)
{
	struct sysinfo info;

	if (!sysinfo(&info) && info.totalswap)
		return true;
	snprintf(err, err_size, "to: 'swap': this machine has no swap; make a file for it by mkswap and "
		 "swapon, as docs/operations.md shows, or suspend without --to");
	return false;
}

/* Reads a number of kiB from /proc/PID/status; 0: it is not there. */
static uint64_t status_of(int pid, const char *name)
{
	unsigned long long kib = 0;
	char path[40], line[256];
	size_t n = strlen(name);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && sscanf(line + n, ": %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

/*
 * The kernel refuses some mappings, such as of a device, and goes no further in that list. So each
 * is tried alone then.
 */
static void advise(int pidfd, const struct iovec *v, size_t n)
{
	size_t i, all = 0;

	for (i = 0; i < n; i++)
		all += v[i].iov_len;
	if (syscall(SYS_process_madvise, pidfd, v, n, MADV_PAGEOUT, 0) == (long)all)
		return;
	for (i = 0; i < n; i++)
		syscall(SYS_process_madvise, pidfd, &v[i], 1, MADV_PAGEOUT, 0);
}

/* Reads a line, or its beginning: what follows is a name of the worker's choice. */
static bool read_line(FILE *maps, char line[512])
{
	int c = 0;

	if (!fgets(line, 512, maps))
		return false;
	while (!strchr(line, '\n') && c != '\n' && c != EOF)
		c = getc(maps);
	return true;
}

static void name_all(int pidfd, FILE *maps)
{
	unsigned long long from, to, part;
	struct iovec v[RANGES];
	char line[512], may[5];
	size_t n = 0;

	while (read_line(maps, line)) {
		if (sscanf(line, "%llx-%llx %4s", &from, &to, may) != 3 || may[1] != 'w' || may[3] != 'p')
			continue;
		for (; from < to; from += part) {
			part = to - from < MAX_PART ? to - from : MAX_PART;
			v[n++] = (struct iovec){ (void *)(uintptr_t)from, part };
			if (n == RANGES) {
				advise(pidfd, v, n);
				n = 0;
			}
		}
	}
	if (n)
		advise(pidfd, v, n);
}

void wh_page_out(int pid, struct wh_paged *sum)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	char path[40];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = pidfd < 0 ? NULL : fopen(path, "re");
	if (maps) {
		name_all(pidfd, maps);
		fclose(maps);
	}
	if (pidfd >= 0)
		close(pidfd);
	sum->out_kib += status_of(pid, "VmSwap");
	sum->left_kib += status_of(pid, "RssAnon");
}
