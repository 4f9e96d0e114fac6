// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the Wormhole tests know of devices: memory of a display that no driver
 * uses, names for what a worker's driver has mapped, and what a view shows there.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>
#include "wormhole.h"

#define ENTRY_FILE	"/sys/kernel/debug/kvm-wormhole/entry"

/* --- A display ----------------------------------------------------------------- */

/* Does file @name of the folder begin with @text? */
static bool says(const char *dir, const char *name, const char *text)
{
	char path[300], line[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = 0;
	fclose(f);
	return !strncmp(line, text, strlen(text));
}

static bool is_idle_display(const char *dir)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/driver", dir);
	return access(path, F_OK) && says(dir, "class", "0x03");
}

static const char *find_device(void)
{
	static char dir[200];
	const char *named = getenv("WH_DEVICE");
	glob_t all;
	size_t i;

	if (named)
		return named;
	if (glob("/sys/bus/pci/devices/*", 0, NULL, &all))
		return NULL;
	for (i = 0; i < all.gl_pathc && !dir[0]; i++)
		if (is_idle_display(all.gl_pathv[i]))
			snprintf(dir, sizeof(dir), "%s", all.gl_pathv[i]);
	globfree(&all);
	return dir[0] ? dir : NULL;
}

/*
 * The memory of the display that Bochs emulates answers in a graphics mode only:
 * 640x480, 32 bits, linear. Registers by index and data port.
 */
static void turn_on_bochs_display(void)
{
	static const u16 mode[][2] = { { 1, 640 }, { 2, 480 }, { 3, 32 }, { 4, 0x41 } };
	unsigned int i;

	if (ioperm(0x1ce, 4, 1))
		wh_die("ioperm");
	for (i = 0; i < WH_ARRAY_SIZE(mode); i++) {
		outw(mode[i][0], 0x1ce);
		outw(mode[i][1], 0x1cf);
	}
}

int wh_open_device(void)
{
	const char *dir = find_device();
	char path[300];
	int fd;

	if (!dir)
		wh_skip_all("no display without a driver; WH_DEVICE names another device");
	snprintf(path, sizeof(path), "%s/enable", dir);
	wh_write_file(path, "1");
	if (says(dir, "vendor", "0x1234") && says(dir, "device", "0x1111"))
		turn_on_bochs_display();
	snprintf(path, sizeof(path), "%s/resource0", dir);
	fd = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (fd < 0)
		wh_die(path);
	return fd;
}

/* --- What a driver has mapped ---------------------------------------------------- */

s64 wh_name_device(struct wh_worker *w, u64 start, u64 end)
{
	return wh_leaf(w->srv->boss, &w->srv->kernel, 0, WH_LEAF_DEVICE, w->pair,
		       start, end, 0).rax;
}

static u64 guest_set_pat(void)
{
	wh_wrmsr(WH_MSR_PAT, WH_LINUX_PAT);
	return 0;
}

void wh_set_pat(struct wh_worker *w)
{
	wh_call(w->srv->boss, &w->srv->kernel, 0, guest_set_pat, 0, 0, 0, 0);
	wh_call(w->vcpu, &w->as, 0, guest_set_pat, 0, 0, 0, 0);
}

void wh_take_flushes(struct wh_worker *w)
{
	/* Turns the local APIC on; this timer never comes. */
	wh_call(w->vcpu, &w->as, 0, wh_guest_timer, ~0ULL >> 2, 0, 0, 0);
}

void wh_flush_worker(struct wh_worker *w)
{
	struct wh_guest_log *log = &G(&w->srv->vm, wh_log);
	u64 before = READ_ONCE(log->tlb_flushes);

	wh_msi(&w->srv->vm, w->vcpu->id, WH_MSI_FIXED, WH_TLB_VECTOR);
	if (!wh_poll(READ_ONCE(log->tlb_flushes) > before, 300))
		wh_diag("the worker's vCPU does not take the flush");
}

/* --- Huge pages ------------------------------------------------------------------ */

#define THP_FILE	"/sys/kernel/mm/transparent_hugepage/enabled"

static char thp_before[16];

static void restore_thp(void)
{
	wh_write_file(THP_FILE, thp_before);
}

/* The file shows "always madvise [never]". */
bool wh_huge_pages(void)
{
	char line[64] = "", *word;
	FILE *f = fopen(THP_FILE, "r");

	if (!f)
		return false;
	word = fgets(line, sizeof(line), f) ? strchr(line, '[') : NULL;
	fclose(f);
	if (!word || sscanf(word, "[%15[a-z]", thp_before) != 1)
		return false;
	atexit(restore_thp);
	return !wh_write_file(THP_FILE, "madvise");
}

void *wh_huge_alloc(u64 size)
{
	u8 *all = mmap(NULL, size + WH_PAGE_2M, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	u8 *mem = (u8 *)(((u64)all + WH_PAGE_2M - 1) & -WH_PAGE_2M);

	if (all == MAP_FAILED)
		wh_die("mmap");
	madvise(mem, size, MADV_HUGEPAGE);
	memset(mem, 0, size);
	return mem;
}

/* --- What the view shows --------------------------------------------------------- */

void wh_require_entries(void)
{
	wh_require_feature();
	if (access(ENTRY_FILE, F_OK))
		wh_skip_all("needs CONFIG_KVM_WORMHOLE_TEST and debugfs");
}

u64 wh_view_entry(struct wh_worker *w, u64 va)
{
	unsigned long long val = ~0ULL;
	char line[80];
	FILE *f;

	snprintf(line, sizeof(line), "%llu %llu %llx",
		 (unsigned long long)w->srv->vm.id, (unsigned long long)w->pair,
		 (unsigned long long)va);
	if (wh_write_file(ENTRY_FILE, line))
		wh_die(ENTRY_FILE);
	f = fopen(ENTRY_FILE, "r");
	if (!f || fscanf(f, "%llx", &val) != 1)
		wh_die(ENTRY_FILE);
	fclose(f);
	return val;
}
