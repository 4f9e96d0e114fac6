// SPDX-License-Identifier: Apache-2.0
/*
 * LD_PRELOAD=libwormhole-preload.so: looks at the program, the libraries it
 * starts with and those it opens later, and redirects every static CUDA
 * runtime among them to libcudart.so.13, .12 or .11.0. An object without one is left
 * alone, and libcudart is not even loaded before a redirected function is called.
 *
 * The library is linked with -z initfirst: its constructor runs before those
 * of all others, which may call CUDA. The C library's own constructor has not
 * run then either, so nothing here uses stdio or the environment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "preload.h"

#define EXIT_CANNOT_SERVE 127

/* Which exports each library has. */
static const struct {
	const char *name;
	int first, end;
} libraries[] = {
	{ "libcudart.so.13", 0, RT_EXPORT_END_13 },
	{ "libcudart.so.12", RT_EXPORT_END_13, RT_EXPORT_END_12 },
	{ "libcudart.so.11.0", RT_EXPORT_END_12, RT_EXPORT_COUNT },
};

static pthread_once_t once_13 = PTHREAD_ONCE_INIT, once_12 = PTHREAD_ONCE_INIT,
		      once_11 = PTHREAD_ONCE_INIT;

void preload_say(const char *fmt, ...)
{
	static const char begin[] = "wormhole: error: ";
	char line[4600];
	va_list ap;
	int n;

	memcpy(line, begin, sizeof(begin));
	va_start(ap, fmt);
	n = vsnprintf(line + sizeof(begin) - 1, sizeof(line) - sizeof(begin), fmt, ap);
	va_end(ap);
	n += sizeof(begin) - 1;
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

/*
 * Opens the libcudart beside this library and no other: the loader might find NVIDIA's
 * elsewhere, which cannot work here.
 */
static void *open_runtime(const char *name)
{
	char path[4096];
	char *slash;
	Dl_info info;

	if (!dladdr((void *)preload_stubs, &info) ||
	    strlen(info.dli_fname) > sizeof(path) - sizeof("libcudart.so.11.0"))
		return NULL;
	strcpy(path, info.dli_fname);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void fill_slots(int library)
{
	void *lib = open_runtime(libraries[library].name);
	void *func;
	int i;

	if (!lib) {
		preload_say("libwormhole-preload: %s", dlerror());
		_exit(EXIT_CANNOT_SERVE);
	}
	for (i = libraries[library].first; i < libraries[library].end; i++) {
		func = dlsym(lib, preload_names[i]);
		if (!func) {
			preload_say("libwormhole-preload: %s has no %s", libraries[library].name,
				    preload_names[i]);
			_exit(EXIT_CANNOT_SERVE);
		}
		__atomic_store_n(&preload_slots[i], func, __ATOMIC_RELEASE);
	}
}

static void fill_slots_13(void)
{
	fill_slots(0);
}

static void fill_slots_12(void)
{
	fill_slots(1);
}

static void fill_slots_11(void)
{
	fill_slots(2);
}

/* stubs.S calls this at the first call of a redirected function. */
void *preload_resolve(unsigned long export)
{
	if (export >= RT_EXPORT_COUNT)
		return preload_refuse(export);
	if (export < RT_EXPORT_END_13)
		pthread_once(&once_13, fill_slots_13);
	else if (export < RT_EXPORT_END_12)
		pthread_once(&once_12, fill_slots_12);
	else
		pthread_once(&once_11, fill_slots_11);
	return preload_slots[export];
}

static bool is_runtime_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, "libcudart.so", strlen("libcudart.so"));
}

/*
 * A runtime that cannot be served stays as it is: nobody knows yet whether the program will use
 * it.
 */
static void serve(const char *path, uintptr_t base)
{
	struct preload_runtime rt;

	if (preload_find(path, base, &rt) != PRELOAD_FOUND)
		return;
	if (preload_redirect(rt.funcs, rt.count) == PRELOAD_BROKEN) {
		preload_say("libwormhole-preload: %s: the code of its static CUDA runtime cannot be "
		    "made executable again; link it with nvcc -cudart shared", path);
		_exit(EXIT_CANNOT_SERVE);
	}
	free(rt.funcs);
}

/* --- Questions of libcuda.so.1 ------------------------------------------------------ */

static char reason[320];

static const char *why_not_redirected(struct preload_runtime *rt)
{
	const char *wrong;
	size_t which;

	wrong = preload_check(rt->funcs, rt->count, &which);
	snprintf(reason, sizeof(reason), "%s() of its static CUDA runtime %s; link it with nvcc -cudart shared",
		 preload_name(rt->funcs[which].export), wrong ? wrong : "cannot be made writable");
	free(rt->funcs);
	return reason;
}

static const char *changed(const struct preload_runtime *rt)
{
	snprintf(reason, sizeof(reason), "it has no symbol table, and a static CUDA runtime that seems to be of CUDA %s, "
		 "but the code of %zu of its functions is another; "
		 "link it with nvcc -cudart shared, or do not strip it", rt->version, rt->count);
	return reason;
}

