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

/* Return CUPTI's number of a function of the runtime, and of a request; 0: it has none. */
uint32_t cu_runtime_cbid(const char *name);
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

/* Kinds that are enabled, and those that were at any time since the calls were forgotten. */
uint64_t cu_kinds(void);
uint64_t cu_kinds_ever(void);

/* --- records.c ----------------------------------------------------------------------- */

/* Fetches all that the worker has given out, and writes it, with the calls, into buffers. */
CUptiResult cu_records_fetch(void);
void cu_records_forget(void);
size_t cu_records_dropped(void);

/* --- subscriber.c -------------------------------------------------------------------- */

/* There is no subscriber any more. */
void cu_subscriber_forget(void);

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
