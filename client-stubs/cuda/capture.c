// SPDX-License-Identifier: Apache-2.0
/*
 * Knows which thread captures what. The worker's driver sees one thread, so it cannot tell
 * whose capture forbids whose calls. This side knows it, and sends with each call the mode that
 * makes the driver decide as it would for separate threads.
 */
#include "order.h"
#include "stubs.h"

#include <stdlib.h>

struct capture {
	struct capture *next;
	uint64_t stream;
	CUstreamCaptureMode mode;
	const struct wh_thread *thread;
	CUgraph into;			/* the program's graph, or NULL: a new one */
};

static pthread_mutex_t lock WH_PAIR = PTHREAD_MUTEX_INITIALIZER;
static struct capture *captures WH_PAIR;

static void count(const struct capture *c, int by)
{
	if (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL)
		wh_client.global_captures += by;
	__atomic_fetch_add(&wh_client.captures, by, __ATOMIC_RELAXED);
	wh_first_only_by(by);
}

/* Any thread may end a capture, so a thread does not count its captures: the list is searched. */
static bool captures_now(const struct wh_thread *t)
{
	const struct capture *c;

	pthread_mutex_lock(&lock);
	for (c = captures; c; c = c->next)
		if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread == t)
			break;
	pthread_mutex_unlock(&lock);
	return c;
}

/*
 * Returns the mode, as the documentation of cuThreadExchangeStreamCaptureMode() explains the
 * modes.
 */
uint32_t wh_capture_mode_now(const struct wh_thread *t)
{
	bool forbidden = captures_now(t) ||
			 (t->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			  __atomic_load_n(&wh_client.global_captures, __ATOMIC_RELAXED));

	if (t->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED || !forbidden)
		return CU_STREAM_CAPTURE_MODE_RELAXED;
	return CU_STREAM_CAPTURE_MODE_GLOBAL;
}

static void began(CUstream stream, CUstreamCaptureMode mode, CUgraph into)
{
	struct capture *c = malloc(sizeof(*c));

	/*
	 * Without a note the driver judges all threads as one, which is stricter and never
	 * laxer. From then on the driver is also asked whether a stream is captured.
	 */
	if (!c) {
		__atomic_fetch_add(&wh_client.captures, 1, __ATOMIC_RELAXED);
		wh_first_only_by(1);
		return;
	}
	*c = (struct capture) { NULL, wh_stream(stream), mode, &wh_thread, into };
	pthread_mutex_lock(&lock);
	c->next = captures;
	captures = c;
	count(c, 1);
	pthread_mutex_unlock(&lock);
}

void wh_after_cuStreamBeginCapture(CUstream hStream)
{
	began(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL);
}

void wh_after_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	began(hStream, mode, NULL);
}

void wh_after_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph,
					  const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData,
					  size_t numDependencies, CUstreamCaptureMode mode)
{
	(void)dependencies;
	(void)dependencyData;
	(void)numDependencies;
	began(hStream, mode, hGraph);
}

static struct capture **find(uint64_t stream)
{
	struct capture **p = &captures;

	while (*p && (*p)->stream != stream)
		p = &(*p)->next;
	return p;
}

/* Only a relaxed capture may be ended by another thread than its own. */
static bool wrong_thread(uint64_t stream, CUgraph *into)
{
	const struct capture *c;
	bool wrong;

	pthread_mutex_lock(&lock);
	c = *find(stream);
	wrong = c && c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != &wh_thread;
	*into = c ? c->into : NULL;
	pthread_mutex_unlock(&lock);
	return wrong;
}

/* The capture that began in this stream is over, whatever its result is. */
static void ended(uint64_t stream)
{
	struct capture **p, *c;

	pthread_mutex_lock(&lock);
	p = find(stream);
	c = *p;
	if (c) {
		*p = c->next;
		count(c, -1);
	}
	pthread_mutex_unlock(&lock);
	free(c);
}

/* The driver ends such a capture and gives out no graph, so the graph is destroyed here. */
static CUresult end_from_wrong_thread(CUstream hStream, uint64_t stream, CUgraph into)
{
	CUgraph graph = NULL;

	if (wh_raw_cuStreamEndCapture(hStream, &graph) == CUDA_SUCCESS && graph && !into)
		cuGraphDestroy(graph);
	ended(stream);
	return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	uint64_t stream = wh_stream(hStream);
	CUgraph into;
	CUresult res;

	if (phGraph)
		*phGraph = NULL;
	if (wrong_thread(stream, &into))
		return end_from_wrong_thread(hStream, stream, into);
	res = wh_raw_cuStreamEndCapture(hStream, phGraph);
	switch (res) {
	case CUDA_SUCCESS:
	case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
	case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
		ended(stream);
		break;
	default:
		break;
	}
	return res;
}

/*
 * Streams that were not captured when the driver was asked, and the epoch of that answer. The
 * answer holds while this process captures nothing, and while no call has come that could end a
 * stream or show an error. Libraries ask before each of their calls.
 */
#define ASKED	64u	/* a power of two */

static struct {
	uint64_t stream, epoch;		/* 0: none */
} asked[ASKED] WH_PAIR;

static unsigned int place_of(uint64_t stream)
{
	return (unsigned int)(stream * 0x9e3779b97f4a7c15ULL >> 58) % ASKED;
}

static bool not_captured(uint64_t stream)
{
	unsigned int i = place_of(stream);
	bool known;

	if (__atomic_load_n(&wh_client.captures, __ATOMIC_SEQ_CST) || wh_usable() != CUDA_SUCCESS)
		return false;
	pthread_mutex_lock(&lock);
	known = asked[i].epoch == wh_post_epoch() && asked[i].stream == stream;
	pthread_mutex_unlock(&lock);
	return known;
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	uint64_t epoch = wh_post_epoch(), stream = (uint64_t)(uintptr_t)hStream;
	unsigned int i = place_of(stream);
	CUresult res;

	if (captureStatus && not_captured(stream)) {
		*captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
		return CUDA_SUCCESS;
	}
	res = wh_raw_cuStreamIsCapturing(hStream, captureStatus);
	if (res == CUDA_SUCCESS && *captureStatus == CU_STREAM_CAPTURE_STATUS_NONE) {
		pthread_mutex_lock(&lock);
		asked[i].stream = stream;
		asked[i].epoch = epoch;
		pthread_mutex_unlock(&lock);
	}
	return res;
}
