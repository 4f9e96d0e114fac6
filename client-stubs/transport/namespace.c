// SPDX-License-Identifier: Apache-2.0
/*
 * Loads the session into a link namespace of its own, and tells it when a thread of the program
 * starts and ends. server/session/foreign.c does for such a thread what the namespace's C
 * library does for its own threads.
 */
#define _GNU_SOURCE
#include "namespace.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "compiler.h"
#include "loopback.h"
#include "log.h"

static struct {
	typeof(wh_foreign_init) *init;
	typeof(wh_foreign_thread_begin) *begin;
	typeof(wh_foreign_thread_end) *end;
	pthread_key_t at_end;
	bool keyed;
} ns;

static __thread bool entered __attribute__((tls_model("initial-exec")));

/* --- Threads ------------------------------------------------------------------------ */

/*
 * Runs in the last round of destructors, because destructors of the program's data may call
 * CUDA. The value counts the rounds.
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
	if (WH_LIKELY(entered))
		return;
	entered = true;
	ns.begin();
	if (pthread_setspecific(ns.at_end, (void *)1))
		wh_complain("loopback: out of memory for the end of a thread");
}

void wh_namespace_forked(void)
{
	if (entered)
		pthread_setspecific(ns.at_end, NULL);
	entered = false;
}

/* --- Loading -------------------------------------------------------------------------- */

static void *nothing(void *arg)
{
	return arg;
}

/*
 * While a program has one thread, its malloc() takes no locks. The loader also uses this
 * malloc() for threads of the namespace, which do not count as the program's.
 */
static bool become_multithreaded(void)
{
	pthread_t t;

	return !pthread_create(&t, NULL, nothing, NULL) && !pthread_join(t, NULL);
}

/*
 * The output streams of the namespace become the program's, so that the prints of a kernel and
 * of the program keep their order. glibc accepts foreign streams in such a namespace.
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
	ns.keyed = ns.keyed || !pthread_key_create(&ns.at_end, thread_end);
	if (!ns.keyed || !ns.init()) {
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
