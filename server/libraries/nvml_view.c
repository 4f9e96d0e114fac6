// SPDX-License-Identifier: Apache-2.0
/*
 * The tenant's view of a device: its quota and use as memory, its own clients as processes, the
 * device time of its own workers as utilisation. All of it comes from the tenant's usage region
 * (tenant.h), which every worker of the tenant can write. So numbers are clipped, and nobody but
 * this tenant relies on them. Figures that are counted for the whole device (samples, memory bus)
 * are held back or clipped to the tenant's share.
 */
#include "libraries/nvml_view.h"

#include <stdlib.h>
#include <unistd.h>

#define REAL	(wh_nvml_view.real)

static inline const struct wh_limits *limits(void)
{
	return &wh_nvml_view.session->limits;
}

/*
 * Returns account i of the tenant; a session without a tenant has one, the worker's own. NULL: the
 * account is free.
 */
static const struct wh_worker_usage *worker(unsigned int i)
{
	const struct wh_limits *l = limits();
	const struct wh_worker_usage *w = l->usage ? &l->usage->worker[i] : l->account;
	uint32_t pid;

	if (!l->usage)
		return i == 0 ? w : NULL;
	pid = __atomic_load_n(&w->pid, __ATOMIC_ACQUIRE);
	return pid && pid <= INT32_MAX ? w : NULL;
}

static uint64_t load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* --- Memory ------------------------------------------------------------------- */

static nvmlReturn_t memory_of(nvmlDevice_t device, nvmlMemory_t *m)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	struct wh_session *s = wh_nvml_view.session;
	uint64_t quota, used, left;
	nvmlReturn_t rc;

	if (!d || !m)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind == WH_NVML_DIVIDED)
		return NVML_ERROR_NO_PERMISSION;
	if (!REAL.nvmlDeviceGetMemoryInfo)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	rc = REAL.nvmlDeviceGetMemoryInfo(device, m);
	wh_limits_reread(s);
	quota = s->limits.limit[d->cuda].memory;
	if (rc != NVML_SUCCESS || !quota)
		return rc;
	used = s->limits.usage ? wh_tenant_memory(s->limits.usage, d->cuda) :
	       load(&s->limits.account->device[d->cuda].memory);
	used = used < quota ? used : quota;
	left = quota - used;
	m->total = quota;
	m->used = used;
	/* Another tenant may hold memory that the quota would still allow. */
	m->free = left < m->free ? left : m->free;
	return NVML_SUCCESS;
}

static nvmlReturn_t memory_of_v2(nvmlDevice_t device, nvmlMemory_v2_t *m)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	nvmlMemory_t v1;
	nvmlReturn_t rc;

	if (!d || !m)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind == WH_NVML_DIVIDED)
		return NVML_ERROR_NO_PERMISSION;
	if (!REAL.nvmlDeviceGetMemoryInfo_v2)
		return NVML_ERROR_FUNCTION_NOT_FOUND;
	/* The genuine function also judges the version. */
	rc = REAL.nvmlDeviceGetMemoryInfo_v2(device, m);
	if (rc == NVML_SUCCESS)
		rc = memory_of(device, &v1);
	if (rc != NVML_SUCCESS || !wh_nvml_view.session->limits.limit[d->cuda].memory)
		return rc;
	m->total = v1.total;
	m->used = v1.used;
	m->free = v1.free;
	m->reserved = 0;	/* what the driver keeps is in no quota */
	return NVML_SUCCESS;
}

/* --- Utilisation -------------------------------------------------------------- */

/* The time that the tenant's workers have used of a device, including those that have ended. */
static uint64_t total_ns(unsigned int cuda)
{
	const struct wh_limits *l = limits();
	uint64_t sum = l->usage ? wh_gpu_ns(&l->usage->ended.device[cuda]) : 0;
	const struct wh_worker_usage *w;
	unsigned int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = worker(i);
		if (w)
			sum += wh_gpu_ns(&w->device[cuda]);
	}
	return sum;
}

/*
 * Returns how many percent of `us` microseconds `now - before` nanoseconds are. It is clipped: see
 * the head of the file.
 */
