// SPDX-License-Identifier: Apache-2.0
/* The virtual device of sim.h, and the driver's functions over it. */
#include "sim_device.h"

#include <stdlib.h>

static double now_ns, device_ns;
static struct sim_process process[SIM_PROCESSES];
static int current;
/* With slices: whose one it is (-1: nobody's), its end, and what is left of the change to it. */
static double slice_ns, change_ns, slice_end, changing;
static int sliced = -1;
uint64_t sim_event_calls;
const double sim_clock_ns = SIM_CLOCK_NS;

uint64_t sim_tsc(void)
{
	now_ns += SIM_CLOCK_NS;
	return (uint64_t)now_ns + 1000000;
}

double sim_now(void)
{
	return now_ns;
}

struct sim_process *sim_process(int i)
{
	return &process[i];
}

void sim_reset(void)
{
	int i, k;

	for (i = 0; i < SIM_PROCESSES; i++) {
		for (k = 0; k < SIM_STREAMS; k++)
			free(process[i].stream[k].item);
		process[i] = (struct sim_process) { .used_ns = 0 };
	}
	now_ns = device_ns = slice_ns = slice_end = changing = 0;
	sliced = -1;
	sim_event_calls = 0;
}

/* --- The device ------------------------------------------------------------------------ */

static struct sim_item *head(struct sim_stream *st)
{
	return st->first == st->last ? NULL : &st->item[st->first % SIM_ITEMS];
}

static void finish(struct sim_stream *st)
{
	struct sim_item *it = head(st);

	if (it->event) {
		it->event->done = --it->event->pending == 0;
		it->event->ns = device_ns;
	}
	st->first++;
}

static int is_busy(struct sim_process *p)
{
	int k, busy = 0;

	for (k = 0; k < SIM_STREAMS; k++)
		busy |= head(&p->stream[k]) != NULL;
	return busy;
}

/* An event is no work. */
static int works(struct sim_process *p)
{
	struct sim_item *it;
	int k, kernels = 0;

	for (k = 0; k < SIM_STREAMS; k++) {
		it = head(&p->stream[k]);
		kernels |= it && !it->event;
	}
	return kernels;
}

/* Returns the time until a kernel of the process ends, when `busy` of them share the device. */
static double left_of(struct sim_process *p, int busy, double most)
{
	struct sim_item *it;
	int k;

	for (k = 0; k < SIM_STREAMS; k++) {
		it = head(&p->stream[k]);
		if (it && it->left * busy < most)
			most = it->left * busy;
	}
	return most;
}

static double next_end(int busy, double most)
{
	int i;

	for (i = 0; i < SIM_PROCESSES; i++)
		most = left_of(&process[i], busy, most);
	return most;
}

/* The process works for so long until device_ns. */
static void work(struct sim_process *p, double ns)
{
	struct sim_item *it;
	int k;

	if (works(p))
		p->used_ns += ns;
	for (k = 0; k < SIM_STREAMS; k++) {
		it = head(&p->stream[k]);
		if (!it)
			continue;
		it->left -= ns;
		if (it->left >= 1e-3)
			continue;
		if (!it->event)
			p->done_ns = device_ns;
		finish(&p->stream[k]);
	}
}

static void step(double ns, int busy)
{
	int i;

	device_ns += ns;
	for (i = 0; i < SIM_PROCESSES; i++)
		work(&process[i], ns / busy);
}

/* Gives the device to the next process that has work. False: none has. */
static bool next_slice(void)
{
	int i, n;

	for (n = 1; n <= SIM_PROCESSES; n++) {
		i = (sliced + n) % SIM_PROCESSES;
		if (!is_busy(&process[i]))
			continue;
		changing = i == sliced ? 0 : change_ns;
		slice_end = device_ns + changing + slice_ns;
		sliced = i;
		return true;
	}
	return false;
}

static void run_slices(void)
{
	double ns, end;

	while (device_ns < now_ns) {
		if ((sliced < 0 || device_ns >= slice_end - 1e-3 || !is_busy(&process[sliced])) &&
		    !next_slice()) {
			device_ns = now_ns;
			return;
		}
		end = now_ns < slice_end ? now_ns : slice_end;
		ns = changing < end - device_ns ? changing : end - device_ns;
		changing -= ns;
		device_ns += ns;
		ns = left_of(&process[sliced], 1, end - device_ns);
		device_ns += ns;
		work(&process[sliced], ns);
	}
}

