// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants for `wormhole stat`: read from the files of tenant.h, which needs no
 * word with the server and disturbs nobody. As a table, JSON, or the text form
 * that Prometheus reads.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tenant/file.h"
#include "tenant/clock.h"
#include "tenancy.h"
#include "tenant/control.h"
#include "wormhole.h"

#define MAX_VIEWS	256

struct wh_tenant_view {
	struct wh_tenant_limits limits;
	struct wh_tenant_sum sum;
	struct wh_worker_usage worker[WH_TENANT_WORKERS];	/* the living ones, packed */
	unsigned int workers;
	uint64_t at_ns;
};

/* --- Looking ---------------------------------------------------------------------- */

/* One account as its worker had it between two of its words; false: free, or just changing. */
static bool copy_worker(struct wh_worker_usage *to, const struct wh_worker_usage *from)
{
	uint64_t before = __atomic_load_n(&from->generation, __ATOMIC_ACQUIRE);

	memcpy(to, from, sizeof(*to));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return to->pid && to->pid != UINT32_MAX && to->generation == before &&
	       __atomic_load_n(&from->generation, __ATOMIC_RELAXED) == before;
}

static int look(const char *folder, const char *name, struct wh_tenant_view *v)
{
	struct wh_tenant_file f;
	int rc = wh_tenant_file_open(&f, folder, name), i;

	if (rc)
		return rc;
	v->at_ns = wh_now_ns();
	rc = wh_tenant_limits_read(f.limits, &v->limits);
	if (!rc) {
		wh_tenant_usage_read(f.usage, &v->sum);
		for (i = 0; i < WH_TENANT_WORKERS; i++)
			if (copy_worker(&v->worker[v->workers], &f.usage->worker[i]))
				v->workers++;
		v->limits.name[WH_TENANT_NAME - 1] = 0;
		if (v->limits.devices > WH_TENANT_DEVICES)
			v->limits.devices = WH_TENANT_DEVICES;
	}
	wh_tenant_file_close(&f);
	return rc;
}

/*
 * Files alone may be left from a server that was killed. Who may not connect
 * cannot read the files either, and is told so then.
 */
static bool server_lives(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool lives;

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s/" WH_CONTROL_SOCKET, dir) >=
	    (int)sizeof(a.sun_path) || fd < 0)
		return false;
	lives = !connect(fd, (struct sockaddr *)&a, sizeof(a)) || errno == EAGAIN ||
		errno == EACCES;
	close(fd);
	return lives;
}

static int is_limits_file(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 7 && !strcmp(e->d_name + n - 7, ".limits");
}

static void explain(const char *folder, const char *name, int rc)
{
	if (rc == -ENOENT)
		wh_error("there is no tenant '%s'; `wormhole stat' shows those there are", name);
	else if (rc == -EACCES)
		wh_error("tenant %s: only root and the server's user may look at it", name);
	else if (rc == -EINVAL)
		wh_error("%s/%s.limits is of another release of Wormhole", folder, name);
	else
		wh_error("tenant %s: %s", name, strerror(-rc));
}

static bool look_at_named(const char *folder, char *const *names, int n,
			  struct wh_tenant_views *out)
{
	int i, rc;

	for (i = 0; i < n; i++) {
		rc = look(folder, names[i], &out->view[out->n]);
		if (rc) {
			explain(folder, names[i], rc);
			return false;
		}
		out->n++;
	}
	return true;
}

/* A tenant that ends while we look is not there. */
static bool look_at_all(const char *folder, struct wh_tenant_views *out)
{
	struct dirent **list;
	int i, n = scandir(folder, &list, is_limits_file, alphasort), rc;

	if (n < 0) {
		if (errno == ENOENT)
			return true;
		wh_error("%s: %s; only root and the server's user may look at tenants", folder,
			 strerror(errno));
		return false;
	}
	for (i = 0; i < n; i++) {
		list[i]->d_name[strlen(list[i]->d_name) - 7] = 0;
		rc = -ENOENT;
		if (out->n < MAX_VIEWS)
			rc = look(folder, list[i]->d_name, &out->view[out->n]);
		if (!rc)
			out->n++;
		else if (rc != -ENOENT)
			explain(folder, list[i]->d_name, rc);
		free(list[i]);
	}
	free(list);
	return true;
}

