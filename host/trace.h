/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant's trace: from the workers' rings (server/tenant/trace.h) to a file of JSON. */
#ifndef WORMHOLE_HOST_TRACE_H
#define WORMHOLE_HOST_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/trace.h"

/* --- trace_names.c ------------------------------------------------------------------ */

/* Returns NULL if no call has this number. */
const char *wh_call_name(uint32_t call);

/* --- trace_json.c: data of workers is not trusted, only written down ------------------ */

struct wh_trace_file;

/*
 * Opens the file. @most is its maximum of bytes; a full file says that it is incomplete.
 * Returns NULL after a message.
 */
struct wh_trace_file *wh_trace_file_open(const char *path, uint64_t most);
void wh_trace_file_put(struct wh_trace_file *f, const struct wh_trace_record *r);
/*
 * Completes the JSON. @lost is the number of records that could not be read in time.
 * Returns false after a message.
 */
bool wh_trace_file_close(struct wh_trace_file *f, uint64_t lost);

/* --- trace_ring.c ------------------------------------------------------------------------ */

struct wh_trace_reader;

/*
 * Lets workers write from now on. @fd comes from wh_trace_create(), and is not needed
 * afterwards. Returns NULL with errno.
 */
struct wh_trace_reader *wh_trace_reader_open(int fd);
/*
 * Writes new records into the file. It must be called often, since rings are overwritten.
 * Returns true if there was something.
 */
bool wh_trace_reader_read(struct wh_trace_reader *r, struct wh_trace_file *f);
/* Writes the last records and stops. Returns the number of missed records. */
uint64_t wh_trace_reader_close(struct wh_trace_reader *r, struct wh_trace_file *f);

/* --- cmd_trace.c ---------------------------------------------------------------------------- */

#define WH_TRACE_MOST	(256ULL << 20)	/* maximum of a file, unless another number is given */

/*
 * Prepares to trace this tenant into the file. The result is for wh_trace_while(). Returns
 * NULL after a message.
 */
struct wh_tracing;
struct wh_tracing *wh_trace_start(const char *dir, const char *tenant, const char *path,
				  uint64_t most);
/* Traces until this child ends. Returns the command's exit status. */
int wh_trace_while(struct wh_tracing *t, pid_t child);

#endif
