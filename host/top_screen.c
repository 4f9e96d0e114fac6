// SPDX-License-Identifier: Apache-2.0
/*
 * A look of `wormhole top` as lines for a terminal, none wider than the terminal: the head
 * lines, a line for each tenant, and a line for each VM.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "top.h"

#define NAME_LEAST	8	/* a name's columns that come before all other columns */
#define NAME_WISHED	24	/* a name's columns that come before columns of rank 2 */
#define LINE		1024

enum colour { PLAIN, HEAD, SORTED, GOOD, WARN, BAD, DIM };

static const char *const codes[] = {
	[PLAIN] = "0", [HEAD] = "7", [SORTED] = "1;7;4", [GOOD] = "32", [WARN] = "33", [BAD] = "1;31",
	[DIM] = "2",
};

/* --- Lines --------------------------------------------------------------------------- */

struct screen {
	FILE *f;
	const struct top_view *v;
	char line[LINE];	/* the current line with its colours */
	int bytes, columns;	/* of the line; terminal columns that it uses */
	int lines;
	int first, end, rows;	/* tenants' rows that are shown, and their total number */
};

/* Appends text to the line. The part beyond the line's end is cut off. */
__attribute__((format(printf, 3, 4)))
static void put(struct screen *s, enum colour c, const char *fmt, ...)
{
	bool colour = s->v->colour && c != PLAIN;
	char text[LINE / 2];
	va_list ap;
	int n, left = s->v->columns - s->columns;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(text) - 1)
		n = sizeof(text) - 1;
	if (n > left)
		n = left;
	/* There must be room for the text and two codes. */
	if (n <= 0 || s->bytes + n + 24 > LINE)
		return;
	if (colour)
		s->bytes += snprintf(s->line + s->bytes, LINE - s->bytes, "\033[%sm", codes[c]);
	memcpy(s->line + s->bytes, text, n);
	s->bytes += n;
	s->columns += n;
	if (colour)
		s->bytes += snprintf(s->line + s->bytes, LINE - s->bytes, "\033[0m");
}

/* Ends the line without its trailing spaces, which have no colour. */
static void end_line(struct screen *s)
{
	while (s->bytes && s->line[s->bytes - 1] == ' ')
		s->bytes--;
	fprintf(s->f, "%.*s\n", s->bytes, s->line);
	s->bytes = s->columns = 0;
	s->lines++;
}

/* --- Tenants -------------------------------------------------------------------------- */

struct layout {
	bool has[64];
	int name;		/* width in columns */
};

static int longest_name(const struct top_rows *r)
{
	int i, n, most = top_columns[0].width;

	for (i = 0; i < r->n; i++) {
		n = (int)strlen(r->row[i].v->limits.name);
		most = n > most ? n : most;
	}
	return most;
}

static void choose_columns(struct layout *l, const struct top_rows *r, int columns)
{
	int longest = longest_name(r), left, need, rank, i;
	int wished = longest < NAME_WISHED ? longest : NAME_WISHED;
	const struct top_column *c;

	*l = (struct layout){ .has = { true } };
	left = columns - (wished < NAME_LEAST ? wished : NAME_LEAST);
	for (rank = 0; rank < 10; rank++) {
		if (rank == 2)
			left -= wished > NAME_LEAST ? wished - NAME_LEAST : 0;
		for (i = 1; i < top_ncolumns; i++) {
			c = &top_columns[i];
			need = c->width + 1;
			if (c->rank != rank || need > left || (c->wanted && !c->wanted(r)))
				continue;
			l->has[i] = true;
			left -= need;
		}
	}
	for (i = 1, left = columns; i < top_ncolumns; i++)
		left -= l->has[i] ? top_columns[i].width + 1 : 0;
	l->name = longest < left ? longest : left;
}

