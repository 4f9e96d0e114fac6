// SPDX-License-Identifier: Apache-2.0
/*
 * Owns sets of address ranges (interval.h): a treap, ordered by base, whose priorities are a hash
 * of the base. A dropped range is kept for the next one, so that a program that allocates and frees
 * again and again takes no memory.
 */
#include "state/interval.h"

#include <stdlib.h>

static struct wh_interval *join(struct wh_interval *a, struct wh_interval *b)
{
	if (!a || !b)
		return a ? a : b;
	if (a->priority > b->priority) {
		a->right = join(a->right, b);
		return a;
	}
	b->left = join(a, b->left);
	return b;
}

/* Splits into the ranges that begin below `base` and the others. */
static void split(struct wh_interval *i, uint64_t base, struct wh_interval **below,
		  struct wh_interval **above)
{
	if (!i) {
		*below = *above = NULL;
	} else if (i->base < base) {
		split(i->right, base, &i->right, above);
		*below = i;
	} else {
		split(i->left, base, below, &i->left);
		*above = i;
	}
}

struct wh_interval *wh_interval_below(const struct wh_intervals *set, uint64_t addr)
{
	struct wh_interval *i = set->root, *best = NULL;

	while (i)
		if (i->base <= addr) {
			best = i;
			i = i->right;
		} else {
			i = i->left;
		}
	return best;
}

uint64_t wh_interval_from(const struct wh_intervals *set, uint64_t addr)
{
	const struct wh_interval *i = wh_interval_below(set, addr);

	return i && addr - i->base < i->size ? i->size - (addr - i->base) : 0;
}

uint64_t wh_interval_gap(const struct wh_intervals *set, uint64_t addr)
{
	const struct wh_interval *i = set->root;
	uint64_t gap = UINT64_MAX;

	while (i)
		if (i->base > addr) {
			gap = i->base - addr;
			i = i->left;
		} else {
			i = i->right;
		}
	return gap;
}

void wh_interval_drop(struct wh_intervals *set, struct wh_interval *i)
{
	struct wh_interval **place = &set->root;

	while (*place != i)
		place = i->base < (*place)->base ? &(*place)->left : &(*place)->right;
	*place = join(i->left, i->right);
	i->left = set->spare;
	set->spare = i;
}

bool wh_intervals_reserve(struct wh_intervals *set, unsigned int count)
{
	struct wh_interval *i;

	for (; count; count--) {
		i = malloc(sizeof(*i));
		if (!i)
			return false;
		i->left = set->spare;
		set->spare = i;
	}
	return true;
}

static struct wh_interval *fresh(struct wh_intervals *set)
{
	struct wh_interval *i = set->spare;

	if (!i)
		return malloc(sizeof(*i));
	set->spare = i->left;
	return i;
}

bool wh_interval_put(struct wh_intervals *set, uint64_t base, uint64_t size, bool lasting)
{
	struct wh_interval *i, *below, *above;

	if (!size || size > UINT64_MAX - base)
		return false;
	while ((i = wh_interval_below(set, base + size - 1)) && i->base + i->size > base)
		wh_interval_drop(set, i);
	i = fresh(set);
	if (!i)
		return false;
	*i = (struct wh_interval) {
		.base = base, .size = size, .lasting = lasting,
		.priority = (uint32_t)(base * 0x9e3779b97f4a7c15ULL >> 32),
	};
	split(set->root, base, &below, &above);
	set->root = join(join(below, i), above);
	return true;
}

void wh_intervals_clear(struct wh_intervals *set)
{
	while (set->root)
		wh_interval_drop(set, set->root);
}

void wh_intervals_free(struct wh_intervals *set)
{
	struct wh_interval *i;

	wh_intervals_clear(set);
	while ((i = set->spare)) {
		set->spare = i->left;
		free(i);
	}
}
