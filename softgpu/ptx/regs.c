/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns places to the virtual registers of a function. PTX uses a new name for every
 * value, so without this a warp's registers would not fit into the caches. Liveness is that
 * of a single thread: each lane only touches its own column of a place, so lanes that
 * diverge may share places just as threads of their own may.
 *
 * A register that is live in only one basic block is an interval by itself. For the others
 * a bit-set data-flow analysis finds the blocks. Then a linear scan gives out places per
 * register class.
 */
#include <stdlib.h>
#include <string.h>

#include "loader.h"

#define MAX_FLOW_WORDS	(8u << 20)
#define MAX_FLOW_PASSES	64
#define MAX_FRAME_REGS	(8u << 20)
#define NO_POS		UINT32_MAX
#define NO_GLOBAL	UINT32_MAX

struct block {
	uint32_t first, end;	/* instructions, relative to the function */
	uint32_t ref;		/* first reference */
};

struct interval {
	uint32_t start, end;	/* 2i = read by instruction i, 2i+1 = written by it */
	uint32_t block;		/* the only block, or NO_POS if there are several */
	uint32_t global;	/* number of the register in the bit sets */
	int32_t place;
};

struct regs_work {
	struct vec blocks, block_of, iv, gen, kill, in, globals, by_start,
		by_end, bucket, free[RC_COUNT];
	uint32_t words;
};

static struct insn *code_at(struct ptx_ctx *c, uint32_t first, uint32_t i)
{
	return &VEC_AT(&c->code, struct insn, first + i);
}

static void *fresh(struct ptx_ctx *c, struct vec *v, size_t elem, uint32_t n)
{
	v->n = 0;
	return n ? vec_add(c, v, elem, n) : v->p;
}

/* ---- blocks ---- */

static void find_blocks(struct ptx_ctx *c, struct regs_work *w, uint32_t first,
			uint32_t n)
{
	uint32_t *of = fresh(c, &w->block_of, sizeof(*of), n);
	struct block *b = NULL;

	w->blocks.n = 0;
	for (uint32_t i = 0; i < n; i++) {
		if (!b || code_at(c, first, i)->flags & INSN_LEADER) {
			b = vec_add(c, &w->blocks, sizeof(*b), 1);
			b->first = i;
		}
		b->end = i + 1;
		of[i] = w->blocks.n - 1;
	}
}

static void blocks_find_refs(struct ptx_ctx *c, struct regs_work *w,
			     uint32_t first)
{
	struct block *b = w->blocks.p;
	struct ref *r = c->refs.p;
	uint32_t at = 0;

	for (uint32_t i = 0; i < w->blocks.n; i++) {
		while (at < c->refs.n && r[at].insn - first < b[i].first)
			at++;
		b[i].ref = at;
	}
}

/* Returns the n-th successor of a block, or NO_POS after the last one. */
static uint32_t successor(struct ptx_ctx *c, struct regs_work *w,
			  uint32_t first, uint32_t blk, uint32_t nth)
{
	struct block *b = &VEC_AT(&w->blocks, struct block, blk);
	struct insn *in = code_at(c, first, b->end - 1);
	bool falls = !(in->flags & INSN_CTL) || in->flags & INSN_GUARD ||
		     (in->ctl != CTL_BRA && in->ctl != CTL_BRX &&
		      in->ctl != CTL_RET && in->ctl != CTL_EXIT);
	uint32_t *of = w->block_of.p;

	if (falls && blk + 1 < w->blocks.n && nth-- == 0)
		return blk + 1;
	if (!(in->flags & INSN_CTL))
		return NO_POS;
	if (in->ctl == CTL_BRA && nth == 0)
		return of[in->imm - first];
	if (in->ctl == CTL_BRX) {
		int32_t *v = &VEC_AT(&c->vecs, int32_t, in->vec);

		if (nth < (uint32_t)v[0])
			return of[v[1 + nth] - first];
	}
	return NO_POS;
}

/* ---- intervals inside blocks ---- */

static void touch(struct interval *iv, uint32_t pos)
{
	if (iv->start == NO_POS || pos < iv->start)
		iv->start = pos;
	if (iv->end == NO_POS || pos > iv->end)
		iv->end = pos;
}

/* A guarded write keeps the old value of some lanes, so it counts as a read, too. */
static bool reads(struct ptx_ctx *c, const struct ref *r)
{
	return !r->def ||
	       VEC_AT(&c->code, struct insn, r->insn).flags & INSN_GUARD;
}

