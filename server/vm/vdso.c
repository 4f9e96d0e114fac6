// SPDX-License-Identifier: Apache-2.0
/* Finds the vDSO: its code is one segment, and its functions are named as in any library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "vm/vdso.h"

static uint64_t size_of(const Elf64_Ehdr *head)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)((const char *)head + head->e_phoff);
	uint64_t size = 0;
	int i;

	for (i = 0; i < head->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && p[i].p_offset + p[i].p_memsz > size)
			size = p[i].p_offset + p[i].p_memsz;
	return size;
}

void wh_vdso_find(struct wh_world_vdso *v)
{
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	void *lib = head ? dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD) : NULL;

	memset(v, 0, sizeof(*v));
	if (!lib)
		return;
	v->clock_gettime = (uintptr_t)dlsym(lib, "__vdso_clock_gettime");
	v->gettimeofday = (uintptr_t)dlsym(lib, "__vdso_gettimeofday");
	v->time = (uintptr_t)dlsym(lib, "__vdso_time");
	v->start = (uintptr_t)head;
	v->size = size_of(head);
	/* The vDSO and the reference to it stay until the process ends. */
	dlclose(lib);
}
