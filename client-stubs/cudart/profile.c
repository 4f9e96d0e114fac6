// SPDX-License-Identifier: Apache-2.0
/*
 * Tells a watcher which functions of the runtime the program calls, if the driver's library is the
 * forwarding one, which has functions for that. While nobody watches, an export looks at one flag,
 * and runs no code of this file (gen_cudart_watched_13.c).
 */
#include <dlfcn.h>

#include "api_call.h"
#include "cudart.h"

/* Until the driver's library is known, a call looks whether there is a watcher. */
bool rt_watched = true;
static void (*_Atomic api_begin)(struct wh_api_call *c);
static void (*_Atomic api_end)(struct wh_api_call *c);

/*
 * The watcher asks, in a launch: NULL if the launch will fail, too. To load the kernel is the
 * launch's own work, of which the watcher is told. One without a registration is loaded already.
 */
const char *rt_kernel_name(const void *func)
{
	const char *name = rt_registered_name(func);
	CUkernel kernel;

	if (name)
		return name;
	if (rt_enter() || rt_function(func, &kernel) || DRV(cuKernelGetName(&name, kernel)))
		return NULL;
	return name;
}

/* The driver's library calls it, one thread at a time. */
static void watch(bool on)
{
	__atomic_store_n(&rt_watched, on, __ATOMIC_RELEASE);
}

void rt_profile_start(void *lib)
{
	void (*runtime)(void (*watch)(bool on)), *begin, *end;

	*(void **)&runtime = dlsym(lib, "wh_watch_runtime");
	begin = dlsym(lib, "wh_api_begin");
	end = dlsym(lib, "wh_api_end");
	if (!runtime || !begin || !end) {
		watch(false);
		return;
	}
	atomic_store(&api_end, (void (*)(struct wh_api_call *))end);
	atomic_store(&api_begin, (void (*)(struct wh_api_call *))begin);
	runtime(watch);
}

/* The program's first call: nobody watches if the driver's library is not there yet. */
static void look(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (lib)
		rt_profile_start(lib);
}

void rt_api_begin(struct wh_api_call *c)
{
	if (!atomic_load(&api_begin))
		look();
	if (atomic_load(&api_begin))
		atomic_load(&api_begin)(c);
}

/* Without a watcher at its begin there is none at its end. */
void rt_api_end(struct wh_api_call *c)
{
	if (c->watcher)
		atomic_load(&api_end)(c);
}