bool wh_tenants_look(const char *dir, char *const *names, int n, struct wh_tenant_views *out)
{
	char folder[PATH_MAX];

	*out = (struct wh_tenant_views){ .server = server_lives(dir) };
	snprintf(folder, sizeof(folder), "%s/tenants", dir);
	if (!out->server) {
		if (n)
			wh_error("no server runs at %s; start one by `wormhole serve', or name its --dir", dir);
		return !n;
	}
	wh_protections_of_server(dir, &out->protections);
	out->libraries = wh_libraries_json(dir);
	out->view = calloc(n > MAX_VIEWS ? n : MAX_VIEWS, sizeof(*out->view));
	if (!out->view)
		wh_no_memory();
	return n ? look_at_named(folder, names, n, out) : look_at_all(folder, out);
}

void wh_tenants_free(struct wh_tenant_views *v)
{
	cJSON_Delete(v->libraries);
	free(v->view);
	*v = (struct wh_tenant_views){ 0 };
}

/* --- Counters by name ------------------------------------------------------------- */

#define TENANT_COUNTERS(X) \
	X(calls, "API calls that reached a worker") \
	X(crossings, "requests of any kind") \
	X(host_refused, "requests for host memory refused for the limit") \
	X(bytes_to_device, "bytes copied to devices") \
	X(bytes_from_device, "bytes copied from devices")

#define DEVICE_COUNTERS(X) \
	X(refused, u->refused, "allocations refused for the limit") \
	X(gpu_ns, wh_gpu_ns(u), "time that the device worked, in ns") \
	X(throttled_ns, u->throttled_ns, "time that calls waited for the SM share, in ns") \
	X(launches, u->launches, "kernels launched")

#define DEVICE_GAUGES(X) \
	X(memory, u->memory, "bytes charged now") \
	X(memory_peak, u->memory_peak, "the most bytes seen charged at a time") \
	X(memory_driver, u->memory_driver, "bytes that the driver counts for the workers")

/* --- JSON ------------------------------------------------------------------------- */

static void add_tenant_counters(cJSON *o, const struct wh_worker_usage *u)
{
#define ADD(name, help) wh_json_u64(o, #name, u->name);
	TENANT_COUNTERS(ADD)
#undef ADD
}

static void add_device_counters(cJSON *o, const struct wh_device_usage *u)
{
#define ADD(name, value, help) wh_json_u64(o, #name, value);
	DEVICE_GAUGES(ADD)
	DEVICE_COUNTERS(ADD)
#undef ADD
}

static cJSON *device_json(const struct wh_tenant_view *v, unsigned int d)
{
	const struct wh_device_limit *l = &v->limits.device[d];
	cJSON *o = cJSON_CreateObject();

	wh_json_u64(o, "device", d);
	wh_json_u64(o, "memory_limit", l->memory);
	wh_json_u64(o, "sm_percent", l->sm_percent ? l->sm_percent : 100);
	cJSON_AddStringToObject(o, "sm_policy", l->sm_percent ? wh_limit_policy_name(l->sm_policy) : "none");
	wh_json_u64(o, "sm_groups", __builtin_popcountll(l->sm_groups));
	add_device_counters(o, &v->sum.total.device[d]);
	return o;
}

static cJSON *worker_json(const struct wh_tenant_view *v, const struct wh_worker_usage *w)
{
	cJSON *o = cJSON_CreateObject(), *devices, *e;
	unsigned int d;

	wh_json_u64(o, "pid", w->pid);
	wh_json_u64(o, "client_pid", w->client_pid);
	wh_json_u64(o, "started_ms", w->started_ns / 1000000);
	wh_json_u64(o, "host_memory", w->host_memory);
	add_tenant_counters(o, w);
	devices = cJSON_AddArrayToObject(o, "devices");
	for (d = 0; d < v->limits.devices; d++) {
		e = cJSON_CreateObject();
		wh_json_u64(e, "device", d);
		wh_json_u64(e, "sms_granted", w->device[d].sms_granted);
		add_device_counters(e, &w->device[d]);
		cJSON_AddItemToArray(devices, e);
	}
	return o;
}