static void print_heads(struct screen *s, const struct layout *l)
{
	int i;

	for (i = 0; i < top_ncolumns; i++) {
		enum colour c = i == s->v->sorted ? SORTED : HEAD;

		if (!l->has[i])
			continue;
		if (!i)
			put(s, c, "%-*s", l->name, top_columns[0].name);
		else
			put(s, HEAD, " %*s", top_columns[i].width - (int)strlen(top_columns[i].name), "");
		if (i)
			put(s, c, "%s", top_columns[i].name);
	}
	if (s->v->colour)
		put(s, HEAD, "%*s", s->v->columns - s->columns, "");
	end_line(s);
}

/* Chooses a colour, so that the user sees values that need attention. */
static enum colour colour_of(const struct top_row *r, const char *column)
{
	if (!strcmp(column, "MEM") && r->quota && r->memory > r->quota / 4 * 3)
		return r->memory > r->quota / 10 * 9 ? BAD : WARN;
	if (!strcmp(column, "REFUSED") && r->refused)
		return WARN;
	if (!strcmp(column, "THROT") && r->throttled >= 50)
		return WARN;
	if (!strcmp(column, "GOT") && r->policy && r->got > (r->class ? r->most : r->asked) + 5)
		return BAD;
	return r->workers ? PLAIN : DIM;
}

/* Each byte takes one column. Bytes that a terminal would interpret become question marks. */
static void print_name(struct screen *s, const char *name, int width, enum colour c)
{
	bool cut = (int)strlen(name) > width;
	char text[WH_TENANT_NAME];
	int i;

	for (i = 0; name[i] && i < (int)sizeof(text) - 1; i++)
		text[i] = name[i] >= ' ' && name[i] <= '~' ? name[i] : '?';
	text[i] = 0;
	put(s, c, "%-*.*s%s", cut ? width - 1 : width, cut ? width - 1 : width, text, cut ? "+" : "");
}

static void print_row(struct screen *s, const struct layout *l, const struct top_row *r)
{
	char text[TOP_CELL];
	int i;

	print_name(s, r->v->limits.name, l->name, r->workers ? PLAIN : DIM);
	for (i = 1; i < top_ncolumns; i++) {
		if (!l->has[i])
			continue;
		top_columns[i].text(r, text);
		put(s, colour_of(r, top_columns[i].name), " %*s", top_columns[i].width, text);
	}
	end_line(s);
}

/* --- Programs ---------------------------------------------------------------------------- */

static void count_text(double v, char out[16])
{
	if (v < 0)
		snprintf(out, 16, "-");
	else if (v < 99999.5)
		snprintf(out, 16, v > 0 && v < 9.95 ? "%.1f" : "%.0f", v);
	else
		snprintf(out, 16, "%.3gM", v / 1e6);
}

static void print_program(struct screen *s, const struct wh_tenant_view *v,
			  const struct wh_worker_usage *w)
{
	char user[WH_USER_TEXT], command[WH_COMMAND], memory[16], time[TOP_CELL], launches[16];
	uint64_t bytes = 0, gpu_ns = 0, n = 0;
	int name = s->v->columns - 62;
	unsigned int d;

	wh_each_device(v, d) {
		bytes += w->device[d].memory;
		gpu_ns += wh_gpu_ns(&w->device[d]);
		n += w->device[d].launches;
	}
	count_text((double)n, launches);
	top_time_text(gpu_ns, time);
	put(s, PLAIN, "%7u %-12.12s %-15s %6s %8s %8s ", w->client_pid, wh_program_user(w, user),
	    wh_program_command(w, command), wh_bytes_text(bytes, memory), time, launches);
	name = name > WH_TENANT_NAME ? WH_TENANT_NAME : name;
	print_name(s, v->limits.name, name > 1 ? name : 1, PLAIN);
	end_line(s);
}

