/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers: mbarrier, and bulk copies, which are made at once and then report their bytes to an
 * mbarrier.
 *
 * An mbarrier is 64 bits of shared memory. A phase of it is complete when no arrival and no bytes
 * are pending. The whole block runs in one thread, so no other one sees a half of a change.
 */
#include <string.h>

#include "access.h"
#include "mbar.h"

#define COUNT_BITS	20
#define MAX_COUNT	((1u << COUNT_BITS) - 1)
/* Bytes may be reported before they are expected, so their number may be negative. */
#define TX_BIAS		(1 << COUNT_BITS)
#define MADE		(1ull << 63)	/* mbarrier.init made it */

struct mbarrier {
	u32 pending;	/* arrivals that the phase waits for */
	u32 expected;	/* arrivals of the next phase */
	s32 tx;		/* bytes that the phase waits for */
	u32 phase;	/* modulo 4 */
};

static u64 pack(const struct mbarrier *b)
{
	return MADE | b->pending | (u64)b->expected << COUNT_BITS |
	       (u64)(b->tx + TX_BIAS) << 40 | (u64)(b->phase & 3) << 61;
}

static struct mbarrier unpack(u64 v)
{
	return (struct mbarrier){
		.pending = v & MAX_COUNT, .expected = v >> COUNT_BITS & MAX_COUNT,
		.tx = (s32)(v >> 40 & (2 * TX_BIAS - 1)) - TX_BIAS, .phase = v >> 61 & 3,
	};
}

static void settle(struct mbarrier *b)
{
	if (b->pending || b->tx)
		return;
	b->pending = b->expected;
	b->phase++;
}

/* Adds to the bytes that are pending. Returns false if their number leaves its range. */
static bool add_tx(struct mbarrier *b, s64 bytes)
{
	bytes += b->tx;
	if (bytes > (s64)MAX_COUNT || bytes < -(s64)MAX_COUNT)
		return false;
	b->tx = bytes;
	return true;
}

/* Returns false if there are fewer arrivals pending, or if MBAR_KEEP forbids the last one. */
static bool arrive(struct mbarrier *b, u32 count, u32 how)
{
	if (!count || count > b->pending || (how & MBAR_DROP && count > b->expected))
		return false;
	if (how & MBAR_KEEP && count == b->pending)
		return false;
	b->pending -= count;
	if (how & MBAR_DROP)
		b->expected -= count;
	return true;
}

/* Does what insn.sub says to one mbarrier, with the operand @n. */
static bool change(struct mbarrier *b, u32 n, u32 how)
{
	bool good = true;

	if (how & MBAR_EXPECT)
		good = add_tx(b, n);
	if (how & MBAR_COMPLETE)
		good = add_tx(b, -(s64)n);
	if (how & MBAR_ARRIVE)
		good = good && arrive(b, how & MBAR_EXPECT ? 1 : n, how);
	settle(b);
	return good;
}

DEFINE(mbar_init)
{
	const u32 *n = src(w, in->b);
	struct access ac;

	if (OP(access_resolve)(w, in, mask, sizeof(u64), true, &ac))
		return 1;
	EACH_ACTIVE {
		struct mbarrier b = { .pending = n[l], .expected = n[l] };
		u64 v = pack(&b);

		if (!n[l] || n[l] > MAX_COUNT)
			return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, n[l]);
		memcpy(access_at(&ac, l), &v, sizeof(v));
	}
	return 0;
}

DEFINE(mbar_inval)
{
	struct access ac;

	if (OP(access_resolve)(w, in, mask, sizeof(u64), true, &ac))
		return 1;
	EACH_ACTIVE memset(access_at(&ac, l), 0, sizeof(u64));
	return 0;
}

/* The result is the state before. PTX leaves open what a wrong count does; here it is a fault. */
DEFINE(mbar_change)
{
	const u32 *n = src(w, in->b);
	u64 *d = dst(w, in->d);
	struct access ac;

	if (OP(access_resolve)(w, in, mask, sizeof(u64), true, &ac))
		return 1;
	EACH_ACTIVE {
		u64 *p = access_at(&ac, l), old = *p;
		struct mbarrier b = unpack(old);

		if (!(old & MADE) || !change(&b, n[l], in->sub))
			return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l,
					  ((const u64 *)src(w, in->a))[l]);
		*p = pack(&b);
		d[l] = old;
	}
	return 0;
}

/* Asks whether the phase of a state, or the last one of a parity (insn.sub), is complete. */
DEFINE(mbar_test)
{
	u32 *d = dst(w, in->d), yes = 0;
	struct access ac;

	if (OP(access_resolve)(w, in, mask, sizeof(u64), false, &ac))
		return 1;
	EACH_ACTIVE {
		const u64 *p = access_at(&ac, l);
		u32 phase = unpack(*p).phase;

		if (!(*p & MADE))
			return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l,
					  ((const u64 *)src(w, in->a))[l]);
		if (in->sub ? (phase & 1) != (((const u32 *)src(w, in->b))[l] & 1) :
			      phase != unpack(((const u64 *)src(w, in->b))[l]).phase)
			yes |= lane_bit[l];
	}
	*d = (*d & ~mask) | yes;
	return 0;
}

DEFINE(mbar_pending)
{
	const u64 *s = src(w, in->a);
	u32 *d = dst(w, in->d);

	EACH_ACTIVE d[l] = unpack(s[l]).pending;
	return 0;
}

/* ---- bulk copies ---- */

#define BULK_UNIT	16u	/* bytes, to which addresses and sizes are aligned */

/* Returns where @size bytes of a bulk copy are, or NULL after a fault. */
static u8 *bulk_place(struct warp *w, const struct insn *in, u32 l, u64 addr, u64 size, bool write)
{
	u8 *p;

	if (addr % BULK_UNIT) {
		exec_fault(w, EXEC_MISALIGNED, in, l, addr);
		return NULL;
	}
	p = exec_generic(w, l, addr, size, write);
	if (!p)
		exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, addr);
	return p;
}

int OP(mbar_complete)(struct warp *w, const struct insn *in, u32 l, u64 addr, u32 size)
{
	u64 *p = (u64 *)exec_generic(w, l, WIN_SHARED + addr, sizeof(u64), true);
	struct mbarrier b;

	if (addr % sizeof(u64))
		return exec_fault(w, EXEC_MISALIGNED, in, l, addr);
	if (!p)
		return exec_fault(w, EXEC_ILLEGAL_ADDRESS, in, l, WIN_SHARED + addr);
	b = unpack(*p);
	if (!(*p & MADE) || !change(&b, size, MBAR_COMPLETE))
		return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, WIN_SHARED + addr);
	*p = pack(&b);
	return 0;
}

/* From global to shared memory (insn.sub), or back. */
DEFINE(bulk_copy)
{
	const u64 *to = src(w, in->a), *from = src(w, in->b);
	const u64 *bar = in->sub ? src(w, in->vec) : NULL;
	const u32 *size = src(w, in->c);

	EACH_ACTIVE {
		u8 *d, *s;

		if (size[l] % BULK_UNIT)
			return exec_fault(w, EXEC_ILLEGAL_INSTRUCTION, in, l, size[l]);
		d = bulk_place(w, in, l, to[l] + (bar ? WIN_SHARED : 0), size[l], true);
		s = d ? bulk_place(w, in, l, from[l] + (bar ? 0 : WIN_SHARED), size[l], false) :
			NULL;
		if (!s)
			return 1;
		memmove(d, s, size[l]);
		if (bar && OP(mbar_complete)(w, in, l, bar[l], size[l]))
			return 1;
	}
	return 0;
}
