// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that descriptors which cuDNN only reads are kept in the client. Made,
 * set and destroyed as before, they make no call. What the library refuses is refused at
 * once each time, and each call reads what its descriptors were last set to. It runs over
 * a library that writes down what it is told.
 */
#include <cudnn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib_test.h"

#define BAD	CUDNN_STATUS_BAD_PARAM
/* The test reserves these addresses of the device, because the worker lets no others pass. */
#define DEVICE	0x300000000000ULL
static void *const X = (void *)(DEVICE + 0x12340), *const Y = (void *)(DEVICE + 0x56780);

static cudnnHandle_t handle;

static cudnnTensorDescriptor_t make(void)
{
	cudnnTensorDescriptor_t t = NULL;

	cudnnCreateTensorDescriptor(&t);
	return t;
}

static cudnnStatus_t set(cudnnTensorDescriptor_t t, cudnnDataType_t type, int n)
{
	return cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, type, n, 2, 3, 4);
}

static cudnnTensorDescriptor_t made(cudnnDataType_t type, int n)
{
	cudnnTensorDescriptor_t t = make();

	return set(t, type, n) ? NULL : t;
}

static int size_of(cudnnTensorDescriptor_t t)
{
	int n = -1, dim[4] = { -1, -1, -1, -1 }, stride[4];
	cudnnDataType_t type;

	cudnnGetTensorNdDescriptor(t, 4, &type, &n, dim, stride);
	return dim[0];
}

static cudnnStatus_t softmax(cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y)
{
	const float one = 1;

	return cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one,
				   x, X, &one, y, Y);
}

/* Makes and destroys descriptors for a layer, as a framework does it. */
static int layer(int n)
{
	cudnnTensorDescriptor_t x = made(CUDNN_DATA_FLOAT, n), y = made(CUDNN_DATA_FLOAT, n);
	cudnnFilterDescriptor_t filter;
	int bad = !x || !y || softmax(x, y);

	bad |= cudnnCreateFilterDescriptor(&filter) ||
	       cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, n, 1, 1, 1);
	return bad || cudnnDestroyTensorDescriptor(x) || cudnnDestroyTensorDescriptor(y) ||
	       cudnnDestroyFilterDescriptor(filter);
}

static void test_like_before(void)
{
	cudnnTensorDescriptor_t a, b;

	ok(!layer(5), "layer_is_described");
	ok(strstr(news(), "set tensor format=0 type=0 5 2 3 4|") != NULL, "in_the_worker");
	ok(!layer(5), "so_is_one_like_it");
	ok(!strncmp(news(), "softmax", 7), "of_which_the_library_sees_the_call_alone");
	a = made(CUDNN_DATA_FLOAT, 5);
	b = made(CUDNN_DATA_FLOAT, 5);
	ok(a != b && !set(b, CUDNN_DATA_FLOAT, 6) && size_of(a) == 5 && size_of(b) == 6,
	   "setting_one_leaves_another_that_was_alike");
	ok(!set(b, CUDNN_DATA_FLOAT, 5) && size_of(b) == 5, "and_may_make_it_alike_again");
	ok(size_of(a) == 5 && !set(b, CUDNN_DATA_FLOAT, 61) && size_of(a) == 5 && size_of(b) == 61,
	   "setting_one_leaves_another_that_has_the_same_in_the_worker");
	ok(!set(b, CUDNN_DATA_FLOAT, 5) && size_of(b) == 5, "which_it_may_have_again");
	ok(!cudnnDestroyTensorDescriptor(a) && size_of(b) == 5, "end_of_one_leaves_the_other");
	a = make();
	news();
	ok(a != b && size_of(a) == -1, "new_one_is_as_the_library_makes_it");
	cudnnDestroyTensorDescriptor(a);
	cudnnDestroyTensorDescriptor(b);
}

