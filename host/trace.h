/* SPDX-License-Identifier: Apache-2.0 */
/* A tenant's trace, from the workers' rings (server/tenant/trace.h) to a file of JSON. */
#ifndef WORMHOLE_HOST_TRACE_H
#define WORMHOLE_HOST_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/trace.h"

/* --- trace_names.c ------------------------------------------------------------------ */

/* NULL: no call has this number. */
const char *wh_call_name(uint32_t call);

/* --- trace_json.c: what workers write is not believed, only written down -------------- */

struct wh_trace_file;

/* NULL after a message. `most`: bytes; then it says that it is not all. */
struct wh_trace_file *wh_trace_file_open(const char *path, uint64_t most);
void wh_trace_file_put(struct wh_trace_file *f, const struct wh_trace_record *r);
/* lost: records that nobody could read in time. Whole JSON afterwards; false after a message. */
bool wh_trace_file_close(struct wh_trace_file *f, uint64_t lost);

/* --- trace_ring.c ------------------------------------------------------------------------ */

struct wh_trace_reader;

/* Workers write from now on. fd: of wh_trace_create(), not needed afterwards. NULL: errno. */
struct wh_trace_reader *wh_trace_reader_open(int fd);
/* What is new, into the file; often, since rings turn round. True: there was something. */
bool wh_trace_reader_read(struct wh_trace_reader *r, struct wh_trace_file *f);
/* And no more; the number of records that were missed. */
uint64_t wh_trace_reader_close(struct wh_trace_reader *r, struct wh_trace_file *f);

/* --- cmd_trace.c ---------------------------------------------------------------------------- */

#define WH_TRACE_MOST	(256ULL << 20)	/* of a file, unless another number is said */

/*
 * Ready to trace this tenant into the file: to be given to wh_trace_while(). NULL after a message.
 */
struct wh_tracing;
struct wh_tracing *wh_trace_start(const char *dir, const char *tenant, const char *path,
				  uint64_t most);
/* Until this child ends. The exit status of the command. */
int wh_trace_while(struct wh_tracing *t, pid_t child);

#endif