/* Prints the programs that fit into so many lines; 0: all. The last line says how many do not. */
static void print_programs(struct screen *s, const struct wh_tenant_views *all, int lines)
{
	unsigned int programs = 0, printed = 0, room, k;
	int i;

	for (i = 0; i < all->n; i++)
		programs += all->view[i].workers;
	if (!programs || (lines && lines < 3))
		return;
	room = lines ? (unsigned int)lines - 2 : programs;
	if (programs > room)
		room--;
	end_line(s);
	put(s, HEAD, "%7s %-12s %-15s %6s %8s %8s %s", "PID", "USER", "COMMAND", "MEM", "GPU-TIME",
	    "LAUNCHES", "TENANT");
	if (s->v->colour)
		put(s, HEAD, "%*s", s->v->columns - s->columns, "");
	end_line(s);
	for (i = 0; i < all->n; i++)
		for (k = 0; k < all->view[i].workers && printed < room; k++, printed++)
			print_program(s, &all->view[i], &all->view[i].worker[k]);
	if (printed == programs)
		return;
	put(s, DIM, "%7s and %u more", "", programs - printed);
	end_line(s);
}

/* --- VMs --------------------------------------------------------------------------------- */

struct reasons {
	struct {
		char name[24];
		uint64_t count;
		double rate;
	} one[WH_STAT_EXIT_REASONS];
	int n;
};

static void add_reason(void *to, const char *name, uint64_t count)
{
	struct reasons *r = to;

	snprintf(r->one[r->n].name, sizeof(r->one[0].name), "%s", name);
	r->one[r->n].rate = TOP_UNKNOWN;
	r->one[r->n++].count = count;
}

typedef uint64_t (*each_fn)(const struct wh_host_stat *s, wh_reason_fn fn, void *to);

static int by_rate(const void *x, const void *y)
{
	const typeof(((struct reasons *)0)->one[0]) *a = x, *b = y;

	if (a->rate != b->rate)
		return a->rate < b->rate ? 1 : -1;
	return (a->count < b->count) - (a->count > b->count);
}

/* Sorts the reasons, the most frequent first: by rate, or by count if there was no look before. */
static void take_reasons(struct reasons *r, const struct wh_vm_view *v, const struct wh_vm_view *b,
			 each_fn each)
{
	struct reasons was = { .n = 0 };
	uint64_t before;
	int i, k;

	r->n = 0;
	each(&v->stat, add_reason, r);
	if (b)
		each(&b->stat, add_reason, &was);
	for (i = 0; b && i < r->n; i++) {
		for (k = 0, before = 0; k < was.n; k++)
			if (!strcmp(was.one[k].name, r->one[i].name))
				before = was.one[k].count;
		r->one[i].rate = top_rate(r->one[i].count, before, v->at_ns - b->at_ns);
	}
	qsort(r->one, r->n, sizeof(r->one[0]), by_rate);
}

/* Lists as many reasons as fit. A + says that there are more. */
static void reasons_text(const struct reasons *r, int width, char *out)
{
	char one[64], number[16];
	int i, n = 0, len;

	out[0] = 0;
	for (i = 0; i < r->n; i++) {
		if (r->one[i].rate >= 0)
			count_text(r->one[i].rate, number);
		else
			count_text((double)r->one[i].count, number);
		len = snprintf(one, sizeof(one), "%s%s %s", i ? ", " : "", r->one[i].name, number);
		if (n + len + (i + 1 < r->n ? 2 : 0) > width)
			break;
		strcpy(out + n, one);
		n += len;
	}
	if (i < r->n && n + 2 <= width)
		strcpy(out + n, n ? " +" : "+");
	else if (!r->n)
		strcpy(out, "-");
}

