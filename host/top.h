/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of the parts of `wormhole top`. */
#ifndef WORMHOLE_HOST_TOP_H
#define WORMHOLE_HOST_TOP_H

#include "views.h"

#define TOP_CELL	WH_TENANT_NAME	/* room for what stands in a column */
#define TOP_UNKNOWN	-1.0	/* of what is never negative */

/* --- top_rows.c: figures of a tenant, or of one device of it ------------------------- */

struct top_row {
	const struct wh_tenant_view *v;
	int device;		/* -1: all of them */
	unsigned int devices;	/* of which it is */
	unsigned int workers;
	/* A second. */
	double calls, requests, waited, launches, to_device, from_device;
	uint64_t memory, quota, peak, driver;	/* bytes; quota 0: none */
	uint64_t refused, gpu_ns, throttled_ns, all_launches;	/* since the tenant began */
	const char *policy;	/* of its share; NULL: none */
	/* Percent; of all devices together where it is of all. */
	double asked, got, throttled, cpu;
	unsigned int sms;	/* given to it, where its share is spatial; 0: all */
};

struct top_rows {
	struct top_row *row;
	int n;
};

/* before: an earlier look; NULL: none, and nothing is known that is of a time. */
void top_rows(const struct wh_look *now, const struct wh_look *before, bool devices,
	      struct top_rows *out);
/* Percent of a CPU; TOP_UNKNOWN where there was no look before. */
double top_server_cpu(const struct wh_look *now, const struct wh_look *before);
double top_vm_cpu(const struct wh_vm_view *v, const struct wh_vm_view *before);
/* What was counted between two looks, a second. */
double top_rate(uint64_t now, uint64_t before, uint64_t ns);

/* --- top_columns.c: columns, by which one sorts ----------------------------------------- */

struct top_column {
	char key;		/* chooses it; 0: none does */
	const char *name;
	int width;
	int rank;		/* what is wider than the terminal loses the highest first */
	bool (*wanted)(const struct top_rows *r);	/* NULL: always */
	void (*text)(const struct top_row *r, char out[TOP_CELL]);
	double (*value)(const struct top_row *r);	/* NULL: compared as text */
};

/* The first is the tenant's name. */
extern const struct top_column top_columns[];
extern const int top_ncolumns;

/* By name or key; -1: none. Names are written as the header has them, in any case. */
int top_column_of(const char *name);
/* By figures largest first, by name in its order; reverse: the other way. */
void top_sort(struct top_rows *r, int column, bool reverse);

/* --- top_screen.c: a look as lines ------------------------------------------------------- */

struct top_view {
	int columns, lines;	/* lines 0: as many as there are */
	bool colour;
	int sorted;		/* column */
	bool reverse, devices;
	int first;		/* row at the top */
	const char *foot;	/* the last line; NULL: none */
	double delay;
};

/* The screen as text, each line with its end; allocated. */
char *top_screen(const struct wh_look *now, const struct wh_look *before, struct top_view *v);
cJSON *top_json(const struct wh_look *now, const struct wh_look *before);

/* --- terminal.c ------------------------------------------------------------------------------ */

/* Reads keys, on the alternate screen; false: no terminal. Left again at exit(). */
bool term_enter(void);
void term_leave(void);
void term_size(int *columns, int *lines);
/* The screen becomes this text. */
void term_show(const char *text);
/*
 * The next key, TERM_* for those that are no letter, or 0: the time is over, or the
 * terminal has another size. -1: one wants the command to end.
 */
enum { TERM_UP = 0x100, TERM_DOWN, TERM_LEFT, TERM_RIGHT };
int term_key(int ms);

#endif