/*
 * An object has called the driver in a way that only a CUDA runtime does which was not
 * redirected. Returns why it was not; after a semicolon, what helps if the object is the program;
 * and after another, what helps if it is a library. NULL: nothing is known.
 */
__attribute__((visibility("default")))
const char *wormhole_preload_reason(const char *path, uintptr_t base)
{
	struct preload_runtime rt;

	if (is_runtime_library(path))
		return "it is NVIDIA's CUDA runtime and not Wormhole's libcudart.so.13, libcudart.so.12 or "
		       "libcudart.so.11.0";
	switch (preload_find(path, base, &rt)) {
	case PRELOAD_STRIPPED:
		return "it has no symbol table by which a CUDA runtime in it could be redirected, and no code that "
		       "is known; "
		       "link it with nvcc -cudart shared, or do not strip it; "
		       "if it is a library of CUDA 11 or 12, take a build of the program for CUDA 13, whose "
		       "libraries are served";
	case PRELOAD_VERSION:
		return "it has a static CUDA runtime of an unknown version, perhaps not of version 11, 12 or 13; "
		       "build it with CUDA 11, 12 or 13, or with the shared runtime of one of these; "
		       "take a build of it for one of these";
	case PRELOAD_CHANGED:
		return changed(&rt);
	case PRELOAD_FOUND:
		return why_not_redirected(&rt);
	case PRELOAD_NONE:
	case PRELOAD_NO_MEMORY:
		break;
	}
	return NULL;
}

/* Is there for sure a static runtime in the object, whether or not it can be served? */
__attribute__((visibility("default")))
bool wormhole_preload_has_runtime(const char *path)
{
	struct preload_runtime rt;
	enum preload_kind kind = preload_find(path, 0, &rt);

	free(rt.funcs);
	return kind == PRELOAD_FOUND || kind == PRELOAD_VERSION || kind == PRELOAD_CHANGED;
}

/* --- The loader's list -------------------------------------------------------------- */

/* The loader adds objects at the end of its list, so it is enough to know the last one seen. */
static const struct link_map *seen;

/* Libraries beside this one have no static runtime. */
static bool is_ours(const struct link_map *first, const struct link_map *m)
{
	static const struct link_map *me;
	size_t n;

	for (; !me && first; first = first->l_next)
		if (first->l_ld == _DYNAMIC)
			me = first;
	if (!me)
		return false;
	n = strrchr(me->l_name, '/') - me->l_name;
	return !strncmp(m->l_name, me->l_name, n + 1) && !strchr(m->l_name + n + 1, '/');
}

static void serve_new_objects(const struct link_map *first)
{
	const struct link_map *m;

	for (m = seen ? seen->l_next : first; m; m = m->l_next) {
		seen = m;
		if (m == first)
			serve("/proc/self/exe", m->l_addr);
		else if (strchr(m->l_name, '/') && !is_runtime_library(m->l_name) &&
			 !is_ours(first, m))
			serve(m->l_name, m->l_addr);
	}
}

/* dlclose() may remove the object that was seen last. Then the list is read anew. */
static bool still_listed(const struct link_map *first)
{
	const struct link_map *m;

	for (m = first; m; m = m->l_next)
		if (m == seen)
			return true;
	return false;
}

/*
 * The loader calls the function at r_brk whenever it has changed its list, for debuggers. Here
 * it shows a library after it is mapped and before its constructors run.
 */
static void objects_changed(void)
{
	if (_r_debug.r_state != RT_CONSISTENT)
		return;
	if (!still_listed(_r_debug.r_map)) {
		for (seen = _r_debug.r_map; seen->l_next; )
			seen = seen->l_next;
		return;
	}
	serve_new_objects(_r_debug.r_map);
}

/* The loader's function is empty: a return, padded to 16 bytes. Anything else is left alone. */
static void watch_dlopen(void)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const unsigned char *brk = (const unsigned char *)_r_debug.r_brk;
	size_t skip = !brk || memcmp(brk, endbr64, sizeof(endbr64)) ? 0 : sizeof(endbr64);

	if (!brk || (uintptr_t)brk % 16 || brk[skip] != 0xc3)
		return;
	preload_jump((uintptr_t)brk, 16, (uintptr_t)objects_changed);
}

/*
 * A server that was started from a shell for clients has this library too. Its workers load
 * NVIDIA's own libraries, over NVIDIA's driver.
 */
static bool is_server(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	const char *slash;

	path[n < 0 ? 0 : n] = 0;
	slash = strrchr(path, '/');
	return slash && (!strcmp(slash, "/wormhole-server") || !strcmp(slash, "/wormhole-worker"));
}

__attribute__((constructor))
static void preload_start(void)
{
	if (is_server())
		return;
	serve_new_objects(_r_debug.r_map);
	watch_dlopen();
}