static void print_vm(struct screen *s, const struct wh_vm_view *v, const struct wh_vm_view *b,
		     int name)
{
	struct reasons handoffs, exits;
	char h[LINE / 4], e[LINE / 4], rate_h[16], rate_e[16], cpu[16];
	uint64_t ns = b ? v->at_ns - b->at_ns : 0;
	double used = top_vm_cpu(v, b);
	int rest, left;

	take_reasons(&handoffs, v, b, wh_vm_handoffs);
	take_reasons(&exits, v, b, wh_vm_exits);
	count_text(top_rate(wh_vm_handoffs(&v->stat, NULL, NULL),
			    b ? wh_vm_handoffs(&b->stat, NULL, NULL) : 0, ns), rate_h);
	count_text(top_rate(wh_vm_exits(&v->stat, NULL, NULL),
			    b ? wh_vm_exits(&b->stat, NULL, NULL) : 0, ns), rate_e);
	snprintf(cpu, sizeof(cpu), used < 0 ? "-" : used < 99.95 ? "%.1f%%" : "%.0f%%", used);
	print_name(s, v->vm.name, name, PLAIN);
	put(s, PLAIN, " %4llu %-6s %5u %6s %6s %6s ", (unsigned long long)v->vm.id,
	    wh_name_role(v->stat.role), v->stat.pairs, cpu, rate_h, rate_e);
	rest = s->v->columns - s->columns;
	left = rest / 2 < (int)sizeof(h) - 1 ? rest / 2 : (int)sizeof(h) - 1;
	reasons_text(&handoffs, left - 1, h);
	reasons_text(&exits, left, e);
	put(s, PLAIN, "%-*s%s", left, h, e);
	end_line(s);
}

static void print_vms(struct screen *s, const struct wh_look *now, const struct wh_look *before)
{
	int name = s->v->columns < 120 ? 12 : 24, i, rest;

	put(s, HEAD, "%-*s   ID %-6s PAIRS    CPU HAND/S EXIT/S ", name, "VM", "ROLE");
	rest = (s->v->columns - s->columns) / 2;
	put(s, HEAD, "%-*s%-*s", rest, "HANDOFFS", s->v->columns - s->columns - rest, "EXITS");
	end_line(s);
	for (i = 0; i < now->vms.n; i++)
		print_vm(s, &now->vms.view[i],
			 wh_vm_before(before ? &before->vms : NULL, &now->vms.view[i]), name);
}

/* --- What is above -------------------------------------------------------------------------- */

static void print_server(struct screen *s, const struct wh_look *now, const struct wh_look *before)
{
	double cpu = top_server_cpu(now, before);
	time_t t = time(NULL);
	unsigned int workers = 0;
	char clock[16];
	int i;

	for (i = 0; i < now->tenants.n; i++)
		workers += now->tenants.view[i].sum.workers;
	strftime(clock, sizeof(clock), "%H:%M:%S", localtime(&t));
	put(s, PLAIN, "wormhole %s  ", clock);
	if (!now->tenants.server)
		put(s, WARN, "no server");
	else if (!now->answered)
		put(s, WARN, "the server does not answer");
	else if (cpu < 0)
		put(s, PLAIN, "server %d", now->pid);
	else
		put(s, PLAIN, "server %d (%.1f%% CPU)", now->pid, cpu);
	put(s, PLAIN, "  tenants %d  workers %u", now->tenants.n, workers);
	if (now->vms.n)
		put(s, PLAIN, "  VMs %d", now->vms.n);
	else if (now->vms.rc == -EACCES)
		put(s, PLAIN, "  VMs: for root");
	if (s->v->delay > 0)
		put(s, PLAIN, "  every %.3g s", s->v->delay);
	end_line(s);
}

