// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises what happens to graphs of cuDNN's backend API that a program makes
 * again and again, over a library that writes down what it is told. The same graph makes
 * no call, another one does, errors come where the library has them, and what nobody
 * refers to ends at last.
 */
#include <cudnn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_cublas.h"
#include "lib_test.h"

static cudnnHandle_t handle;
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340);

#define SET(d, name, type, n, p) \
	cudnnBackendSetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, p)
#define GET(d, name, type, n, c, p) \
	cudnnBackendGetAttribute(d, CUDNN_ATTR_##name, CUDNN_TYPE_##type, n, c, p)

static cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t d = NULL;

	cudnnBackendCreateDescriptor(type, &d);
	return d;
}

static void destroy(cudnnBackendDescriptor_t *d, int n)
{
	while (n--)
		cudnnBackendDestroyDescriptor(d[n]);
}

/* Finalizes the descriptor. Returns NULL if something was refused. */
static cudnnBackendDescriptor_t finalized(cudnnBackendDescriptor_t d)
{
	if (!cudnnBackendFinalize(d))
		return d;
	cudnnBackendDestroyDescriptor(d);
	return NULL;
}

static cudnnBackendDescriptor_t tensor(int64_t id, int64_t width)
{
	cudnnBackendDescriptor_t t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	int64_t dim[3] = { 1, 1, width }, stride[3] = { width, width, 1 };
	cudnnDataType_t type = CUDNN_DATA_FLOAT;

	SET(t, TENSOR_UNIQUE_ID, INT64, 1, &id);
	SET(t, TENSOR_DATA_TYPE, DATA_TYPE, 1, &type);
	SET(t, TENSOR_DIMENSIONS, INT64, 3, dim);
	SET(t, TENSOR_STRIDES, INT64, 3, stride);
	return finalized(t);
}

/* A graph of one operation. */
struct graph {
	/* The descriptors are two tensors, operation, graph, heuristic, its results, plan. */
	cudnnBackendDescriptor_t d[8];
	int64_t workspace;
	int bad;
};
#define PLAN	7

static struct graph graph(int64_t width)
{
	struct graph g = { .d = { tensor('x', width), tensor('y', width),
				  make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR),
				  make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
				  make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR),
				  make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
				  make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
				  make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) } };
	cudnnBackendDescriptor_t *d = g.d;
	int64_t n = 0;

	g.bad = SET(d[2], OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, &d[0]) ||
		SET(d[2], OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, &d[1]) ||
		cudnnBackendFinalize(d[2]) ||
		SET(d[3], OPERATIONGRAPH_HANDLE, HANDLE, 1, &handle) ||
		SET(d[3], OPERATIONGRAPH_OPS, BACKEND_DESCRIPTOR, 1, &d[2]) ||
		cudnnBackendFinalize(d[3]) ||
		SET(d[4], ENGINEHEUR_OPERATION_GRAPH, BACKEND_DESCRIPTOR, 1, &d[3]) ||
		cudnnBackendFinalize(d[4]) ||
		GET(d[4], ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, 0, &n, NULL) || n != 2 ||
		GET(d[4], ENGINEHEUR_RESULTS, BACKEND_DESCRIPTOR, 2, &n, &d[5]) || n != 2 ||
		SET(d[7], EXECUTION_PLAN_HANDLE, HANDLE, 1, &handle) ||
		SET(d[7], EXECUTION_PLAN_ENGINE_CONFIG, BACKEND_DESCRIPTOR, 1, &d[6]) ||
		cudnnBackendFinalize(d[7]) ||
		GET(d[7], EXECUTION_PLAN_WORKSPACE_SIZE, INT64, 1, &n, &g.workspace);
	return g;
}

static int execute(cudnnBackendDescriptor_t plan, float value, void *workspace)
{
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	const int64_t ids[2] = { 'x', 'y' };
	void *p[2] = { &value, X };
	int bad;

	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 2, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 2, p);
	SET(pack, VARIANT_PACK_WORKSPACE, VOID_PTR, 1, &workspace);
	cudnnBackendFinalize(pack);
	bad = cudnnBackendExecute(handle, plan, pack);
	cudnnBackendDestroyDescriptor(pack);
	return bad;
}