void sim_slices(double ns, double ns_between)
{
	slice_ns = ns;
	change_ns = ns_between;
}

static void run_device(void)
{
	int i, busy;

	if (slice_ns > 0) {
		run_slices();
		return;
	}
	while (device_ns < now_ns) {
		for (i = busy = 0; i < SIM_PROCESSES; i++)
			busy += is_busy(&process[i]);
		if (!busy)
			device_ns = now_ns;
		else
			step(next_end(busy, now_ns - device_ns), busy);
	}
}

void sim_advance_to(double ns)
{
	if (ns > now_ns)
		now_ns = ns;
	run_device();
}

void sim_choose(int i)
{
	current = i;
}

static struct sim_stream *stream_of(CUstream stream)
{
	return &process[current].stream[(uintptr_t)stream % SIM_STREAMS];
}

static void put(CUstream stream, struct sim_item it)
{
	struct sim_stream *st = stream_of(stream);

	if (!st->item)
		st->item = calloc(SIM_ITEMS, sizeof(*st->item));
	if (st->last - st->first >= SIM_ITEMS)
		abort();
	st->item[st->last++ % SIM_ITEMS] = it;
}

void sim_drop(int i)
{
	int k;

	for (k = 0; k < SIM_STREAMS; k++)
		process[i].stream[k].first = process[i].stream[k].last;
}

void sim_launch(CUstream stream, double ns)
{
	put(stream, (struct sim_item) { .left = ns });
}

unsigned int sim_queued(CUstream stream)
{
	return (unsigned int)(stream_of(stream)->last - stream_of(stream)->first);
}

int sim_idle(int i)
{
	return !is_busy(&process[i]);
}

/* --- The driver ---------------------------------------------------------------------------- */

static CUresult event_create(CUevent *out, unsigned int flags)
{
	(void)flags;
	sim_event_calls++;
	*out = (CUevent)calloc(1, sizeof(struct sim_event));
	return CUDA_SUCCESS;
}

static CUresult event_destroy(CUevent e)
{
	free(e);
	return CUDA_SUCCESS;
}

static CUresult event_record(CUevent event, CUstream stream)
{
	struct sim_event *e = (struct sim_event *)event;

	sim_event_calls++;
	e->pending++;
	e->done = 0;
	now_ns += SIM_RECORD_NS;
	run_device();
	put(stream, (struct sim_item) { .left = SIM_EVENT_NS, .event = e });
	run_device();
	return CUDA_SUCCESS;
}

static CUresult event_query(CUevent event)
{
	sim_event_calls++;
	now_ns += SIM_QUERY_NS;
	run_device();
	return ((struct sim_event *)event)->done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

static CUresult event_elapsed(float *ms, CUevent a, CUevent b)
{
	now_ns += SIM_ELAPSED_NS;
	*ms = (float)((((struct sim_event *)b)->ns - ((struct sim_event *)a)->ns) / 1e6);
	return CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *out, unsigned int flags)
{
	(void)flags;
	*out = (CUstream)(uintptr_t)(SIM_STREAMS - 1);
	return CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream stream)
{
	(void)stream;
	return CUDA_SUCCESS;
}

CUstream sim_capturing;

static CUresult stream_is_capturing(CUstream stream, CUstreamCaptureStatus *status)
{
	now_ns += SIM_CAPTURING_NS;
	*status = sim_capturing && stream == sim_capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE :
							     CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

static CUresult exchange_mode(CUstreamCaptureMode *mode)
{
	(void)mode;
	now_ns += SIM_MODE_NS;
	return CUDA_SUCCESS;
}

void sim_driver(struct wh_driver *d)
{
	d->cuThreadExchangeStreamCaptureMode = exchange_mode;
	d->cuEventCreate = event_create;
	d->cuEventDestroy_v2 = event_destroy;
	d->cuEventRecord = event_record;
	d->cuEventQuery = event_query;
	d->cuEventElapsedTime = event_elapsed;
	d->cuStreamCreate = stream_create;
	d->cuStreamDestroy_v2 = stream_destroy;
	d->cuStreamIsCapturing = stream_is_capturing;
}

/* --- Tracing, which nobody does here ----------------------------------------------------- */

void wh_trace_device_begin(struct wh_session *s, CUstream stream)
{
	(void)s;
	(void)stream;
}

void wh_trace_device_end(struct wh_session *s, CUstream stream)
{
	(void)s;
	(void)stream;
}
