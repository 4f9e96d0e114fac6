// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the page as it is shipped: header, checksum, and VMFUNC at two known
 * places and nowhere else, at any offset. It runs on any machine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trampoline.h"
#include "gen_trampoline.h"
#include "../tap.h"

static const unsigned char vmfunc[] = { 0x0f, 0x01, 0xd4 };
static unsigned char page[WH_PAGE_SIZE + 1];
static struct wh_tramp_hdr h;

static const char *build(void)
{
	const char *b = getenv("WH_BUILD");

	return b ? b : WH_BUILD_DEFAULT;
}

static int read_page(void)
{
	char path[4096];
	int fd, n;

	snprintf(path, sizeof(path), "%s/trampoline/page.bin", build());
	fd = open(path, O_RDONLY);
	n = fd < 0 ? -1 : (int)read(fd, page, sizeof(page));
	close(fd);
	memcpy(&h, page, sizeof(h));
	return n;
}

/* Returns the offset that page.map gives a symbol, or -1. */
static long in_map(const char *symbol)
{
	char path[4096], name[128];
	long at, found = -1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/trampoline/page.map", build());
	f = fopen(path, "r");
	while (f && fscanf(f, "%lx %127s", &at, name) == 2)
		if (!strcmp(name, symbol))
			found = at;
	if (f)
		fclose(f);
	return found;
}

static void test_vmfunc(void)
{
	long want[2] = { in_map("delegate_to_server.switch"), in_map("wh_land_entry.leave") };
	long found[2] = { -1, -1 };
	int i, n = 0;

	for (i = 0; i + 3 <= WH_PAGE_SIZE; i++)
		if (!memcmp(page + i, vmfunc, 3) && n++ < 2)
			found[n - 1] = i;
	ok_eq(n, 2, "vmfunc_appears_exactly_twice");
	ok(want[0] > 0 && found[0] == want[0] && found[1] == want[1],
	   "vmfunc_stands_where_the_map_says");
	ok_eq(h.landing, found[0] + 3, "landing_follows_the_first_vmfunc");
	ok_eq(h.leave, found[1], "leave_is_the_second_vmfunc");
}

static void test_end(void)
{
	int i, other = 0;

	ok(h.code_end > h.leave && h.code_end < WH_PAGE_SIZE, "code_ends_in_the_page");
	for (i = (int)h.code_end; i < WH_PAGE_SIZE; i++)
		other += page[i] != 0xcc;
	ok_eq(other, 0, "rest_of_the_page_is_int3");
}

static void test_entries(void)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	ok(h.delegate == in_map("delegate_to_server") && h.pending == in_map("wh_client_pending"),
	   "entries_are_in_the_header");
	ok(!memcmp(page + h.delegate, endbr64, 4) && !memcmp(page + h.pending, endbr64, 4),
	   "entries_start_with_endbr64");
	ok(h.service == in_map("wh_service") && h.service > 0 && !(h.service % 16),
	   "service_is_in_the_header_and_at_a_multiple_of_16");
}

int main(void)
{
	tap_plan(14);
	ok_eq(read_page(), WH_PAGE_SIZE, "page_is_4096_bytes");
	ok(h.magic == WH_TRAMP_MAGIC && h.abi_version == WH_ABI_VERSION,
	   "header_has_magic_and_version");
	ok_eq((int64_t)h.checksum, (int64_t)wh_trampoline_checksum(page), "checksum_is_right");
	ok_eq(wh_trampoline_check(page), WH_OK, "page_passes_the_check");
	page[h.delegate + 4] ^= 1;
	ok_eq(wh_trampoline_check(page), WH_EVERSION, "changed_page_fails_the_check");
	page[h.delegate + 4] ^= 1;
	test_vmfunc();
	test_end();
	test_entries();
	return tap_exit();
}