/* Shows the use of a device by all tenants. */
static void print_device(struct screen *s, const struct wh_look *now, const struct wh_look *before,
			 unsigned int d)
{
	const struct wh_device_figures *f = &now->device[d].figures;
	const struct wh_tenant_view *v, *b;
	uint64_t memory = 0, launches = 0, was = 0;
	char a[16], z[16], l[16];
	double got = 0, r;
	int i;

	for (i = 0; i < now->tenants.n; i++) {
		v = &now->tenants.view[i];
		b = wh_tenant_before(before ? &before->tenants : NULL, v);
		memory += v->sum.total.device[d].memory;
		launches += b ? v->sum.total.device[d].launches : 0;
		was += b ? b->sum.total.device[d].launches : 0;
		r = b ? top_rate(wh_gpu_ns(&v->sum.total.device[d]),
				 wh_gpu_ns(&b->sum.total.device[d]), v->at_ns - b->at_ns) : 0;
		got += r > 0 ? r / 1e7 : 0;
	}
	put(s, PLAIN, "device %u: %.40s  memory %s of %s", d, now->device[d].name,
	    wh_bytes_text(memory, a), wh_bytes_text(now->device[d].memory, z));
	if (before) {
		count_text(top_rate(launches, was, now->at_ns - before->at_ns), l);
		put(s, PLAIN, "  busy %.1f%%  launches/s %s", got, l);
	}
	if (f->known & WH_KNOWS_MEMORY)
		put(s, PLAIN, "  in use %s", wh_bytes_text(f->memory_used, a));
	if (f->known & WH_KNOWS_TEMPERATURE)
		put(s, PLAIN, "  %u C", f->temperature);
	if (f->known & WH_KNOWS_POWER)
		put(s, PLAIN, "  %.0f W", (double)f->power_mw / 1000);
	if (f->known & WH_KNOWS_ERRORS && f->uncorrected)
		put(s, BAD, "  ECC errors %llu", (unsigned long long)f->uncorrected);
	end_line(s);
}

/* --- All of it -------------------------------------------------------------------------------- */

static int below(const struct top_view *v, const struct wh_look *now)
{
	return (now->vms.n ? now->vms.n + 2 : 0) + (v->foot ? 1 : 0);
}

/* Prints the tenants that fit. The view's first row is moved so that no line stays empty. */
static void print_tenants(struct screen *s, const struct top_rows *r, struct top_view *v, int room)
{
	struct layout l;
	int i, end;

	choose_columns(&l, r, v->columns);
	print_heads(s, &l);
	if (room < 1)
		room = 1;
	if (v->lines && v->first > r->n - room)
		v->first = r->n > room ? r->n - room : 0;
	end = v->lines && v->first + room < r->n ? v->first + room : r->n;
	for (i = v->first; i < end; i++)
		print_row(s, &l, &r->row[i]);
	s->first = v->first;
	s->end = end;
	s->rows = r->n;
}

char *top_screen(const struct wh_look *now, const struct wh_look *before, struct top_view *v)
{
	struct screen s = { .v = v };
	struct top_rows rows;
	struct wh_text text;
	unsigned int d;

	s.f = wh_text_begin(&text);
	top_rows(now, before, v->devices, &rows);
	top_sort(&rows, v->sorted, v->reverse);
	print_server(&s, now, before);
	for (d = 0; d < now->devices && d < 4; d++)
		print_device(&s, now, before, d);
	print_tenants(&s, &rows, v, v->lines - s.lines - 1 - below(v, now));
	if (now->vms.n) {
		end_line(&s);
		print_vms(&s, now, before);
	}
	if (!v->lines || v->lines - s.lines - !!v->foot > 0)
		print_programs(&s, &now->tenants, v->lines ? v->lines - s.lines - !!v->foot : 0);
	if (v->foot) {
		while (s.lines < v->lines - 1)
			end_line(&s);
		if (s.end - s.first < s.rows)
			put(&s, WARN, "%d-%d of %d  ", s.first + 1, s.end, s.rows);
		put(&s, DIM, "%s", v->foot);
		end_line(&s);
	}
	free(rows.row);
	return wh_text_end(s.f, &text);
}

char *top_table(const struct wh_tenant_views *now, const struct wh_tenant_views *before,
		int columns)
{
	struct wh_look a = { .tenants = *now }, b = { 0 };
	struct top_view v = { .columns = columns, .sorted = -1, .devices = true };
	struct screen s = { .v = &v };
	struct top_rows rows;
	struct wh_text text;

	if (before)
		b.tenants = *before;
	s.f = wh_text_begin(&text);
	top_rows(&a, before ? &b : NULL, true, &rows);
	rows.counters = !before;
	print_tenants(&s, &rows, &v, 0);
	print_programs(&s, now, 0);
	free(rows.row);
	return wh_text_end(s.f, &text);
}
