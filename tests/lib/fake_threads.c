// SPDX-License-Identifier: Apache-2.0
/*
 * The part of a cuBLAS that keeps something for each thread that calls it, in every way
 * in which a library can: many keys of thread-specific data, a C++ object, and the C
 * library's tables of characters. It is linked with fake_cublas.c, which has the rest.
 */
#include <cublas_v2.h>
#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "fake_library.h"

#define KEYS	70	/* glibc allocates the data of 32 keys together */

static pthread_key_t key[KEYS];
static __thread int calls;
static __thread char name[32];

typedef void destructor_fn(void *);
int __cxa_thread_atexit_impl(destructor_fn *destroy, void *object, void *dso_symbol);

/* The destructor sets the first key's data once more. */
static void data_ends(void *data)
{
	int again = *(int *)data == 0;

	free(data);
	if (!again)
		return;
	note("data of %s ends after %d calls", name, calls);
	data = calloc(1, sizeof(int));
	*(int *)data = KEYS;
	pthread_setspecific(key[0], data);
}

static void object_ends(void *object)
{
	note("object of %s ends after %d calls", (char *)object, calls);
}

__attribute__((constructor)) static void make_keys(void)
{
	int i;

	for (i = 0; i < KEYS; i++)
		if (pthread_key_create(&key[i], data_ends))
			note("no key %d", i);
}

static void first_call(void)
{
	static int threads;
	int i, *data;

	snprintf(name, sizeof(name), "thread %d", ++threads);
	for (i = 0; i < KEYS; i++) {
		data = malloc(sizeof(*data));
		*data = i;
		pthread_setspecific(key[i], data);
	}
	__cxa_thread_atexit_impl(object_ends, name, &calls);
}

static int data_is_there(void)
{
	const int *data;
	int i, n = 0;

	for (i = 0; i < KEYS; i++) {
		data = pthread_getspecific(key[i]);
		n += data && *data == i;
	}
	return n == KEYS;
}

/* Says in the four numbers what the caller's thread finds here. */
cublasStatus_t cublasSrotg_v2(cublasHandle_t handle, float *a, float *b, float *c, float *s)
{
	const char *letter = getenv("FAKE_LOG");

	(void)handle;
	if (!calls++)
		first_call();
	*a = has_context();
	*b = !isalpha((unsigned char)letter[0]) && isalpha((unsigned char)letter[1]);
	*c = data_is_there();
	*s = calls;
	return CUBLAS_STATUS_SUCCESS;
}