/* Returns how often the library was ever told something that contains @what. */
static int told_ever(const char *what)
{
	char line[256];
	int n = 0;
	FILE *f;

	cuStreamQuery(NULL);
	f = fopen(getenv("FAKE_LOG"), "r");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, what) != NULL;
	if (f)
		fclose(f);
	return n;
}

/* --- The same once more ---------------------------------------------------------- */

static void test_same(void)
{
	cudnnBackendDescriptor_t t = tensor(1, 4), u;
	int64_t dim[3] = { 1, 1, 4 }, got[3] = { 0 }, n = 0, id = 1;

	ok(strstr(news(), "set attribute 902 type=3 count=3") != NULL && t,
	   "first_descriptor_is_made_in_the_worker");
	u = tensor(1, 4);
	told("", "one_that_is_made_alike_makes_no_call");
	ok(u && u != t, "and_is_another_one_to_the_program");
	ok(!GET(t, TENSOR_DIMENSIONS, INT64, 3, &n, got) && n == 3 && got[2] == 4,
	   "attribute_of_a_finalized_one_comes_back");
	ok(told_ever("get attribute 902") == 1, "by_one_question");
	got[2] = 0;
	ok(!GET(u, TENSOR_DIMENSIONS, INT64, 3, &n, got) && got[2] == 4 &&
	   told_ever("get attribute 902") == 1, "which_is_not_asked_again");
	ok(!GET(u, TENSOR_DIMENSIONS, INT64, 1, &n, got) && n == 1 &&
	   told_ever("get attribute 902") == 2, "another_number_of_elements_is_another_question");
	ok_eq(SET(u, TENSOR_UNIQUE_ID, INT64, 1, &id), CUDNN_STATUS_BAD_PARAM,
	      "finalized_one_takes_no_attribute");
	ok_eq(cudnnBackendFinalize(u), CUDNN_STATUS_BAD_PARAM, "and_is_not_finalized_again");
	cudnnBackendDestroyDescriptor(u);
	ok(cudnnBackendFinalize(u) && SET(u, TENSOR_DIMENSIONS, INT64, 3, dim) &&
	   GET(u, TENSOR_DIMENSIONS, INT64, 3, &n, got), "destroyed_one_is_refused");
	ok(!GET(t, TENSOR_DIMENSIONS, INT64, 3, &n, got), "the_other_one_is_not");
	cudnnBackendDestroyDescriptor(t);
	ok(!strstr(news(), "destroy descriptor"), "what_it_was_stays_in_the_worker");
	t = tensor(1, 4);
	told("", "and_serves_again");
	ok_eq(cudnnBackendInitialize(t), 0, "descriptor_is_as_it_was_made_again");
	ok(!SET(t, TENSOR_UNIQUE_ID, INT64, 1, &id) && !cudnnBackendFinalize(t) &&
	   strstr(news(), "finalize"), "and_takes_attributes");
	cudnnBackendDestroyDescriptor(t);
}

static void test_other(void)
{
	cudnnBackendDescriptor_t t, u;
	int64_t one = 1, two = 2;
	CUcontext first, ctx;

	tensor(2, 4);
	news();
	t = tensor(2, 5);
	ok(strstr(news(), "finalize") != NULL && t, "other_value_makes_another_one");
	t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	SET(t, TENSOR_UNIQUE_ID, INT64, 1, &one);
	SET(t, TENSOR_UNIQUE_ID, INT64, 1, &two);
	cudnnBackendFinalize(t);
	u = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	SET(u, TENSOR_UNIQUE_ID, INT64, 1, &two);
	SET(u, TENSOR_UNIQUE_ID, INT64, 1, &one);
	news();
	cudnnBackendFinalize(u);
	ok(strstr(news(), "finalize") != NULL, "so_does_another_order");
	SET(make(CUDNN_BACKEND_TENSOR_DESCRIPTOR), TENSOR_UNIQUE_ID, INT64, 1, &two);
	told("", "what_the_library_has_taken_is_noted");
	cuCtxGetCurrent(&first);
	cuCtxCreate(&ctx, NULL, 0, 0);
	t = tensor(2, 4);
	ok(strstr(news(), "finalize") != NULL && t, "so_does_another_context");
	cuCtxSetCurrent(first);
	tensor(2, 4);
	told("", "the_first_one_still_serves_in_its_own");
	t = finalized(make(CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR));
	news();
	u = finalized(make(CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR));
	ok(strstr(news(), "finalize") != NULL, "what_changes_by_its_use_is_each_its_own");
	cudnnBackendDestroyDescriptor(u);
	ok(strstr(news(), "destroy descriptor") != NULL, "and_ends_with_the_programs");
}