static void first_sight(struct ptx_ctx *c, struct regs_work *w, uint32_t first)
{
	struct interval *iv = fresh(c, &w->iv, sizeof(*iv), c->vregs.n);
	uint32_t *of = w->block_of.p;
	struct ref *r = c->refs.p;

	for (uint32_t v = 0; v < c->vregs.n; v++)
		iv[v] = (struct interval){ NO_POS, NO_POS, 0, NO_GLOBAL, 0 };
	for (uint32_t i = 0; i < c->refs.n; i++) {
		struct interval *x = &iv[r[i].vreg];
		uint32_t pos = r[i].insn - first;
		bool upward = x->start == NO_POS && reads(c, &r[i]);

		if (x->start == NO_POS)
			x->block = of[pos];
		/*
		 * The register is read here before it is written here, so the value comes
		 * from another block.
		 */
		if (upward || x->block != of[pos])
			x->block = NO_POS;
		touch(x, 2 * pos + r[i].def);
	}
}

static uint32_t number_globals(struct ptx_ctx *c, struct regs_work *w)
{
	struct interval *iv = w->iv.p;
	uint32_t n = 0;

	w->globals.n = 0;
	for (uint32_t v = 0; v < c->vregs.n; v++) {
		if (iv[v].start == NO_POS || iv[v].block != NO_POS)
			continue;
		iv[v].global = n++;
		*(uint32_t *)vec_add(c, &w->globals, sizeof(v), 1) = v;
	}
	return n;
}

/* ---- data flow over the registers that cross blocks ---- */

static uint64_t *bits(struct regs_work *w, struct vec *v, uint32_t blk)
{
	return (uint64_t *)v->p + (size_t)blk * w->words;
}

static void gen_kill(struct ptx_ctx *c, struct regs_work *w)
{
	struct block *b = w->blocks.p;
	struct interval *iv = w->iv.p;
	struct ref *r = c->refs.p;

	for (uint32_t k = 0; k < w->blocks.n; k++) {
		uint32_t end = k + 1 < w->blocks.n ? b[k + 1].ref : c->refs.n;
		uint64_t *gen = bits(w, &w->gen, k), *kill = bits(w, &w->kill, k);
		uint32_t i = b[k].ref;

		/* Within one instruction reads come before writes. */
		while (i < end) {
			uint32_t j = i;

			for (; j < end && r[j].insn == r[i].insn; j++) {
				uint32_t g = iv[r[j].vreg].global;

				if (g != NO_GLOBAL && reads(c, &r[j]) &&
				    !(kill[g / 64] >> g % 64 & 1))
					gen[g / 64] |= 1ull << g % 64;
			}
			for (; i < j; i++) {
				uint32_t g = iv[r[i].vreg].global;

				if (g != NO_GLOBAL && !reads(c, &r[i]))
					kill[g / 64] |= 1ull << g % 64;
			}
		}
	}
}

/* Computes live-out of a block into @out, from the live-in of its successors. */
static void live_out(struct ptx_ctx *c, struct regs_work *w, uint32_t first,
		     uint32_t blk, uint64_t *out)
{
	memset(out, 0, w->words * sizeof(*out));
	for (uint32_t n = 0;; n++) {
		uint32_t s = successor(c, w, first, blk, n);
		uint64_t *in;

		if (s == NO_POS)
			break;
		in = bits(w, &w->in, s);
		for (uint32_t i = 0; i < w->words; i++)
			out[i] |= in[i];
	}
}

static bool flow_pass(struct ptx_ctx *c, struct regs_work *w, uint32_t first,
		      uint64_t *out)
{
	bool changed = false;

	for (uint32_t k = w->blocks.n; k-- > 0;) {
		uint64_t *in = bits(w, &w->in, k);
		uint64_t *gen = bits(w, &w->gen, k);
		uint64_t *kill = bits(w, &w->kill, k);

		live_out(c, w, first, k, out);
		for (uint32_t i = 0; i < w->words; i++) {
			uint64_t v = gen[i] | (out[i] & ~kill[i]);

			changed |= v != in[i];
			in[i] = v;
		}
	}
	return changed;
}

static void touch_set(struct regs_work *w, const uint64_t *set, uint32_t pos)
{
	uint32_t *globals = w->globals.p;
	struct interval *iv = w->iv.p;

	for (uint32_t i = 0; i < w->words; i++)
		for (uint64_t m = set[i]; m; m &= m - 1)
			touch(&iv[globals[i * 64 + __builtin_ctzll(m)]], pos);
}

