// SPDX-License-Identifier: Apache-2.0
/*
 * NVIDIA's private tables are undocumented, so there are none here. Compilers such as nvrtc ask
 * for one and can do without. A CUDA runtime, and a library that has code for the device,
 * cannot: it gives up, and its error does not say why. So this file names it, by its file and
 * by its call that led here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "stubs.h"
#include "elf_file.h"

#define FRAMES 64

/* A CUDA runtime has the names of its calls in it, for tools. */
static const char runtime_mark[] = "__cudaRegisterFatBinary";

/* --- Who asks ----------------------------------------------------------------------- */

struct asker {
	const char *file;		/* as the loader knows it */
	const char *readable;		/* where its file can be read */
	uintptr_t base;
	bool is_program;
	char call[128];			/* its function that led here, or "it" */
};

/* Finds the outermost function on the stack that belongs to the asker's interface. */
static void find_call(struct asker *a, const struct link_map *asker)
{
	void *frames[FRAMES];
	int i, n = backtrace(frames, FRAMES);
	struct link_map *map;
	Dl_info at;

	strcpy(a->call, "it");
	for (i = 0; i < n; i++)
		if (dladdr1((char *)frames[i] - 1, &at, (void **)&map, RTLD_DL_LINKMAP) &&
		    map == asker && at.dli_sname)
			snprintf(a->call, sizeof(a->call), "%s()", at.dli_sname);
}

/* Our own export may be in between (cuda-api/watched.py): returns where the program called it. */
static const void *outside(const void *caller)
{
	void *frames[FRAMES];
	Dl_info own, at;
	int i, n;

	if (!dladdr(runtime_mark, &own) || !dladdr((const char *)caller - 1, &at) ||
	    at.dli_fbase != own.dli_fbase)
		return caller;
	n = backtrace(frames, FRAMES);
	for (i = 0; i < n; i++)
		if (dladdr((char *)frames[i] - 1, &at) && at.dli_fbase != own.dli_fbase)
			return frames[i];
	return caller;
}

static bool find_asker(struct asker *a, const void *caller)
{
	struct link_map *map;
	Dl_info at;

	if (!dladdr1((const char *)caller - 1, &at, (void **)&map, RTLD_DL_LINKMAP))
		return false;
	a->file = at.dli_fname;
	a->base = map->l_addr;
	a->is_program = !map->l_name[0];
	a->readable = a->is_program ? "/proc/self/exe" : a->file;
	find_call(a, map);
	return true;
}

/* --- Can it do without? ------------------------------------------------------------- */

static bool has_mark(const struct elf_file *f, const char *section)
{
	const Elf64_Shdr *s = elf_section(f, section);
	const char *bytes = s ? elf_bytes(f, s) : NULL;

	return bytes && memmem(bytes, s->sh_size, runtime_mark, sizeof(runtime_mark) - 1);
}

static bool needs_tables(const char *path)
{
	bool (*has_runtime)(const char *path);
	struct elf_file f;
	bool needs;

	*(void **)&has_runtime = dlsym(RTLD_DEFAULT, "wormhole_preload_has_runtime");
	if (has_runtime && has_runtime(path))
		return true;
	if (!elf_open(&f, path))
		return false;
	needs = elf_section(&f, ".nv_fatbin") || elf_section(&f, ".nvFatBinSegment") ||
		has_mark(&f, ".dynstr") || has_mark(&f, ".rodata");
	elf_close(&f);
	return needs;
}

/*
 * Only the first question of each object counts. If there are more objects, they are not told
 * apart.
 */
static bool is_first(uintptr_t base)
{
	static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
	static uintptr_t asked[64] WH_PAIR;
	static size_t n WH_PAIR;
	bool first = true;
	size_t i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < n; i++)
		first &= asked[i] != base;
	if (first && n < sizeof(asked) / sizeof(*asked))
		asked[n++] = base;
	pthread_mutex_unlock(&lock);
	return first;
}

/* How much of the reason concerns a program: up to what helps with a library. */
static int for_program(const char *reason)
{
	size_t n = strcspn(reason, ";");

	return reason[n] ? n + 1 + strcspn(reason + n + 1, ";") : n;
}

/*
 * There is no preload library in the process. `wormhole run' set $LD_PRELOAD, but a script may have
 * set it anew since.
 */
static const char *without_preload(char *room, size_t size)
{
	const char *preload = getenv("LD_PRELOAD"), *slash;
	Dl_info me;

	if (!getenv("WORMHOLE_TRANSPORT") || !dladdr(without_preload, &me))
		return "`wormhole run' redirects static CUDA runtimes";
	slash = strrchr(me.dli_fname, '/');
	snprintf(room, size, "LD_PRELOAD, which is \"%s\", was set anew since `wormhole run'; "
		 "add %.*slibwormhole-preload.so to it", preload ? preload : "",
		 slash ? (int)(slash + 1 - me.dli_fname) : 0, me.dli_fname);
	return room;
}

/*
 * Says why the preload library did not redirect a runtime in the object, and after a semicolon
 * what helps: first with a program, then with a library, if its user can do anything.
 */
static void complain(const struct asker *a)
{
	const char *(*reason_of)(const char *path, uintptr_t base);
	const char *reason, *library;
	char room[2 * PATH_MAX];

	*(void **)&reason_of = dlsym(RTLD_DEFAULT, "wormhole_preload_reason");
	reason = reason_of ? reason_of(a->readable, a->base) : without_preload(room, sizeof(room));
	if (!reason)
		reason = "";
	library = strrchr(reason, ';');
	if (a->is_program || !library || library == strchr(reason, ';'))
		library = "";
	wh_complain("%s: %s needs a private table of NVIDIA's driver (cuGetExportTable), and there "
		    "is none%s%.*s%s", a->file, a->call, *reason ? ": " : "",
		    a->is_program ? for_program(reason) : (int)strcspn(reason, ";"), reason, library);
}

CUresult cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	const unsigned char *id = (const unsigned char *)pExportTableId;
	struct asker a;

	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = NULL;
	if (!find_asker(&a, outside(__builtin_return_address(0))))
		return CUDA_ERROR_NOT_FOUND;
	wh_log("%s: %s asks for the private table %02x%02x%02x%02x-…, there are none", a.file, a.call, id[0],
	       id[1], id[2], id[3]);
	if (is_first(a.base) && needs_tables(a.readable))
		complain(&a);
	return CUDA_ERROR_NOT_FOUND;
}
