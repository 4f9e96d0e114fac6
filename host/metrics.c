// SPDX-License-Identifier: Apache-2.0
/*
 * A look in Prometheus' text format, with its conventions: base units in the names,
 * `_total' at the end of counters, and no series for a limit that does not exist. All
 * samples of a metric are together. docs/operations.md has the list of metrics.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views.h"

struct out {
	FILE *f;
	const char *name;	/* name of the metric whose samples follow */
	const struct wh_tenant_view *first;
	const struct wh_pod **pod;	/* of each tenant's view; NULL: none */
};

static void head(struct out *o, const char *name, const char *type, const char *help)
{
	o->name = name;
	fprintf(o->f, "# HELP wormhole_%s %s\n# TYPE wormhole_%s %s\n", name, help, name, type);
}

/* Returns the length of the UTF-8 character at @p, or 0 if there is none. */
static int character(const unsigned char *p)
{
	int n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 :
		p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0, i;

	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* These are too long, or a surrogate, or beyond the last character. */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* Writes any bytes as a label: users choose the names of VMs on a command line. */
static void label(struct out *o, const char *before, const char *key, const char *value)
{
	const unsigned char *p = (const unsigned char *)value;
	int n;

	fprintf(o->f, "%s%s=\"", before, key);
	while (*p) {
		n = character(p);
		if (*p == '\n')
			fputs("\\n", o->f);
		else if (*p == '"' || *p == '\\')
			fprintf(o->f, "\\%c", *p);
		else if (!n)
			fputs("\357\277\275", o->f);	/* U+FFFD */
		else
			fwrite(p, 1, (size_t)n, o->f);
		p += n ? n : 1;
	}
	fputc('"', o->f);
}

static void number(struct out *o, uint64_t v)
{
	fprintf(o->f, " %" PRIu64 "\n", v);
}

/* Writes nanoseconds exactly: doubles would lose digits after 104 days. */
static void seconds(struct out *o, uint64_t ns)
{
	fprintf(o->f, " %" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

/* --- Tenants ------------------------------------------------------------------------- */

static void tenant(struct out *o, const struct wh_tenant_view *v)
{
	const struct wh_pod *pod = o->pod[v - o->first];
	char user[WH_USER_TEXT] = "";

	fprintf(o->f, "wormhole_%s{", o->name);
	label(o, "", "tenant", v->limits.name);
	label(o, ",", "user", v->uid_known ? wh_user_text(v->uid, user) : user);
	if (pod && pod->space)
		label(o, ",", "namespace", pod->space);
	if (pod && pod->name)
		label(o, ",", "pod", pod->name);
	if (pod && pod->container)
		label(o, ",", "container", pod->container);
}

/* Finds the pods once, and not for each of a tenant's samples. */
static void find_pods(struct out *o, const struct wh_tenant_views *all, const struct wh_pods *pods)
{
	int i;

	o->first = all->view;
	o->pod = wh_must(calloc((size_t)all->n + 1, sizeof(*o->pod)));
	for (i = 0; i < all->n; i++)
		o->pod[i] = wh_pod_of(pods, all->view[i].limits.name);
}

static void of_tenant(struct out *o, const struct wh_tenant_view *v, uint64_t value)
{
	tenant(o, v);
	fputc('}', o->f);
	number(o, value);
}

static void of_kind(struct out *o, const struct wh_tenant_view *v, const char *key,
		    const char *kind, uint64_t value)
{
	tenant(o, v);
	label(o, ",", key, kind);
	fputc('}', o->f);
	number(o, value);
}

static void paged_seconds(struct out *o, const struct wh_tenant_view *v, const char *direction,
			  uint64_t ns)
{
	tenant(o, v);
	label(o, ",", "direction", direction);
	fputc('}', o->f);
	seconds(o, ns);
}

#define EACH_TENANT(value, help, type, name) do { \
	head(o, name, type, help); \
	for (i = 0, v = all->view; i < all->n; i++, v++) \
		of_tenant(o, v, value); \
} while (0)

static void write_tenants(struct out *o, const struct wh_tenant_views *all)
{
	const struct wh_tenant_view *v;
	int i;

	EACH_TENANT(v->sum.workers, "Living workers.", "gauge", "workers");
	EACH_TENANT(v->limits.state != WH_RUNS, "1 for a tenant that is suspended, or on its way there or back.",
		    "gauge", "suspended");
	EACH_TENANT(v->suspended_bytes, "Device memory that a suspended tenant has in memory of the host.",
		    "gauge", "suspended_memory_bytes");
	EACH_TENANT(v->parkings, "How often overcommit suspended the tenant.", "counter",
		    "parkings_total");
	EACH_TENANT(v->driver_parkings, "How often it did so by the driver's checkpoint, in part or all.",
		    "counter", "driver_parkings_total");
	head(o, "paged_bytes_total", "counter",
	     "Device memory that workers moved to the host, and back, when overcommit parked the tenant.");
	for (i = 0, v = all->view; i < all->n; i++, v++) {
		of_kind(o, v, "direction", "out", v->sum.total.paged_out_bytes);
		of_kind(o, v, "direction", "in", v->sum.total.paged_in_bytes);
	}
	head(o, "paged_seconds_total", "counter", "Time that this took, in all of its workers.");
	for (i = 0, v = all->view; i < all->n; i++, v++) {
		paged_seconds(o, v, "out", v->sum.total.paged_out_ns);
		paged_seconds(o, v, "in", v->sum.total.paged_in_ns);
	}
	head(o, "room_waited_seconds_total", "counter",
	     "Time that the tenant waited for room on its devices.");
	for (i = 0, v = all->view; i < all->n; i++, v++) {
		tenant(o, v);
		fputc('}', o->f);
		seconds(o, v->room_waited_ns);
	}
	EACH_TENANT(v->sum.total.calls, "API calls made by workers.", "counter", "calls_total");
	head(o, "requests_total", "counter", "Requests to workers, by whether a program waited for them.");
	for (i = 0, v = all->view; i < all->n; i++, v++) {
		of_kind(o, v, "kind", "waited", v->sum.total.waited);
		of_kind(o, v, "kind", "posted", v->sum.total.posted);
	}
	head(o, "copied_bytes_total", "counter", "Bytes that copies moved between host and devices.");
	for (i = 0, v = all->view; i < all->n; i++, v++) {
		of_kind(o, v, "direction", "to_device", v->sum.total.bytes_to_device);
		of_kind(o, v, "direction", "from_device", v->sum.total.bytes_from_device);
	}
	EACH_TENANT(v->sum.total.host_memory, "Host memory that workers keep in place.", "gauge",
		    "host_memory_bytes");
	EACH_TENANT(v->sum.total.host_refused, "Requests for host memory refused for the limit.",
		    "counter", "host_memory_refused_total");
	head(o, "host_memory_limit_bytes", "gauge", "Limit of host memory, where there is one.");
	for (i = 0, v = all->view; i < all->n; i++, v++)
		if (v->limits.host_memory)
			of_tenant(o, v, v->limits.host_memory);
	head(o, "cpu_seconds_total", "counter", "CPU time of a tenant's workers.");
	for (i = 0, v = all->view; i < all->n; i++, v++)
		if (v->cpu_known) {
			tenant(o, v);
			fputc('}', o->f);
			seconds(o, v->cpu_ns);
		}
}

/* --- Tenants' devices ------------------------------------------------------------------- */

enum unit { PLAIN, SECONDS, PERCENT };

/* A metric of a device, which is printed if `has` is true. */
struct device_metric {
	const char *name, *type, *help;
	enum unit unit;
	uint64_t (*value)(const struct wh_tenant_view *v, unsigned int d, bool *has);
};

#define VALUE(name, of, known) \
	static uint64_t name(const struct wh_tenant_view *v, unsigned int d, bool *has) \
	{ \
		const struct wh_device_usage *u = &v->sum.total.device[d]; \
		const struct wh_device_limit *l = &v->limits.device[d]; \
		(void)u, (void)l; \
		*has = known; \
		return of; \
	}

VALUE(memory, u->memory, true)
VALUE(memory_limit, l->memory, l->memory)
VALUE(memory_peak, u->memory_peak, true)
VALUE(memory_driver, u->memory_driver, true)
VALUE(memory_refused, u->refused, true)
VALUE(gpu_time, wh_gpu_ns(u), true)
VALUE(throttled, u->throttled_ns, true)
VALUE(launches, u->launches, true)
VALUE(sm_limit, l->sm_percent, l->sm_percent)
VALUE(beyond, u->gpu_beyond_ns, wh_has_share(l, WH_SM_TEMPORAL))
VALUE(ceiling, wh_ceiling(l), wh_has_share(l, WH_SM_TEMPORAL) && wh_ceiling(l) < WH_SM_NO_CEILING)

/* Returns the maximum of the tenant's workers. All have the same number unless it was changed. */
static uint64_t sms(const struct wh_tenant_view *v, unsigned int d, bool *has)
{
	uint32_t most = 0;
	unsigned int i;

	for (i = 0; i < v->workers; i++)
		if (v->worker[i].device[d].sms_granted > most)
			most = v->worker[i].device[d].sms_granted;
	*has = most;
	return most;
}

static const struct device_metric device_metrics[] = {
	{ "memory_bytes", "gauge", "Device memory charged now.", PLAIN, memory },
	{ "memory_limit_bytes", "gauge", "Limit of device memory, where there is one.", PLAIN, memory_limit },
	{ "memory_peak_bytes", "gauge", "The most device memory seen charged at a time.", PLAIN, memory_peak },
	{ "memory_driver_bytes", "gauge", "Device memory that the driver counts for the workers.", PLAIN,
	  memory_driver },
	{ "memory_refused_total", "counter", "Allocations refused for the limit.", PLAIN, memory_refused },
	{ "gpu_seconds_total", "counter", "Time that the device worked.", SECONDS, gpu_time },
	{ "gpu_beyond_seconds_total", "counter", "Time of that beyond the guarantee, where there is a share of time.",
	  SECONDS, beyond },
	{ "throttled_seconds_total", "counter", "Time that calls waited for the share of the SMs.", SECONDS,
	  throttled },
	{ "launches_total", "counter", "Kernels launched.", PLAIN, launches },
	{ "sm_limit_ratio", "gauge", "Limit of the share of computing power, where there is one.", PERCENT,
	  sm_limit },
	{ "sm_ceiling_ratio", "gauge", "The most of the device's time, where it has a bound.", PERCENT, ceiling },
	{ "sms_granted", "gauge", "SMs that a spatial share has.", PLAIN, sms },
};

static void of_device(struct out *o, const struct device_metric *m, const struct wh_tenant_view *v,
		      unsigned int d)
{
	bool has;
	uint64_t value = m->value(v, d, &has);

	if (!has)
		return;
	tenant(o, v);
	fprintf(o->f, ",device=\"%u\"}", d);
	if (m->unit == SECONDS)
		seconds(o, value);
	else if (m->unit == PERCENT)
		fprintf(o->f, " %.2f\n", (double)value / 100);
	else
		number(o, value);
}

/* The class is a label, as text is in Prometheus. */
static void write_classes(struct out *o, const struct wh_tenant_views *all)
{
	const struct wh_device_limit *l;
	unsigned int d;
	int i;

	head(o, "sm_class", "gauge", "1, with the class as label, where there is a share of time.");
	for (i = 0; i < all->n; i++)
		wh_each_device(&all->view[i], d) {
			l = &all->view[i].limits.device[d];
			if (!wh_has_share(l, WH_SM_TEMPORAL))
				continue;
			tenant(o, &all->view[i]);
			fprintf(o->f, ",device=\"%u\"", d);
			label(o, ",", "class", wh_limit_class_name(l->sm_class));
			fputs("} 1\n", o->f);
		}
}

static void write_devices(struct out *o, const struct wh_tenant_views *all)
{
	const struct device_metric *m = device_metrics, *end;
	unsigned int d;
	int i;

	for (end = m + sizeof(device_metrics) / sizeof(*m); m < end; m++) {
		head(o, m->name, m->type, m->help);
		for (i = 0; i < all->n; i++)
			wh_each_device(&all->view[i], d)
				of_device(o, m, &all->view[i], d);
	}
}

/* --- VMs ---------------------------------------------------------------------------------- */

static void vm(struct out *o, const struct wh_vm_view *v)
{
	fprintf(o->f, "wormhole_%s{vm=\"%" PRIu64 "\"", o->name, (uint64_t)v->vm.id);
	label(o, ",", "name", v->vm.name);
	label(o, ",", "role", wh_name_role(v->stat.role));
}

static void of_vm(struct out *o, const struct wh_vm_view *v, uint64_t value)
{
	vm(o, v);
	fputc('}', o->f);
	number(o, value);
}

struct reason_of {
	struct out *o;
	const struct wh_vm_view *v;
};

static void of_reason(void *to, const char *name, uint64_t value)
{
	struct reason_of *r = to;

	vm(r->o, r->v);
	label(r->o, ",", "reason", name);
	fputc('}', r->o->f);
	number(r->o, value);
}

static void write_reasons(struct out *o, const struct wh_vm_views *all)
{
	struct reason_of r = { .o = o };
	int i;

	head(o, "vm_handoffs_total", "counter", "Calls that went on on the server's own CPU.");
	for (i = 0; i < all->n; i++) {
		r.v = &all->view[i];
		wh_vm_handoffs(&r.v->stat, of_reason, &r);
	}
	head(o, "vm_exits_total", "counter", "VM exits while a client's CPU ran in its server VM.");
	for (i = 0; i < all->n; i++) {
		r.v = &all->view[i];
		wh_vm_exits(&r.v->stat, of_reason, &r);
	}
}

static void write_vms(struct out *o, const struct wh_vm_views *all)
{
	const struct wh_vm_counter *c = wh_vm_counters;
	char name[64];
	int i;

	head(o, "vm_pairs", "gauge", "Pairs attached to a client VM, registered by a server VM.");
	for (i = 0; i < all->n; i++)
		of_vm(o, &all->view[i], all->view[i].stat.pairs);
	head(o, "vm_cpu_seconds_total", "counter", "CPU time of a VM's process.");
	for (i = 0; i < all->n; i++) {
		vm(o, &all->view[i]);
		fputc('}', o->f);
		seconds(o, all->view[i].cpu_ns);
	}
	write_reasons(o, all);
	for (; c < wh_vm_counters + WH_VM_COUNTERS; c++) {
		snprintf(name, sizeof(name), "vm_%s%s", c->name, c->gauge ? "" : "_total");
		head(o, name, c->gauge ? "gauge" : "counter", c->help);
		for (i = 0; i < all->n; i++)
			of_vm(o, &all->view[i],
			      wh_vm_counter(&all->view[i].stat, c - wh_vm_counters));
	}
}

/* --- The server ------------------------------------------------------------------------------ */

static void device(struct out *o, const struct wh_look *l, unsigned int i)
{
	fprintf(o->f, "wormhole_%s{device=\"%u\"", o->name, i);
	label(o, ",", "name", l->device[i].name);
}

static void device_figure(struct out *o, const struct wh_look *l, unsigned int i, uint64_t v)
{
	device(o, l, i);
	fputc('}', o->f);
	number(o, v);
}

static void device_errors(struct out *o, const struct wh_look *l, unsigned int i, const char *kind,
			  uint64_t v)
{
	device(o, l, i);
	label(o, ",", "kind", kind);
	fputc('}', o->f);
	number(o, v);
}

/* What the driver says of devices, for all that use them; no series where it says nothing. */
static void write_driver(struct out *o, const struct wh_look *l)
{
	const struct wh_device_figures *f;
	unsigned int i;

#define EACH_DEVICE(bit) \
	for (i = 0; i < l->devices; i++) \
		if ((f = &l->device[i].figures)->known & (bit))

	head(o, "device_memory_used_bytes", "gauge", "Memory of a device in use by anybody.");
	EACH_DEVICE(WH_KNOWS_MEMORY)
		device_figure(o, l, i, f->memory_used);
	head(o, "device_temperature_celsius", "gauge", "Temperature of a device.");
	EACH_DEVICE(WH_KNOWS_TEMPERATURE)
		device_figure(o, l, i, f->temperature);
	head(o, "device_power_watts", "gauge", "Power that a device draws.");
	EACH_DEVICE(WH_KNOWS_POWER) {
		device(o, l, i);
		fprintf(o->f, "} %" PRIu64 ".%03" PRIu64 "\n", f->power_mw / 1000, f->power_mw % 1000);
	}
	head(o, "device_ecc_errors_total", "counter", "ECC errors since the driver was loaded.");
	EACH_DEVICE(WH_KNOWS_ERRORS) {
		device_errors(o, l, i, "corrected", f->corrected);
		device_errors(o, l, i, "uncorrected", f->uncorrected);
	}
#undef EACH_DEVICE
}

static void write_server(struct out *o, const struct wh_look *l)
{
	const struct wh_protections *p = &l->tenants.protections;
	unsigned int i;

	head(o, "build_info", "gauge", "1, with the release as labels.");
	fprintf(o->f, "wormhole_build_info{version=\"%s\",abi=\"%d\"} 1\n", WH_VERSION, WH_ABI_VERSION);
	head(o, "up", "gauge", "Whether a server of this machine's programs runs and answers.");
	fprintf(o->f, "wormhole_up %d\n", l->tenants.server && l->answered);
	head(o, "server_cpu_seconds_total", "counter", "CPU time of the server itself, without workers.");
	if (l->answered) {
		fprintf(o->f, "wormhole_%s", o->name);
		seconds(o, l->cpu_ns);
	}
	head(o, "device_info", "gauge", "1, with name and UUID of a device as labels.");
	for (i = 0; i < l->devices; i++) {
		device(o, l, i);
		label(o, ",", "uuid", l->device[i].uuid);
		fputs("} 1\n", o->f);
	}
	head(o, "device_memory_bytes", "gauge", "Memory of a device.");
	for (i = 0; i < l->devices; i++)
		device_figure(o, l, i, l->device[i].memory);
	head(o, "device_sms", "gauge", "SMs of a device.");
	for (i = 0; i < l->devices; i++)
		device_figure(o, l, i, l->device[i].sms);
	write_driver(o, l);
	head(o, "protection", "gauge", "Whether workers have this protection.");
	for (i = 0; p->known && wh_protection_name(i); i++)
		fprintf(o->f, "wormhole_protection{kind=\"%s\"} %d\n", wh_protection_name(i), p->one[i].on);
}

void wh_metrics_write(const struct wh_look *l, const struct wh_pods *pods, FILE *f)
{
	struct out o = { .f = f };

	find_pods(&o, &l->tenants, pods);
	write_server(&o, l);
	write_tenants(&o, &l->tenants);
	write_devices(&o, &l->tenants);
	write_classes(&o, &l->tenants);
	write_vms(&o, &l->vms);
	free(o.pod);
}
