// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises the client's check of a control page: it covers every field that
 * could lead the client astray.
 */
#include "tap.h"
#include "gen_api.h"
#include "transport.h"
#include "window.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE	(2UL << 20)

static struct wh_ctl *ctl;

static void good(void)
{
	*ctl = (struct wh_ctl) {
		.magic = WH_CTL_MAGIC, .abi_version = WH_ABI_VERSION, .part_size = SIZE,
		.nslots = 1, .slot_offset = 0x1000, .msg_offset = 0x2000, .msg_size = 0x10000,
		.data_offset = 0x12000, .data_size = SIZE - 0x12000, .api_hash = WH_API_HASH,
	};
}

static int check(void)
{
	struct wh_link l = { 0 };
	int rc = wh_link_from_part(&l, ctl, SIZE);

	good();
	return rc;
}

/* Different versions are named on stderr; here that text goes to a pipe. */
static int skew_names_both(void)
{
	char text[512] = "", want[64], abi[16];
	int p[2], err = dup(2), rc;

	if (pipe(p))
		return 0;
	dup2(p[1], 2);
	ctl->api_hash ^= 1;
	snprintf(want, sizeof(want), "%016llx", (unsigned long long)ctl->api_hash);
	rc = check();
	dup2(err, 2);
	close(p[1]);
	if (read(p[0], text, sizeof(text) - 1) < 0)
		return 0;
	close(p[0]);
	close(err);
	snprintf(abi, sizeof(abi), "ABI %d", WH_ABI_VERSION);
	return rc == WH_EVERSION && strstr(text, want) && strstr(text, abi);
}

int main(void)
{
	struct wh_link l = { 0 };

	ctl = aligned_alloc(4096, SIZE);
	memset(ctl, 0, SIZE);
	tap_plan(15);
	ok_eq(check(), WH_EFAULT, "empty_page_is_refused");
	ok_eq(wh_link_from_part(&l, ctl, SIZE), 0, "good_page_is_taken");
	ok(l.slot[0].msg == (uint8_t *)ctl + 0x2000 && l.msg_size == 0x10000 &&
	   l.data == (uint8_t *)ctl + 0x12000 && l.data_size == SIZE - 0x12000,
	   "areas_lie_where_the_page_says");
	ok(skew_names_both(), "other_description_is_refused_naming_both");
	ctl->nslots = 2;
	ok(!wh_link_from_part(&l, ctl, SIZE) && l.slots == 2 &&
	   l.slot[1].msg == l.slot[0].msg + 0x10000, "each_slot_has_its_message_area");
	ctl->nslots = WH_MAX_SLOTS + 1;
	ok_eq(check(), WH_EFAULT, "more_slots_than_there_can_be_are_refused");
	ctl->nslots = WH_MAX_SLOTS;
	ctl->msg_size = SIZE / WH_MAX_SLOTS;
	ok_eq(check(), WH_EFAULT, "message_areas_that_end_outside_are_refused");
	ctl->nslots = 0;
	ok_eq(check(), WH_EFAULT, "part_without_slots_is_refused");
	ctl->msg_offset = SIZE;
	ok_eq(check(), WH_EFAULT, "message_area_outside_is_refused");
	ctl->msg_size = 8;
	ok_eq(check(), WH_EFAULT, "tiny_message_area_is_refused");
	ctl->msg_offset = 0x2001;
	ok_eq(check(), WH_EFAULT, "unaligned_area_is_refused");
	ctl->data_size = UINT64_MAX;
	ok_eq(check(), WH_EFAULT, "data_area_of_all_memory_is_refused");
	ctl->slot_offset = SIZE;
	ok_eq(check(), WH_EFAULT, "slot_outside_is_refused");
	ctl->part_size = SIZE * 2;
	ok_eq(check(), WH_EFAULT, "part_larger_than_its_mapping_is_refused");
	ok_eq(wh_link_from_part(&l, ctl, 16), WH_EFAULT, "mapping_smaller_than_a_page_is_refused");
	free(ctl);
	return tap_exit();
}
