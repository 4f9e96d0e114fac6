/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that random structured programs (ifs, loops, breaks, early exits,
 * guards, many short-lived registers) give in each of 64 threads what a plain interpreter
 * of the same program gives. It finds mistakes in the placement of registers and in the
 * grouping of lanes.
 */
#include "harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NVARS	6
#define THREADS	64
#define PROGRAMS 300

enum kind { ASSIGN, IF, LOOP, BREAK_IF, EXIT_IF, GUARDED };

struct node {
	enum kind kind;
	int op, dst, a, b, imm;
	struct node *body, *other, *next;
};

static struct node pool[4096];
static int used;

/* ---- make a program ---- */

static struct node *make_list(int depth, int len, bool in_loop);

static struct node *make_node(int depth, bool in_loop)
{
	struct node *n = &pool[used++];
	int r = rnd() % 100;

	memset(n, 0, sizeof(*n));
	n->op = rnd() % 6;
	n->dst = rnd() % NVARS;
	n->a = rnd() % NVARS;
	n->b = rnd() % NVARS;
	n->imm = rnd() % 64;
	n->kind = ASSIGN;
	if (used > 3000 || depth > 4 || r < 50)
		return n;
	if (r < 70) {
		n->kind = IF;
		n->body = make_list(depth + 1, 1 + rnd() % 4, in_loop);
		if (rnd() & 1)
			n->other = make_list(depth + 1, 1 + rnd() % 3,
					     in_loop);
	} else if (r < 82) {
		n->kind = LOOP;
		n->imm = 1 + rnd() % 6;
		n->body = make_list(depth + 1, 1 + rnd() % 4, true);
	} else if (r < 90) {
		n->kind = GUARDED;
	} else if (in_loop) {
		n->kind = BREAK_IF;
	} else if (r > 97) {
		n->kind = EXIT_IF;
	}
	return n;
}

static struct node *make_list(int depth, int len, bool in_loop)
{
	struct node *first = NULL, **at = &first;

	for (int i = 0; i < len; i++) {
		*at = make_node(depth, in_loop);
		at = &(*at)->next;
	}
	return first;
}

/* ---- run it ---- */

enum out { GO_ON, BREAK, EXIT };

static bool condition(const struct node *n, const uint32_t *v)
{
	return ((v[n->a] ^ v[n->b] >> 3) & 7) < (uint32_t)(n->imm & 7);
}

static uint32_t value(const struct node *n, const uint32_t *v)
{
	switch (n->op) {
	case 0:
		return v[n->a] + v[n->b];
	case 1:
		return v[n->a] - v[n->b] * 3;
	case 2:
		return v[n->a] ^ v[n->b] << 5;
	case 3:
		return v[n->a] * (2 * n->imm + 1) + v[n->b];
	case 4:
		return v[n->a] >> 7 | n->imm;
	default:
		return v[n->a] < v[n->b] ? v[n->a] + n->imm : v[n->b];
	}
}

static enum out interpret(const struct node *n, uint32_t *v)
{
	for (; n; n = n->next) {
		uint32_t carried = v[n->a];
		enum out o = GO_ON;

		if (n->kind == ASSIGN || (n->kind == GUARDED &&
					  condition(n, v)))
			v[n->dst] = value(n, v);
		else if (n->kind == IF)
			o = interpret(condition(n, v) ? n->body : n->other, v);
		else if (n->kind == BREAK_IF && condition(n, v))
			return BREAK;
		else if (n->kind == EXIT_IF && condition(n, v))
			return EXIT;
		for (uint32_t i = 0; n->kind == LOOP &&
		     i < n->imm + (v[NVARS] & 3); i++) {
			if (condition(n, v))
				carried = v[n->dst];
			v[n->b] ^= carried;
			o = interpret(n->body, v);
			if (o != GO_ON)
				break;
		}
		if (n->kind == LOOP && o == BREAK)
			o = GO_ON;
		if (o != GO_ON)
			return o;
	}
	return GO_ON;
}

/* ---- write it as PTX, a new register for every value ---- */

static char text[1 << 20];
static size_t len;
static int temp, label;

static void put(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	len += vsnprintf(text + len, sizeof(text) - len, fmt, ap);
	va_end(ap);
}

/* Writes %p<k> = condition, and returns k. */
static int put_condition(const struct node *n)
{
	int t = temp, p = label++;

	temp += 3;
	put("shr.u32 %%r%d, %%v%d, 3;\nxor.b32 %%r%d, %%v%d, %%r%d;\n", t,
	    n->b, t + 1, n->a, t);
	put("and.b32 %%r%d, %%r%d, 7;\nsetp.lt.u32 %%p%d, %%r%d, %d;\n",
	    t + 2, t + 1, p, t + 2, n->imm & 7);
	return p;
}