/* --- Errors ---------------------------------------------------------------------- */

/* Makes a descriptor with this attribute last, and returns what finalizing it says. */
static cudnnStatus_t unfit(cudnnBackendDescriptor_t *t, int64_t vectors)
{
	*t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	SET(*t, TENSOR_VECTOR_COUNT, INT64, 1, &vectors);
	return cudnnBackendFinalize(*t);
}

static void test_failures(void)
{
	const int before = told_ever("cannot finalize");
	cudnnBackendDescriptor_t t;
	int64_t good = 1;
	int i, bad = 0;

	for (i = 0; i < 3; i++) {
		bad += unfit(&t, REFUSED) != CUDNN_STATUS_NOT_SUPPORTED;
		cudnnBackendDestroyDescriptor(t);
	}
	ok(!bad && told_ever("cannot finalize") == before,
	   "what_cannot_be_finalized_is_not_tried_again");
	unfit(&t, REFUSED);
	ok(!SET(t, TENSOR_VECTOR_COUNT, INT64, 1, &good) && !cudnnBackendFinalize(t),
	   "it_can_still_be_set_right");
	ok(told_ever("cannot finalize") == before + 1, "after_the_steps_that_lead_to_it");
	for (i = 0; i < 2; i++)
		bad += unfit(&t, REFUSED + 1) != CUDNN_STATUS_INTERNAL_ERROR;
	ok(!bad && told_ever("cannot finalize") == before + 3,
	   "what_may_succeed_the_next_time_is_tried_again");
}

static void test_errors(void)
{
	int64_t refused = REFUSED, good = 16;
	cudnnBackendDescriptor_t t, u;
	int i, bad = 0;

	for (i = 0; i < 3; i++) {
		t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
		bad += SET(t, TENSOR_BYTE_ALIGNMENT, INT64, 1, &good) != 0;
		bad += SET(t, TENSOR_BYTE_ALIGNMENT, INT64, 1, &refused) != CUDNN_STATUS_BAD_PARAM;
		bad += SET(t, TENSOR_UNIQUE_ID, INT64, 1, &good) != 0 || cudnnBackendFinalize(t);
		cudnnBackendDestroyDescriptor(t);
	}
	ok_eq(bad, 0, "attribute_that_the_library_refuses_is_refused_at_once_each_time");
	bad = 0;
	for (i = 0; i < 3; i++) {
		t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
		bad += SET(t, TENSOR_VECTOR_COUNT, INT64, 1, &refused) != 0;
		bad += cudnnBackendFinalize(t) != CUDNN_STATUS_NOT_SUPPORTED;
		cudnnBackendDestroyDescriptor(t);
	}
	ok_eq(bad, 0, "so_is_what_cannot_be_finalized");
	test_failures();
	ok_eq(cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)4711, &t),
	      CUDNN_STATUS_NOT_SUPPORTED, "and_a_type_that_there_is_not");
	ok_eq(cudnnBackendCreateDescriptor((cudnnBackendDescriptorType_t)4711, &t),
	      CUDNN_STATUS_NOT_SUPPORTED, "each_time");
	t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
	u = make(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
	news();
	ok_eq(SET(u, OPERATION_POINTWISE_XDESC, BACKEND_DESCRIPTOR, 1, &t), 0,
	      "descriptor_that_is_not_finalized_is_the_librarys_to_judge");
	ok(strstr(news(), "set attribute 751") != NULL, "and_it_is_asked");
	cudnnBackendDestroyDescriptor(t);
	ok_eq(SET(u, OPERATION_POINTWISE_YDESC, BACKEND_DESCRIPTOR, 1, &t), CUDNN_STATUS_BAD_PARAM,
	      "destroyed_descriptor_is_refused_as_an_element");
	cudnnBackendDestroyDescriptor(u);
}