/* Does without an analysis: registers live from the first to the last instruction. */
static void live_everywhere(struct regs_work *w, uint32_t n)
{
	for (uint32_t i = 0; i < w->globals.n; i++) {
		struct interval *iv = &VEC_AT(&w->iv, struct interval,
					      VEC_AT(&w->globals, uint32_t, i));

		touch(iv, 0);
		touch(iv, 2 * n + 1);
	}
}

/* Returns the cost of one pass over the flow graph, which bounds the time. */
static uint64_t count_edges(struct ptx_ctx *c, struct regs_work *w,
			    uint32_t first)
{
	uint64_t n = w->blocks.n;

	for (uint32_t k = 0; k < w->blocks.n; k++) {
		struct block *b = &VEC_AT(&w->blocks, struct block, k);
		struct insn *in = code_at(c, first, b->end - 1);

		n += 2;
		if (in->flags & INSN_CTL && in->ctl == CTL_BRX)
			n += VEC_AT(&c->vecs, int32_t, in->vec);
	}
	return n;
}

static void analyse(struct ptx_ctx *c, struct regs_work *w, uint32_t first,
		    uint32_t n)
{
	uint32_t nb = w->blocks.n, total, pass = 0;
	uint64_t *out;

	w->words = (number_globals(c, w) + 63) / 64;
	if (!w->words)
		return;
	if (w->words * count_edges(c, w, first) > MAX_FLOW_WORDS) {
		live_everywhere(w, n);
		return;
	}
	/* There is one block more than needed, as scratch for a live-out set. */
	total = w->words * (nb + 1);
	fresh(c, &w->gen, sizeof(uint64_t), total);
	fresh(c, &w->kill, sizeof(uint64_t), total);
	fresh(c, &w->in, sizeof(uint64_t), total);
	out = bits(w, &w->gen, nb);
	blocks_find_refs(c, w, first);
	gen_kill(c, w);
	while (flow_pass(c, w, first, out))
		if (++pass == MAX_FLOW_PASSES) {
			live_everywhere(w, n);
			return;
		}
	for (uint32_t k = 0; k < nb; k++) {
		struct block *b = &VEC_AT(&w->blocks, struct block, k);

		touch_set(w, bits(w, &w->in, k), 2 * b->first);
		live_out(c, w, first, k, out);
		touch_set(w, out, 2 * b->end - 1);
	}
}

/* ---- linear scan ---- */

/* Sorts registers by start or end, by counting. */
static uint32_t sort_by(struct ptx_ctx *c, struct regs_work *w,
			struct vec *out, bool by_end, uint32_t npos)
{
	uint32_t *bucket = fresh(c, &w->bucket, sizeof(*bucket), npos + 1);
	struct interval *iv = w->iv.p;
	uint32_t n = 0, *o;

	for (uint32_t v = 0; v < c->vregs.n; v++)
		if (iv[v].start != NO_POS) {
			bucket[by_end ? iv[v].end : iv[v].start]++;
			n++;
		}
	for (uint32_t i = 0, sum = 0; i <= npos; i++) {
		uint32_t k = bucket[i];

		bucket[i] = sum;
		sum += k;
	}
	o = fresh(c, out, sizeof(*o), n);
	for (uint32_t v = 0; v < c->vregs.n; v++)
		if (iv[v].start != NO_POS)
			o[bucket[by_end ? iv[v].end : iv[v].start]++] = v;
	return n;
}

static void release(struct ptx_ctx *c, struct regs_work *w, uint32_t v)
{
	enum reg_class rc = VEC_AT(&c->vregs, uint8_t, v);

	*(int32_t *)vec_add(c, &w->free[rc], sizeof(int32_t), 1) =
		VEC_AT(&w->iv, struct interval, v).place;
}

static void scan(struct ptx_ctx *c, struct regs_work *w, uint32_t npos,
		 uint32_t count[RC_COUNT])
{
	uint32_t n = sort_by(c, w, &w->by_start, false, npos), done = 0;
	struct interval *iv = w->iv.p;

	sort_by(c, w, &w->by_end, true, npos);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t v = VEC_AT(&w->by_start, uint32_t, i), e;
		enum reg_class rc = VEC_AT(&c->vregs, uint8_t, v);
		struct vec *fr = &w->free[rc];

		for (; e = VEC_AT(&w->by_end, uint32_t, done),
		     iv[e].end < iv[v].start; done++)
			release(c, w, e);
		if (fr->n)
			iv[v].place = VEC_AT(fr, int32_t, --fr->n);
		else
			iv[v].place = count[rc]++;
	}
	for (int rc = 0; rc < RC_COUNT; rc++)
		w->free[rc].n = 0;
}

