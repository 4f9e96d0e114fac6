// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the search for window devices in sysfs and the first look at a window. The control page
 * is as hostile as any shared memory: it is copied once, then checked.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "client_window.h"
#include "log.h"
#include "window.h"

/* The PCI numbers of ivshmem in QEMU. */
#define PCI_VENDOR	0x1af4
#define PCI_DEVICE	0x1110

/* Reads a sysfs attribute that holds one hexadecimal number. Returns -1 on failure. */
static long read_hex(const char *dir, const char *dev, const char *attr)
{
	char path[320];
	long value;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", dir, dev, attr);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%lx", &value) != 1)
		value = -1;
	fclose(f);
	return value;
}

/* A filter for scandir(), which passes no argument of the caller. */
static int no_dot(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static int is_window(const char *sysfs, const char *dev, struct wh_window *w)
{
	struct stat st;

	if (read_hex(sysfs, dev, "vendor") != PCI_VENDOR ||
	    read_hex(sysfs, dev, "device") != PCI_DEVICE)
		return 0;
	snprintf(w->path, sizeof(w->path), "%s/%s/resource2", sysfs, dev);
	if (stat(w->path, &st) || st.st_size <= 0) {
		wh_log("%s: not there: the device has no memory", w->path);
		return 0;
	}
	w->size = (uint64_t)st.st_size;
	return 1;
}

int wh_window_list(const char *sysfs, struct wh_window *w)
{
	struct dirent **devs;
	int i, n, found = 0;

	n = scandir(sysfs, &devs, no_dot, alphasort);
	for (i = 0; i < n; i++) {
		if (found < WH_WINDOW_MAX && is_window(sysfs, devs[i]->d_name, &w[found]))
			found++;
		free(devs[i]);
	}
	if (n >= 0)
		free(devs);
	return found;
}

static int64_t check(const struct wh_ctl *c, uint64_t window_size)
{
	if (c->magic != WH_CTL_MAGIC)
		return WH_ENOENT;
	if (c->abi_version != WH_ABI_VERSION) {
		wh_log("the worker has ABI version %u, this library %u",
		       c->abi_version, WH_ABI_VERSION);
		return WH_EVERSION;
	}
	if (!c->part_size || c->part_size % WH_PAGE_SIZE ||
	    c->part_size > WH_MAX_PART_SIZE || c->part_size > window_size)
		return WH_EFAULT;
	return (int64_t)c->part_size;
}

int64_t wh_window_part_size(int fd, uint64_t window_size)
{
	struct wh_ctl c;
	void *page;

	if (window_size < WH_PAGE_SIZE)
		return WH_EFAULT;
	page = mmap(NULL, WH_PAGE_SIZE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return WH_EFAULT;
	memcpy(&c, page, sizeof(c));
	munmap(page, WH_PAGE_SIZE);
	return check(&c, window_size);
}
