/* SPDX-License-Identifier: Apache-2.0 */
/*
 * printf(), assert() and cudaGraphSetConditional() of device code. The format and the packed
 * arguments are in memory that the kernel chose, so each byte is checked before it is read.
 * Formats are parsed here, and the C library gets only single, known conversions.
 */
#include <stdio.h>
#include <string.h>

#include "warp.h"

#define MAX_TEXT	(64u << 10)	/* bytes of one printf() */

struct out {
	char *p;
	size_t n;
};

struct args {
	struct warp *w;
	uint32_t lane;
	uint64_t at;		/* generic address of the next argument */
	uint32_t count;
};

static uint64_t read_arg(struct warp *w, uint32_t lane,
			 const struct call_arg *a)
{
	uint32_t lbase = w->g[w->cur].lbase;
	uint64_t v = 0;

	memcpy(&v, lane_local(w, lane) + lbase + a->from,
	       a->size < 8 ? a->size : 8);
	return v;
}

/* Reads the string at a device address, at most @max bytes. Returns false if it is not readable. */
static bool read_string(struct warp *w, uint32_t lane, uint64_t addr,
			char *to, size_t max)
{
	for (size_t i = 0; i < max - 1; i++) {
		const uint8_t *p = exec_generic(w, lane, addr + i, 1, false);

		if (!p)
			return false;
		to[i] = *p;
		if (!to[i])
			return true;
	}
	to[max - 1] = 0;
	return true;
}

/* Takes the next argument. Arguments are packed and aligned to their size. */
static bool next_arg(struct args *a, uint32_t size, uint64_t *v)
{
	const uint8_t *p;

	a->at = (a->at + size - 1) & ~(uint64_t)(size - 1);
	p = exec_generic(a->w, a->lane, a->at, size, false);
	if (!p)
		return false;
	*v = 0;
	memcpy(v, p, size);
	a->at += size;
	a->count++;
	return true;
}

static void put(struct out *o, const char *s, size_t n)
{
	if (n > MAX_TEXT - o->n)
		n = MAX_TEXT - o->n;
	memcpy(o->p + o->n, s, n);
	o->n += n;
}

/* ---- one conversion ---- */

struct spec {
	char flags[8];
	int width, prec;	/* -1 = none */
	bool is64;
	char conv;
};

static bool read_number(const char **f, struct args *a, int *out)
{
	uint64_t v;

	if (**f == '*') {
		++*f;
		if (!next_arg(a, 4, &v))
			return false;
		*out = (int32_t)v;
	} else {
		for (*out = 0; **f >= '0' && **f <= '9'; ++*f)
			*out = *out < 10000 ? *out * 10 + (**f - '0') : *out;
	}
	return true;
}

/* Reads a conversion after its '%'. @f is behind the conversion then. */
static bool read_spec(const char **f, struct args *a, struct spec *s)
{
	size_t n = 0;

	memset(s, 0, sizeof(*s));
	s->width = s->prec = -1;
	for (; **f && strchr("-+ #0", **f); ++*f)
		if (n < sizeof(s->flags) - 1)
			s->flags[n++] = **f;
	if (!read_number(f, a, &s->width))
		return false;
	if (**f == '.') {
		++*f;
		if (!read_number(f, a, &s->prec))
			return false;
	}
	for (; **f && strchr("hlLqjzt", **f); ++*f)
		s->is64 |= **f != 'h';
	s->conv = **f;
	if (s->conv)
		++*f;
	return true;
}

static void put_int(struct out *o, const struct spec *s, uint64_t v)
{
	char fmt[32], buf[512];
	int w = s->width > 400 ? 400 : s->width;
	int p = s->prec > 400 ? 400 : s->prec;
	int n;

	if (s->conv == 'd' || s->conv == 'i')
		v = s->is64 ? v : (uint64_t)(int32_t)v;
	snprintf(fmt, sizeof(fmt), "%%%s*.*ll%c", s->flags, s->conv);
	/* A negative precision counts as none, and so does a width of 0. */
	n = snprintf(buf, sizeof(buf), fmt, w < -400 ? -400 : w > 0 ? w :
		     w == -1 ? 0 : w, p, v);
	put(o, buf, n < (int)sizeof(buf) ? n : (int)sizeof(buf) - 1);
}

static void put_double(struct out *o, const struct spec *s, uint64_t v)
{
	char fmt[32], buf[1024];
	int w = s->width > 400 ? 400 : s->width < 0 ? 0 : s->width;
	int p = s->prec > 400 ? 400 : s->prec;
	double d;
	int n;

	memcpy(&d, &v, sizeof(d));
	snprintf(fmt, sizeof(fmt), "%%%s*.*%c", s->flags, s->conv);
	n = snprintf(buf, sizeof(buf), fmt, w, p, d);
	put(o, buf, n < (int)sizeof(buf) ? n : (int)sizeof(buf) - 1);
}

