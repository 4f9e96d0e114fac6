// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that NCCL works through the stub, over a library that writes down
 * what it is told. Groups come to it whole and in one thread, ranks that are threads of
 * this program wait for each other, and invalid addresses and communicators do not reach
 * the library.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>

#include "lib_test.h"

static ncclComm_t comm[2];
static ncclUniqueId id;
static void *a, *b;

ncclResult_t pncclGetVersion(int *version);

static void test_library(void)
{
	int version = 0, second = 0;

	ok_eq(ncclGetVersion(&version), 0, "version_needs_no_call_before_it");
	ok_eq(version, 22809, "version_is_the_workers");
	pncclGetVersion(&second);
	ok_eq(second, version, "function_has_its_second_name");
	ok_eq(ncclGetUniqueId(&id), 0, "id_is_made");
	ok(!strcmp(id.internal, "the fake's id") && id.internal[127] == 'z', "id_comes_whole");
	ok(!strcmp(ncclGetLastError(NULL), "of none"), "last_error_is_the_librarys");
	ok(!!strstr(ncclGetErrorString(ncclInvalidUsage), "invalid usage"), "result_has_its_text");
}

/* --- Communicators --------------------------------------------------------------------------- */

static void test_init_all(void)
{
	static const int devices[] = { 0, 0 };
	int value = -1;

	news();
	ok_eq(ncclCommInitAll(comm, 2, devices), 0, "communicators_of_one_process_are_made");
	told("start|init ranks=2 rank=0 blocking=1 net=- context=1|init ranks=2 rank=1 blocking=1 net=- context=1|end",
	     "all_of_them_in_one_group");
	ok(ncclCommCount(comm[1], &value) == 0 && value == 2, "number_of_ranks_is_known");
	ok(ncclCommUserRank(comm[1], &value) == 0 && value == 1, "rank_is_known");
	ok(ncclCommCuDevice(comm[1], &value) == 0 && value == 0, "device_is_known");
	told("", "none_of_that_asks_the_library");
	ok(!strcmp(ncclGetLastError(comm[0]), "of a communicator"), "its_last_error_is_its_own");
	ok_eq(ncclCommGetAsyncError(comm[0], (ncclResult_t *)&value), 0, "asynchronous_error_is_asked_for");
	ok_eq(value, ncclSuccess, "and_is_none");
}

struct rank {
	pthread_t thread;
	ncclComm_t comm;
	int number, result;
};

static void *run_rank(void *arg)
{
	struct rank *r = arg;

	r->result = ncclCommInitRank(&r->comm, 2, id, r->number);
	if (r->result == ncclSuccess)
		r->result = ncclCommDestroy(r->comm);
	return NULL;
}

static void test_threads(void)
{
	struct rank rank[2] = { { .number = 0 }, { .number = 1 } };
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&rank[i].thread, NULL, run_rank, &rank[i]);
	for (i = 0; i < 2; i++)
		pthread_join(rank[i].thread, NULL);
	ok(!rank[0].result && !rank[1].result, "ranks_in_threads_of_their_own_wait_for_each_other");
	news();
}

static void test_config(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t slow = NULL, wrong = (ncclComm_t)1;

	config.blocking = 0;
	config.netName = "Socket";
	ok_eq(ncclCommInitRankConfig(&slow, 1, id, 0, &config), ncclInProgress,
	      "communicator_that_does_not_block_is_in_progress");
	told("init ranks=1 rank=0 blocking=0 net=Socket context=1", "settings_and_names_arrive");
	ok_eq(ncclCommAbort(slow), 0, "it_can_be_aborted");
	told("abort 5", "abort_reaches_the_library");
	ok_eq(ncclCommInitRank(&wrong, 1, id, 1), ncclInvalidArgument, "rank_beyond_the_last_is_refused");
	ok(!wrong, "no_communicator_comes_of_it");
	told("", "and_nobody_hears_of_it");
}

