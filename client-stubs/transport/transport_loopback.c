// SPDX-License-Identifier: Apache-2.0
/*
 * Transport to a session inside this process. It shows the cost of the encoding alone, and
 * allows tests without a second process. Loads libwormhole-session.so ($WORMHOLE_SESSION) over
 * a private part and $WORMHOLE_BACKEND, in a link namespace of its own (namespace.h).
 */
#define _GNU_SOURCE
#include "namespace.h"
#include "transport.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "loopback.h"
#include "window.h"

#define PART_SIZE	(256UL << 20)
#define FAR_SIZE	(64UL << 30)	/* of addresses; memory is taken when it is used */

static struct {
	struct wh_session *session;
	typeof(wh_session_open) *open;
	typeof(wh_session_close) *close;
	typeof(wh_session_new_thread) *new_thread;
	typeof(wh_session_far) *far;
	typeof(wh_session_slot) *slot;
	typeof(wh_dispatch_slot) *dispatch;
	typeof(wh_session_join_tenant) *join_tenant;
	bool ready[WH_MAX_SLOTS];	/* for each slot */
} loop;

/* The session knows this thread. */
static __thread bool known __attribute__((tls_model("initial-exec")));

/* It is used only on request, since it hides what the other transports are for. */
static int loopback_probe(void)
{
	return 0;
}

static int load(void)
{
	const char *path = getenv("WORMHOLE_SESSION");
	void *lib = wh_namespace_load(path ? path : "libwormhole-session.so");

	if (!lib)
		return WH_ETRANSPORT;
	loop.open = dlsym(lib, "wh_session_open");
	loop.close = dlsym(lib, "wh_session_close");
	loop.new_thread = dlsym(lib, "wh_session_new_thread");
	loop.far = dlsym(lib, "wh_session_far");
	loop.slot = dlsym(lib, "wh_session_slot");
	loop.dispatch = dlsym(lib, "wh_dispatch_slot");
	loop.join_tenant = dlsym(lib, "wh_session_join_tenant");
	if (loop.open && loop.join_tenant && loop.close && loop.new_thread && loop.far &&
	    loop.slot && loop.dispatch)
		return 0;
	wh_complain("loopback: libwormhole-session.so is of another release");
	return WH_EVERSION;
}

static void add_far(struct wh_link *l)
{
	void *far = mmap(NULL, FAR_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	l->one_process = 1;
	if (far == MAP_FAILED)
		return;
	l->far = far;
	l->far_size = FAR_SIZE;
}

/*
 * Gives tests and benches the limits and counters of a tenant's files. This protects nobody,
 * since the program owns the session and its environment.
 */
static int join_tenant(char *err, size_t size)
{
	const char *tenant = getenv("WORMHOLE_TENANT");

	return tenant && *tenant ? loop.join_tenant(loop.session, tenant, err, size) : 0;
}

static int loopback_open(struct wh_link *l)
{
	const char *backend = getenv("WORMHOLE_BACKEND");
	char err[256];
	void *part;
	int rc;

	if (!backend) {
		wh_complain("loopback: WORMHOLE_BACKEND must name the driver library");
		return WH_ETRANSPORT;
	}
	rc = load();
	if (rc)
		return rc;
	wh_namespace_enter();
	part = mmap(NULL, PART_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (part == MAP_FAILED)
		return WH_ENOMEM;
	loop.session = loop.open(part, PART_SIZE, WH_MAX_SLOTS, backend, err, sizeof(err));
	if (loop.session && !join_tenant(err, sizeof(err))) {
		rc = wh_link_from_part(l, part, PART_SIZE);
	} else {
		wh_complain("loopback: %s", err);
		rc = WH_ETRANSPORT;
	}
	if (rc) {
		munmap(part, PART_SIZE);
		return rc;
	}
	memset(loop.ready, 0, sizeof(loop.ready));
	add_far(l);
	loop.far(loop.session, l->far, l->far_size, true);
	return 0;
}

static void begin_thread(void)
{
	wh_namespace_enter();
	loop.new_thread(loop.session);
	known = true;
}

static int begin_slot(uint32_t slot)
{
	loop.ready[slot] = loop.slot(loop.session, slot);
	return loop.ready[slot] ? WH_OK : WH_ENOMEM;
}

static int loopback_call(struct wh_link *l, uint32_t handler, uint64_t arg, size_t slot)
{
	(void)l;
	if (WH_UNLIKELY(!known))
		begin_thread();
	if (WH_UNLIKELY(!loop.ready[slot]) && begin_slot(slot))
		return WH_ENOMEM;
	return loop.dispatch(loop.session, slot, handler, arg);
}

static void loopback_close(struct wh_link *l)
{
	loop.close(loop.session);
	munmap(l->part, l->part_size);
	if (l->far)
		munmap(l->far, l->far_size);
	l->far = NULL;
	l->far_size = 0;
}

/*
 * A driver does not survive a fork, so the child loads another one, into a namespace of its
 * own. The memory of the parent's session stays in this process, since the program may point to
 * it.
 */
static void loopback_forked(struct wh_link *l)
{
	(void)l;
	memset(&loop, 0, sizeof(loop));
	known = false;
	wh_namespace_forked();
}

const struct wh_transport wh_transport_loopback = {
	.name = "loopback",
	.probe = loopback_probe,
	.open = loopback_open,
	.call = loopback_call,
	.close = loopback_close,
	.forked = loopback_forked,
};
