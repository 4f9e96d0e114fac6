// SPDX-License-Identifier: Apache-2.0
/*
 * Records of the program's marks and ranges (nvtx.c), which are kept here until a flush. No other
 * process has a part in them.
 */
#include "cupti_stub.h"

#include <stdlib.h>
#include <unistd.h>

#define MOST	(1u << 20)	/* until a flush */

struct marker {
	CUpti_ActivityMarker2 marker;
	CUpti_ActivityMarkerData data;
	bool has_data;		/* an end has none */
};

static struct marker *kept;
static size_t count, room, dropped;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	count = dropped = 0;
}
WH_IN_CHILD(in_child())

/* The lock is held. */
static bool make_room(void)
{
	size_t more = room ? room * 2 : 256;
	struct marker *p;

	if (count < room)
		return true;
	p = room < MOST ? realloc(kept, more * sizeof(*kept)) : NULL;
	if (!p)
		return false;
	kept = p;
	room = more;
	return true;
}

static void keep(const struct marker *m)
{
	pthread_mutex_lock(&lock);
	if (make_room())
		kept[count++] = *m;
	else
		dropped++;
	pthread_mutex_unlock(&lock);
}

static CUpti_ActivityMarker2 marker(uint32_t id, CUpti_ActivityFlag flags, const char *domain)
{
	CUpti_ActivityMarker2 m = {
		.kind = CUPTI_ACTIVITY_KIND_MARKER,
		.flags = flags,
		.id = id,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.domain = domain,
	};

	m.objectId.pt.processId = getpid();
	m.objectId.pt.threadId = cu_thread_number();
	m.timestamp = cu_now();
	return m;
}

bool cu_marks(void)
{
	return cu_kinds() & WH_CUPTI_KIND(MARKER);
}

void cu_mark_begin(uint32_t id, CUpti_ActivityFlag flags, const struct cu_mark *mark)
{
	struct marker m = { .marker = marker(id, flags, mark->domain), .has_data = true };

	m.marker.name = cu_keep_text(mark->text);
	m.data = (CUpti_ActivityMarkerData) {
		.kind = CUPTI_ACTIVITY_KIND_MARKER_DATA,
		.flags = mark->has_color ? CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB :
					   CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE,
		.id = id,
		.payloadKind = mark->payload_kind,
		.payload = mark->payload,
		.color = mark->color,
		.category = mark->category,
	};
	keep(&m);
}

void cu_mark_end(uint32_t id, const char *domain)
{
	struct marker m = { .marker = marker(id, CUPTI_ACTIVITY_FLAG_MARKER_END, domain) };

	keep(&m);
}

void cu_markers_tell(void)
{
	struct marker *given;
	size_t n, i;

	pthread_mutex_lock(&lock);
	given = kept;
	n = count;
	kept = NULL;
	count = room = 0;
	pthread_mutex_unlock(&lock);
	for (i = 0; i < n; i++) {
		cu_buffer_put(&given[i].marker, sizeof(given[i].marker));
		if (given[i].has_data && cu_kinds_ever() & WH_CUPTI_KIND(MARKER_DATA))
			cu_buffer_put(&given[i].data, sizeof(given[i].data));
	}
	free(given);
}

size_t cu_markers_dropped(void)
{
	return __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
}