/* ---- result ---- */

static void set_field(struct ptx_ctx *c, const struct ref *r, int32_t at)
{
	struct insn *in = &VEC_AT(&c->code, struct insn, r->insn);

	switch (r->field) {
	case REF_D:
		in->d = at;
		break;
	case REF_A:
		in->a = at;
		break;
	case REF_B:
		in->b = at;
		break;
	case REF_C:
		in->c = at;
		break;
	case REF_E:
		in->vec = at;
		break;
	case REF_GUARD:
		in->guard = at;
		break;
	default:
		VEC_AT(&c->vecs, int32_t, r->vec) = at;
		break;
	}
}

/* Lays out the frame: return addresses, then wide registers first and predicates last. */
static uint32_t lay_out(const uint32_t count[RC_COUNT], uint32_t base[RC_COUNT])
{
	uint64_t at = FRAME_HEADER;

	for (int rc = RC_COUNT - 1; rc >= 0; rc--) {
		base[rc] = at;
		at += (uint64_t)count[rc] * reg_class_bytes[rc];
	}
	at = (at + 127) & ~127ull;
	return at > MAX_FRAME_REGS ? 0 : at;
}

/* ---- loads that share their addresses (insn.slot) ---- */

struct shared_slot {
	uint32_t vreg;		/* NO_POS: free */
	uint32_t bytes;
};

static bool shares(const struct insn *in)
{
	return in->space == SP_SHARED && in->a32 && in->slot != SLOT_NONE &&
	       !(in->flags & INSN_GUARD);
}

static uint8_t slot_of(struct shared_slot *s, uint32_t vreg, uint32_t bytes,
		       uint32_t *next)
{
	for (uint8_t i = 0; i < NSLOTS; i++)
		if (s[i].vreg == vreg && s[i].bytes == bytes)
			return i | SLOT_KNOWN;
	s[*next] = (struct shared_slot){ vreg, bytes };
	*next = (*next + 1) % NSLOTS;
	return (*next + NSLOTS - 1) % NSLOTS;
}

/* Instructions refs[@i .. @end) write new values, so their registers' addresses are forgotten. */
static void forget_written(const struct ref *r, uint32_t i, uint32_t end,
			   struct shared_slot *s)
{
	for (; i < end; i++)
		for (int k = 0; r[i].def && k < NSLOTS; k++)
			if (s[k].vreg == r[i].vreg)
				s[k].vreg = NO_POS;
}

static void share_addresses(struct ptx_ctx *c, uint32_t first, uint32_t end)
{
	const struct ref *r = c->refs.p;
	struct shared_slot s[NSLOTS];
	uint32_t next = 0, i = 0, of;

	memset(s, 0xff, sizeof(s));
	for (uint32_t pc = first; pc < end; pc++) {
		struct insn *in = &VEC_AT(&c->code, struct insn, pc);

		/* Other lanes may join here, or run in between. */
		if (in->flags & (INSN_LEADER | INSN_CTL))
			memset(s, 0xff, sizeof(s));
		for (of = i; of < c->refs.n && r[of].insn == pc; of++)
			if (r[of].field == REF_A && !r[of].def && shares(in))
				in->slot = slot_of(s, r[of].vreg,
						   in->size * in->n, &next);
		forget_written(r, i, of, s);
		i = of;
	}
}

/* ---- fused instructions (insn.len) ---- */

DECLARE_HANDLER(ldshared_4);
DECLARE_HANDLER(fma_f32);
exec_fn fma_ldshared_v3, fma_run_v3;

/* Returns true if @in is an unguarded instruction of this handler. */
static bool plain(const struct insn *in, exec_fn *fn)
{
	return in->fn == fn && !(in->flags & ~INSN_LEADER);
}

static bool follows(const struct insn *in, exec_fn *fn)
{
	return plain(in, fn) && !(in->flags & INSN_LEADER);
}

/* Returns true for two loads and the fma whose factors they load. */
static bool is_load_fma(const struct insn *in)
{
	const struct insn *f = in + 2;

	return plain(in, ldshared_4_v3) && follows(in + 1, ldshared_4_v3) &&
	       follows(f, fma_f32_v3) && in->d != in[1].d &&
	       ((f->a == in->d && f->b == in[1].d) ||
		(f->b == in->d && f->a == in[1].d)) &&
	       f->c != in->d && f->c != in[1].d &&
	       in[1].a != in->d;
}

/*
 * Returns true if @in is another such triple with the same address registers and no smaller
 * offsets.
 */
