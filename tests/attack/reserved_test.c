// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a client maps host memory only where the driver has reserved addresses
 * for it and nothing is, whatever it asks for, and that these addresses never become the worker's
 * while a graph may name them. The session runs in this process, with a far area. The driver is
 * this file: it reserves what it is told, and counts what it is asked.
 */
#define _GNU_SOURCE
#include "session_block.h"

#define AREA	(64 * PAGE)
#define SIZE	(4 * PAGE)

static uint64_t far, space;
static int pinned, mapped, freed;

static CUresult pin(void *p, size_t size, unsigned int flags)
{
	(void)p;
	(void)size;
	(void)flags;
	pinned++;
	return CUDA_SUCCESS;
}

static CUresult unpin(void *p)
{
	(void)p;
	pinned--;
	return CUDA_SUCCESS;
}

static CUresult give_back(CUdeviceptr p, size_t size)
{
	freed++;
	munmap((void *)p, size);
	return CUDA_SUCCESS;
}

static CUresult map(CUdeviceptr p, size_t size, size_t offset, CUmemGenericAllocationHandle h,
		    unsigned long long flags)
{
	(void)p;
	(void)size;
	(void)offset;
	(void)h;
	(void)flags;
	mapped++;
	return CUDA_SUCCESS;
}

static CUresult make(CUmemGenericAllocationHandle *h, size_t size, const CUmemAllocationProp *p,
		     unsigned long long flags)
{
	(void)size;
	(void)p;
	(void)flags;
	*h = 0x1234;
	return CUDA_SUCCESS;
}

static int32_t reserved(struct wh_session *s, CUdeviceptr at, uint64_t size)
{
	struct wh_req_cuMemAddressReserve *q = request(s, WH_CALL_cuMemAddressReserve, sizeof(*q));

	reserve_at = at;
	q->size = size;
	return send(s, sizeof(*q)) ? -1 : rsp(s)->result;
}

static int32_t address_free(struct wh_session *s, CUdeviceptr at, uint64_t size)
{
	struct wh_req_cuMemAddressFree *q = request(s, WH_CALL_cuMemAddressFree, sizeof(*q));

	q->ptr = at;
	q->size = size;
	return send(s, sizeof(*q)) ? -1 : rsp(s)->result;
}

static uint64_t device_memory(struct wh_session *s)
{
	struct wh_req_cuMemCreate *q = request(s, WH_CALL_cuMemCreate, sizeof(*q));
	const struct wh_rsp_cuMemCreate *r = (const void *)rsp(s);

	q->size = SIZE;
	q->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	q->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return send(s, sizeof(*q)) || rsp(s)->result ? 0 : r->handle;
}

static int32_t map_device(struct wh_session *s, CUdeviceptr at, uint64_t size, uint64_t handle)
{
	struct wh_req_cuMemMap *q = request(s, WH_CALL_cuMemMap, sizeof(*q));

	q->ptr = at;
	q->size = size;
	q->handle = handle;
	return send(s, sizeof(*q)) ? -1 : rsp(s)->result;
}

static int32_t place(struct wh_session *s, uint64_t addr, uint64_t at)
{
	return block(s, WH_HOST_PLACE, addr, SIZE, at);
}

/* Every place but the reserved one: nothing is asked of the driver, and nothing changes. */
static void test_places(struct wh_session *s)
{
	const uint64_t own = (uintptr_t)s & ~(PAGE - 1), at = space;

	ok(place(s, far, own) > 0 && place(s, far, (uintptr_t)s->data) > 0 &&
	   place(s, far, far) > 0 && place(s, far, 0) > 0 && place(s, far, -PAGE) > 0,
	   "nothing_of_the_workers_is_mapped_over");
	ok(place(s, far, at + PAGE) > 0 && place(s, far, at - PAGE) > 0 &&
	   place(s, far, at + 16) > 0 && place(s, far, at + SIZE) > 0,
	   "all_of_it_lies_in_a_reservation");
	ok(block(s, WH_HOST_PLACE, far, SIZE + PAGE, at) > 0 &&
	   block(s, WH_HOST_PLACE, far, PAGE, at) > 0 && block(s, WH_HOST_PLACE, far, 0, at) > 0 &&
	   place(s, far + PAGE, at) > 0 && place(s, own, at) > 0, "only_a_whole_block_is_placed");
	ok(pinned == 0 && is_nothing(at), "and_no_refused_one_is_there");
}

