// SPDX-License-Identifier: Apache-2.0
/*
 * Finds and loads the genuine library behind a client's stub and fills its table of functions. Owns
 * the rule that a worker never loads a stub of ours, which also has the library's soname where a
 * client is installed.
 */
#define _GNU_SOURCE
#include "session/choice.h"
#include "session/library.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const struct wh_library_entry *wh_library_find(uint32_t call)
{
	uint32_t number = call >> WH_LIBRARY_SHIFT, i = call & ((1u << WH_LIBRARY_SHIFT) - 1);
	const struct wh_library *lib = number < WH_LIBS ? wh_libraries[number] : NULL;

	return lib && i < lib->ncalls && lib->calls[i].run ? &lib->calls[i] : NULL;
}

/* --- Finding the file ----------------------------------------------------------- */

void wh_library_variable(const struct wh_library *lib, char name[WH_LIBRARY_VARIABLE])
{
	char *c;

	snprintf(name, WH_LIBRARY_VARIABLE, "WORMHOLE_%s", lib->name);
	for (c = name; *c; c++)
		*c = toupper((unsigned char)*c);
}

const char *wh_library_named(const struct wh_library *lib)
{
	char name[WH_LIBRARY_VARIABLE];
	const char *file;

	wh_library_variable(lib, name);
	file = getenv(name);
	return file && *file ? file : NULL;
}

const char *wh_library_in_folders(const char *name, char *room, size_t size)
{
	const char *list = getenv("WORMHOLE_LIB_PATH");
	size_t n;

	for (; name && list && *list; list += n + (list[n] == ':')) {
		n = strcspn(list, ":");
		if (n && snprintf(room, size, "%.*s/%s", (int)n, list, name) < (int)size &&
		    access(room, R_OK) == 0)
			return room;
	}
	return NULL;
}

/* The number of a soname is the library's major version. */
static uint32_t major_of(const char *soname)
{
	const char *so = strstr(soname, ".so.");

	return so ? strtoul(so + strlen(".so."), NULL, 10) : 0;
}

static unsigned int wished_edition(const struct wh_library *lib, uint32_t wish)
{
	unsigned int i;

	for (i = 1; i < WH_EDITIONS; i++)
		if (lib->edition[i].soname && wish >> 24 == major_of(lib->edition[i].soname))
			return i;
	return 0;
}

/* Returns the file of the wished major from the folders, or else the newest of the others. */
static const char *of_major(const struct wh_library *lib, uint32_t wish, char *room, size_t size)
{
	const char *file;
	unsigned int i;

	file = wh_library_in_folders(lib->edition[wished_edition(lib, wish)].soname, room, size);
	for (i = 0; !file && i < WH_EDITIONS; i++)
		file = wh_library_in_folders(lib->edition[i].soname, room, size);
	return file;
}

static const char *find(const struct wh_library *lib, uint32_t wish, char *room, size_t size)
{
	const char *file = wh_library_named(lib);
	uint32_t version;

	if (!file)
		file = wh_library_choose(lib->name, wish, &version, room, size);
	if (!file)
		file = of_major(lib, wish, room, size);
	return file ? file : lib->soname;
}

/* Our stubs, and libraries that need our libcuda.so.1, find this name in their dependencies. */
static bool is_stub(void *handle)
{
	return dlsym(handle, "wh_library_begin");
}

static bool has_edition(const struct wh_library *lib, const char *name, size_t n)
{
	const char *soname;
	unsigned int i;

	for (i = 0; i < WH_EDITIONS; i++) {
		soname = lib->edition[i].soname;
		if (soname && !strncmp(soname, name, n) && !soname[n])
			return true;
	}
	return false;
}