static void test_split(void)
{
	ncclComm_t child = NULL, none = (ncclComm_t)1;
	int value = 0, out[] = { 1 };

	ok_eq(ncclCommSplit(comm[0], 5, 6, &child, NULL), 0, "communicator_is_split");
	told("split 1 color=5 key=6 config=0", "color_and_key_arrive");
	ok(ncclCommCount(child, &value) == 0 && value == 7, "ranks_of_what_was_split_off_are_the_librarys");
	ok(ncclCommUserRank(child, &value) == 0 && value == 3, "so_is_its_rank");
	ncclCommSplit(comm[0], NCCL_SPLIT_NOCOLOR, 0, &none, NULL);
	ok(!none, "without_a_color_there_is_none");
	ncclCommDestroy(child);
	news();
	ok_eq(ncclCommShrink(comm[0], out, 1, &child, NULL, NCCL_SHRINK_ABORT), 0, "communicator_is_shrunk");
	told("shrink 1 without 1 of 1 flags=1 config=0", "ranks_to_leave_out_arrive");
	ncclCommDestroy(child);
	news();
}

/* --- Operations ------------------------------------------------------------------------- */

static void test_operations(void)
{
	CUstream own;

	cuStreamCreate(&own, 0);
	ok_eq(ncclAllReduce(a, a, 16, ncclFloat32, ncclSum, comm[0], own), 0, "operation_alone_succeeds");
	told("all_reduce 1 same=1 count=16 type=7 op=0 stream=own", "it_is_in_no_group");
	ok_eq(ncclReduce(a, NULL, 16, ncclFloat16, ncclMax, 0, comm[1], NULL), 0,
	      "rank_that_is_not_the_root_needs_nothing_to_write_to");
	told("reduce 2 to=0 count=16 type=6 op=2 recv=0", "and_gives_nothing");
	ncclBcast(b, 8, ncclInt8, 1, comm[1], NULL);
	told("broadcast 2 from=1 same=1 count=8 type=0", "old_broadcast_is_one_in_place");
	ok_eq(ncclAllReduce(a, a, 16, ncclFloat32, (ncclRedOp_t)4711, comm[0], NULL),
	      ncclInvalidArgument, "error_is_the_librarys");
	news();
}

static void test_bounds(void)
{
	static char mine[4096];

	ok_eq(ncclAllReduce(mine, a, 1, ncclInt8, ncclSum, comm[0], NULL), ncclInvalidArgument,
	      "what_is_read_must_be_the_devices");
	ok_eq(ncclAllReduce(a, mine, 1, ncclInt8, ncclSum, comm[0], NULL), ncclInvalidArgument,
	      "what_is_written_must_be_the_devices");
	ok_eq(ncclAllReduce(a, b, 1 << 20, ncclFloat64, ncclSum, comm[0], NULL),
	      ncclInvalidArgument, "to_its_last_byte");
	ok_eq(ncclAllGather(a, b, 40, ncclInt8, comm[0], NULL), ncclInvalidArgument,
	      "room_is_needed_for_all_ranks");
	ok_eq(ncclAllGather(a, b, 32, ncclInt8, comm[0], NULL), 0, "and_is_enough_for_all_ranks");
	told("all_gather 1 count=32 type=0", "only_that_reaches_the_library");
	ok_eq(ncclAllReduce(a, a, ~0UL / 2, ncclFloat64, ncclSum, comm[0], NULL),
	      ncclInvalidArgument, "count_beyond_all_memory_is_refused");
	ok_eq(ncclAllReduce(a, a, 1, (ncclDataType_t)99, ncclSum, comm[0], NULL),
	      ncclInvalidArgument, "type_that_is_none_is_refused");
	told("", "nobody_hears_of_them");
}

static void test_groups(void)
{
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	static char mine[64];

	ncclGroupStart();
	ncclAllReduce(a, b, 4, ncclInt32, ncclSum, comm[0], NULL);
	ncclGroupStart();
	ncclAllReduce(a, b, 4, ncclInt32, ncclSum, comm[1], NULL);
	ok_eq(ncclGroupEnd(), 0, "inner_group_ends");
	told("", "nothing_is_sent_before_the_outer_one_does");
	ok_eq(ncclGroupEnd(), 0, "outer_group_ends");
	told("start|all_reduce 1 same=0 count=4 type=2 op=0 stream=0|all_reduce 2 same=0 count=4 type=2 op=0 stream=0|end",
	     "all_of_it_is_one_group_of_the_library");
	ncclGroupStart();
	ncclSend(a, 4, ncclInt8, 1, comm[0], NULL);
	ncclRecv(b, 4, ncclInt8, 1, comm[0], NULL);
	ok_eq(ncclGroupEnd(), 0, "sending_and_receiving_in_a_group_succeeds");
	told("start|send 1 to=1 count=4 type=0|recv 1 from=1 count=4 type=0|end", "both_are_one_group");
	ncclGroupStart();
	ncclAllReduce(a, b, 4, ncclInt32, ncclSum, comm[0], NULL);
	ncclAllReduce(a, mine, 4, ncclInt32, ncclSum, comm[1], NULL);
	ok_eq(ncclGroupEnd(), ncclInvalidArgument, "one_wrong_operation_fails_its_group");
	told("", "of_which_nothing_was_made");
	ok_eq(ncclGroupEnd(), ncclInvalidUsage, "end_without_a_start_is_refused");
	ncclGroupStart();
	ncclAllReduce(a, b, 4, ncclInt32, ncclSum, comm[0], NULL);
	ok(!ncclGroupSimulateEnd(&info) && info.estimatedTime == 12.5f, "time_of_a_group_is_estimated");
	told("start|all_reduce 1 same=0 count=4 type=2 op=0 stream=0|simulate", "and_it_is_not_made");
}

