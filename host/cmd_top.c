// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole top`: shows tenants and VMs and their activity per second, again and again. On
 * a terminal it reads keys; otherwise it prints one look after the other, or a single one
 * for scripts. Rates need two looks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "top.h"

#define FIRST_MS	500	/* a user at a terminal waits no longer for the first figures */

static const char foot[] =
	"sort n c r w l m s t u k, arrows; R reverse; d devices; q quit";

struct top_args {
	const char *dir;
	uint64_t delay_ms;
	bool once, json;
	struct top_view view;
};

/* --- Arguments ------------------------------------------------------------------------- */

enum { KEY_ONCE = 0x300, KEY_DEVICES };

static const struct argp_option options[] = {
	{ "once", KEY_ONCE, NULL, 0, "one look, after --delay, and end", 0 },
	{ "delay", 'd', "SECONDS", 0, "time between two looks, 0.1 to 3600 (default 2, with --once 1)", 0 },
	{ "sort", 's', "COLUMN", 0, "by a column, as its head has it: the largest first; with - before it the smallest (default CALL/S)", 0 },
	{ "devices", KEY_DEVICES, NULL, 0, "a line for each device of a tenant, in place of one for all", 0 },
	{ "json", 'j', NULL, 0, "print a JSON object for each look", 0 },
	{ 0 }
};

static uint64_t delay_of(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || *end || !(v >= 0.1 && v <= 3600))
		wh_usage_error(state, "--delay: '%s' is not a number from 0.1 to 3600", arg);
	return (uint64_t)(v * 1000);
}

