/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of the parts of `wormhole top`. */
#ifndef WORMHOLE_HOST_TOP_H
#define WORMHOLE_HOST_TOP_H

#include "views.h"

#define TOP_CELL	WH_TENANT_NAME	/* room for the text of a column */
#define TOP_UNKNOWN	-1.0	/* for values that are never negative */

/* --- top_rows.c: figures of a tenant, or of one of its devices ------------------ */

struct top_row {
	const struct wh_tenant_view *v;
	int device;		/* -1: all of them */
	unsigned int devices;	/* number of devices in this row */
	unsigned int workers;
	/* The following are per second. */
	double calls, requests, waited, launches, to_device, from_device;
	uint64_t memory, quota, peak, driver;	/* bytes; quota 0: none */
	/* The following are since the tenant began. */
	uint64_t refused, gpu_ns, beyond_ns, throttled_ns, all_launches;
	const char *policy;	/* policy of its share; NULL: none */
	const char *class;	/* class of its share of time; NULL: none */
	/*
	 * The following are percent. A row for all devices has the percentage of all of
	 * them together.
	 */
	double asked, got, throttled, cpu;
	double most;		/* ceiling of its share of time; 100: none */
	double beyond;		/* the part of `got` that is beyond the guarantee */
	unsigned int sms;	/* SMs that it got, if its share is spatial; 0: all */
};

struct top_rows {
	struct top_row *row;
	int n;
	bool counters;		/* there is one look alone, and no rates */
};

/* Makes the rows. @before is an earlier look, or NULL: then values that need a time are unknown. */
void top_rows(const struct wh_look *now, const struct wh_look *before, bool devices,
	      struct top_rows *out);
/* Return the percentage of a CPU, or TOP_UNKNOWN if there was no look before. */
double top_server_cpu(const struct wh_look *now, const struct wh_look *before);
double top_vm_cpu(const struct wh_vm_view *v, const struct wh_vm_view *before);
/* Returns the count between two looks, per second. */
double top_rate(uint64_t now, uint64_t before, uint64_t ns);

/* --- top_columns.c: columns, by which rows can be sorted ---------------------------- */

struct top_column {
	char key;		/* the key that chooses it; 0: none does */
	const char *name;
	int width;
	int rank;		/* in a narrow terminal the highest are dropped first */
	bool (*wanted)(const struct top_rows *r);	/* NULL: always */
	void (*text)(const struct top_row *r, char out[TOP_CELL]);
	double (*value)(const struct top_row *r);	/* NULL: compared as text */
};

/* The first column is the tenant's name. */
extern const struct top_column top_columns[];
extern const int top_ncolumns;

void top_time_text(uint64_t ns, char out[TOP_CELL]);	/* seconds, hours or days */
/* Finds a column by name or key; -1: none. Names are those of the header, in any letter case. */
int top_column_of(const char *name);
/* Sorts figures by size, the largest first, and names by alphabet. @reverse inverts the order. */
void top_sort(struct top_rows *r, int column, bool reverse);

/* --- top_screen.c: shows a look as lines -------------------------------------------- */

struct top_view {
	int columns, lines;	/* lines 0: no limit */
	bool colour;
	int sorted;		/* column to sort by; -1: none */
	bool reverse, devices;
	int first;		/* row at the top */
	const char *foot;	/* the last line; NULL: none */
	double delay;
};

/* Returns the screen as allocated text; each line has its line end. */
char *top_screen(const struct wh_look *now, const struct wh_look *before, struct top_view *v);
/*
 * Returns the table of `wormhole stat' in the same way: the columns of top that fit, a row for each
 * device, and the programs. Without an earlier look it has no rates.
 */
char *top_table(const struct wh_tenant_views *now, const struct wh_tenant_views *before,
		int columns);
cJSON *top_json(const struct wh_look *now, const struct wh_look *before);

/* --- terminal.c ------------------------------------------------------------------------------ */

/*
 * Starts to read keys, and shows the alternate screen. Returns false if there is no
 * terminal. exit() restores the terminal.
 */
bool term_enter(void);
void term_leave(void);
void term_size(int *columns, int *lines);
/* Replaces the screen by this text. */
void term_show(const char *text);
/*
 * Returns the next key, TERM_* for arrows. Returns 0 if the time is over or the terminal's
 * size has changed, and -1 if the user wants the command to end.
 */
enum { TERM_UP = 0x100, TERM_DOWN, TERM_LEFT, TERM_RIGHT };
int term_key(int ms);

#endif
