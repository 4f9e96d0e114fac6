/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the client's libcupti.so.13. The worker's CUPTI records what the device does; this
 * library records the program's calls (calls.c), brings both together (records.c), and fills the
 * program's buffers (buffers.c).
 */
#ifndef WORMHOLE_CUPTI_STUB_H
#define WORMHOLE_CUPTI_STUB_H

/* The refused functions' types, in the order that the headers need. */
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_sass_metrics.h>
#include <cupti_target.h>

#include "gen_cupti_client.h"

/* Everything that is not in the export map is local to the library. */
#pragma GCC visibility push(hidden)

/* --- names.c ---------------------------------------------------------------------- */

/* Keeps the result for cuptiGetLastError(), and returns it. */
CUptiResult cu_ret(CUptiResult res);

/* --- cbids.c ---------------------------------------------------------------------- */

/* Return CUPTI's number of a function that the program calls, and of a request; 0: it has none. */
uint32_t cu_cbid_of(struct wh_api_function *f);
uint32_t cu_driver_cbid(uint32_t call);
/* Does the request copy between the device and memory that is pageable in the program? */
bool cu_is_staged(uint32_t call);
/* The name by which the headers know the number; NULL: there is none. */
const char *cu_cbid_name(CUpti_CallbackDomain domain, uint32_t cbid);

/* --- clock.c ----------------------------------------------------------------------- */

/* The time by the program's clock. */
uint64_t cu_now(void);
/* Compares the worker's clock with the program's; the first comparison after cu_clock_forget(). */
CUptiResult cu_clock_compare(void);
void cu_clock_forget(void);
/* Turns a time of the worker's records into one of the program's clock. 0 stays 0. */
uint64_t cu_clock_here(uint64_t there);

/* --- calls.c ----------------------------------------------------------------------- */

#define CU_EXTERNALS	4

/* A call of the program to the runtime or the driver. */
struct cu_call {
	uint32_t number;	/* the correlation id */
	uint32_t cbid;
	uint32_t thread;
	int32_t result;
	uint64_t start, end;
	uint8_t kind;		/* CUPTI_ACTIVITY_KIND_RUNTIME or _DRIVER; 0: no record is wanted */
	uint8_t state;		/* enum cu_call_state */
	bool staged;		/* a request of it copied pageable memory by the worker's */
	uint8_t externals;	/* number of external ids at that time */
	uint8_t external_kind[CU_EXTERNALS];
	uint64_t external_id[CU_EXTERNALS];
};
enum cu_call_state { CU_CALL_OPEN, CU_CALL_ENDED, CU_CALL_TOLD };

extern const struct wh_profiler cu_profiler;
/* Returns a new number for a call. */
uint32_t cu_call_number(void);
/* Around a call: `kind` is of its record, by its API. */
void cu_call_begin(uint32_t number, uint32_t kind, uint32_t cbid);
void cu_call_end(uint32_t number, int result);
/* The call of that number is this library's own, and has no record. */
void cu_call_without_record(uint32_t number);
/* The number of the calling thread in records. */
uint32_t cu_thread_number(void);
/* NULL: it is not known, or no more. */
struct cu_call *cu_call_find(uint32_t number);
/* Calls `tell` with each call that has ended and was not told. */
void cu_calls_tell(void (*tell)(const struct cu_call *c));
/* From now on earlier calls are not known. */
void cu_calls_forget(void);
/* Is a record of this function wanted, by cuptiActivityEnableRuntimeApi() and its like? */
bool cu_call_wanted(uint32_t kind, uint32_t cbid);
/* Number of calls for which there was no memory, since the last answer. */
size_t cu_calls_dropped(void);

/* --- activity.c --------------------------------------------------------------------- */

/* Are requests numbered? The worker records then. */
bool cu_profiling(void);
/* Kinds that are enabled, and those that were at any time since the calls were forgotten. */
uint64_t cu_kinds(void);
uint64_t cu_kinds_ever(void);

/* --- records.c ----------------------------------------------------------------------- */

/* Fetches all that the worker has given out, and writes it, with the calls, into buffers. */
CUptiResult cu_records_fetch(void);
void cu_records_forget(void);
size_t cu_records_dropped(void);
/* Returns an equal text that stays for the process; "": there is no memory. Any thread may call it. */
const char *cu_keep_text(const char *text);

/* --- ids.c ---------------------------------------------------------------------------- */

/*
 * Returns the number of a context: that of records, if the worker has the genuine CUPTI, else the
 * contexts are numbered as they come here. 0: there is no context.
 */
uint32_t cu_context_uid(CUcontext ctx);
void cu_context_forget(CUcontext ctx);

/* --- subscriber.c -------------------------------------------------------------------- */

/* There is no subscriber any more. */
void cu_subscriber_forget(void);
/* Does the subscriber want this callback, or any one of the domain? */
bool cu_wants(CUpti_CallbackDomain domain, CUpti_CallbackId cbid);
bool cu_wants_any(CUpti_CallbackDomain domain);
/* Calls the subscriber, if it wants this and the thread is in no callback. */
void cu_call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data);
/* Is the thread in a callback, or in a call of this library's own? */
bool cu_in_callback(void);
bool cu_in_own_call(void);
/* Around calls of this library to the driver, of which nobody is told. */
#define CU_OWN_CALL(does) do {				\
	bool cu_before_ = cu_own_call(true);		\
	does;						\
	cu_own_call(cu_before_);			\
} while (0)
bool cu_own_call(bool on);

/* --- markers.c ------------------------------------------------------------------------ */

/* What a mark or the start of a range says. */
struct cu_mark {
	const char *domain;	/* stays for the process; NULL: the default one */
	const char *text;
	uint32_t color, category;
	bool has_color;
	CUpti_MetricValueKind payload_kind;
	CUpti_MetricValue payload;
};
/* Are records of them wanted? */
bool cu_marks(void);
/* Make a record, now: of a mark or a start, and of the end of the same number. */
void cu_mark_begin(uint32_t id, CUpti_ActivityFlag flags, const struct cu_mark *mark);
void cu_mark_end(uint32_t id, const char *domain);
/* Writes all records into buffers. */
void cu_markers_tell(void);
size_t cu_markers_dropped(void);

/* --- callbacks.c ---------------------------------------------------------------------- */

/* Begins or ends to be told of calls, as activities and the subscriber now need it. */
void cu_watch(void);
/* Handles of functions may stand for others from now on. */
void cu_kernels_forget(void);

/* --- resources.c ----------------------------------------------------------------------- */

/* A call of the driver begins or has ended: it may make, end or wait for something. */
void cu_resources_begin(struct wh_api_call *c, uint32_t cbid);
void cu_resources_end(struct wh_api_call *c, uint32_t cbid);
/* What a call keeps in wh_api_call.data[1]; data[0] is the subscriber's. */
#define CU_RECORDED	1u	/* callbacks.c: it has a record */
#define CU_ENTERED	2u	/* callbacks.c: the subscriber was told that it begins */
#define CU_ACTIVE	4u	/* resources.c: the device's primary context was active */

/* --- buffers.c ------------------------------------------------------------------------ */

void cu_buffer_functions(CUpti_BuffersCallbackRequestFunc requested,
			 CUpti_BuffersCallbackCompleteFunc completed);
bool cu_buffer_usable(void);
/* Gets a buffer of the program, if there is none: profilers look whether they have given one. */
void cu_buffer_ready(void);
void cu_buffer_put(const void *record, size_t size);
/* Gives the buffer back, if there is a record in it. */
void cu_buffer_complete(void);
size_t cu_buffer_dropped(void);

#pragma GCC visibility pop

#endif
