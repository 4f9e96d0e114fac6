/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of tenants on the device in virtual time: each launches as a client does,
 * through the engine of a worker of its own. Times are in nanoseconds.
 */
#ifndef WORMHOLE_TESTS_LIMITS_SIM_CLIENT_H
#define WORMHOLE_TESTS_LIMITS_SIM_CLIENT_H

#include "sim.h"
#include "sim_device.h"
#include "shm.h"
#include "limits/bucket.h"
#include "limits/turns.h"

/* This time was measured on an H200 over shm. */
#define ISSUE_NS	3300.0		/* of the client for a launch */

struct client {
	bool posted;		/* nobody waits for its launch */
	struct wh_session s;
	struct wh_tenant_limits limits;
	struct wh_turns turns;
	int tenant;
	double next;			/* time of its next step */
	double (*kernel)(struct client *c, uint64_t n);	/* length of kernel n */
	double ns;			/* for fixed() */
	double (*pause)(struct client *c, uint64_t n);	/* after launch n; NULL: none */
	bool sync;			/* waits for each kernel */
	unsigned int calls;		/* it makes another call after so many launches; 0: none */
	bool watched;			/* another thread of its worker looks in each pause */
	double rest;			/* what it does after such a wait takes so long */
	bool stop;
	bool waiting;
	bool issuing;			/* a launch: the driver's call is under way */
	bool shm;			/* posts, and its worker notices when it pauses */
	bool deep;			/* the same with a deep ring: its worker may be behind */
	bool kinds;			/* it says which of its launches are alike */
	double made;			/* then the time when the next launch is posted, */
	double taken[WH_SHM_DEEP_CELLS];	/* and when its worker made the last ones */
	bool idle;			/* it pauses now, and its worker looks */
	bool looks;			/* its held-back worker spins on the word */
	bool kept;			/* its launch is held back, and its worker sleeps with it */
	double late;			/* mean time without a CPU after a sleep of its worker */
	struct wh_hold hold;		/* it waits until this changes, or until `next` */
	double idle_end, resume;
	double last;			/* the last launch */
	double tried;			/* when its present launch was first asked for */
	int cold;			/* launches that take longer */
	int unseen;			/* calls posted since it was asked to await answers */
	unsigned int streams;
	uint64_t launched;
	uint64_t refused;		/* requests that it has to make again */
	double from_used;
	/*
	 * With watch_all(), the time when its worker looks after its work, and ends when that
	 * lasts too long.
	 */
	double watch_at;
	uint64_t ended;			/* how often it ended for that, or by end_process() */
};

extern struct client client[SIM_PROCESSES];	/* in the order of add() */
extern struct wh_board board;
extern struct wh_seat seat[SIM_PROCESSES];	/* of each tenant */

/*
 * fixed() gives kernels that take c->ns each; mixed() gives 3 us, 100 us, 2 ms, and now
 * and then 50 ms.
 */
double fixed(struct client *c, uint64_t n);
double mixed(struct client *c, uint64_t n);

/* Begins a test without any client. */
void begin(void);
struct client *add(int tenant, unsigned int percent,
		   double (*kernel)(struct client *, uint64_t), double ns);
/* 0 and 100 mean no share. */
void set_percent(struct client *c, unsigned int percent);
/* Its share is a guarantee from now on, below this ceiling (WH_SM_NO_CEILING), in a class. */
void set_ceiling(struct client *c, unsigned int most, unsigned int class);
void run(double ns);
/* Runs, and returns what percentage of the device each client got meanwhile. */
void run_and_measure(double ns, double *share);
/*
 * Workers look after work under way from now on; a launch may last @max_kernel_ns, or for
 * ever if that is 0.
 */
void watch_all(double max_kernel_ns);
/* The process ends with all that it has under way, and comes again after @after_ns. */
void end_process(struct client *c, double after_ns);
/* The client's context ends, and the client goes on in another. */
void end_context(struct client *c);
/* Ends the engines of all clients. */
void finish(void);

#endif
