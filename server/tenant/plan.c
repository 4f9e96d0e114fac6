// SPDX-License-Identifier: Apache-2.0
/* See plan.h. */
#include "tenant/plan.h"

#include <stdio.h>
#include <string.h>

static void amend(struct wh_device_limit *l, const struct wh_limit_spec *s, uint64_t memory)
{
	const uint64_t part = memory * s->memory_percent / 100;

	if (s->has_memory)
		l->memory = part && (!s->memory || part < s->memory) ? part : s->memory;
	if (s->has_sm)
		l->sm_percent = s->sm_percent == 100 ? 0 : s->sm_percent;
	if (s->has_max)
		l->sm_max = s->sm_max;
	if (s->has_policy)
		l->sm_policy = s->sm_policy;
	if (s->has_class)
		l->sm_class = s->sm_class;
	if (l->sm_percent && !l->sm_policy)
		l->sm_policy = WH_SM_TEMPORAL;
}

/* A ceiling and a class are those of a share of time. Are they said where there is none? */
static bool has_time(const struct wh_limit_plan *p, const struct wh_limit_spec *s,
		     const struct wh_device_limit *out, char *err, size_t err_size)
{
	unsigned int d;

	if (!(s->has_max && s->sm_max) && !(s->has_class && s->sm_class != WH_CLASS_NORMAL))
		return true;
	for (d = 0; d < p->devices; d++)
		if ((s->device == WH_ALL_DEVICES || s->device == (int)d) &&
		    wh_has_share(&out[d], WH_SM_TEMPORAL))
			return true;
	snprintf(err, err_size, "a ceiling (sm-max) and a class (priority) are those of a share of time: "
		 "say sm, of policy temporal or both");
	return false;
}

static bool check_ceiling(unsigned int device, const struct wh_device_limit *l, char *err,
			  size_t err_size)
{
	if (!l->sm_max || l->sm_max >= l->sm_percent || !wh_has_share(l, WH_SM_TEMPORAL))
		return true;
	snprintf(err, err_size, "device %u: a ceiling of %u %% is below the share of %u %%: raise sm-max, or say hard",
		 device, l->sm_max, l->sm_percent);
	return false;
}

/*
 * Assigns groups of SMs for a spatial limit. The tenant's own groups stay if their number is right.
 */
static bool assign_groups(const struct wh_limit_plan *p, unsigned int device,
			  struct wh_device_limit *l, char *err, size_t err_size)
{
	const struct wh_sm_split *split = &p->device[device].split;
	uint64_t used = p->used[device];
	unsigned int others = (unsigned int)__builtin_popcountll(used), had, want;

	/* Workers are told this with or without a limit, since both sides split in the same way. */
	l->sm_group_size = split->size;
	l->sm_group_loose = split->loose;
	if (!l->sm_percent || !(l->sm_policy & WH_SM_SPATIAL)) {
		l->sm_groups = 0;
		return true;
	}
	if (!split->groups) {
		snprintf(err, err_size, "device %u: this driver cannot divide its SMs; use policy temporal",
			 device);
		return false;
	}
	want = wh_sm_groups_for(split->groups, l->sm_percent, p->used_percent[device], others);
	had = (unsigned int)__builtin_popcountll(l->sm_groups);
	/*
	 * The tenant's contexts exist on its groups. So if its number was rounded down before, it
	 * keeps them.
	 */
	if ((had == want || had == wh_sm_groups_least(split->groups, l->sm_percent)) &&
	    !(l->sm_groups & used))
		return true;
	l->sm_groups = wh_sm_groups_choose(split, used, want, l->sm_percent);
	if (l->sm_groups)
		return true;
	snprintf(err, err_size, "device %u: %u %% of its SMs are %u of %u groups of %u SMs, but other "
		 "tenants have %u: lower a limit or use policy temporal", device, l->sm_percent,
		 wh_sm_groups_for(split->groups, l->sm_percent, 0, 0), split->groups, split->size,
		 others);
	return false;
}

void wh_limits_others(struct wh_limit_plan *p, unsigned int device,
		      const struct wh_device_limit *l)
{
	p->used[device] |= l->sm_groups;
	p->used_percent[device] += l->sm_groups ? l->sm_percent : 0;
}

static bool has_device(const struct wh_limit_plan *p, int device, char *err, size_t err_size)
{
	if (device < (int)p->devices && !wh_is_hidden(p->hidden, device))
		return true;
	if (device < (int)p->devices)
		snprintf(err, err_size, "device %d: the tenant was made without it", device);
	else
		snprintf(err, err_size, "device %d: this server has devices 0 to %u", device,
			 p->devices - 1);
	return false;
}

/* A percentage of what is not known would be no limit. */
static bool knows_memory(const struct wh_limit_plan *p, const struct wh_limit_spec *s, char *err,
			 size_t err_size)
{
	unsigned int d;

	for (d = 0; s->memory_percent && d < p->devices; d++)
		if (!p->device[d].memory && (s->device == WH_ALL_DEVICES || s->device == (int)d)) {
			snprintf(err, err_size, "device %u: how much memory it has is not known; say a size", d);
			return false;
		}
	return true;
}

bool wh_limits_plan(const struct wh_limit_plan *p, const struct wh_limit_list *list,
		    struct wh_device_limit out[WH_TENANT_DEVICES], char *err, size_t err_size)
{
	unsigned int d;
	int i;

	memcpy(out, p->now, WH_TENANT_DEVICES * sizeof(*out));
	for (i = 0; i < list->n; i++)
		if (!has_device(p, list->spec[i].device, err, err_size) ||
		    !knows_memory(p, &list->spec[i], err, err_size))
			return false;
	for (d = 0; d < p->devices; d++) {
		if (wh_is_hidden(p->hidden, (int)d))
			continue;
		for (i = 0; i < list->n; i++)
			if (list->spec[i].device == WH_ALL_DEVICES)
				amend(&out[d], &list->spec[i], p->device[d].memory);
		for (i = 0; i < list->n; i++)
			if (list->spec[i].device == (int)d)
				amend(&out[d], &list->spec[i], p->device[d].memory);
		if (!check_ceiling(d, &out[d], err, err_size) ||
		    !assign_groups(p, d, &out[d], err, err_size))
			return false;
	}
	for (i = 0; i < list->n; i++)
		if (!has_time(p, &list->spec[i], out, err, err_size))
			return false;
	return true;
}

void wh_limits_put(struct wh_tenant_limits *file, struct wh_seats *seats, int seat,
		   const struct wh_device_limit *plan, unsigned int devices)
{
	unsigned int d;

	for (d = 0; d < devices; d++) {
		wh_tenant_limits_set(file, wh_device_index(file, d), &plan[d]);
		wh_seats_share(seats, seat, d,
			       wh_has_share(&plan[d], WH_SM_TEMPORAL) ? plan[d].sm_percent : 0,
			       plan[d].sm_class);
	}
}