/* --- Graphs ---------------------------------------------------------------------- */

/*
 * Did the program have to wait? The fake holds an execution until this program writes to
 * its workspace.
 */
static int waited_for(cudnnBackendDescriptor_t plan, float *here)
{
	int waited;

	*(volatile float *)here = 0;
	if (execute(plan, HOLD, here))
		return -1;
	waited = *(volatile float *)here != 0;
	*(volatile float *)here = 1;
	cuCtxSynchronize();
	return waited;
}

static void test_graph(void)
{
	const char *transport = getenv("WORMHOLE_TRANSPORT");
	const int shm = !transport || strcmp(transport, "loopback");
	struct graph first = graph(100), again;
	cudnnHandle_t got = NULL;
	int64_t n = 0;
	float *here;

	cuMemHostAlloc((void **)&here, 4096, 0);
	ok_eq(first.bad, 0, "graph_is_made");
	ok_eq(execute(first.d[PLAN], 1.5, NULL), 0, "and_executed");
	ok(waited_for(first.d[PLAN], here) == 1 && waited_for(first.d[PLAN], here) == !shm,
	   "first_execution_of_a_kind_is_waited_for");
	news();
	again = graph(100);
	told("", "same_graph_makes_no_call");
	ok(!again.bad && again.workspace == first.workspace,
	   "what_heuristics_and_plans_answer_is_remembered");
	ok(!GET(again.d[PLAN], EXECUTION_PLAN_HANDLE, HANDLE, 1, &n, &got) && got == handle &&
	   strstr(news(), "get attribute 400"), "its_handle_is_asked_for_each_time");
	ok_eq(waited_for(again.d[PLAN], here), 1, "what_is_asked_is_waited_for_with_what_comes_behind");
	destroy(again.d, 8);
	again = graph(100);
	ok_eq(waited_for(again.d[PLAN], here), !shm, "execution_behind_it_is_not_waited_for");
	destroy(first.d, 8);
	ok_eq(execute(again.d[PLAN], 2.5, NULL), 0, "its_plan_outlives_the_first_one");
	news();
	destroy(again.d, 8);
	told("", "and_destroying_them_tells_the_library_nothing");
	ok(execute(again.d[PLAN], 2.5, NULL) != 0, "destroyed_plan_is_refused");
	again = graph(101);
	ok(!again.bad && strstr(news(), "fill descriptor"), "another_graph_is_made");
	destroy(again.d, 8);
}

/* The descriptors of a plan end after the plan, and all of them before the handle. */
static void test_handle(void)
{
	struct graph g = graph(102);
	cudnnHandle_t old = handle;
	int before, ended;

	destroy(g.d, 8);
	before = told_ever("destroy descriptor");
	news();
	cudnnCreate(&handle);
	g = graph(102);
	ok(!g.bad && strstr(news(), "finalize"), "graph_of_another_handle_is_another_one");
	ok_eq(cudnnDestroy(old), 0, "handle_is_destroyed");
	ended = told_ever("destroy descriptor") - before;
	ok(ended > 0 && strstr(news(), "|destroy 1"), "what_nobody_refers_to_ends_before_it");
	ok_eq(execute(g.d[PLAN], 3.5, NULL), 0, "plan_of_another_handle_stays");
	destroy(g.d, 8);
}

/* --- How many stay ----------------------------------------------------------------- */

static void test_bound(void)
{
	int before = told_ever("destroy descriptor"), i;
	cudnnBackendDescriptor_t t, hold;
	int bad = 0;

	cudnnDestroy(handle);	/* nothing is idle from here on */
	before = told_ever("destroy descriptor");
	hold = tensor(0, 1000);
	for (i = 0; i < 1100; i++) {
		t = tensor(i, 1001);
		bad += !t;
		cudnnBackendDestroyDescriptor(t);
	}
	ok_eq(bad, 0, "many_different_ones_are_made");
	ok_eq(told_ever("destroy descriptor") - before, 1100 - 1024, "the_oldest_end");
	while (*news())
		;
	tensor(1099, 1001);
	tensor(0, 1000);
	told("", "the_last_ones_and_those_in_use_stay");
	tensor(1, 1001);
	ok(strstr(news(), "finalize") != NULL, "what_has_ended_is_made_again");
	cudnnBackendDestroyDescriptor(hold);
	cudnnCreate(&handle);
}

