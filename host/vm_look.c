// SPDX-License-Identifier: Apache-2.0
/*
 * VMs with a role at this moment: the counters that KVM keeps, which are the fields of
 * struct wh_host_stat with their names, and the CPU time of the VMMs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "views.h"

#define MAX_VMS	512

const struct wh_vm_counter wh_vm_counters[WH_VM_COUNTERS] = {
#define FIELD(field, gauge, help) { #field, help, offsetof(struct wh_host_stat, field), gauge }
	FIELD(attaches, false, "pairs attached"),
	FIELD(detaches, false, "pairs detached"),
	FIELD(rearms, false, "exits of VMFUNC that armed an entry again"),
	FIELD(refusals, false, "exits of VMFUNC and leaves that were refused"),
	FIELD(suspends, false, "calls suspended for an event of the client's"),
	FIELD(fills, false, "misses of a view that were filled without leaving it"),
	FIELD(filled_pages, false, "pages put into views"),
	FIELD(zapped_pages, false, "pages taken out of views"),
	FIELD(fatal, false, "calls that KVM ended"),
	FIELD(parked, true, "slots of a server VM whose thread waits for a call"),
	FIELD(deferred_timers, false, "timer expiries of a server VM that were coalesced"),
	FIELD(busy, true, "calls on a server VM's own CPUs now"),
	FIELD(view_tables, true, "host pages that are tables of views"),
	FIELD(view_pages, true, "pages that views map and pin"),
	FIELD(barriers, false, "predictor barriers between pairs and around strict calls"),
	FIELD(gates, true, "attached pairs whose system calls take no exit"),
#undef FIELD
};

uint64_t wh_vm_counter(const struct wh_host_stat *s, unsigned int i)
{
	return *(const __u64 *)((const char *)s + wh_vm_counters[i].offset);
}

static const char *name_or_number(const char *name, unsigned int i, char buf[16])
{
	if (name)
		return name;
	snprintf(buf, 16, "reason_%u", i);
	return buf;
}

static uint64_t each_reason(const __u64 *values, unsigned int n,
			    const char *(*name)(unsigned int), wh_reason_fn fn, void *to)
{
	uint64_t sum = 0;
	unsigned int i;
	char buf[16];

	for (i = 0; i < n; i++) {
		if (values[i] && fn)
			fn(to, name_or_number(name(i), i, buf), values[i]);
		sum += values[i];
	}
	return sum;
}

uint64_t wh_vm_handoffs(const struct wh_host_stat *s, wh_reason_fn fn, void *to)
{
	return each_reason(s->handoffs, WH_HANDOFF_REASONS, wh_name_handoff, fn, to);
}

uint64_t wh_vm_exits(const struct wh_host_stat *s, wh_reason_fn fn, void *to)
{
	return each_reason(s->exits, WH_STAT_EXIT_REASONS, wh_name_exit, fn, to);
}

void wh_vm_json(const struct wh_host_stat *s, cJSON *o)
{
	unsigned int i;

	wh_json_u64(o, "id", s->vm_id);
	cJSON_AddStringToObject(o, "role", wh_name_role(s->role));
	wh_json_u64(o, "pairs", s->pairs);
	for (i = 0; i < WH_VM_COUNTERS; i++)
		wh_json_u64(o, wh_vm_counters[i].name, wh_vm_counter(s, i));
	wh_vm_handoffs(s, wh_json_u64, cJSON_AddObjectToObject(o, "handoffs"));
	wh_vm_exits(s, wh_json_u64, cJSON_AddObjectToObject(o, "exits"));
}

static bool look(int fd, struct wh_vm_view *v)
{
	clockid_t clock;

	v->at_ns = wh_now_ns();
	v->cpu_ns = clock_getcpuclockid(v->vm.pid, &clock) ? 0 : wh_clock_ns(clock);
	return !wh_control_stat(fd, v->vm.id, &v->stat);
}

void wh_vms_look(struct wh_vm_views *out)
{
	static struct wh_vm vms[MAX_VMS];
	int fd = wh_control_open(), n, i;

	*out = (struct wh_vm_views){ .rc = fd < 0 ? fd : 0 };
	if (fd < 0)
		return;
	n = wh_control_version(fd) == WH_ABI_VERSION ? wh_registry_list(vms, MAX_VMS) : -EPROTO;
	out->rc = n < 0 ? n : 0;
	out->view = n > 0 ? wh_must(calloc(n, sizeof(*out->view))) : NULL;
	for (i = 0; i < n; i++) {
		out->view[out->n].vm = vms[i];
		out->n += look(fd, &out->view[out->n]);
	}
	close(fd);
}

void wh_vms_free(struct wh_vm_views *v)
{
	free(v->view);
	*v = (struct wh_vm_views){ 0 };
}

/* Another VM may have got the same id; its process id is different then. */
const struct wh_vm_view *wh_vm_before(const struct wh_vm_views *before, const struct wh_vm_view *v)
{
	int i;

	for (i = 0; before && i < before->n; i++)
		if (before->view[i].vm.id == v->vm.id && before->view[i].vm.pid == v->vm.pid)
			return &before->view[i];
	return NULL;
}