static bool goes_on(const struct insn *in, const struct insn *prev)
{
	return is_load_fma(in) && !(in->flags & INSN_LEADER) &&
	       in->slot == (prev->slot | SLOT_KNOWN) &&
	       in[1].slot == (prev[1].slot | SLOT_KNOWN) &&
	       !((in->imm | in[1].imm) & 3) && in->imm >= prev->imm &&
	       in[1].imm >= prev[1].imm;
}

/* Places that are written again before anything reads them, for a walk backwards. */
struct place_set {
	int32_t v[256];
	uint32_t n;
};

static bool place_written(struct place_set *s, int32_t at)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i] == at)
			return true;
	s->v[s->n++] = at;
	return false;
}

static void place_read(struct place_set *s, int32_t at)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->v[i] == at)
			s->v[i] = s->v[--s->n];
}

/*
 * Marks results that no instruction outside a run of load-load-fma sees: all but the last
 * value of each place. A factor goes to its fma directly, and a sum to the next fma.
 */
static void mark_dead(struct insn *in, uint32_t n)
{
	struct place_set s = { .n = 0 };

	for (uint32_t i = n; i; i -= 3) {
		struct insn *x = &in[i - 3], *f = x + 2;

		f->dead = place_written(&s, f->d);
		if (i == 3 || f->c != f[-3].d)
			place_read(&s, f->c);
		x[1].dead = place_written(&s, x[1].d);
		x->dead = place_written(&s, x->d);
	}
}

/* Fuses instructions. Only AVX2 has handlers for fused runs. */
static void fuse(struct ptx_ctx *c, uint32_t first, uint32_t end)
{
	struct insn *code = &VEC_AT(&c->code, struct insn, 0);

	for (uint32_t pc = first, n; pc < end; pc += n) {
		struct insn *in = &code[pc];

		n = 1;
		if (pc + 3 <= end && is_load_fma(in)) {
			for (n = 3; pc + n + 3 <= end && n < 252 &&
			     goes_on(in + n, in + n - 3); n += 3)
				;
			in->fn = fma_ldshared_v3;
			in->len = n;
			mark_dead(in, n);
		} else if (plain(in, fma_f32_v3)) {
			while (pc + n < end && n < 255 &&
			       follows(in + n, fma_f32_v3))
				n++;
			if (n > 1) {
				in->fn = fma_run_v3;
				in->len = n;
			}
		}
	}
}

void regs_assign(struct ptx_ctx *c, uint32_t first, uint32_t end)
{
	uint32_t count[RC_COUNT] = { 0 }, base[RC_COUNT], n = end - first, regs;
	struct ptx_code *code = c->fb->fn->code;
	struct ref *r = c->refs.p;
	struct regs_work *w;

	if (!c->regs)
		c->regs = arena_get(c, &c->tmp, sizeof(*c->regs));
	w = c->regs;
	find_blocks(c, w, first, n);
	first_sight(c, w, first);
	analyse(c, w, first, n);
	scan(c, w, 2 * n + 2, count);
	code->frame_bytes = lay_out(count, base);
	if (!code->frame_bytes)
		ptx_fail(c, PTX_ERR_UNSUPPORTED, c->fb->line,
			 "unsupported: '%s' needs too many registers",
			 c->fb->fn->name);
	for (uint32_t i = 0; i < c->refs.n; i++) {
		enum reg_class rc = VEC_AT(&c->vregs, uint8_t, r[i].vreg);
		struct interval *iv = &VEC_AT(&w->iv, struct interval,
					      r[i].vreg);

		set_field(c, &r[i], base[rc] +
			  iv->place * reg_class_bytes[rc]);
	}
	share_addresses(c, first, end);
	if (ptx_isa())
		fuse(c, first, end);
	regs = 16 + count[RC_16] + count[RC_32] + 2 * count[RC_64] +
	       4 * count[RC_128];
	c->fb->fn->nregs = regs > 255 ? 255 : regs;
}

void regs_free(struct ptx_ctx *c)
{
	struct regs_work *w = c->regs;

	if (!w)
		return;
	vec_free(&w->blocks);
	vec_free(&w->block_of);
	vec_free(&w->iv);
	vec_free(&w->gen);
	vec_free(&w->kill);
	vec_free(&w->in);
	vec_free(&w->globals);
	vec_free(&w->by_start);
	vec_free(&w->by_end);
	vec_free(&w->bucket);
	for (int rc = 0; rc < RC_COUNT; rc++)
		vec_free(&w->free[rc]);
}