static void test_buffers(void)
{
	float half = 0.5f;
	void *handle = NULL;
	ncclRedOp_t op = ncclSum;
	ncclWindow_t window;

	ok(!ncclCommRegister(comm[0], a, 64, &handle) && handle && handle != a,
	   "registered_buffer_has_a_handle_of_ours");
	ok_eq(ncclCommRegister(comm[0], &half, 4, &handle), ncclInvalidArgument,
	      "memory_of_the_programs_is_not_registered");
	ok_eq(ncclCommDeregister(comm[0], (void *)0x1234), ncclInvalidArgument,
	      "handle_that_is_none_is_refused");
	ok_eq(ncclCommDeregister(comm[0], handle), 0, "handle_is_given_back");
	told("register 1 size=64|deregister 1 known=1", "both_reach_the_library");
	ok(!ncclRedOpCreatePreMulSum(&op, &half, ncclFloat32, ncclScalarHostImmediate, comm[0]) &&
	   op == 42, "operator_is_made");
	told("factor 1 0.5 type=7", "its_factor_travels");
	ncclRedOpDestroy(op, comm[0]);
	told("forget 1 op=42", "and_is_forgotten");
	ok_eq(ncclCommWindowRegister(comm[0], a, 64, &window, 0), ncclInvalidUsage, "windows_are_refused");
}

/* Functions of newer versions, which this header need not declare. */
static void test_newer(void)
{
	static const char *const names[] = {
		"ncclCommGetUniqueId", "ncclCommGrow", "ncclCommMemStats", "ncclCommResume",
		"ncclCommSuspend", "ncclGetLsaMultimemDevicePointer", "ncclGetPeerDevicePointer",
		"ncclPutSignal", "ncclSignal", "ncclWaitSignal", "ncclWinGetUserPtr",
	};
	unsigned int refused = 0, n = sizeof(names) / sizeof(names[0]);

	for (unsigned int i = 0; i < n; i++) {
		ncclResult_t (*fn)(void);

		*(void **)&fn = dlsym(RTLD_DEFAULT, names[i]);
		refused += fn && fn() == ncclInvalidUsage;
	}
	ok_eq(refused, n, "functions_of_newer_versions_exist_and_are_refused");
}

static void test_end(void)
{
	ok_eq(ncclCommDestroy(comm[0]), 0, "communicator_is_destroyed");
	ok_eq(ncclAllReduce(a, a, 1, ncclInt8, ncclSum, comm[0], NULL), ncclInvalidArgument,
	      "destroyed_one_is_refused");
	ok_eq(ncclCommDestroy(comm[0]), ncclInvalidArgument, "and_is_not_destroyed_again");
	told("destroy 1", "library_hears_of_it_once");
	ncclGroupStart();
	ncclAllReduce(a, a, 1, ncclInt8, ncclSum, comm[1], NULL);
	ncclCommDestroy(comm[1]);
	ok_eq(ncclGroupEnd(), ncclInvalidArgument, "communicator_does_not_end_in_a_group_that_uses_it");
	told("", "nobody_hears_of_that_group");
	ok_eq(ncclCommAbort(comm[1]), 0, "communicator_is_aborted");
	told("abort 2", "which_reaches_the_library");
}

int main(void)
{
	static const char bytes[64];

	tap_plan(75);
	test_library();
	a = (void *)device(bytes, sizeof(bytes));
	b = (void *)device(bytes, sizeof(bytes));
	test_init_all();
	test_threads();
	test_config();
	test_split();
	test_operations();
	test_bounds();
	test_groups();
	test_buffers();
	test_newer();
	test_end();
	return tap_exit();
}