static void test_errors(void)
{
	cudnnTensorDescriptor_t t = made(CUDNN_DATA_FLOAT, 7);
	cudnnFilterDescriptor_t filter;
	int i, refused = 0;

	cudnnCreateFilterDescriptor(&filter);
	for (i = 0; i < 3; i++)
		refused += set(t, CUDNN_DATA_FLOAT, 0) == BAD;
	ok(refused == 3 && size_of(t) == 7, "bad_size_is_refused_each_time_and_changes_nothing");
	ok_eq(softmax((void *)filter, t), BAD, "descriptor_of_another_kind_is_refused");
	ok_eq(cudnnCreateTensorDescriptor(NULL), BAD, "no_place_for_it_is_refused");
	ok(!cudnnDestroyTensorDescriptor(t) && cudnnDestroyTensorDescriptor(t) == BAD &&
	   set(t, CUDNN_DATA_FLOAT, 7) == BAD && softmax(t, t) == BAD, "what_has_ended_is_none");
	make();
	ok_eq(set(t, CUDNN_DATA_FLOAT, 7), BAD, "nor_is_it_the_next_one");
	cudnnDestroyFilterDescriptor(filter);
}

static void test_own(void)
{
	cudnnTensorDescriptor_t x = made(CUDNN_DATA_FLOAT, 8), own = make(), other;

	news();
	ok_eq(cudnnDeriveBNTensorDescriptor(own, x, CUDNN_BATCHNORM_SPATIAL), 0, "one_is_derived");
	other = made(CUDNN_DATA_FLOAT, 8);
	ok(size_of(own) == 8 && size_of(make()) == -1, "which_changes_no_other");
	news();
	ok_eq(set(own, CUDNN_DATA_FLOAT, 9), 0, "it_may_be_set_later");
	told("set tensor format=0 type=0 9 2 3 4", "in_the_worker");
	ok(size_of(own) == 9 && size_of(other) == 8, "alone");
	news();
	ok_eq(cudnnDestroyTensorDescriptor(own), 0, "it_ends");
	told("destroy tensor own", "in_the_worker_too");
	ok_eq(cudnnDestroyTensorDescriptor(own), BAD, "once");
}

static void test_many(void)
{
	int i, bad = 0, ends = 0;
	const char *text;

	for (i = 0; i < 1100; i++) {
		bad |= cudnnDestroyTensorDescriptor(made(CUDNN_DATA_FLOAT, 1000 + i));
		if (i % 50 == 49)
			for (text = news(); (text = strstr(text, "destroy tensor own")); text++)
				ends++;
	}
	ok(!bad && ends > 50 && ends < 200, "those_that_nobody_has_stay_but_not_all_of_them");
	for (i = 0; i < 1100; i++)
		bad |= cudnnDestroyTensorDescriptor(made(CUDNN_DATA_FLOAT, 1000 + i));
	ok(!bad, "and_those_that_are_gone_are_made_again");
	bad = size_of(made(CUDNN_DATA_FLOAT, 1000)) != 1000;
	ok(!bad, "as_they_were");
}

static void *work(void *bad)
{
	int i;

	for (i = 0; i < 200; i++)
		*(int *)bad |= layer(20 + i % 3);
	return NULL;
}

static void test_threads(void)
{
	int bad[4] = { 0 }, i;
	pthread_t thread[4];

	for (i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, work, &bad[i]);
	for (i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	ok(!bad[0] && !bad[1] && !bad[2] && !bad[3], "threads_describe_the_same_at_the_same_time");
}

static int begin(void)
{
	return cudnnCreate(&handle) ||
	       cuMemAddressReserve(&(CUdeviceptr) { 0 }, 2 << 20, 0, DEVICE, 0);
}

static int works_in_child(cudnnTensorDescriptor_t parents)
{
	if (cudnnCreate(&handle) || size_of(made(CUDNN_DATA_FLOAT, 5)) != 5)
		return 1;
	if (!strstr(news(), "set tensor format=0 type=0 5 2 3 4"))
		return 2;
	return set(parents, CUDNN_DATA_FLOAT, 5) != BAD || softmax(parents, parents) != BAD;
}

static void test_fork(void)
{
	cudnnTensorDescriptor_t t = made(CUDNN_DATA_FLOAT, 5);
	int status = -1;
	pid_t pid;

	size_of(t);
	while (*news())
		;
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(works_in_child(t));
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "child_of_a_fork_makes_its_own_and_has_none_of_its_parents");
	news();
	ok(!layer(5) && size_of(t) == 5 && !strstr(news(), "set tensor"), "which_keeps_them");
}

/* --- Questions --------------------------------------------------------------------------- */

