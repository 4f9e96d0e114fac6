// SPDX-License-Identifier: Apache-2.0
/*
 * The code that all transports share: the check of a part's control page, and messages on
 * stderr. The control page is shared memory: it is copied once, then every field is checked
 * against the part's true size.
 */
#define _GNU_SOURCE
#include "transport.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gen_api.h"
#include "window.h"

static void say(const char *level, const char *fmt, va_list ap)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "wormhole: %s: ", level);

	n += vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n] = '\n';
	fwrite(line, 1, n + 1, stderr);
}

void wh_log(const char *fmt, ...)
{
	static int on = -1;
	va_list ap;

	if (on < 0) {
		const char *v = getenv("WORMHOLE_LOG");

		on = v && *v && strcmp(v, "0");
	}
	if (!on)
		return;
	va_start(ap, fmt);
	say("info", fmt, ap);
	va_end(ap);
}

void wh_complain(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("error", fmt, ap);
	va_end(ap);
}

void wh_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("warn", fmt, ap);
	va_end(ap);
}

/* Only the thread that connects uses it (init.c). */
static char reason[320];

void wh_note_reason(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);
}

const char *wh_reason(void)
{
	return *reason ? reason : NULL;
}

/* Returns a copy from the environment that the process was started with, or NULL. */
static char *at_start(const char *name)
{
	FILE *f = fopen("/proc/self/environ", "re");
	char *entry = NULL, *value = NULL;
	size_t room = 0, n = strlen(name);

	while (f && !value && getdelim(&entry, &room, 0, f) > 0)
		if (!strncmp(entry, name, n) && entry[n] == '=')
			value = strdup(entry + n + 1);
	free(entry);
	if (f)
		fclose(f);
	return value;
}

const char *wh_transport_variable(const char *name, char *room, size_t size)
{
	const char *value = getenv(name);
	char *first;

	if (value || getenv(WH_TRANSPORT_ENV) || getenv(WH_SOCKET_ENV))
		return value;
	first = at_start(name);
	if (!first)
		return NULL;
	snprintf(room, size, "%s", first);
	free(first);
	return room;
}

void *wh_link_map(uint64_t va, size_t size, int file, off_t offset)
{
	void *want = (void *)va;
	void *p = mmap(want, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, file,
		       offset);

	if (p != want) {
		if (p != MAP_FAILED)
			munmap(p, size);
		return NULL;
	}
	/* Like pinned memory of the real driver, it does not follow a fork. */
	madvise(p, size, MADV_DONTFORK);
	return p;
}

static int area_ok(uint64_t offset, uint64_t size, size_t part_size)
{
	return offset % WH_PAGE_SIZE == 0 && offset <= part_size && size <= part_size - offset;
}

static int versions_ok(const struct wh_ctl *ctl)
{
	if (ctl->abi_version == WH_ABI_VERSION && ctl->api_hash == WH_API_HASH)
		return 1;
	wh_complain("client library has ABI %u, calls %016llx; worker has ABI %u, calls %016llx: "
		    "install the same release, built with the same CUDA, on both sides", WH_ABI_VERSION,
		    (unsigned long long)WH_API_HASH, ctl->abi_version,
		    (unsigned long long)ctl->api_hash);
	return 0;
}

int wh_link_from_part(struct wh_link *l, void *part, size_t part_size)
{
	struct wh_ctl ctl;
	uint32_t i;

	if (part_size < sizeof(ctl))
		return WH_EFAULT;
	memcpy(&ctl, part, sizeof(ctl));
	if (ctl.magic != WH_CTL_MAGIC)
		return WH_EFAULT;
	if (!versions_ok(&ctl))
		return WH_EVERSION;
	if (!ctl.nslots || ctl.nslots > WH_MAX_SLOTS || ctl.msg_size < WH_PAGE_SIZE ||
	    ctl.msg_size > part_size || ctl.part_size > part_size ||
	    !area_ok(ctl.slot_offset, ctl.nslots * WH_PAGE_SIZE, part_size) ||
	    !area_ok(ctl.msg_offset, ctl.nslots * ctl.msg_size, part_size) ||
	    !area_ok(ctl.data_offset, ctl.data_size, part_size))
		return WH_EFAULT;
	l->part = part;
	l->part_size = part_size;
	l->slots = ctl.nslots;
	for (i = 0; i < l->slots; i++)
		l->slot[i] = (struct wh_link_slot) {
			.msg = l->part + ctl.msg_offset + i * ctl.msg_size,
		};
	l->room = l->msg_size = ctl.msg_size;
	l->data = l->part + ctl.data_offset;
	l->data_size = ctl.data_size;
	return 0;
}
