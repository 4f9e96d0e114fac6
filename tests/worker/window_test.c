// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how a client finds its windows, and what it believes of a control
 * page. It runs on a folder that looks like sysfs; any machine will do.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client_window.h"
#include "transport.h"
#include "window.h"
#include "../tap.h"

#define WINDOW_SIZE	(1 << 20)

static char sysfs[] = "/tmp/wh-window-XXXXXX";

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

static void put(const char *dev, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/%s", sysfs, dev, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

static void add_device(const char *dev, const char *vendor, const char *device, long size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", sysfs, dev);
	mkdir(path, 0700);
	put(dev, "vendor", vendor);
	put(dev, "device", device);
	if (size < 0)
		return;
	put(dev, "resource2", "");
	snprintf(path, sizeof(path), "%s/%s/resource2", sysfs, dev);
	if (truncate(path, size))
		exit(1);
}

static int ends_with(const char *s, const char *end)
{
	return strlen(s) >= strlen(end) && !strcmp(s + strlen(s) - strlen(end), end);
}

static void test_list(struct wh_window *w)
{
	ok_eq(wh_window_list(sysfs, w), 0, "no_device_no_window");
	add_device("0000:00:04.0", "0x1af4\n", "0x1110\n", WINDOW_SIZE);
	add_device("0000:00:03.0", "0x1af4\n", "0x1110\n", 2 * WINDOW_SIZE);
	add_device("0000:00:01.0", "0x1af4\n", "0x1000\n", WINDOW_SIZE);
	add_device("0000:00:02.0", "0x8086\n", "0x1110\n", WINDOW_SIZE);
	add_device("0000:00:05.0", "0x1af4\n", "0x1110\n", -1);
	ok_eq(wh_window_list(sysfs, w), 2, "only_ivshmem_devices_with_memory_count");
	ok(ends_with(w[0].path, "0000:00:03.0/resource2") &&
	   ends_with(w[1].path, "0000:00:04.0/resource2"), "windows_come_in_pci_order");
	ok(w[0].size == 2 * WINDOW_SIZE && w[1].size == WINDOW_SIZE, "windows_know_their_size");
	ok_eq(wh_window_list("/nonexistent", w), 0, "no_sysfs_no_window");
}

static int64_t part_size(const struct wh_window *w, const struct wh_ctl *c)
{
	int fd = open(w->path, O_RDWR);
	int64_t size;

	if (fd < 0 || pwrite(fd, c, sizeof(*c), 0) != (ssize_t)sizeof(*c))
		exit(1);
	size = wh_window_part_size(fd, w->size);
	close(fd);
	return size;
}

static void test_part_size(const struct wh_window *w)
{
	const struct wh_ctl good = { .magic = WH_CTL_MAGIC, .abi_version = WH_ABI_VERSION,
				     .part_size = WINDOW_SIZE / 4 };
	struct wh_ctl c = good;

	ok_eq(part_size(w, &c), WINDOW_SIZE / 4, "part_size_comes_from_the_control_page");
	c.magic = 0;
	ok_eq(part_size(w, &c), WH_ENOENT, "unwritten_control_page_means_no_worker_yet");
	c = good;
	c.abi_version++;
	ok_eq(part_size(w, &c), WH_EVERSION, "other_version_is_refused");
	c = good;
	c.part_size = 0;
	ok_eq(part_size(w, &c), WH_EFAULT, "empty_part_is_refused");
	c.part_size = good.part_size + 1;
	ok_eq(part_size(w, &c), WH_EFAULT, "part_of_broken_pages_is_refused");
	c.part_size = WINDOW_SIZE + WH_PAGE_SIZE;
	ok_eq(part_size(w, &c), WH_EFAULT, "part_larger_than_the_window_is_refused");
	c.part_size = UINT64_MAX & ~0xfffULL;
	ok_eq(part_size(w, &c), WH_EFAULT, "absurd_part_is_refused");
}

int main(void)
{
	struct wh_window w[WH_WINDOW_MAX];
	char cmd[64];

	if (!mkdtemp(sysfs))
		return 1;
	tap_plan(12);
	test_list(w);
	test_part_size(&w[1]);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", sysfs);
	return system(cmd) || tap_exit();
}
