/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory, strings, types and errors of the PTX loader. Everything that a load allocates
 * belongs to struct ptx_ctx (arenas and growing arrays), so ptx_fail() may leave from
 * anywhere by longjmp without a leak.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "loader.h"

struct arena_chunk {
	struct arena_chunk *next;
	_Alignas(16) char data[];
};

#define ARENA_CHUNK	(64u << 10)

bool str_is(struct str s, const char *c)
{
	return s.n == strlen(c) && !memcmp(s.p, c, s.n);
}

bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

uint32_t str_hash(struct str s)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < s.n; i++)
		h = (h ^ (uint8_t)s.p[i]) * 16777619u;
	return h ^ h >> 15;
}

void ptx_fail(struct ptx_ctx *c, enum ptx_status st, uint32_t line,
	      const char *fmt, ...)
{
	va_list ap;
	int n = 0;

	if (c->log_len) {
		if (line)
			n = snprintf(c->log, c->log_len, "line %u: ", line);
		va_start(ap, fmt);
		if ((size_t)n < c->log_len)
			vsnprintf(c->log + n, c->log_len - n, fmt, ap);
		va_end(ap);
	}
	c->status = st;
	longjmp(c->fail, 1);
}

static void out_of_memory(struct ptx_ctx *c)
{
	ptx_fail(c, PTX_ERR_NOMEM, 0, "out of memory");
}

/* Returns zeroed memory that lives as long as the arena. */
void *arena_get(struct ptx_ctx *c, struct arena *a, size_t size)
{
	struct arena_chunk *ch;
	void *p;

	size = (size + 15) & ~(size_t)15;
	if (!a->head || a->cap - a->used < size) {
		size_t cap = size > ARENA_CHUNK ? size : ARENA_CHUNK;

		ch = calloc(1, sizeof(*ch) + cap);
		if (!ch)
			out_of_memory(c);
		ch->next = a->head;
		a->head = ch;
		a->cap = cap;
		a->used = 0;
	}
	p = a->head->data + a->used;
	a->used += size;
	return p;
}

void arena_free(struct arena *a)
{
	while (a->head) {
		struct arena_chunk *ch = a->head;

		a->head = ch->next;
		free(ch);
	}
	a->used = a->cap = 0;
}

char *arena_str(struct ptx_ctx *c, struct arena *a, struct str s)
{
	char *p = arena_get(c, a, s.n + 1);

	memcpy(p, s.p, s.n);
	return p;
}

/* Appends @n zeroed elements. Returns the first one. */
void *vec_add(struct ptx_ctx *c, struct vec *v, size_t elem, uint32_t n)
{
	char *at;

	if (v->cap - v->n < n) {
		uint64_t cap = v->cap ? v->cap : 16;
		void *p;

		while (cap < (uint64_t)v->n + n)
			cap *= 2;
		if (cap > UINT32_MAX / 2)
			out_of_memory(c);
		p = realloc(v->p, cap * elem);
		if (!p)
			out_of_memory(c);
		v->p = p;
		v->cap = cap;
	}
	at = (char *)v->p + v->n * elem;
	memset(at, 0, n * elem);
	v->n += n;
	return at;
}

void vec_free(struct vec *v)
{
	free(v->p);
	memset(v, 0, sizeof(*v));
}

const struct type_info ptx_types[T_COUNT] = {
	[T_PRED] = { "pred", 1, false, false },
	[T_B8] = { "b8", 1, false, false },
	[T_U8] = { "u8", 1, false, false },
	[T_S8] = { "s8", 1, true, false },
	[T_B16] = { "b16", 2, false, false },
	[T_U16] = { "u16", 2, false, false },
	[T_S16] = { "s16", 2, true, false },
	[T_F16] = { "f16", 2, true, true },
	[T_BF16] = { "bf16", 2, true, true },
	[T_B32] = { "b32", 4, false, false },
	[T_U32] = { "u32", 4, false, false },
	[T_S32] = { "s32", 4, true, false },
	[T_F32] = { "f32", 4, true, true },
	[T_F16X2] = { "f16x2", 4, true, true },
	[T_BF16X2] = { "bf16x2", 4, true, true },
	[T_TF32] = { "tf32", 4, true, true },
	[T_U16X2] = { "u16x2", 4, false, false },
	[T_S16X2] = { "s16x2", 4, true, false },
	[T_B64] = { "b64", 8, false, false },
	[T_U64] = { "u64", 8, false, false },
	[T_S64] = { "s64", 8, true, false },
	[T_F64] = { "f64", 8, true, true },
	[T_F32X2] = { "f32x2", 8, true, true },
	[T_B128] = { "b128", 16, false, false },
	[T_E4M3X2] = { "e4m3x2", 2, true, true },
	[T_E5M2X2] = { "e5m2x2", 2, true, true },
};

const uint16_t reg_class_bytes[RC_COUNT] = { 4, 64, 128, 256, 512 };

enum ptx_type ptx_type_of(struct str s)
{
	for (int t = T_NONE + 1; t < T_COUNT; t++)
		if (str_is(s, ptx_types[t].name))
			return t;
	return T_NONE;
}

enum reg_class reg_class_of(enum ptx_type t)
{
	if (t == T_PRED)
		return RC_PRED;
	switch (ptx_types[t].size) {
	case 16:
		return RC_128;
	case 8:
		return RC_64;
	case 4:
		return RC_32;
	default:
		return RC_16;
	}
}
