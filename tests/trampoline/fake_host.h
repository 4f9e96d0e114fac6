/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process is host and client for tests of the transport: leaves answer from `host`,
 * and "sysfs" is a folder with one window of four parts. The switch leads to a worker of
 * the test's own (transport_test.c, fake_slots.h). This file includes the transport's
 * source, so only one file of a program may include it.
 */
#ifndef WORMHOLE_TESTS_FAKE_HOST_H
#define WORMHOLE_TESTS_FAKE_HOST_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "window.h"

#define PART		(1 << 20)
#define PARTS		4
#define AT_MSG		(128 << 10)
#define MSG		(16 << 10)	/* of each slot */
#define DATA		(512 << 10)
#define EPTP_INDEX	3

static char sysfs[] = "/tmp/wh-transport-XXXXXX";

/* --- The host, faked ------------------------------------------------------------- */

#define WORMHOLE_HYPERCALL_H
struct wh_leaf {
	__u64 arg[5];
	__u64 rbx, rcx, rdx;
};

static struct {
	uint32_t role, version;
	unsigned long hwcap2;
	int64_t attach[8];	/* answers in order; the last one stays */
	uint32_t slots;		/* of each pair */
	int attaches, detaches, cancels;
	int *detaches_of_all;	/* counted over processes where not NULL */
	uint64_t seen_checksum;
	void (*attached)(void);		/* these are called, where not NULL */
	void (*cancelled)(uint32_t slot);
	void (*in_link)(void);		/* after the attach */
	void (*in_pause)(void);		/* between two tries to attach */
	void (*in_madvise)(void);	/* before madvise() */
} host;

static uint32_t wh_detect(uint32_t *version)
{
	*version = host.version;
	return host.role;
}

static const char *wh_strerror(int64_t status)
{
	return status ? "error" : "no error";
}

static int64_t wh_hypercall(uint32_t leaf, struct wh_leaf *l)
{
	int64_t status;

	switch (leaf) {
	case WH_LEAF_ATTACH:
		status = host.attach[host.attaches < 7 ? host.attaches : 7];
		host.attaches++;
		host.seen_checksum = l->arg[1];
		l->rbx = EPTP_INDEX;
		l->rcx = host.slots;
		if (status == WH_OK && host.attached)
			host.attached();
		return status;
	case WH_LEAF_DETACH:
		host.detaches++;
		if (host.detaches_of_all)
			__atomic_add_fetch(host.detaches_of_all, 1, __ATOMIC_SEQ_CST);
		return l->arg[0] == EPTP_INDEX ? WH_OK : WH_EINVAL;
	case WH_LEAF_CANCEL:
		host.cancels++;
		if (host.cancelled)
			host.cancelled((uint32_t)l->arg[0] - EPTP_INDEX);
		return WH_OK;
	}
	return WH_ENOSYS;
}

static int pause_between(const struct timespec *t)
{
	if (host.in_pause)
		host.in_pause();
	return nanosleep(t, NULL);
}

static int advise(void *p, size_t size, int what)
{
	if (host.in_madvise)
		host.in_madvise();
	return madvise(p, size, what);
}

#define getauxval(what)	((void)(what), host.hwcap2)
#define nanosleep(t, rest)	pause_between(t)
#define madvise(p, size, what)	advise(p, size, what)
#include "client_window.h"
#undef WH_WINDOW_SYSFS
#define WH_WINDOW_SYSFS	sysfs
#include "fake.h"
#include "transport_vmfunc.c"
#undef getauxval
#undef nanosleep
#undef madvise

void fake_switch(void);		/* fake.asm; these call the next two */
void fake_continue(void);
int64_t fake_switch_c(struct regs *r);
int64_t fake_continue_c(struct regs *r);

/* --- Setup --------------------------------------------------------------------------- */

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/0000:00:04.0/%s", sysfs, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(1);
}

static void format_window(uint32_t slots, uint64_t api_hash)
{
	struct wh_ctl c = { .magic = WH_CTL_MAGIC, .abi_version = WH_ABI_VERSION,
			    .part_size = PART, .nslots = slots, .slot_offset = WH_PAGE_SIZE,
			    .msg_offset = AT_MSG, .msg_size = MSG, .data_offset = DATA,
			    .data_size = PART - DATA, .api_hash = api_hash };
	char path[256];
	uint32_t i;
	int fd;

	snprintf(path, sizeof(path), "%s/0000:00:04.0", sysfs);
	mkdir(path, 0700);
	put("vendor", "0x1af4\n");
	put("device", "0x1110\n");
	snprintf(path, sizeof(path), "%s/0000:00:04.0/resource2", sysfs);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	for (i = 0; i < PARTS; i++) {
		c.part = i;
		if (pwrite(fd, &c, sizeof(c), (off_t)i * PART) != (ssize_t)sizeof(c))
			exit(1);
	}
	if (ftruncate(fd, PARTS * PART) || close(fd))
		exit(1);
}

static void map_hooks(void)
{
	void **hooks = mmap((void *)(WH_TRAMPOLINE_VA + 2 * WH_PAGE_SIZE), WH_PAGE_SIZE,
			    PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (hooks == MAP_FAILED)
		exit(1);
	hooks[0] = fake_switch;
	hooks[1] = fake_continue;
}

static void fresh_host(void)
{
	memset(&host, 0, sizeof(host));
	host.role = WH_ROLE_CLIENT;
	host.version = WH_ABI_VERSION;
	host.hwcap2 = 2;
	host.slots = 1;
}

static int is_mapped(uint64_t va)
{
	unsigned char vec;

	return !mincore((void *)va, WH_PAGE_SIZE, &vec);
}

#endif