static bool put_string(struct out *o, struct args *a, const struct spec *s,
		       uint64_t addr)
{
	char buf[4096];
	size_t n, w = s->width > 0 ? s->width : 0;
	bool left = strchr(s->flags, '-');

	if (!addr)
		strcpy(buf, "(null)");
	else if (!read_string(a->w, a->lane, addr, buf, sizeof(buf)))
		return false;
	n = strlen(buf);
	if (s->prec >= 0 && n > (size_t)s->prec)
		n = s->prec;
	for (size_t i = n; !left && i < w && i < MAX_TEXT; i++)
		put(o, " ", 1);
	put(o, buf, n);
	for (size_t i = n; left && i < w && i < MAX_TEXT; i++)
		put(o, " ", 1);
	return true;
}

static bool convert(struct out *o, struct args *a, const struct spec *s)
{
	char c[2] = { s->conv, 0 }, ch;
	uint64_t v;

	switch (s->conv) {
	case '%':
		put(o, "%", 1);
		return true;
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		if (!next_arg(a, s->is64 ? 8 : 4, &v))
			return false;
		put_int(o, s, v);
		return true;
	case 'c':
		if (!next_arg(a, 4, &v))
			return false;
		ch = v;
		put(o, &ch, 1);
		return true;
	case 'f': case 'F': case 'e': case 'E': case 'g': case 'G':
	case 'a': case 'A':
		if (!next_arg(a, 8, &v))
			return false;
		put_double(o, s, v);
		return true;
	case 's':
		return next_arg(a, 8, &v) && put_string(o, a, s, v);
	case 'p':
		if (!next_arg(a, 8, &v))
			return false;
		put(o, "0x", 2);
		put_int(o, &(struct spec){ "", -1, -1, true, 'x' }, v);
		return true;
	default:
		put(o, "%", 1);
		put(o, c, s->conv != 0);
		return true;
	}
}

/* ---- printf ---- */

static bool format(struct out *o, struct args *a, const char *f)
{
	while (*f) {
		size_t n = strcspn(f, "%");
		struct spec s;

		put(o, f, n);
		f += n;
		if (!*f)
			break;
		f++;
		if (!read_spec(&f, a, &s) || !convert(o, a, &s))
			return false;
	}
	return true;
}

static bool print_lane(struct warp *w, const struct call_site *s,
		       uint32_t lane, int32_t *result)
{
	const struct exec_launch *l = w->m->l;
	uint64_t fmt = read_arg(w, lane, &s->args[0]);
	struct args a = { w, lane, read_arg(w, lane, &s->args[1]), 0 };
	char *text = (char *)w->m->text.p;
	struct out o = { text + MAX_TEXT, 0 };

	*result = -1;
	if (!fmt)
		return true;
	if (!read_string(w, lane, fmt, text, MAX_TEXT) ||
	    !format(&o, &a, text))
		return false;
	*result = a.count;
	if (l->print)
		l->print(l->print_ctx, o.p, o.n);
	return true;
}

int exec_vprintf(struct warp *w, const struct call_site *s,
		 const struct insn *in, uint32_t mask)
{
	if (!exec_scratch(&w->m->text, 2 * MAX_TEXT))
		return exec_fault(w, EXEC_NOMEM, in, __builtin_ctz(mask), 0);
	for (; mask; mask &= mask - 1) {
		uint32_t l = __builtin_ctz(mask);
		int32_t r;

		if (!print_lane(w, s, l, &r))
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l,
					  read_arg(w, l, &s->args[0]));
		if (s->nrets && s->args[2].size == 4)
			memcpy(lane_local(w, l) + w->g[w->cur].lbase +
			       s->args[2].from, &r, 4);
	}
	return 0;
}

/* Runs cudaGraphSetConditional(handle, value) for each lane in turn. */
int exec_condition(struct warp *w, const struct call_site *s,
		   const struct insn *in, uint32_t mask)
{
	const struct exec_launch *l = w->m->l;

	for (; mask; mask &= mask - 1) {
		uint32_t lane = __builtin_ctz(mask);
		uint64_t handle = read_arg(w, lane, &s->args[0]);

		if (!l->condition || !l->condition(handle, read_arg(w, lane, &s->args[1])))
			return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, lane, handle);
	}
	return 0;
}

/* Runs __assertfail(message, file, line, function, charsize). */
int exec_assert(struct warp *w, const struct call_site *s,
		const struct insn *in, uint32_t mask)
{
	uint32_t l = __builtin_ctz(mask);
	struct exec_fault *f = &w->m->fault;
	char msg[64], file[40], func[40];
	uint32_t line = read_arg(w, l, &s->args[2]);

	exec_fault(w, EXEC_ASSERT, in, l, 0);
	if (!read_string(w, l, read_arg(w, l, &s->args[0]), msg, sizeof(msg)))
		strcpy(msg, "?");
	if (!read_string(w, l, read_arg(w, l, &s->args[1]), file,
			 sizeof(file)))
		strcpy(file, "?");
	if (!read_string(w, l, read_arg(w, l, &s->args[3]), func,
			 sizeof(func)))
		strcpy(func, "?");
	snprintf(f->msg, sizeof(f->msg),
		 "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] "
		 "Assertion `%s` failed.", file, line, func, f->ctaid[0],
		 f->ctaid[1], f->ctaid[2], f->tid[0], f->tid[1], f->tid[2],
		 msg);
	return 1;
}
