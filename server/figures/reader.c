// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the driver's own figures through NVML and sends them to the owner of the tenants, a packet
 * for each device and period. It is a process of its own: a vendor library that crashes or hangs
 * costs the owner nothing but these figures.
 */
#define _GNU_SOURCE
#include "figures/figures.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "figures/nvml.h"
#include "tenant/clock.h"

#define MAX_SAMPLES	1024
#define DEVICE_NS	1000000000ull	/* between two readings of what is only shown */
#define MAX_SPAN_NS	1000000000ull	/* a sample can stand for at most this long */

struct source {
	nvml_device handle;
	struct wh_figures out;
	uint64_t seen_us;	/* the newest utilisation sample used so far */
	uint64_t read_ns;	/* time of the last reading */
	uint64_t device_ns;	/* of the last reading of what is only shown; 0: none */
};

static struct nvml nvml;
static wh_say_fn say;

static bool load(const char *path, const char *driver)
{
	char err[300];

	if (wh_nvml_load(&nvml, path, driver, err, sizeof(err))) {
		if (nvml.processes)
			return true;
		snprintf(err, sizeof(err), "NVML lacks nvmlDeviceGetComputeRunningProcesses");
	}
	say("warn", "%s: memory behind the handlers is not noticed", err);
	return false;
}

static unsigned int open_devices(struct source *s)
{
	static struct wh_nvml_list l;
	uint32_t i;
	int rc = nvml.init();

	if (rc != NVML_OK || !wh_nvml_list(&nvml, &l)) {
		say("warn", "NVML does not start (error %d): memory behind the handlers is not noticed",
		       rc);
		return 0;
	}
	for (i = 0; i < l.n; i++) {
		s[i].handle = l.entry[i].handle;
		memcpy(s[i].out.uuid, l.entry[i].uuid, sizeof(s[i].out.uuid));
	}
	return l.n;
}

static struct wh_figure_of *figure_of(struct wh_figures *f, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < f->count; i++)
		if (f->figure[i].pid == pid)
			return &f->figure[i];
	if (f->count == WH_FIGURES_MAX)
		return NULL;
	f->figure[f->count] = (struct wh_figure_of){ .pid = pid, .bytes = NVML_UNKNOWN_BYTES };
	return &f->figure[f->count++];
}

static bool read_memory(struct source *s)
{
	static struct nvml_process p[WH_FIGURES_MAX];
	uint32_t i, n = WH_FIGURES_MAX;
	struct wh_figure_of *f;

	if (nvml.processes(s->handle, &n, p) != NVML_OK)
		return false;
	for (i = 0; i < n && i < WH_FIGURES_MAX; i++) {
		f = figure_of(&s->out, p[i].pid);
		if (!f)
			break;
		/* One process may have an entry for each instance of the device. */
		if (f->bytes == NVML_UNKNOWN_BYTES)
			f->bytes = p[i].bytes;
		else if (p[i].bytes != NVML_UNKNOWN_BYTES)
			f->bytes += p[i].bytes;
	}
	return true;
}

/* A sample is a process's share of the time since its last sample. */
static void read_time(struct source *s)
{
	static struct nvml_sample sample[MAX_SAMPLES];
	uint64_t newest = s->seen_us, now = wh_now_ns(), span = now - s->read_ns;
	uint32_t i, n = MAX_SAMPLES;
	struct wh_figure_of *f;

	if (!nvml.utilization || nvml.utilization(s->handle, sample, &n, s->seen_us) != NVML_OK)
		return;
	for (i = 0; i < n && i < MAX_SAMPLES; i++) {
		if (sample[i].time_us <= s->seen_us || sample[i].sm_percent > 100)
			continue;
		if (sample[i].time_us > newest)
			newest = sample[i].time_us;
		f = s->seen_us ? figure_of(&s->out, sample[i].pid) : NULL;
		if (f)	/* the last sample of a process stands for the time between readings */
			f->busy_ns = sample[i].sm_percent *
				     (span < MAX_SPAN_NS ? span : MAX_SPAN_NS) / 100;
	}
	s->seen_us = newest;
	s->read_ns = now;
}

/* Reads what is only shown, once a second: power and temperature take the driver some time. */
static void read_device(struct source *s)
{
	uint64_t now = wh_now_ns();
	unsigned long long fixed, broken;
	struct wh_device_figures *f = &s->out.device;
	struct nvml_memory memory;
	uint32_t v;

	if (s->device_ns && now - s->device_ns < DEVICE_NS)
		return;
	s->device_ns = now;
	*f = (struct wh_device_figures){ 0 };
	if (nvml.memory && nvml.memory(s->handle, &memory) == NVML_OK) {
		f->known |= WH_KNOWS_MEMORY;
		f->memory_used = memory.used;
	}
	if (nvml.temperature && nvml.temperature(s->handle, NVML_GPU_TEMPERATURE, &v) == NVML_OK) {
		f->known |= WH_KNOWS_TEMPERATURE;
		f->temperature = v;
	}
	if (nvml.power && nvml.power(s->handle, &v) == NVML_OK) {
		f->known |= WH_KNOWS_POWER;
		f->power_mw = v;
	}
	if (nvml.errors &&
	    nvml.errors(s->handle, NVML_CORRECTED, NVML_SINCE_LOADED, &fixed) == NVML_OK &&
	    nvml.errors(s->handle, NVML_UNCORRECTED, NVML_SINCE_LOADED, &broken) == NVML_OK) {
		f->known |= WH_KNOWS_ERRORS;
		f->corrected = fixed;
		f->uncorrected = broken;
	}
}

static size_t packet_size(const struct wh_figures *f)
{
	return offsetof(struct wh_figures, figure) + f->count * sizeof(f->figure[0]);
}

/* Waits for the owner's request, if there is no period. */
static bool wait_for_word(int fd)
{
	char word;

	return recv(fd, &word, 1, 0) == 1;
}

int wh_figures_main(const char *library, const char *backend, unsigned int period_ms, int fd,
		    wh_say_fn to)
{
	static struct source sources[WH_NVML_DEVICES];
	struct timespec pause = { period_ms / 1000, period_ms % 1000 * 1000000L };
	struct source *s;
	unsigned int n;

	say = to;
	n = load(library, backend) ? open_devices(sources) : 0;
	while (n && (period_ms || wait_for_word(fd))) {
		for (s = sources; s < sources + n; s++) {
			s->out.count = 0;
			if (!read_memory(s))
				continue;
			read_time(s);
			read_device(s);
			if (send(fd, &s->out, packet_size(&s->out), MSG_NOSIGNAL) < 0)
				return 1;
		}
		nanosleep(&pause, NULL);
	}
	return 0;	/* said why: nobody tries again */
}
