// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises how threads of a program work over loopback, where a library and the
 * driver have a C library of their own. What these keep for a thread is there as long as
 * the thread and is destroyed when it ends, and the program's own data is not touched.
 */
#include <cublas_v2.h>
#include <pthread.h>

#include "lib_test.h"

#define KEYS	100
#define MANY	200	/* threads, one after another */

static cublasHandle_t handle;
static pthread_key_t key[KEYS], caller;
static int ended[KEYS], late_calls, others;

struct seen {
	float context, letters, data, calls;
	int own;
};

static int call(struct seen *t)
{
	return cublasSrotg_v2(handle, &t->context, &t->letters, &t->data, &t->calls);
}

static void count(void *data)
{
	ended[*(int *)data]++;
	free(data);
}

static void call_at_end(void *data)
{
	struct seen *t = data;

	late_calls += !call(t) && t->context == 1 && t->data == 1;
}

static int own_data(void)
{
	const int *data;
	int i, n = 0;

	for (i = 0; i < KEYS; i++) {
		data = pthread_getspecific(key[i]);
		n += data && *data == i;
	}
	return n == KEYS;
}

static void *work(void *arg)
{
	struct seen *t = arg;
	int i, *data;

	for (i = 0; i < KEYS; i++) {
		data = malloc(sizeof(*data));
		*data = i;
		pthread_setspecific(key[i], data);
	}
	call(t);
	call(t);
	t->own = own_data();
	return NULL;
}

static void *work_to_the_end(void *arg)
{
	work(arg);
	pthread_setspecific(caller, arg);
	return NULL;
}

static void *call_once(void *arg)
{
	struct seen t = { 0 };

	(void)arg;
	cuCtxSetCurrent(NULL);
	others += !call(&t) && t.data == 1 && t.calls == 1;
	return NULL;
}

static void run(void *(*fn)(void *), struct seen *t)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, fn, t))
		abort();
	pthread_join(thread, NULL);
}

static int all_ended(int times)
{
	int i, n = 0;

	for (i = 0; i < KEYS; i++)
		n += ended[i] == times;
	return n == KEYS;
}

static void test_one_thread(void)
{
	struct seen t = { 0 };

	run(work, &t);
	ok_eq(t.context, 1, "library_finds_the_threads_context");
	ok_eq(t.letters, 1, "it_tells_letters_in_a_new_thread");
	ok_eq(t.data, 1, "its_thread_specific_data_stays");
	ok_eq(t.own, 1, "and_so_does_the_programs");
	told("object of thread 1 ends after 2 calls|data of thread 1 ends after 2 calls",
	     "what_the_library_kept_is_destroyed_once_with_the_thread");
	ok(all_ended(1), "and_so_is_the_programs");
}

static void test_call_at_the_end(void)
{
	struct seen t = { 0 };

	run(work_to_the_end, &t);
	ok_eq(late_calls, 1, "destructor_of_the_programs_data_may_call");
	ok_eq(t.calls, 3, "in_the_same_thread_for_the_library");
	told("object of thread 2 ends after 3 calls|data of thread 2 ends after 3 calls",
	     "the_library_is_told_of_the_end_after_that");
}

/* Threads that are made one after another get the same stack and identity. */
static void test_many(void)
{
	struct seen t = { 0 };
	int i;

	news();
	for (i = 0; i < MANY; i++)
		run(call_once, NULL);
	ok_eq(others, MANY, "each_new_thread_is_new_for_the_library");
	for (i = 0; i < MANY && !t.calls; i++)
		run(work, &t);
	ok_eq(t.context, 1, "thread_with_the_identity_of_an_ended_one_has_its_own_context");
}

static void test_keys(void)
{
	pthread_key_t more[PTHREAD_KEYS_MAX];
	int n = 0;

	while (n < PTHREAD_KEYS_MAX && !pthread_key_create(&more[n], NULL))
		n++;
	ok(n > 512, "program_has_most_of_the_keys");
	while (n)
		pthread_key_delete(more[--n]);
}

int main(void)
{
	int i;

	tap_plan(12);
	for (i = 0; i < KEYS; i++)
		pthread_key_create(&key[i], count);
	pthread_key_create(&caller, call_at_end);
	if (cublasCreate_v2(&handle))
		diag("no library");
	news();
	test_one_thread();
	test_call_at_the_end();
	test_many();
	test_keys();
	return tap_exit();
}
