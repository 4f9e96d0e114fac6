// SPDX-License-Identifier: Apache-2.0
/*
 * The figures of `wormhole top`: computed from two looks at a tenant, for each of its
 * devices or for all together. Workers write the values that are read here, so these may be
 * anything; a value that went backwards gives no rate.
 */
#include <stdlib.h>

#include "top.h"

double top_rate(uint64_t now, uint64_t before, uint64_t ns)
{
	return ns && now >= before ? (double)(now - before) * 1e9 / (double)ns : TOP_UNKNOWN;
}

static double percent(uint64_t now, uint64_t before, uint64_t ns)
{
	double r = top_rate(now, before, ns);

	return r < 0 ? r : r / 1e7;
}

/* Adds a device. Several devices are shown as one device that is as large as all of them. */
static void add_device(struct top_row *r, const struct wh_tenant_view *v, unsigned int d)
{
	const struct wh_device_usage *u = &v->sum.total.device[d];
	const struct wh_device_limit *l = &v->limits.device[d];
	unsigned int i;

	r->devices++;
	r->memory += u->memory;
	r->quota += l->memory;
	r->peak += u->memory_peak;
	r->driver += u->memory_driver;
	r->refused += u->refused;
	r->gpu_ns += wh_gpu_ns(u);
	r->beyond_ns += u->gpu_beyond_ns;
	r->throttled_ns += u->throttled_ns;
	r->all_launches += u->launches;
	r->asked += l->sm_percent ? l->sm_percent : 100;
	r->most += wh_has_share(l, WH_SM_TEMPORAL) ? wh_ceiling(l) : 100;
	if (l->sm_percent)
		r->policy = r->policy ? r->policy : wh_limit_policy_name(l->sm_policy);
	if (wh_has_share(l, WH_SM_TEMPORAL))
		r->class = r->class ? r->class : wh_limit_class_name(l->sm_class);
	for (i = 0; i < v->workers; i++)
		if (v->worker[i].device[d].sms_granted > r->sms)
			r->sms = v->worker[i].device[d].sms_granted;
}

/* A row for several devices has a quota only if each device has one. */
static void settle(struct top_row *r, unsigned int first, unsigned int end)
{
	unsigned int d;

	for (d = wh_view_device(r->v, first); d < end; d = wh_view_device(r->v, d + 1))
		if (!r->v->limits.device[d].memory)
			r->quota = 0;
	r->asked = r->policy ? r->asked / r->devices : TOP_UNKNOWN;
	r->most = r->class ? r->most / r->devices : TOP_UNKNOWN;
}

static void sum(struct top_row *r, const struct wh_tenant_view *v, int device)
{
	unsigned int first = device < 0 ? 0 : (unsigned int)device, d;
	unsigned int end = device < 0 ? v->limits.devices : first + 1;

	*r = (struct top_row){ .v = v, .device = device, .workers = v->sum.workers };
	for (d = wh_view_device(v, first); d < end; d = wh_view_device(v, d + 1))
		add_device(r, v, d);
	if (r->devices)
		settle(r, first, end);
	else
		r->asked = r->most = TOP_UNKNOWN;
}

/* Without a share nobody measures the time, unless the driver reports it. */
static double got(const struct top_row *r, const struct top_row *b, uint64_t ns)
{
	double v = percent(r->gpu_ns, b->gpu_ns, ns);

	if (!r->gpu_ns && !r->policy)
		return TOP_UNKNOWN;
	return v > 0 && r->device < 0 && r->devices ? v / r->devices : v;
}

/* The same unit as got(). Where no share of time is, nothing is beyond it. */
static double beyond(const struct top_row *r, const struct top_row *b, uint64_t ns)
{
	double v = r->class ? percent(r->beyond_ns, b->beyond_ns, ns) : TOP_UNKNOWN;

	return v > 0 ? v / r->devices : v;
}

static void add_rates(struct top_row *r, const struct wh_tenant_view *before)
{
	const struct wh_worker_usage *u = &r->v->sum.total, *w = &before->sum.total;
	uint64_t ns = r->v->at_ns - before->at_ns;
	struct top_row b;

	sum(&b, before, r->device);
	r->calls = top_rate(u->calls, w->calls, ns);
	r->requests = top_rate(u->waited + u->posted, w->waited + w->posted, ns);
	r->waited = top_rate(u->waited, w->waited, ns);
	r->to_device = top_rate(u->bytes_to_device, w->bytes_to_device, ns);
	r->from_device = top_rate(u->bytes_from_device, w->bytes_from_device, ns);
	r->launches = top_rate(r->all_launches, b.all_launches, ns);
	r->got = got(r, &b, ns);
	r->beyond = beyond(r, &b, ns);
	r->throttled = percent(r->throttled_ns, b.throttled_ns, ns);
	if (r->v->cpu_known && before->cpu_known)
		r->cpu = percent(r->v->cpu_ns, before->cpu_ns, ns);
}

static void fill(struct top_row *r, const struct wh_tenant_view *v,
		 const struct wh_tenant_views *before, int device)
{
	const struct wh_tenant_view *b = wh_tenant_before(before, v);

	sum(r, v, device);
	r->calls = r->requests = r->waited = r->launches = TOP_UNKNOWN;
	r->to_device = r->from_device = TOP_UNKNOWN;
	r->got = r->beyond = r->throttled = r->cpu = TOP_UNKNOWN;
	if (b)
		add_rates(r, b);
}

void top_rows(const struct wh_look *now, const struct wh_look *before, bool devices,
	      struct top_rows *out)
{
	const struct wh_tenant_views *all = &now->tenants;
	const struct wh_tenant_views *b = before ? &before->tenants : NULL;
	unsigned int d;
	int i, n = 0;

	out->counters = false;
	for (i = 0; i < all->n; i++)
		n += devices ? (int)all->view[i].limits.devices : 1;
	out->row = wh_must(calloc(n ? n : 1, sizeof(*out->row)));
	for (i = 0, n = 0; i < all->n; i++) {
		if (!devices) {
			fill(&out->row[n++], &all->view[i], b, -1);
			continue;
		}
		wh_each_device(&all->view[i], d)
			fill(&out->row[n++], &all->view[i], b, (int)d);
	}
	out->n = n;
}

double top_server_cpu(const struct wh_look *now, const struct wh_look *before)
{
	if (!before || !now->answered || !before->answered || now->pid != before->pid)
		return TOP_UNKNOWN;
	return percent(now->cpu_ns, before->cpu_ns, now->at_ns - before->at_ns);
}

double top_vm_cpu(const struct wh_vm_view *v, const struct wh_vm_view *before)
{
	return before ? percent(v->cpu_ns, before->cpu_ns, v->at_ns - before->at_ns) : TOP_UNKNOWN;
}
