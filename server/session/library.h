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
	bool ends;		/* as of wh_call_entry (handler.h) */
};

struct wh_library_symbol {
	const char *name;
	size_t offset;		/* in the table of functions */
};

struct wh_library {
	const char *name;
	const char *soname;
	uint64_t hash;		/* of the description: both ends must agree */
	size_t table_size;
	const struct wh_library_symbol *symbols;	/* the first one must be there */
	const struct wh_library_entry *calls;
	uint32_t ncalls;
	/* Which say its version: of three numbers (libraryPropertyType), or all in one; or NULL. */
	const char *property, *version;
	/* Files that it looks for by name, the first needed first; or NULL. */
	const char *beside;
	/* What has to happen to the table once it is filled, or NULL. */
	void (*loaded)(struct wh_session *s, void *table);
};

/* libraries/table.c: those that are built in, by number. */
extern const struct wh_library *const wh_libraries[WH_LIBS];

/* The call of a number with its library in the upper half, or NULL. */
const struct wh_library_entry *wh_library_find(uint32_t call);
/* $WORMHOLE_CUBLAS of "cublas": its name, and the file that an administrator named, or NULL. */
#define WH_LIBRARY_VARIABLE	64
void wh_library_variable(const struct wh_library *lib, char name[WH_LIBRARY_VARIABLE]);
const char *wh_library_named(const struct wh_library *lib);
/*
 * Load it, if it is not. By $WORMHOLE_<NAME> (a file), else the version that was wished of those
 * that the server has found (choice.h), else from the first folder of $WORMHOLE_LIB_PATH that
 * has it, else as the loader finds the soname; never a client's stub. False with one line in err.
 */
bool wh_library_load(struct wh_session *s, uint32_t number, uint32_t wish, char *err,
		     size_t err_size);
/* Before the library of this path is opened: the files that it looks for by name. */
void wh_library_open_beside(const struct wh_library *lib, const char *path);
/* What the library says of itself, by wh_version(); 0: nothing. */
uint32_t wh_library_version(const struct wh_library *lib, void *handle);
/* The loaded library lacks a function: say which, and return `status`. */
int32_t wh_library_missing(struct wh_session *s, const char *name, int32_t status);

/*
 * Host memory that a library's call works in; false if there is none to be had. Calls
 * of libraries run one by one, so one is enough; what a call left is gone with the next.
 */
bool wh_library_host_work(struct wh_session *s, size_t size, void **out);
void wh_library_host_work_end(struct wh_session *s);

/* The table of a library's functions; not NULL inside of its handlers. */
static inline const void *wh_library_functions(const struct wh_session *s, uint32_t number)
{
	return s->library[number];
}

/*
 * An operand that is host or device memory by the handle's pointer mode: `host`
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