/* Returns the file from the same folder, or a library that is served, wherever that is. */
static const char *file_beside(const char *folder, size_t length, const char *name, size_t n,
			       char *room, size_t size)
{
	const char *file;
	uint32_t i;

	if (snprintf(room, size, "%.*s/%.*s", (int)length, folder, (int)n, name) < (int)size &&
	    !access(room, R_OK))
		return room;
	for (i = 0; i < WH_LIBS; i++) {
		if (!wh_libraries[i] || !has_edition(wh_libraries[i], name, n))
			continue;
		file = find(wh_libraries[i], major_of(name) << 24, room, size);
		return strchr(file, '/') ? file : NULL;
	}
	return NULL;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* Returns the edition that a file is of; one with another name is of today's. */
static unsigned int edition_of(const struct wh_library *lib, const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned int i;

	for (i = 1; i < WH_EDITIONS; i++)
		if (lib->edition[i].soname &&
		    begins(slash ? slash + 1 : path, lib->edition[i].soname))
			return i;
	return 0;
}

/*
 * A library looks for others by their names. If a program's own search (LD_LIBRARY_PATH) leads to a
 * client's stub first, as over loopback, it would find that. So these libraries are opened before
 * it: the loader does not search for a name that is loaded already.
 */
void wh_library_open_beside(const struct wh_library *lib, const char *path)
{
	const char *slash = strrchr(path, '/'), *search = getenv("LD_LIBRARY_PATH"), *name, *file;
	char room[4096];
	size_t n;

	if (!slash || !search || !*search)
		return;
	name = lib->edition[edition_of(lib, path)].beside;
	for (; name && *name; name += n + (name[n] == ' ')) {
		n = strcspn(name, " ");
		file = file_beside(path, slash - path, name, n, room, sizeof(room));
		if (file)
			dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	}
}

static void *open_file(const struct wh_library *lib, const char *path, char *err, size_t err_size)
{
	void *handle;

	wh_library_open_beside(lib, path);
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		snprintf(err, err_size, "%s", dlerror());
	/* If the process has no libcuda.so.1 of ours, a stub does not even load. */
	if (!handle && !strstr(err, "WORMHOLE_PRIVATE"))
		return NULL;
	if (handle && !is_stub(handle))
		return handle;
	if (handle)
		dlclose(handle);
	snprintf(err, err_size,
		 "%s is a client's library of Wormhole, or needs one: name the genuine one by WORMHOLE_LIB_PATH",
		 path);
	return NULL;
}

/* --- Its version ---------------------------------------------------------------- */

/* NCCL counts 10000 for the major version and 100 for the minor one. */
static uint32_t version_of_code(int code)
{
	return code < 10000 ? 0 : wh_version(code / 10000, code / 100 % 100, code % 100);
}

uint32_t wh_library_version(const struct wh_library *lib, void *handle)
{
	int (*property)(int, int *) = NULL, (*version)(int *) = NULL, v[3] = { 0 }, i;

	*(void **)&property = lib->property ? dlsym(handle, lib->property) : NULL;
	*(void **)&version = lib->version ? dlsym(handle, lib->version) : NULL;
	if (version)
		return version(v) ? 0 : version_of_code(v[0]);
	for (i = 0; i < 3; i++)
		if (!property || property(i, &v[i]) || v[i] < 0)
			return 0;
	return wh_version(v[0], v[1], v[2]);
}

/* --- Loading -------------------------------------------------------------------- */

/* Returns the table of the file's functions, or NULL with one line in err. */
static void *functions_of(const struct wh_library *lib, void *handle, char *err, size_t err_size)
{
	const struct wh_library_symbol *sym;
	void *table = calloc(1, lib->table_size);

	for (sym = lib->symbols; table && sym->name; sym++)
		*(void **)((char *)table + sym->offset) = dlsym(handle, sym->name);
	if (table && *(void **)((char *)table + lib->symbols->offset))
		return table;
	snprintf(err, err_size, "%s", table ? "it lacks its first function: not that library" :
		 "out of memory");
	free(table);
	return NULL;
}

const struct wh_library_file *wh_library_load(struct wh_session *s, uint32_t number, uint32_t wish,
					      char *err, size_t err_size)
{
	const struct wh_library *lib = number < WH_LIBS ? wh_libraries[number] : NULL;
	struct wh_library_file *file;
	char room[4096];
	const char *path;
	void *handle;

	if (!lib) {
		snprintf(err, err_size, "no library has the number %u", number);
		return NULL;
	}
	/* To look for a file takes system calls, each of which leaves the view of a VM's call. */
	file = &s->library_file[wished_edition(lib, wish)][number];
	if (file->functions)
		return file;
	path = find(lib, wish, room, sizeof(room));
	file = &s->library_file[edition_of(lib, path)][number];
	if (file->functions)
		return file;
	handle = open_file(lib, path, err, err_size);
	if (!handle)
		return NULL;
	file->functions = functions_of(lib, handle, err, err_size);
	if (!file->functions) {
		dlclose(handle);
		return NULL;
	}
	/* The library stays loaded, as the driver does. */
	file->version = (wish & WH_ANY_OF_MAJOR) == WH_ANY_OF_MAJOR || !wish ?
			0 : wh_library_version(lib, handle);
	s->library[number] = file->functions;
	if (lib->loaded)
		lib->loaded(s, file->functions);
	return file;
}

bool wh_library_enter(struct wh_session *s, struct wh_req *q)
{
	uint32_t edition = q->call >> WH_EDITION_SHIFT, number;
	void *functions;

	q->call &= ~WH_EDITION_MASK;
	number = q->call >> WH_LIBRARY_SHIFT;
	functions = edition < WH_EDITIONS ? s->library_file[edition][number].functions : NULL;
	if (!functions)
		return false;
	s->library[number] = functions;
	s->handles.edition = edition;
	return true;
}

void wh_library_leave(struct wh_session *s)
{
	s->handles.edition = 0;
}

/* A client should ask once; one that asks in a loop must not fill the log. */
static void say_failed(struct wh_session *s, uint32_t number, const char *err)
{
	if (!(s->library_failed & 1u << number))
		fprintf(stderr, "warn: worker: %s: %s; its calls are refused\n",
			wh_libraries[number]->soname, err);
	s->library_failed |= 1u << number;
}

/*
 * Loads the libraries in the folders. One that lacks its own dependencies must not keep a client
 * from the others.
 */
static void preload_all(struct wh_session *s)
{
	char room[4096], err[512];
	uint32_t i;

	for (i = 0; i < WH_LIBS; i++)
		if (wh_libraries[i] && of_major(wh_libraries[i], 0, room, sizeof(room)) &&
		    !wh_library_load(s, i, 0, err, sizeof(err)))
			say_failed(s, i, err);
}

bool wh_session_preload(struct wh_session *s, const char *names, char *err, size_t err_size)
{
	size_t n;
	uint32_t i;

	if (!strcmp(names, "all")) {
		preload_all(s);
		return true;
	}
	for (; *names; names += n + (names[n] == ',')) {
		n = strcspn(names, ",");
		for (i = 0; i < WH_LIBS; i++)
			if (wh_libraries[i] && strlen(wh_libraries[i]->name) == n &&
			    !strncmp(wh_libraries[i]->name, names, n))
				break;
		if (i == WH_LIBS) {
			snprintf(err, err_size, "%.*s: no such library", (int)n, names);
			return false;
		}
		if (!wh_library_load(s, i, 0, err, err_size))
			return false;
	}
	return true;
}

CUresult wh_do_whLibraryOpen(struct wh_session *s, struct wh_frame *f)
{
	const struct wh_req_whLibraryOpen *q = f->req;
	struct wh_rsp_whLibraryOpen *r = wh_reply(f, sizeof(*r));
	const struct wh_library_file *file;
	const struct wh_library *lib;
	char err[512];

	if (f->req_size < sizeof(*q) || q->library >= WH_LIBS)
		return CUDA_ERROR_INVALID_VALUE;
	lib = wh_libraries[q->library];
	if (!lib)
		return CUDA_ERROR_NOT_SUPPORTED;
	r->hash = lib->hash;
	if (q->hash != lib->hash)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	file = wh_library_load(s, q->library, q->wish, err, sizeof(err));
	if (file) {
		r->version = file->version;
		r->edition = (file - &s->library_file[0][q->library]) / WH_LIBS;
		return CUDA_SUCCESS;
	}
	say_failed(s, q->library, err);
	return CUDA_ERROR_SHARED_OBJECT_INIT_FAILED;
}

bool wh_library_host_work(struct wh_session *s, size_t size, void **out)
{
	wh_library_host_work_end(s);
	if (size)
		s->library_work = malloc(size);
	*out = s->library_work;
	return !size || *out;
}

void wh_library_host_work_end(struct wh_session *s)
{
	free(s->library_work);
	s->library_work = NULL;
}

int32_t wh_library_missing(struct wh_session *s, const char *name, int32_t status)
{
	wh_missing(s, name);
	return status;
}
