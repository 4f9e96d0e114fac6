// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the session into a link namespace of its own and makes the program's
 * threads fit for its C library. Both C libraries are one file, so their idea of
 * a thread's descriptor is the same, and they share it: the table of
 * thread-specific data is divided between them here. The other half, what the
 * namespace's C library does when a thread begins and ends, is server/foreign.c.
 */
#define _GNU_SOURCE
#include "namespace.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "foreign.h"
#include "transport.h"

/*
 * Keys of thread-specific data from FIRST_KEY to END_KEY - 1 are the namespace's.
 * Those behind stay free, for threads of the program that make a key while
 * the others are taken for a moment.
 */
#define FIRST_KEY	768u
#define END_KEY		992u
#define BLOCK		32u	/* keys of which glibc allocates the data together */
#define BLOCKS		((END_KEY - FIRST_KEY) / BLOCK)

static struct {
	typeof(wh_foreign_init) *init;
	typeof(wh_foreign_thread_begin) *begin;
	typeof(wh_foreign_thread_end) *end;
	pthread_key_t block[BLOCKS];	/* one key in each block of the namespace's */
	pthread_key_t at_end;
} ns;

static __thread bool entered __attribute__((tls_model("initial-exec")));

/* --- Keys --------------------------------------------------------------------------- */

/* Keys are given in ascending order: takes those of the namespace, and no others. */
static bool reserve_keys(void)
{
	pthread_key_t low[FIRST_KEY], key = 0;
	unsigned int n = 0, reserved = 0;

	while (key + 1 < END_KEY && !pthread_key_create(&key, NULL)) {
		if (key < FIRST_KEY)
			low[n++] = key;
		else if (key < END_KEY)
			reserved++;
		else
			pthread_key_delete(key);
		if (key >= FIRST_KEY && key < END_KEY && key % BLOCK == 0)
			ns.block[(key - FIRST_KEY) / BLOCK] = key;
	}
	while (n)
		pthread_key_delete(low[--n]);
	return reserved == END_KEY - FIRST_KEY;
}

/*
 * The C library that first writes to a block allocates it, and the program's frees
 * it when the thread ends.
 */
static bool allocate_blocks(void)
{
	unsigned int i;

	for (i = 0; i < BLOCKS; i++)
		if (pthread_setspecific(ns.block[i], &ns))
			return false;
	return true;
}

/* --- Threads ------------------------------------------------------------------------ */

/*
 * In the last round, because destructors of the program's data may call CUDA. The
 * value counts the rounds.
 */
static void thread_end(void *round)
{
	uintptr_t n = (uintptr_t)round;

	if (n < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(ns.at_end, (void *)(n + 1));
		return;
	}
	ns.end();
	entered = false;
}

void wh_namespace_enter(void)
{
	if (__builtin_expect(entered, 1))
		return;
	entered = true;
	if (!allocate_blocks() || pthread_setspecific(ns.at_end, (void *)1))
		wh_complain("loopback: out of memory for a thread");
	ns.begin();
}

/* --- Loading -------------------------------------------------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

/*
 * While a program has one thread its malloc() takes no locks. The loader uses this
 * malloc() for threads of the namespace, too, which do not count as the program's.
 */
static bool become_multithreaded(void)
{
	pthread_t t;

	return !pthread_create(&t, NULL, nothing, NULL) && !pthread_join(t, NULL);
}

/*
 * The output streams of the namespace become the program's, which keeps what a
 * kernel prints and what the program prints in order; glibc accepts foreign
 * streams in such a namespace.
 */
static void share_streams(void *lib)
{
	FILE **out = dlsym(lib, "stdout"), **err = dlsym(lib, "stderr");

	if (out && err) {
		*out = stdout;
		*err = stderr;
	}
}

static bool prepare(void *lib)
{
	ns.init = dlsym(lib, "wh_foreign_init");
	ns.begin = dlsym(lib, "wh_foreign_thread_begin");
	ns.end = dlsym(lib, "wh_foreign_thread_end");
	if (!ns.init || !ns.begin || !ns.end) {
		wh_complain("loopback: libwormhole-session.so is of another release");
		return false;
	}
	if (!reserve_keys() || pthread_key_create(&ns.at_end, thread_end) ||
	    !ns.init(FIRST_KEY, END_KEY)) {
		wh_complain("loopback: no thread-specific keys are left");
		return false;
	}
	share_streams(lib);
	return true;
}

void *wh_namespace_load(const char *path)
{
	void *lib;

	if (!become_multithreaded()) {
		wh_complain("loopback: cannot make a thread");
		return NULL;
	}
	lib = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		wh_complain("loopback: %s", dlerror());
	return lib && prepare(lib) ? lib : NULL;
}
