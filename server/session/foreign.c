// SPDX-License-Identifier: Apache-2.0
/*
 * Owns thread-specific data and __cxa_thread_atexit_impl() for the libraries of a session in a
 * namespace of its own. They find these functions first, because the session was loaded first. The
 * C library keeps such data in the thread's descriptor. On a foreign thread that descriptor belongs
 * to the program's C library, which would free what this one has allocated, and drop the rest
 * without its destructors. Threads of this C library still use its own functions.
 */
#define _GNU_SOURCE
#include "loopback.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <threads.h>

/* In a thread that was never announced, the keys 0 to 511 would show the program's data. */
#define FIRST_KEY	512u

typedef void destructor_fn(void *);
typedef int thread_atexit_fn(destructor_fn *, void *, void *);

/* A C++ object of a thread; the last one made is first in the list. */
struct object {
	struct object *next;
	destructor_fn *destroy;
	void *object;
	void *library;		/* stays loaded until the object ends */
};

/* A value that was set for an earlier use of the key's number does not count. */
struct data {
	const void *value;
	uint32_t use;
};

/* A driver asks for its data in every call, so ours must be found without a call. */
#define OWN	__thread __attribute__((tls_model("initial-exec")))

static OWN bool foreign;
static OWN struct object *objects;
static OWN struct data *data;	/* PTHREAD_KEYS_MAX entries, or NULL before the first value */

static struct key {
	destructor_fn *destroy;
	uint32_t use;
} keys[PTHREAD_KEYS_MAX];

/* The functions of the C library. */
static struct {
	typeof(pthread_key_create) *create;
	typeof(pthread_key_delete) *delete;
	typeof(pthread_getspecific) *get;
	typeof(pthread_setspecific) *set;
	thread_atexit_fn *at_exit;
} libc;

/* --- Keys ------------------------------------------------------------------------- */

int pthread_key_create(pthread_key_t *key, destructor_fn *destroy)
{
	int rc = libc.create(key, destroy);

	if (!rc && *key < PTHREAD_KEYS_MAX) {
		__atomic_store_n(&keys[*key].destroy, destroy, __ATOMIC_RELAXED);
		__atomic_fetch_add(&keys[*key].use, 1, __ATOMIC_RELEASE);
	}
	return rc;
}

int pthread_key_delete(pthread_key_t key)
{
	if (key < PTHREAD_KEYS_MAX)
		__atomic_fetch_add(&keys[key].use, 1, __ATOMIC_RELEASE);
	return libc.delete(key);
}

void *pthread_getspecific(pthread_key_t key)
{
	if (!foreign)
		return libc.get(key);
	if (!data || key >= PTHREAD_KEYS_MAX ||
	    data[key].use != __atomic_load_n(&keys[key].use, __ATOMIC_ACQUIRE))
		return NULL;
	return (void *)data[key].value;
}

/* A key is in use when its counter is odd. */
int pthread_setspecific(pthread_key_t key, const void *value)
{
	uint32_t use;

	if (!foreign)
		return libc.set(key, value);
	use = key < PTHREAD_KEYS_MAX ? __atomic_load_n(&keys[key].use, __ATOMIC_ACQUIRE) : 0;
	if (use % 2 == 0)
		return EINVAL;
	if (!data)
		data = calloc(PTHREAD_KEYS_MAX, sizeof(*data));
	if (!data)
		return ENOMEM;
	data[key] = (struct data){ value, use };
	return 0;
}

int tss_create(tss_t *key, tss_dtor_t destroy)
{
	return pthread_key_create(key, destroy) ? thrd_error : thrd_success;
}

void tss_delete(tss_t key)
{
	pthread_key_delete(key);
}

void *tss_get(tss_t key)
{
	return pthread_getspecific(key);
}

int tss_set(tss_t key, void *value)
{
	return pthread_setspecific(key, value) ? thrd_error : thrd_success;
}

/* --- C++ objects -------------------------------------------------------------------- */

/* As in the C library, the destructor's code is not unloaded before it has run. */
static void *hold(const void *symbol)
{
	Dl_info info;

	if (!symbol || !dladdr(symbol, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

thread_atexit_fn __cxa_thread_atexit_impl;
int __cxa_thread_atexit_impl(destructor_fn *destroy, void *object, void *dso_symbol)
{
	struct object *o;

	if (!foreign)
		return libc.at_exit(destroy, object, dso_symbol);
	o = malloc(sizeof(*o));
	if (!o)
		return -1;
	*o = (struct object){ objects, destroy, object, hold(dso_symbol) };
	objects = o;
	return 0;
}

/* --- Threads ---------------------------------------------------------------------- */

__attribute__((constructor)) static void find_own(void)
{
	libc.create = dlsym(RTLD_NEXT, "pthread_key_create");
	libc.delete = dlsym(RTLD_NEXT, "pthread_key_delete");
	libc.get = dlsym(RTLD_NEXT, "pthread_getspecific");
	libc.set = dlsym(RTLD_NEXT, "pthread_setspecific");
	libc.at_exit = dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
}

/*
 * Takes the keys below FIRST_KEY: the C library gives the lowest free number, and these are never
 * given back.
 */
bool wh_foreign_init(void)
{
	pthread_key_t key = 0;

	if (!libc.create || !libc.delete || !libc.get || !libc.set || !libc.at_exit)
		return false;
	while (key + 1 < FIRST_KEY)
		if (libc.create(&key, NULL) || key >= FIRST_KEY)
			return false;
	return true;
}

/*
 * Sets the tables behind isspace() and the like, which the C library sets when it makes a thread.
 */
void wh_foreign_thread_begin(void)
{
	foreign = true;
	uselocale(LC_GLOBAL_LOCALE);
}

static void destroy_objects(void)
{
	struct object *o;

	while (objects) {
		o = objects;
		objects = o->next;
		o->destroy(o->object);
		if (o->library)
			dlclose(o->library);
		free(o);
	}
}

/* Looks once at all keys; false when there was nothing to destroy. */
static bool destroy_data(void)
{
	destructor_fn *destroy;
	bool found = false;
	pthread_key_t key;
	void *value;

	for (key = 0; key < PTHREAD_KEYS_MAX; key++) {
		value = pthread_getspecific(key);
		if (!value)
			continue;
		pthread_setspecific(key, NULL);
		destroy = __atomic_load_n(&keys[key].destroy, __ATOMIC_RELAXED);
		if (!destroy)
			continue;
		destroy(value);
		found = true;
	}
	return found;
}

/*
 * Follows the C library's order: objects, then data, as often as the C library would look. The
 * thread stays foreign, for calls that come still later.
 */
void wh_foreign_thread_end(void)
{
	int i;

	destroy_objects();
	for (i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS && destroy_data(); i++)
		;
	destroy_objects();
	free(data);
	data = NULL;
}