static void sort_by(struct top_args *a, struct argp_state *state, const char *arg)
{
	a->view.reverse = *arg == '-';
	a->view.sorted = top_column_of(arg + a->view.reverse);
	if (a->view.sorted < 0)
		wh_usage_error(state, "--sort: there is no column '%s'; their names are in the table's head", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		return 0;
	case KEY_ONCE: a->once = true; return 0;
	case KEY_DEVICES: a->view.devices = true; return 0;
	case 'j': a->json = true; return 0;
	case 'd': a->delay_ms = delay_of(state, arg); return 0;
	case 's': sort_by(a, state, arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, NULL,
	"Show what tenants of the server on this machine and VMs do now, again and again.",
	wh_dir_only, NULL, NULL
};

/* --- Looks --------------------------------------------------------------------------------- */

static struct wh_look looks[2];
static int current;
static bool has_before;

static const struct wh_look *now_look(void)
{
	return &looks[current];
}

static const struct wh_look *before_look(void)
{
	return has_before ? &looks[!current] : NULL;
}

static bool look_again(const char *dir)
{
	static bool has_now;

	wh_look_free(&looks[!current]);
	current = !current;
	has_before = has_now;
	has_now = true;
	return wh_look(dir, &looks[current]);
}

static void pause_ms(uint64_t ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	nanosleep(&t, NULL);
}

/* Prints a look. Returns false if nobody reads the output any more. */
static bool print(const struct top_args *a)
{
	struct top_view v = a->view;
	cJSON *o;
	char *text;

	if (a->json) {
		o = top_json(now_look(), before_look());
		text = wh_must(a->once ? cJSON_Print(o) : cJSON_PrintUnformatted(o));
		cJSON_Delete(o);
		printf("%s\n", text);
	} else {
		term_size(&v.columns, &v.lines);
		v.lines = 0;
		text = top_screen(now_look(), before_look(), &v);
		printf("%s%s", text, a->once ? "" : "\n");
	}
	free(text);
	return !fflush(stdout);
}

/* If nothing runs, this is an error only here; the other modes wait until something starts. */
static int once(const struct top_args *a)
{
	if (!look_again(a->dir))
		return EXIT_FAILED;
	if (!now_look()->tenants.server && !now_look()->vms.n) {
		wh_error("no server runs at %s, and no VM with a role; start one by `wormhole serve', or name its --dir",
			 a->dir);
		return EXIT_FAILED;
	}
	pause_ms(a->delay_ms);
	return look_again(a->dir) && print(a) ? EXIT_DONE : EXIT_FAILED;
}

static int one_by_one(const struct top_args *a)
{
	if (!look_again(a->dir))
		return EXIT_FAILED;
	do {
		pause_ms(a->delay_ms);
		if (!look_again(a->dir))
			return EXIT_FAILED;
	} while (print(a));
	return EXIT_DONE;
}

/* --- On a terminal --------------------------------------------------------------------------- */

/*
 * Moves to the next column. A sorted column is shown if there is any room, and all views
 * have the columns in the same order.
 */
static void move_column(struct top_view *v, int by)
{
	v->sorted = (v->sorted + by + top_ncolumns) % top_ncolumns;
	v->reverse = false;
}

enum answer { AGAIN, LOOK, QUIT };

static enum answer on_key(struct top_view *v, int key)
{
	char name[2] = { (char)key, 0 };
	int column;

	switch (key) {
	case -1: case 'q': return QUIT;
	case ' ': return LOOK;
	case 'R': v->reverse = !v->reverse; return AGAIN;
	case 'd': v->devices = !v->devices; return AGAIN;
	case TERM_LEFT: case '<': move_column(v, -1); return AGAIN;
	case TERM_RIGHT: case '>': move_column(v, 1); return AGAIN;
	case TERM_UP: v->first -= v->first > 0; return AGAIN;
	case TERM_DOWN: v->first++; return AGAIN;
	}
	column = key > 0 && key < 0x80 ? top_column_of(name) : -1;
	if (column >= 0) {
		v->sorted = column;
		v->reverse = false;
	}
	return AGAIN;
}

static void show(struct top_view *v)
{
	char *text;

	term_size(&v->columns, &v->lines);
	text = top_screen(now_look(), before_look(), v);
	term_show(text);
	free(text);
}

/* Handles keys until it is time for the next look, or the user asks for one. */
static enum answer hear_keys(struct top_view *v, uint64_t until_ns)
{
	enum answer a = AGAIN;
	uint64_t now;

	while (a == AGAIN) {
		now = wh_now_ns();
		if (now >= until_ns)
			return LOOK;
		a = on_key(v, term_key((int)((until_ns - now) / 1000000) + 1));
		if (a == AGAIN)
			show(v);
	}
	return a;
}

/* Leaves the terminal's screen first, so that the user sees the error message. */
static int fail_live(const struct top_args *a)
{
	term_leave();
	return look_again(a->dir) ? EXIT_DONE : EXIT_FAILED;
}

static int live(struct top_args *a)
{
	uint64_t wait = a->delay_ms < FIRST_MS ? a->delay_ms : FIRST_MS;
	enum answer answer = LOOK;

	a->view.foot = foot;
	a->view.delay = (double)a->delay_ms / 1000;
	while (answer == LOOK) {
		if (!look_again(a->dir))
			return fail_live(a);
		show(&a->view);
		answer = hear_keys(&a->view, wh_now_ns() + wait * 1000000);
		wait = a->delay_ms;
	}
	term_leave();
	return EXIT_DONE;
}

static bool wants_colour(void)
{
	const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") && !(no && *no);
}

int cmd_top(int argc, char **argv)
{
	static struct top_args a;
	int rc;

	a.view.sorted = top_column_of("CALL/S");
	wh_parse(&argp, argc, argv, 0, &a);
	a.dir = wh_server_dir(a.dir);
	if (!a.delay_ms)
		a.delay_ms = a.once ? 1000 : 2000;
	a.view.colour = wants_colour();
	if (a.once)
		rc = once(&a);
	else if (!a.json && term_enter())
		rc = live(&a);
	else
		rc = one_by_one(&a);
	wh_look_free(&looks[0]);
	wh_look_free(&looks[1]);
	return rc;
}