/* --- Threads, and a child ------------------------------------------------------------ */

static void *many_graphs(void *arg)
{
	struct graph g;
	long bad = 0;
	int i;

	for (i = 0; i < 40; i++) {
		g = graph(200 + (i + (long)arg) % 5);
		bad += g.bad || execute(g.d[PLAN], i, NULL);
		destroy(g.d, 8);
	}
	return (void *)bad;
}

static void test_threads(void)
{
	pthread_t t[4];
	long bad = 0, i;
	void *res;

	for (i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, many_graphs, (void *)i);
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], &res);
		bad += (long)res;
	}
	ok_eq(bad, 0, "four_threads_make_the_same_graphs_at_a_time");
	while (*news())
		;
	ok(!graph(201).bad, "and_they_stay");
	told("", "for_all_threads");
}

static void test_fork(void)
{
	cudnnBackendDescriptor_t t = tensor(7, 7);
	int status = -1;
	pid_t pid;

	news();
	pid = fork();
	if (!pid) {
		if (!cudnnBackendFinalize(t) || cudnnCreate(&handle) || !tensor(7, 7))
			_exit(1);
		_exit(strstr(news(), "finalize") ? 0 : 2);
	}
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "child_has_none_of_its_parents_and_makes_its_own");
	news();
	tensor(7, 7);
	told("", "the_parent_keeps_its_own");
}

/* Executes with as many tensors and values as the backward pass of an attention has. */
static int execute_wide(cudnnBackendDescriptor_t plan)
{
	cudnnBackendDescriptor_t pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	float value[6] = { 1, 2, 3, 4, 5, 6 };
	int64_t ids[24];
	void *p[24];
	int bad, i;

	for (i = 0; i < 24; i++) {
		ids[i] = i;
		p[i] = i < 6 ? (void *)&value[i] : X;
	}
	SET(pack, VARIANT_PACK_UNIQUE_IDS, INT64, 24, ids);
	SET(pack, VARIANT_PACK_DATA_POINTERS, VOID_PTR, 24, p);
	cudnnBackendFinalize(pack);
	bad = cudnnBackendExecute(handle, plan, pack);
	cudnnBackendDestroyDescriptor(pack);
	return bad;
}

/* Makes a fill and a copy each way between executions, all in order. */
static int fill_and_copy(CUdeviceptr p, uint32_t value, CUstream stream)
{
	uint32_t in[2] = { value, value + 1 }, out[4] = { 0 };

	if (cuMemsetD8Async(p, 0x11, 16, stream) || cuMemcpyHtoDAsync(p + 4, in, 8, stream))
		return 1;
	in[0] = in[1] = 0;
	if (cuMemcpyDtoHAsync(out, p, 16, stream) || cuStreamSynchronize(stream))
		return 1;
	return out[0] != 0x11111111 || out[1] != value || out[2] != value + 1 ||
	       out[3] != 0x11111111;
}

/*
 * For cudnn_requests_test.sh: makes the same graph and an execution @n times; @what may
 * add other calls.
 */
static int requests(const char *what, int n)
{
	CUdeviceptr p = 0;
	struct graph g;
	int bad;

	bad = cudnnCreate(&handle);
	bad += !!cuMemAddressReserve(&(CUdeviceptr) { 0 }, 2 << 20, 0, DEVICE, 0);
	bad += !!cuMemAlloc(&p, 64);
	for (; n; n--) {
		g = graph(64);
		bad += g.bad || (!strcmp(what, "wide") ? execute_wide(g.d[PLAN]) :
				 execute(g.d[PLAN], 1, NULL));
		bad += !strcmp(what, "copies") && fill_and_copy(p, n, NULL);
		destroy(g.d, 8);
	}
	return bad;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return requests(argv[1], atoi(argv[2]));
	cudnnCreate(&handle);
	cuMemAddressReserve(&(CUdeviceptr) { 0 }, 2 << 20, 0, DEVICE, 0);
	test_same();
	test_other();
	test_errors();
	test_graph();
	test_handle();
	test_bound();
	test_threads();
	test_fork();
	return tap_exit();
}
