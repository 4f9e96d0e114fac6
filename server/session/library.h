/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries over the driver (cuBLAS, cuRAND, ...) in the worker: a table of
 * calls for each, generated from cuda-api/<name>.api, and a table of the
 * genuine library's functions once it is loaded.
 */
#ifndef WORMHOLE_SERVER_LIBRARY_H
#define WORMHOLE_SERVER_LIBRARY_H

#include "session/box.h"
#include "session/held.h"
#include "session/handler.h"

struct wh_library_entry {
	int32_t (*run)(struct wh_session *s, struct wh_frame *f);	/* the library's status */
	uint32_t min_size;
	bool ends;		/* as in wh_call_entry (handler.h) */
};

struct wh_library_symbol {
	const char *name;
	size_t offset;		/* in the table of functions */
};

struct wh_library {
	const char *name;
	const char *soname;	/* of today's edition */
	uint64_t hash;		/* of the description: both ends must agree */
	size_t table_size;
	const struct wh_library_symbol *symbols;	/* the first one must be there */
	const struct wh_library_entry *calls;
	uint32_t ncalls;
	/*
	 * Functions that tell the version: in three numbers (libraryPropertyType), or in one; or
	 * NULL.
	 */
	const char *property, *version;
	/*
	 * By edition (wire.h): the soname of a major, if it has the same functions in the same
	 * shapes as today's, or NULL; and the files that it looks for by name, in the order of
	 * need, or NULL. A file of one edition serves a program of another, if there is none of
	 * the program's.
	 */
	struct {
		const char *soname, *beside;
	} edition[WH_EDITIONS];
	/* Called on the table once it is filled, or NULL. */
	void (*loaded)(struct wh_session *s, void *table);
};

/* libraries/table.c: the libraries that are built in, by number. */
extern const struct wh_library *const wh_libraries[WH_LIBS];

/* Returns the call for a number whose upper half is the library, or NULL. */
const struct wh_library_entry *wh_library_find(uint32_t call);
/*
 * Return the name of a library's variable, as $WORMHOLE_CUBLAS for "cublas", and the file that an
 * administrator named by it, or NULL.
 */
#define WH_LIBRARY_VARIABLE	64
void wh_library_variable(const struct wh_library *lib, char name[WH_LIBRARY_VARIABLE]);
const char *wh_library_named(const struct wh_library *lib);
/*
 * Loads a library, if it is not loaded. The file is the one that $WORMHOLE_<NAME> names. Otherwise
 * it is the wished version of those that the server has found (choice.h), or else the file in the
 * first folder of $WORMHOLE_LIB_PATH that has it, or else what the loader finds by the soname; of
 * several majors the wished one comes first, and all may be loaded. It is never a client's stub.
 * NULL with one line in err.
 */
const struct wh_library_file *wh_library_load(struct wh_session *s, uint32_t number, uint32_t wish,
					      char *err, size_t err_size);
/*
 * The call with this request is for one of the library's files, until wh_library_leave(): takes the
 * edition out of its number, and lets the library's objects be those of that file. Calls of
 * libraries run alone, so that no other sees this. False: that file is not open.
 */
bool wh_library_enter(struct wh_session *s, struct wh_req *q);
void wh_library_leave(struct wh_session *s);
/*
 * Writes the path of the file of this name into `room`, from the first folder of
 * $WORMHOLE_LIB_PATH that has it, and returns it; or NULL.
 */
const char *wh_library_in_folders(const char *name, char *room, size_t size);
/*
 * Opens the files that the library at this path looks for by name. Call it before the library is
 * opened.
 */
void wh_library_open_beside(const struct wh_library *lib, const char *path);
/* Returns the version that the library tells, as wh_version(); 0: it tells none. */
uint32_t wh_library_version(const struct wh_library *lib, void *handle);
/* The loaded library lacks a function: says which, and returns `status`. */
int32_t wh_library_missing(struct wh_session *s, const char *name, int32_t status);

/*
 * Host memory that a library's call works in; false if there is none. Calls of libraries run one by
 * one, so one block is enough; the next call replaces it.
 */
bool wh_library_host_work(struct wh_session *s, size_t size, void **out);
void wh_library_host_work_end(struct wh_session *s);

/* Returns the table of a library's functions; not NULL inside its handlers (wh_library_enter()). */
static inline const void *wh_library_functions(const struct wh_session *s, uint32_t number)
{
	return s->library[number];
}

/*
 * Returns an operand that is host or device memory, depending on the handle's pointer mode. `host`
 * is the copy in the message, `device` the client's number for the driver.
 */
static inline void *wh_operand(const struct wh_req *q, unsigned int i, bool device_mode,
			       const void *host, uint64_t device)
{
	if (q->null & 1u << i)
		return NULL;
	return device_mode ? (void *)(uintptr_t)device : (void *)(uintptr_t)host;
}

#endif