static cJSON *tenant_json(const struct wh_tenant_view *v, const struct wh_tenant_views *all)
{
	cJSON *o = cJSON_CreateObject(), *list;
	unsigned int i;

	cJSON_AddStringToObject(o, "tenant", v->limits.name);
	wh_json_u64(o, "host_memory", v->sum.total.host_memory);
	wh_json_u64(o, "host_memory_limit", v->limits.host_memory);
	add_tenant_counters(o, &v->sum.total);
	cJSON_AddItemToObject(o, "protection", wh_protections_json(&all->protections));
	cJSON_AddItemToObject(o, "libraries", cJSON_Duplicate(all->libraries, true));
	list = cJSON_AddArrayToObject(o, "devices");
	for (i = 0; i < v->limits.devices; i++)
		cJSON_AddItemToArray(list, device_json(v, i));
	list = cJSON_AddArrayToObject(o, "workers");
	for (i = 0; i < v->workers; i++)
		cJSON_AddItemToArray(list, worker_json(v, &v->worker[i]));
	return o;
}

void wh_tenants_json(const struct wh_tenant_views *v, cJSON *list)
{
	int i;

	for (i = 0; i < v->n; i++)
		cJSON_AddItemToArray(list, tenant_json(&v->view[i], v));
}

/* --- Table ------------------------------------------------------------------------ */

static const char *bytes_text(uint64_t bytes, char out[16])
{
	static const char units[] = "BKMGT";
	double v = (double)bytes;
	int u = 0;

	for (; v >= 1000 && u < 4; u++)
		v /= 1024;
	snprintf(out, 16, !u || v >= 100 ? "%.0f%c" : "%.1f%c", v, units[u]);
	return out;
}

static const char *time_text(uint64_t ns, char out[16])
{
	snprintf(out, 16, "%.2fs", ns / 1e9);
	return out;
}

/* Of the time between two looks at the same tenant. */
static const char *share_text(const struct wh_tenant_view *v, unsigned int d,
			      const struct wh_tenant_views *before, char out[16])
{
	const struct wh_tenant_view *b;
	int i;

	snprintf(out, 16, "-");
	for (i = 0; before && i < before->n; i++) {
		b = &before->view[i];
		if (b->limits.tenant_id == v->limits.tenant_id && v->at_ns > b->at_ns)
			snprintf(out, 16, "%.1f%%",
				 100.0 * (double)(wh_gpu_ns(&v->sum.total.device[d]) -
						  wh_gpu_ns(&b->sum.total.device[d])) /
				 (double)(v->at_ns - b->at_ns));
	}
	return out;
}

static void print_device(const struct wh_tenant_view *v, unsigned int d,
			 const struct wh_tenant_views *before)
{
	const struct wh_device_limit *l = &v->limits.device[d];
	const struct wh_device_usage *u = &v->sum.total.device[d];
	char a[16], b[16], c[16], e[16], f[16], g[16], sm[32] = "-";

	if (l->sm_percent)
		snprintf(sm, sizeof(sm), "%u%% %s", l->sm_percent, wh_limit_policy_name(l->sm_policy));
	printf("%-16s %3u %7u %8s %8s %8s %7" PRIu64 " %-13s %9s %7s %9s %9" PRIu64, v->limits.name, d,
	       v->sum.workers, bytes_text(u->memory, a), l->memory ? bytes_text(l->memory, b) : "-",
	       bytes_text(u->memory_peak, c), u->refused, sm, time_text(wh_gpu_ns(u), e),
	       share_text(v, d, before, f), time_text(u->throttled_ns, g), u->launches);
	printf(" %9" PRIu64 " %9" PRIu64 " %8s %8s %8s %8s\n", v->sum.total.calls,
	       v->sum.total.crossings, bytes_text(v->sum.total.bytes_to_device, a),
	       bytes_text(v->sum.total.bytes_from_device, b),
	       bytes_text(v->sum.total.host_memory, c),
	       v->limits.host_memory ? bytes_text(v->limits.host_memory, e) : "-");
}

