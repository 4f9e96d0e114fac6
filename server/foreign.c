// SPDX-License-Identifier: Apache-2.0
/*
 * Owns pthread_key_create(), pthread_key_delete() and __cxa_thread_atexit_impl()
 * as the libraries of a session in a namespace of its own see them: they find
 * these first, because the session was loaded first. What has to be destroyed at
 * the end of a foreign thread is kept here; this C library's own threads get what
 * it does.
 */
#define _GNU_SOURCE
#include "foreign.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>

typedef void destructor_fn(void *);
typedef int key_create_fn(pthread_key_t *, destructor_fn *);
typedef int key_delete_fn(pthread_key_t);
typedef int thread_atexit_fn(destructor_fn *, void *, void *);

/* A C++ object of a thread, last made first. */
struct object {
	struct object *next;
	destructor_fn *destroy;
	void *object;
	void *library;		/* stays loaded as long */
};

static __thread bool foreign;
static __thread struct object *objects;

static destructor_fn *destructor[PTHREAD_KEYS_MAX];
static unsigned int first_key, end_key = PTHREAD_KEYS_MAX;

/* --- What replaces the C library's ---------------------------------------------- */

int pthread_key_create(pthread_key_t *key, destructor_fn *destroy)
{
	key_create_fn *create = (key_create_fn *)dlsym(RTLD_NEXT, "pthread_key_create");
	int rc = create ? create(key, destroy) : EAGAIN;

	if (rc)
		return rc;
	if (*key < end_key) {
		__atomic_store_n(&destructor[*key], destroy, __ATOMIC_RELEASE);
		return 0;
	}
	pthread_key_delete(*key);
	return EAGAIN;
}

int pthread_key_delete(pthread_key_t key)
{
	key_delete_fn *delete = (key_delete_fn *)dlsym(RTLD_NEXT, "pthread_key_delete");

	if (!delete)
		return EINVAL;
	if (key < PTHREAD_KEYS_MAX)
		__atomic_store_n(&destructor[key], NULL, __ATOMIC_RELEASE);
	return delete(key);
}

/* As in the C library, the code of the destructor is not unloaded before it ran. */
static void *hold(const void *symbol)
{
	Dl_info info;

	if (!symbol || !dladdr(symbol, &info) || !info.dli_fname)
		return NULL;
	return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

int __cxa_thread_atexit_impl(destructor_fn *destroy, void *object, void *dso_symbol);
int __cxa_thread_atexit_impl(destructor_fn *destroy, void *object, void *dso_symbol)
{
	thread_atexit_fn *own;
	struct object *o;

	if (!foreign) {
		own = (thread_atexit_fn *)dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl");
		return own ? own(destroy, object, dso_symbol) : -1;
	}
	o = malloc(sizeof(*o));
	if (!o)
		return -1;
	*o = (struct object){ objects, destroy, object, hold(dso_symbol) };
	objects = o;
	return 0;
}

/* --- Threads ---------------------------------------------------------------------- */

bool wh_foreign_init(unsigned int first, unsigned int end)
{
	pthread_key_t key = 0;

	if (first >= end || end > PTHREAD_KEYS_MAX)
		return false;
	/* The C library gives the lowest free number, and these are never given back. */
	while (key + 1 < first)
		if (pthread_key_create(&key, NULL) || key >= first)
			return false;
	first_key = first;
	end_key = end;
	return true;
}

/* The tables behind isspace() and the like are set when the C library makes a thread. */
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

/* One look at all keys; false when there was nothing to destroy. */
static bool destroy_data(void)
{
	destructor_fn *destroy;
	bool found = false;
	pthread_key_t key;
	void *data;

	for (key = first_key; key < end_key; key++) {
		data = pthread_getspecific(key);
		if (!data)
			continue;
		pthread_setspecific(key, NULL);
		destroy = __atomic_load_n(&destructor[key], __ATOMIC_ACQUIRE);
		if (!destroy)
			continue;
		destroy(data);
		found = true;
	}
	return found;
}

/* In the C library's order: objects, then data, as often as it would look. */
void wh_foreign_thread_end(void)
{
	int i;

	destroy_objects();
	for (i = 0; i < PTHREAD_DESTRUCTOR_ITERATIONS && destroy_data(); i++)
		;
	destroy_objects();
	foreign = false;
}