static void test_use(struct wh_session *s, uint64_t memory)
{
	const uint64_t at = space;

	ok(!place(s, far, at) && pinned == 1 && *(volatile uint64_t *)at == 0x1234,
	   "it_lies_at_reserved_addresses");
	block(s, WH_HOST_KEEP, far + SIZE, SIZE, 0);
	ok(place(s, far, at) > 0 && place(s, far + SIZE, at) > 0 && pinned == 1,
	   "not_twice_and_not_over_another_one");
	ok(map_device(s, at, SIZE, memory) > 0 && map_device(s, at + 2 * PAGE, SIZE, memory) > 0 &&
	   map_device(s, at - PAGE, SIZE, memory) > 0 && map_device(s, at, 0, memory) > 0 &&
	   map_device(s, PAGE, -PAGE, memory) > 0 && mapped == 1, "no_device_memory_is_mapped_over_it");
	ok(address_free(s, at, SIZE) > 0 && address_free(s, at, PAGE) > 0 && freed == 0,
	   "addresses_that_have_it_are_not_freed");
}

static void test_end(struct wh_session *s)
{
	const uint64_t at = space;

	ok(!block(s, WH_HOST_BACK, far, 0, 0) && pinned == 0 && is_nothing(at) && !is_free(at),
	   "taken_back_it_is_not_there_and_the_addresses_stay_reserved");
	ok(block(s, WH_HOST_BACK, far, 0, 0) > 0 && block(s, WH_HOST_BACK, far + PAGE, 0, 0) > 0,
	   "what_is_not_placed_is_not_taken_back");
	place(s, far, at);
	ok(!block(s, WH_HOST_UNPIN, far, 0, 0) && pinned == 0 && is_nothing(at) && !is_free(at),
	   "ended_where_it_lies_it_leaves_nothing");
	ok(!address_free(s, at, SIZE) && freed == 1 && !is_free(at) && is_nothing(at),
	   "freed_addresses_are_not_the_workers");
	ok(place(s, far + SIZE, at) > 0, "and_nothing_is_placed_there_any_more");
}

int main(int argc, char **argv)
{
	struct wh_session *s = open_session(argv[0]);
	uint64_t memory;

	(void)argc;
	tap_plan(15);
	far = (uintptr_t)mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			      0);
	/* Pages that are nobody's lie before and behind each reservation. */
	space = (uintptr_t)mmap(NULL, AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + PAGE;
	wh_session_far(s, (void *)far, AREA, false);
	say_hello(s);
	s->drv.cuMemHostRegister_v2 = pin;
	s->drv.cuMemHostUnregister = unpin;
	s->drv.cuMemAddressReserve = reserve;
	s->drv.cuMemAddressFree = give_back;
	s->drv.cuMemCreate = make;
	s->drv.cuMemMap = map;
	*(volatile uint64_t *)far = 0x1234;
	memory = device_memory(s);
	reserved(s, space, SIZE);
	reserved(s, space + 2 * SIZE, SIZE);
	map_device(s, space + 2 * SIZE, SIZE, memory);
	ok(!block(s, WH_HOST_KEEP, far, SIZE, 0) && pinned == 0, "kept_memory_is_not_the_drivers");
	test_places(s);
	ok(place(s, far, space + 2 * SIZE) > 0, "nor_where_device_memory_is_mapped");
	test_use(s, memory);
	test_end(s);
	return tap_exit();
}
