/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process as host, client and worker for transport_test.c: leaves answer
 * from `host`, the switch changes the world page, the worker is a function, and
 * "sysfs" is a folder with one window of four parts. Includes the transport's
 * source, so it belongs into one file only.
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
#include <unistd.h>

#include "window.h"

#define PART		(1 << 20)
#define PARTS		4
#define MSG		(16 << 10)
#define DATA		(64 << 10)
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
	int attaches, detaches, cancels;
	int *detaches_of_all;	/* counted over processes where not NULL */
	uint64_t seen_checksum;
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
		l->rcx = 1;
		return status;
	case WH_LEAF_DETACH:
		host.detaches++;
		if (host.detaches_of_all)
			++*host.detaches_of_all;
		return l->arg[0] == EPTP_INDEX ? WH_OK : WH_EINVAL;
	case WH_LEAF_CANCEL:
		host.cancels++;
		return WH_OK;
	}
	return WH_ENOSYS;
}

#define getauxval(what)	((void)(what), host.hwcap2)
#define PCI_DEVICES	sysfs
#include "fake.h"
#include "transport_vmfunc.c"
#undef getauxval

void wh_log(const char *fmt, ...)
{
	(void)fmt;
}

static char complaint[512];	/* the last one */

void wh_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(complaint, sizeof(complaint), fmt, ap);
	va_end(ap);
}

/* What client-stubs/transport/transport.c does, without the hash of the API. */
int wh_link_from_part(struct wh_link *l, void *part, size_t part_size)
{
	struct wh_ctl c;

	memcpy(&c, part, sizeof(c));
	l->part_size = part_size;
	l->slot[0].msg = (uint8_t *)part + c.msg_offset;
	l->data = (uint8_t *)part + c.data_offset;
	return 0;
}

/* --- The worker: the same process after a switch ----------------------------------- */

int64_t fake_handler_result;
struct regs fake_at_handler;
uint64_t fake_handler_runs;
static struct wh_link l;
static int64_t nested_status;
static int nest;
static uint64_t handled[4];
static char stack[16384] __attribute__((aligned(16)));

void fake_switch(void);
int64_t fake_switch_c(struct regs *r);
int64_t fake_continue_c(struct regs *r);

static int64_t handler(void *session, uint64_t slot, uint64_t arg0, uint64_t arg1)
{
	handled[0] = (uint64_t)session;
	handled[1] = slot;
	handled[2] = arg0;
	handled[3] = arg1;
	return arg0 == 99 ? WH_EINVAL : WH_OK;
}

static void become(uint64_t word)
{
	struct wh_slot_view *v = (struct wh_slot_view *)WH_SLOT_VA;
	struct wh_world *w = (struct wh_world *)WH_WORLD_VA;

	mprotect(w, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	memset(w, 0, sizeof(*w));
	w->world = word;
	if (word == WH_WORLD_SERVER) {
		w->nslots = 1;
		w->nhandlers = 2;
		w->session = 0x5e55;
		w->handlers[1] = (uint64_t)handler;
		w->slots[0].stack_top = (uint64_t)stack + sizeof(stack);
		w->slots[0].fs_base = ((struct wh_slot *)(WH_WINDOW_VA + WH_PAGE_SIZE))->client.fs;
		w->slots[0].mxcsr = 0x1f80;
		w->slots[0].fcw = 0x037f;
	}
	mprotect(w, WH_PAGE_SIZE, PROT_READ);
	mprotect(v, WH_PAGE_SIZE, PROT_READ | PROT_WRITE);
	v->view = word == WH_WORLD_SERVER ? WH_SLOT_VIEW : 0;
	mprotect(v, WH_PAGE_SIZE, PROT_READ);
}

int64_t fake_switch_c(struct regs *r)
{
	if ((uint32_t)r->gpr[RCX] && r->gpr[RCX] != EPTP_INDEX)
		return WH_ENOENT;
	/* As a signal handler that comes just before the switch. */
	if (r->gpr[RCX] && nest)
		nested_status = l.t->call(&l, 0, 1, 1);
	become(r->gpr[RCX] ? WH_WORLD_SERVER : WH_WORLD_CLIENT);
	return 0;
}

int64_t fake_continue_c(struct regs *r)
{
	(void)r;
	return WH_EFATAL;
}

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

static void format_window(void)
{
	struct wh_ctl c = { .magic = WH_CTL_MAGIC, .abi_version = WH_ABI_VERSION,
			    .part_size = PART, .nslots = 1, .slot_offset = WH_PAGE_SIZE,
			    .msg_offset = MSG, .msg_size = MSG, .data_offset = DATA };
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
}

static void fresh_host(void)
{
	memset(&host, 0, sizeof(host));
	host.role = WH_ROLE_CLIENT;
	host.version = WH_ABI_VERSION;
	host.hwcap2 = 2;
	memset(&l, 0, sizeof(l));
}

static uint32_t part_here(void)
{
	return ((struct wh_ctl *)WH_WINDOW_VA)->part;
}

static int is_mapped(uint64_t va)
{
	unsigned char vec;

	return !mincore((void *)va, WH_PAGE_SIZE, &vec);
}

#endif