static uint32_t percent(uint64_t now, uint64_t before, uint64_t us)
{
	uint64_t p;

	if (now <= before)
		return 0;
	p = (now - before) / (us * 10);
	return p < 100 ? p : 100;
}

static void sample_account(struct wh_nvml_device *d, unsigned int i, uint64_t us)
{
	const struct wh_worker_usage *w = worker(i);
	struct wh_nvml_sample *o = &d->account[i];
	uint32_t generation;
	uint64_t now;

	if (!w) {
		*o = (struct wh_nvml_sample){ 0 };
		return;
	}
	now = wh_gpu_ns(&w->device[d->cuda]);
	/* An account of our own is never taken, so its generation stays 0. */
	generation = (uint32_t)load(&w->generation) | 1u << 31;
	/*
	 * If another worker has the account since the last time, all its use belongs to this
	 * window.
	 */
	o->percent = us ? percent(now, o->generation == generation ? o->gpu_ns : 0, us) : 0;
	o->generation = generation;
	o->gpu_ns = now;
}

static void sample(struct wh_nvml_device *d, uint64_t tsc, uint64_t us)
{
	uint64_t now = total_ns(d->cuda);
	unsigned int i;

	d->all.percent = us ? percent(now, d->all.gpu_ns, us) : 0;
	d->all.gpu_ns = now;
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		sample_account(d, i, us);
	d->sampled_tsc = tsc;
	d->rated = us != 0;
}

void wh_nvml_first_samples(void)
{
	unsigned int i;

	for (i = 0; i < wh_nvml_view.devices; i++)
		sample(&wh_nvml_view.device[i], __builtin_ia32_rdtsc(), 0);
}

static uint64_t window(const struct wh_nvml_device *d)
{
	return limits()->temporal & 1u << d->cuda ? WH_NVML_WINDOW_US : WH_NVML_WINDOW_LONG_US;
}

/*
 * Percentages count over the time since they were last asked for, but at least over a window: if
 * they are asked for sooner, the last answer stands. Before the first window is over there is no
 * answer, and the client waits (it sleeps there, not here).
 */
static nvmlReturn_t rate(struct wh_nvml_device *d)
{
	uint64_t tsc = __builtin_ia32_rdtsc();
	uint64_t us = (tsc - d->sampled_tsc) / wh_nvml_view.session->tsc_per_us;

	if (us >= window(d))
		sample(d, tsc, us);
	return d->rated ? NVML_SUCCESS : NVML_ERROR_NOT_READY;
}

static nvmlReturn_t utilization(nvmlDevice_t device, nvmlUtilization_t *u)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	nvmlUtilization_t whole = { 0 };
	nvmlReturn_t rc;

	if (!d || !u)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind == WH_NVML_DIVIDED)
		return NVML_ERROR_NOT_SUPPORTED;
	rc = rate(d);
	if (rc != NVML_SUCCESS)
		return rc;
	if (REAL.nvmlDeviceGetUtilizationRates)
		REAL.nvmlDeviceGetUtilizationRates(device, &whole);
	u->gpu = d->all.percent;
	/* For memory only the whole device's time is known: show no more than the tenant ran. */
	u->memory = whole.memory < u->gpu ? whole.memory : u->gpu;
	return NVML_SUCCESS;
}

/* --- Processes ---------------------------------------------------------------- */

#define MAX_REAL	256

/* Lists the processes as the driver sees them; returns 0 if the driver does not list them. */
static unsigned int real_processes(nvmlDevice_t device, nvmlProcessInfo_t *list)
{
	unsigned int n = MAX_REAL;

	if (!REAL.nvmlDeviceGetComputeRunningProcesses_v3 ||
	    REAL.nvmlDeviceGetComputeRunningProcesses_v3(device, &n, list) != NVML_SUCCESS)
		return 0;
	return n < MAX_REAL ? n : MAX_REAL;
}

static const nvmlProcessInfo_t *find(const nvmlProcessInfo_t *list, unsigned int n, uint32_t pid)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (list[i].pid == pid)
			return &list[i];
	return NULL;
}