/* Returns the answer, or the negative of an error. */
static long size_for(cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y, int mode)
{
	size_t size = 0;
	cudnnStatus_t res = cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
		handle, (cudnnBatchNormMode_t)mode, CUDNN_BATCHNORM_OPS_BN, x, NULL, y, x, NULL,
		&size);

	return res ? -(long)res : (long)size;
}

/* Was the library asked since the last news()? */
static int asked(void)
{
	return strstr(news(), "size of bn") != NULL;
}

static void *asks(void *answer)
{
	cudnnTensorDescriptor_t t = made(CUDNN_DATA_FLOAT, 8);

	*(long *)answer = size_for(t, t, 1);
	cudnnDestroyTensorDescriptor(t);
	return NULL;
}

/* Asks about so many descriptors, the first of which has that size. */
static int wrong_answers(int first)
{
	cudnnTensorDescriptor_t t;
	int n, wrong = 0;

	for (n = first; n < first + 64; n++) {
		t = made(CUDNN_DATA_FLOAT, n);
		wrong += size_for(t, t, 1) != 1001L * n;
		cudnnDestroyTensorDescriptor(t);
	}
	return wrong;
}

static void test_questions(void)
{
	cudnnTensorDescriptor_t x = made(CUDNN_DATA_FLOAT, 5), y = made(CUDNN_DATA_FLOAT, 7), own;
	long of_thread = 0;
	pthread_t thread;
	int status = -1;
	pid_t pid;

	ok(size_for(x, y, 1) == 5007 && asked(), "size_is_asked_for");
	ok(size_for(x, y, 1) == 5007 && !asked(), "once");
	ok(!layer(5) && size_for(x, y, 1) == 5007 && !asked(), "also_with_layers_in_between");
	ok(size_for(y, x, 1) == 7005 && size_for(x, x, 1) == 5005, "other_numbers_have_other_answers");
	ok(!set(y, CUDNN_DATA_FLOAT, 6) && size_for(x, y, 1) == 5006,
	   "so_has_a_descriptor_that_was_set_anew");
	ok(!set(y, CUDNN_DATA_FLOAT, 7) && size_for(x, y, 1) == 5007, "and_back");
	news();
	ok(size_for(x, y, 99) == -CUDNN_STATUS_BAD_PARAM && asked() &&
	   size_for(x, y, 99) == -CUDNN_STATUS_BAD_PARAM && asked(), "what_is_refused_is_asked_again");
	own = make();
	cudnnDeriveBNTensorDescriptor(own, x, CUDNN_BATCHNORM_SPATIAL);
	ok(size_for(own, y, 1) == 5007, "descriptor_that_a_call_has_set_has_an_answer");
	cudnnDeriveBNTensorDescriptor(own, y, CUDNN_BATCHNORM_SPATIAL);
	ok_eq(size_for(own, y, 1), 7007, "call_that_changes_a_descriptor_changes_its_answer");
	pthread_create(&thread, NULL, asks, &of_thread);
	pthread_join(thread, NULL);
	ok(of_thread == 8008, "another_thread_has_its_own_answers");
	ok_eq(wrong_answers(100), 0, "many_have_their_own");
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(cudnnCreate(&handle) || wrong_answers(200));
	waitpid(pid, &status, 0);
	ok_eq(status, 0, "so_have_those_of_a_forks_child_whose_numbers_may_be_the_same");
	cudnnDestroyTensorDescriptor(own);
	cudnnDestroyTensorDescriptor(x);
	cudnnDestroyTensorDescriptor(y);
}

/* A layer whose size is asked for, as a framework does it. */
static int asking_layer(int n)
{
	cudnnTensorDescriptor_t x = made(CUDNN_DATA_FLOAT, n);
	int bad = size_for(x, x, 1) != 1000 * n + n || softmax(x, x);

	return bad || cudnnDestroyTensorDescriptor(x);
}

/* For cudnn_requests_test.sh: runs @n layers, each with descriptors of its own. */
static int requests(int n, int (*one)(int n))
{
	int bad = begin();

	for (; n; n--)
		bad |= one(5);
	return bad;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return requests(atoi(argv[2]), strcmp(argv[1], "asking") ? layer : asking_layer);
	tap_plan(41);
	begin();
	news();
	test_like_before();
	test_errors();
	test_own();
	test_threads();
	test_fork();
	test_many();
	test_questions();
	return tap_exit();
}