void wh_tenants_table(const struct wh_tenant_views *v, const struct wh_tenant_views *before)
{
	unsigned int d;
	int i;

	printf("%-16s %3s %7s %8s %8s %8s %7s %-13s %9s %7s %9s %9s %9s %9s %8s %8s %8s %8s\n", "TENANT", "DEV",
	       "WORKERS", "MEMORY", "LIMIT", "PEAK", "REFUSED", "SM", "GPU-TIME", "SHARE", "THROTTLED",
	       "LAUNCHES", "CALLS", "CROSSINGS", "TO-DEV", "FROM-DEV", "HOST-MEM", "HOST-LIM");
	for (i = 0; i < v->n; i++)
		for (d = 0; d < v->view[i].limits.devices; d++)
			print_device(&v->view[i], d, before);
	wh_protections_print(&v->protections);
	wh_libraries_print(v->libraries);
}

/* --- Prometheus ------------------------------------------------------------------- */

static void head(const char *name, const char *type, const char *text)
{
	printf("# HELP wormhole_%s %s\n# TYPE wormhole_%s %s\n", name, text, name, type);
}

static void print_metric(const struct wh_tenant_view *v, const char *name, uint64_t value)
{
	printf("wormhole_%s{tenant=\"%s\"} %" PRIu64 "\n", name, v->limits.name, value);
}

static void print_of_device(const struct wh_tenant_view *v, unsigned int d, const char *name,
			    uint64_t value)
{
	printf("wormhole_%s{tenant=\"%s\",device=\"%u\"} %" PRIu64 "\n", name, v->limits.name, d, value);
}

/* All samples of a metric stand together: names have letters that need no escape. */
void wh_tenants_prometheus(const struct wh_tenant_views *v)
{
	const struct wh_device_limit *l;
	const struct wh_device_usage *u;
	unsigned int d;
	int i;

	wh_protections_prometheus(&v->protections);
	head("workers", "gauge", "living workers");
	for (i = 0; i < v->n; i++)
		print_metric(&v->view[i], "workers", v->view[i].sum.workers);
#define EACH(name, help) \
	head(#name "_total", "counter", help); \
	for (i = 0; i < v->n; i++) \
		print_metric(&v->view[i], #name "_total", v->view[i].sum.total.name);
	TENANT_COUNTERS(EACH)
#undef EACH
	head("host_memory_bytes", "gauge", "bytes of host memory that workers keep in place");
	for (i = 0; i < v->n; i++)
		print_metric(&v->view[i], "host_memory_bytes", v->view[i].sum.total.host_memory);
	head("host_memory_limit_bytes", "gauge", "limit of host memory, 0 for none");
	for (i = 0; i < v->n; i++)
		print_metric(&v->view[i], "host_memory_limit_bytes", v->view[i].limits.host_memory);
#define EACH_DEVICE(name, suffix, type, value, help) \
	head(#name suffix, type, help); \
	for (i = 0; i < v->n; i++) \
		for (d = 0; d < v->view[i].limits.devices; d++) { \
			u = &v->view[i].sum.total.device[d]; \
			l = &v->view[i].limits.device[d]; \
			(void)u, (void)l; \
			print_of_device(&v->view[i], d, #name suffix, value); \
		}
#define COUNTER(name, value, help) EACH_DEVICE(name, "_total", "counter", value, help)
#define GAUGE(name, value, help) EACH_DEVICE(name, "_bytes", "gauge", value, help)
	DEVICE_COUNTERS(COUNTER)
	DEVICE_GAUGES(GAUGE)
	EACH_DEVICE(memory_limit, "_bytes", "gauge", l->memory, "limit of memory, 0 for none")
	EACH_DEVICE(sm_limit, "_percent", "gauge", (uint64_t)(l->sm_percent ? l->sm_percent : 100),
		    "limit of the share of computing power")
#undef GAUGE
#undef COUNTER
#undef EACH_DEVICE
}