static void put_value(const struct node *n, const char *guard)
{
	int t = temp, a = n->a, b = n->b;

	temp += 2;
	switch (n->op) {
	case 0:
		put("add.u32 %%r%d, %%v%d, %%v%d;\n", t + 1, a, b);
		break;
	case 1:
		put("mul.lo.u32 %%r%d, %%v%d, 3;\nsub.u32 %%r%d, %%v%d, %%r%d;\n",
		    t, b, t + 1, a, t);
		break;
	case 2:
		put("shl.b32 %%r%d, %%v%d, 5;\nxor.b32 %%r%d, %%v%d, %%r%d;\n",
		    t, b, t + 1, a, t);
		break;
	case 3:
		put("mad.lo.u32 %%r%d, %%v%d, %d, %%v%d;\n", t + 1, a,
		    2 * n->imm + 1, b);
		break;
	case 4:
		put("shr.u32 %%r%d, %%v%d, 7;\nor.b32 %%r%d, %%r%d, %d;\n", t,
		    a, t + 1, t, n->imm);
		break;
	default:
		put("setp.lt.u32 %%p%d, %%v%d, %%v%d;\nadd.u32 %%r%d, %%v%d, "
		    "%d;\nselp.b32 %%r%d, %%r%d, %%v%d, %%p%d;\n", label, a, b,
		    t, a, n->imm, t + 1, t, b, label);
		label++;
	}
	put("%smov.u32 %%v%d, %%r%d;\n", guard, n->dst, t + 1);
}

static void put_list(const struct node *n, int break_label);

static void put_loop(const struct node *n)
{
	int l = label++, i = temp++, lim = temp++, carried = temp++, p;

	put("mov.u32 %%r%d, %%v%d;\n", carried, n->a);
	put("and.b32 %%r%d, %%v%d, 3;\nadd.u32 %%r%d, %%r%d, %d;\n", lim, NVARS,
	    lim, lim, n->imm);
	put("mov.u32 %%r%d, 0;\nL%dt:\nsetp.ge.u32 %%p%d, %%r%d, %%r%d;\n"
	    "@%%p%d bra L%de;\n", i, l, l, i, lim, l, l);
	/*
	 * The register is written under a guard only, but must live around the loop all the same.
	 */
	p = put_condition(n);
	put("@%%p%d mov.u32 %%r%d, %%v%d;\nxor.b32 %%v%d, %%v%d, %%r%d;\n", p,
	    carried, n->dst, n->b, n->b, carried);
	put_list(n->body, l);
	put("add.u32 %%r%d, %%r%d, 1;\nbra L%dt;\nL%de:\n", i, i, l, l);
}

static void put_node(const struct node *n, int break_label)
{
	char guard[16];
	int p;

	switch (n->kind) {
	case ASSIGN:
		put_value(n, "");
		break;
	case GUARDED:
		p = put_condition(n);
		snprintf(guard, sizeof(guard), "@%%p%d ", p);
		put_value(n, guard);
		break;
	case LOOP:
		put_loop(n);
		break;
	case BREAK_IF:
		p = put_condition(n);
		put("@%%p%d bra L%de;\n", p, break_label);
		break;
	case EXIT_IF:
		p = put_condition(n);
		put("@%%p%d bra STORE;\n", p);
		break;
	case IF:
		p = put_condition(n);
		put("@!%%p%d bra L%df;\n", p, p);
		put_list(n->body, break_label);
		put("bra L%dj;\nL%df:\n", p, p);
		put_list(n->other, break_label);
		put("L%dj:\n", p);
		break;
	}
}

static void put_list(const struct node *n, int break_label)
{
	for (; n; n = n->next)
		put_node(n, break_label);
}

static void write_program(const struct node *n)
{
	len = temp = 0;
	label = 1;
	put(".entry k(.param .u64 out, .param .u64 in)\n{\n"
	    ".reg .b32 %%r<20000>, %%v<%d>, %%t;\n.reg .pred %%p<9000>;\n"
	    ".reg .b64 %%o, %%i;\nmov.u32 %%t, %%tid.x;\n"
	    "ld.param.u64 %%o, [out];\nmad.wide.u32 %%o, %%t, %d, %%o;\n"
	    "ld.param.u64 %%i, [in];\nmad.wide.u32 %%i, %%t, %d, %%i;\n",
	    NVARS + 1, 4 * NVARS, 4 * NVARS + 4);
	for (int i = 0; i <= NVARS; i++)
		put("ld.global.u32 %%v%d, [%%i+%d];\n", i, 4 * i);
	put_list(n, 0);
	put("STORE:\n");
	for (int i = 0; i < NVARS; i++)
		put("st.global.u32 [%%o+%d], %%v%d;\n", 4 * i, i);
	put("ret;\n}\n");
}

/* ---- compare ---- */

static bool same_results(struct node *n, uint32_t *in, uint32_t *out)
{
	struct ptx_module *m;
	uint64_t args[2] = { (uintptr_t)out, (uintptr_t)in };
	bool good;

	write_program(n);
	m = load_body(text);
	if (!m)
		return false;
	for (int i = 0; i < THREADS * (NVARS + 1); i++)
		in[i] = rnd();
	good = launch(m, "k", 1, THREADS, 0, args, 2) == EXEC_OK;
	for (int t = 0; good && t < THREADS; t++) {
		uint32_t v[NVARS + 1];

		memcpy(v, in + t * (NVARS + 1), sizeof(v));
		interpret(n, v);
		good = !memcmp(v, out + t * NVARS, 4 * NVARS);
		if (!good)
			diag("thread %d differs", t);
	}
	ptx_unload(m);
	return good;
}

int main(void)
{
	uint32_t *in = dev_alloc(THREADS * (NVARS + 1) * 4);
	uint32_t *out = dev_alloc(THREADS * NVARS * 4);
	int bad = 0;

	seed_init();
	for (int i = 0; i < PROGRAMS; i++) {
		struct node *n;

		used = 0;
		n = make_list(0, 3 + rnd() % 12, false);
		if (!same_results(n, in, out) && !bad++)
			diag("program %d:\n%s", i, text);
	}
	ok(!bad, "random_programs_match_a_plain_interpreter");
	return tap_exit();
}
