// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER. The expected answers and
 * error numbers are those that the driver of CUDA 13.0 gave for the same texts on a
 * machine with the first two devices. Answers that need the third (2,1,0; GPU-1; GPU-19;
 * the list with GPU-77) and PCI_BUS_ID follow the documentation.
 */
#include <stdlib.h>

#include "tap.h"
#include "stubs.h"

struct wh_client wh_client;

#define N 3
static struct wh_device_info info[N];

static const struct {
	const char *list, *want;
} cases[] = {
	{ NULL, "012" }, { "", "100" }, { "-1", "100" }, { "0", "0" }, { "1", "1" },
	{ "1,0", "10" }, { "0,0", "101" }, { "0,1,0", "101" }, { "0,5,1", "0" }, { "5", "100" },
	{ "0,-1,1", "0" }, { "0,junk,1", "0" }, { "junk", "100" }, { " 1", "1" },
	{ "0, 1", "01" }, { "0 ,1", "01" }, { "1gpu,0x", "10" }, { "0x1", "0" }, { "+1", "1" },
	{ "01", "1" }, { "1,", "1" }, { ",1", "100" }, { "0,,1", "0" }, { "0;1", "0" },
	{ "4294967297", "1" }, { "99999999999999999999", "100" }, { "2,1,0", "210" },
	{ "GPU-254c40be-62fc-0d8a-0ea8-bb6421f11fcd", "0" },
	{ "GPU-180335a4-2a05-6b19-5b0f-f9cdca61a348", "1" },
	{ "GPU-25", "0" }, { "GPU-254C40BE-62FC", "0" }, { "GPU-180335a42a05-6b", "1" },
	{ "GPU-1", "100" }, { "GPU-18", "1" }, { "GPU-19", "2" }, { "GPU-", "100" },
	{ "GPU-18,GPU-25", "10" }, { "GPU-18,0", "1" }, { "0,GPU-18", "0" },
	{ "GPU-25,GPU-254c", "101" }, { "GPU-zz,GPU-25", "100" }, { "GPU-25,GPU-77,GPU-18", "0" },
	{ "254c40be-62fc", "100" }, { " GPU-25", "100" }, { "GPU-25 ", "0" },
	{ "GPU-18, GPU-25", "1" }, { "GPU-254c40be-62fc-0d8a-0ea8-bb6421f11fcdx", "0" },
	{ "gpu-25", "100" },
};

/* Returns the chosen numbers one after the other, or the error's. */
static const char *chosen(const char *list, const char *order)
{
	static char text[16];
	int dev[N], count, i;
	CUresult res = wh_visible_select(list, order, info, N, dev, &count);

	if (res != CUDA_SUCCESS) {
		snprintf(text, sizeof(text), "%d", res);
		return text;
	}
	for (i = 0; i < count; i++)
		text[i] = '0' + dev[i];
	text[count] = 0;
	return text;
}

static void test_lists(void)
{
	char name[128];
	const char *got;
	size_t i;
	bool none;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		got = chosen(cases[i].list, NULL);
		none = wh_visible_none(cases[i].list);
		if (strcmp(got, cases[i].want))
			diag("got %s, want %s", got, cases[i].want);
		snprintf(name, sizeof(name), "list_'%s'_gives_%s", cases[i].list ? cases[i].list : "(unset)",
			 cases[i].want);
		ok(!strcmp(got, cases[i].want) && (!none || !strcmp(got, "100")), name);
	}
	ok(wh_visible_none("") && wh_visible_none("-1") && wh_visible_none("NoDevFiles") &&
	   !wh_visible_none(NULL) && !wh_visible_none("7"), "empty_lists_are_known_beforehand");
}

/* The second device is a MIG instance here. */
static void test_instances(void)
{
	info[1].instance = 1;
	ok(!strcmp(chosen("MIG-180335a4-2a05-6b19-5b0f-f9cdca61a348", NULL), "1") &&
	   !strcmp(chosen("MIG-18", NULL), "1") && !wh_visible_none("MIG-18"),
	   "instance_is_named_by_its_uuid_or_the_beginning");
	ok(!strcmp(chosen("GPU-18", NULL), "100"), "instance_is_not_named_as_a_gpu");
	ok(!strcmp(chosen("MIG-25", NULL), "100"), "gpu_is_not_named_as_an_instance");
	ok(!strcmp(chosen("MIG-GPU-180335a4-2a05-6b19-5b0f-f9cdca61a348/1/0", NULL), "100"),
	   "older_name_of_an_instance_is_none");
	ok(!strcmp(chosen("1", NULL), "1") && !strcmp(chosen(NULL, NULL), "012"),
	   "instance_has_a_number_as_others");
	info[1].instance = 0;
}

static void test_order(void)
{
	ok(!strcmp(chosen(NULL, "PCI_BUS_ID"), "120"), "devices_are_ordered_by_their_place");
	ok(!strcmp(chosen("2,0", "PCI_BUS_ID"), "01"), "list_counts_in_that_order");
	ok(!strcmp(chosen(NULL, "FASTEST_FIRST"), "012"), "drivers_order_is_kept");
	ok(!strcmp(chosen(NULL, "junk"), "101"), "unknown_order_is_refused");
}

static void test_numbers(void)
{
	static int real[] = { 2, 0 };
	CUmemLocation l[2] = {
		{ CU_MEM_LOCATION_TYPE_DEVICE, 1 }, { CU_MEM_LOCATION_TYPE_HOST, 1 },
	};
	int dev = -7;

	wh_client.devices = 2;
	wh_client.real = real;
	ok(wh_device_real(0) == 2 && wh_device_real(1) == 0, "numbers_are_translated");
	ok_eq(wh_device_real(CU_DEVICE_CPU), CU_DEVICE_CPU, "special_number_stays");
	ok(wh_device_real(2) > 1000, "number_out_of_range_stays_out_of_range");
	ok(!wh_device_shown(&dev, 2) && dev == 0 && !wh_device_shown(&dev, 0) && dev == 1 &&
	   !wh_device_shown(&dev, -1) && dev == -1, "numbers_are_translated_back");
	ok_eq(wh_device_shown(&dev, 1), CUDA_ERROR_INVALID_DEVICE, "hidden_device_does_not_appear");
	wh_locations_real(l, 2, sizeof(*l), 0);
	ok(l[0].id == 0 && l[1].id == 1, "only_locations_on_devices_are_translated");
	l[0].id = 1;
	wh_locations_shown(l, 2, sizeof(*l), 0);
	ok_eq(l[0].id, CU_DEVICE_INVALID, "location_on_a_hidden_device_is_no_device");
}

int main(void)
{
	static const uint8_t uuid[N][16] = {
		{ 0x25, 0x4c, 0x40, 0xbe, 0x62, 0xfc, 0x0d, 0x8a, 0x0e, 0xa8, 0xbb, 0x64, 0x21,
		  0xf1, 0x1f, 0xcd },
		{ 0x18, 0x03, 0x35, 0xa4, 0x2a, 0x05, 0x6b, 0x19, 0x5b, 0x0f, 0xf9, 0xcd, 0xca,
		  0x61, 0xa3, 0x48 },
		{ 0x19 },
	};
	static const int bus[N] = { 9, 3, 7 };
	int i;

	for (i = 0; i < N; i++) {
		memcpy(&info[i].uuid, uuid[i], 16);
		info[i].value[CU_DEVICE_ATTRIBUTE_PCI_BUS_ID] = bus[i];
	}
	tap_plan(sizeof(cases) / sizeof(*cases) + 17);
	test_lists();
	test_instances();
	test_order();
	test_numbers();
	return tap_exit();
}
