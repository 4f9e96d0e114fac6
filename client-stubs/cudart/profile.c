// SPDX-License-Identifier: Apache-2.0
/*
 * Tells a profiler which functions of the runtime the program calls, if the driver's library is the
 * forwarding one, which has functions for that. While nobody profiles, a call runs no code of this
 * file: only then the table of driver functions has others (gen_cudart_seen.c).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "cudart.h"

#define NAMES	1024u	/* callers whose function is known; a power of two */

struct rt_driver rt_unseen;
static uint32_t (*profile_begin)(const char *name);
static void (*profile_end)(uint32_t before, int result);

/* Both are written once, the name first: a reader that sees the caller sees its name. */
static struct {
	_Atomic(const void *) caller;
	_Atomic(const char *) name;
} names[NAMES];

/* Returns the exported function that has this code; NULL: it is in none. */
static const char *find_name(const void *caller)
{
	const ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (!dladdr1(caller, &info, (void **)&sym, RTLD_DL_SYMENT) || !sym || !info.dli_sname ||
	    (uintptr_t)caller - (uintptr_t)info.dli_saddr > sym->st_size)
		return NULL;
	return info.dli_sname;
}

static const char *name_of(const void *caller)
{
	unsigned int i = (uintptr_t)caller * 0x9e3779b97f4a7c15ULL >> 54;
	const void *known = atomic_load_explicit(&names[i].caller, memory_order_acquire);
	const char *name, *nobody = NULL;

	if (known == caller)
		return atomic_load_explicit(&names[i].name, memory_order_relaxed);
	name = find_name(caller);
	/* Two callers with one place: the first one keeps it. */
	if (name && atomic_compare_exchange_strong(&names[i].name, &nobody, name))
		atomic_store_explicit(&names[i].caller, caller, memory_order_release);
	return name;
}

uint32_t rt_profile_begin(const void *caller)
{
	const char *name = name_of(caller);

	return profile_begin(name ? name : "");
}

void rt_profile_end(uint32_t before, CUresult res)
{
	profile_end(before, res == CUDA_SUCCESS ? 0 : (int)rt_error(res));
}

/* The driver's library calls it, one thread at a time. A pointer is written at once. */
static void watch(bool on)
{
	size_t i;

	for (i = 0; i < rt_seen_count; i++) {
		void **to = (void **)((char *)&drv + rt_seen[i].offset);
		void *own = *(void **)((char *)&rt_unseen + rt_seen[i].offset);

		__atomic_store_n(to, on ? rt_seen[i].function : own, __ATOMIC_RELEASE);
	}
}

void rt_profile_start(void *lib)
{
	void (*runtime)(void (*watch)(bool on));

	rt_unseen = drv;
	*(void **)&runtime = dlsym(lib, "wh_profile_runtime");
	*(void **)&profile_begin = dlsym(lib, "wh_profile_begin");
	*(void **)&profile_end = dlsym(lib, "wh_profile_end");
	if (runtime && profile_begin && profile_end)
		runtime(watch);
}