/* Lists the tenant's clients that use the device, in the newest version's struct. */
static unsigned int processes(struct wh_nvml_device *d, nvmlProcessInfo_t *out)
{
	static nvmlProcessInfo_t list[MAX_REAL];
	unsigned int n = real_processes(d->handle, list), i, count = 0;
	const struct wh_device_usage *use;
	const struct wh_worker_usage *w;
	const nvmlProcessInfo_t *real;
	unsigned int gpu, compute;
	uint64_t memory;

	wh_nvml_instance_ids(d, &gpu, &compute);
	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		w = worker(i);
		if (!w)
			continue;
		use = &w->device[d->cuda];
		memory = load(&use->memory);
		real = find(list, n, limits()->usage ? w->pid : (uint32_t)getpid());
		if (!memory && !load(&use->launches) && !real)
			continue;
		/* Show the charge, or the driver's figure if nothing is counted. */
		out[count++] = (nvmlProcessInfo_t){
			.pid = w->client_pid,
			.usedGpuMemory = memory || !real ? memory : real->usedGpuMemory,
			.gpuInstanceId = gpu,
			.computeInstanceId = compute,
		};
	}
	return count;
}

/* Follows NVML's protocol for lists: it tells how many there are, also when they do not fit. */
static nvmlReturn_t fits(unsigned int *room, const void *list, unsigned int count)
{
	unsigned int had = *room;

	*room = count;
	return had < count || (count && !list) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t running(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	struct wh_nvml_device *d = wh_nvml_device(device);
	nvmlProcessInfo_t all[WH_TENANT_WORKERS];
	nvmlReturn_t rc;
	unsigned int n;

	if (!d || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind == WH_NVML_DIVIDED)
		return NVML_ERROR_NO_PERMISSION;
	n = processes(d, all);
	rc = fits(count, infos, n);
	if (rc == NVML_SUCCESS && n)
		memcpy(infos, all, n * sizeof(all[0]));
	return rc;
}

static nvmlReturn_t running_v1(nvmlDevice_t device, unsigned int *count,
			       nvmlProcessInfo_v1_t *infos)
{
	nvmlProcessInfo_t all[WH_TENANT_WORKERS];
	unsigned int n = WH_TENANT_WORKERS, i;
	nvmlReturn_t rc;

	if (!count)
		return NVML_ERROR_INVALID_ARGUMENT;
	rc = running(device, &n, all);
	if (rc == NVML_SUCCESS)
		rc = fits(count, infos, n);
	for (i = 0; rc == NVML_SUCCESS && i < n; i++)
		infos[i] = (nvmlProcessInfo_v1_t){ all[i].pid, all[i].usedGpuMemory };
	return rc;
}

/* Time stamps count microseconds, from an origin of the worker's own. */
static uint64_t stamp(const struct wh_nvml_device *d)
{
	return d->sampled_tsc / wh_nvml_view.session->tsc_per_us;
}

static nvmlReturn_t process_utilization(nvmlDevice_t device,
					nvmlProcessUtilizationSample_t *samples,
					unsigned int *count, unsigned long long since)
{
	nvmlProcessUtilizationSample_t all[WH_TENANT_WORKERS];
	struct wh_nvml_device *d = wh_nvml_device(device);
	unsigned int i, n = 0;
	nvmlReturn_t rc;

	if (!d || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (d->kind == WH_NVML_DIVIDED)
		return NVML_ERROR_NOT_SUPPORTED;
	rc = rate(d);
	if (rc != NVML_SUCCESS)
		return rc;
	for (i = 0; i < WH_TENANT_WORKERS && stamp(d) > since; i++)
		if (d->account[i].percent && worker(i))
			all[n++] = (nvmlProcessUtilizationSample_t){
				.pid = worker(i)->client_pid,
				.timeStamp = stamp(d),
				.smUtil = d->account[i].percent,
			};
	if (!n)
		return NVML_ERROR_NOT_FOUND;
	rc = fits(count, samples, n);
	if (rc == NVML_SUCCESS)
		memcpy(samples, all, n * sizeof(all[0]));
	return rc;
}

/* There are no graphics and MPS clients, since nothing of the sort is forwarded. */
static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos)
{
	(void)infos;
	if (!wh_nvml_device(device) || !count)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = 0;
	return NVML_SUCCESS;
}

static nvmlReturn_t no_processes_v1(nvmlDevice_t device, unsigned int *count,
				    nvmlProcessInfo_v1_t *infos)
{
	(void)infos;
	return no_processes(device, count, NULL);
}

/* The tenant does not use engines whose interfaces are not forwarded. */
static nvmlReturn_t unused_engine(nvmlDevice_t device, unsigned int *rate, unsigned int *period)
{
	if (!wh_nvml_device(device) || !rate || !period)
		return NVML_ERROR_INVALID_ARGUMENT;
	*rate = 0;
	*period = WH_NVML_WINDOW_US;
	return NVML_SUCCESS;
}

static nvmlReturn_t no_metrics(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
	if (!wh_nvml_device(device) || !support)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (support->version != NVML_GPM_SUPPORT_VERSION)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	support->isSupportedDevice = 0;
	return NVML_SUCCESS;
}

/* --- Samples: of the whole device, and so only those that say nothing of its use --- */

static nvmlReturn_t samples_of(nvmlDevice_t device, nvmlSamplingType_t type,
			       unsigned long long since, nvmlValueType_t *kind,
			       unsigned int *count, nvmlSample_t *samples)
{
	switch (type) {
	case NVML_TOTAL_POWER_SAMPLES:
	case NVML_PROCESSOR_CLK_SAMPLES:
	case NVML_MEMORY_CLK_SAMPLES:
	case NVML_MODULE_POWER_SAMPLES:
		return REAL.nvmlDeviceGetSamples ?
		       REAL.nvmlDeviceGetSamples(device, type, since, kind, count, samples) :
		       NVML_ERROR_FUNCTION_NOT_FOUND;
	default:
		return NVML_ERROR_NOT_SUPPORTED;
	}
}

/* --- Events: the client waits, this only looks -------------------------------- */

static nvmlReturn_t look(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	(void)ms;
	return REAL.nvmlEventSetWait_v2 ? REAL.nvmlEventSetWait_v2(set, data, 0) :
	       NVML_ERROR_FUNCTION_NOT_FOUND;
}

static nvmlReturn_t look_v1(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int ms)
{
	(void)ms;
	return REAL.nvmlEventSetWait ? REAL.nvmlEventSetWait(set, data, 0) : look(set, data, 0);
}

void wh_nvml_show_tenant(struct wh_nvml_functions *f)
{
	f->nvmlDeviceGetMemoryInfo = memory_of;
	f->nvmlDeviceGetMemoryInfo_v2 = memory_of_v2;
	f->nvmlDeviceGetUtilizationRates = utilization;
	f->nvmlDeviceGetComputeRunningProcesses = running_v1;
	f->nvmlDeviceGetComputeRunningProcesses_v2 = running;
	f->nvmlDeviceGetComputeRunningProcesses_v3 = running;
	f->nvmlDeviceGetGraphicsRunningProcesses = no_processes_v1;
	f->nvmlDeviceGetGraphicsRunningProcesses_v2 = no_processes;
	f->nvmlDeviceGetGraphicsRunningProcesses_v3 = no_processes;
	f->nvmlDeviceGetMPSComputeRunningProcesses = no_processes_v1;
	f->nvmlDeviceGetMPSComputeRunningProcesses_v2 = no_processes;
	f->nvmlDeviceGetMPSComputeRunningProcesses_v3 = no_processes;
	f->nvmlDeviceGetEncoderUtilization = unused_engine;
	f->nvmlDeviceGetDecoderUtilization = unused_engine;
	f->nvmlDeviceGetJpgUtilization = unused_engine;
	f->nvmlDeviceGetOfaUtilization = unused_engine;
	f->nvmlGpmQueryDeviceSupport = no_metrics;
	f->nvmlDeviceGetProcessUtilization = process_utilization;
	f->nvmlDeviceGetSamples = samples_of;
	f->nvmlEventSetWait = look_v1;
	f->nvmlEventSetWait_v2 = look;
}
