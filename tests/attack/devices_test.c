// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises, for every device number in every request of the driver, that a
 * device which is not the tenant's is refused before the driver hears of it
 * (server/session/device.c).
 */
#include "told.h"

/* Adds an allocation to a graph: memory of the device `own`, which the device `other` can reach. */
static int32_t allocate(struct wh_session *s, int own, int other)
{
	struct wh_req_whGraphNode *q = node(s, WH_NODE_ADD, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	CUmemAccessDesc *desc = (void *)((uint8_t *)q + FIXED(*q));
	CUDA_MEM_ALLOC_NODE_PARAMS_v2 *a = &q->params.alloc;

	a->poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
	a->poolProps.location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, own };
	a->bytesize = 64;
	a->accessDescCount = 1;
	desc->location = (CUmemLocation){ CU_MEM_LOCATION_TYPE_DEVICE, other };
	desc->flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	q->bytes = sizeof(*desc);
	return ask(s, 0, WH_CALL_whGraphNode, FIXED(*q) + sizeof(*desc));
}

static void test_devices(struct wh_session *s)
{
	static struct wh_tenant_limits page = { .hidden = ~(1u << 1) };
	const struct wh_tenant_limits *none = s->limits.page;
	struct wh_req_whDeviceInfo *q;

	s->limits.page = &page;
	each_call(s, 0, ORDINAL, "calls_pass_with_the_tenants_device", "and_none_with_anothers");
	ok(!allocate(s, 1, 1) && reached && allocate(s, ANOTHERS, 1) && !reached &&
	   allocate(s, 1, ANOTHERS) && !reached, "nor_an_allocation_in_a_graph");
	q = request(s, 0, sizeof(*q));
	q->device = ANOTHERS;
	ok_eq(ask(s, 0, WH_CALL_whDeviceInfo, sizeof(*q)), CUDA_ERROR_INVALID_DEVICE,
	      "nor_is_anything_said_about_it");
	s->limits.page = none;
}
int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);

	(void)argc;
	tap_plan(4);
	say_hello(s);
	fill(s);
	make_objects(s);
	test_devices(s);
	wh_session_close(s);
	return tap_exit();
}
