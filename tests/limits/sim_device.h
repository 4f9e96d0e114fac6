/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual device, as tests see it. Times are in nanoseconds. */
#ifndef WORMHOLE_TESTS_LIMITS_SIM_DEVICE_H
#define WORMHOLE_TESTS_LIMITS_SIM_DEVICE_H

#include "session/handler.h"

#define SIM_PROCESSES	4
#define SIM_STREAMS	8		/* the last is the driver's own */
#define SIM_ITEMS	65536u

/* The times of calls, measured on an H200. */
#ifndef SIM_CLOCK_NS
#define SIM_CLOCK_NS	18		/* half and twice of it: share_9_test, share_40_test */
#endif
#define SIM_QUERY_NS	1200		/* for an event that the device has written meanwhile */
#define SIM_RECORD_NS	1000
#define SIM_ELAPSED_NS	63
#define SIM_MODE_NS	10
#define SIM_CAPTURING_NS 26
/* The time of an event on the device, also measured on an H200. */
#define SIM_EVENT_NS	2000

struct sim_event {
	double ns;
	int done, pending;
};

struct sim_item {
	double left;			/* time left of a kernel, */
	struct sim_event *event;	/* or the event that this is */
};

struct sim_stream {
	struct sim_item *item;
	uint64_t first, last;
};

struct sim_process {
	struct sim_stream stream[SIM_STREAMS];
	double used_ns;			/* true time of the device */
	double done_ns;			/* when its last kernel that is done was done */
};

extern const double sim_clock_ns;	/* what sim.c was built with */
extern uint64_t sim_event_calls;
extern CUstream sim_capturing;		/* the stream that is being captured */

void sim_reset(void);
/*
 * Until the next reset the device gives each process that has work such a slice of time in turn, as
 * a GPU does, and works for nobody for so long between those of two.
 */
void sim_slices(double ns, double ns_between);
double sim_now(void);
void sim_advance_to(double ns);
/* Chooses the process that makes the next calls. */
void sim_choose(int process);
void sim_launch(CUstream stream, double ns);
unsigned int sim_queued(CUstream stream);
int sim_idle(int process);
/* All that the process has under way is gone, as with the end of the process or its context. */
void sim_drop(int process);
struct sim_process *sim_process(int i);
void sim_driver(struct wh_driver *d);

#endif
