/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data that the commands with figures show: tenants of the server on this machine
 * (tenant_look.c), VMs with a role (vm_look.c), and both at once (look.c).
 */
#ifndef WORMHOLE_HOST_VIEWS_H
#define WORMHOLE_HOST_VIEWS_H

#include "tenancy.h"
#include "tenant/file.h"
#include "tenant/plan.h"
#include "wormhole.h"

/* --- tenant_look.c ----------------------------------------------------------------- */

struct wh_tenant_view {
	struct wh_tenant_limits limits;
	struct wh_tenant_sum sum;
	struct wh_worker_usage worker[WH_TENANT_WORKERS];	/* the living ones, without gaps */
	unsigned int workers;
	uint64_t at_ns;
	uint64_t suspended_bytes;	/* of devices, in memory of the host meanwhile */
	uint64_t cpu_ns;	/* CPU time of its workers (look.c) */
	bool cpu_known;
	/* of daemon/room.c, with cpu_known */
	uint64_t parkings, driver_parkings, room_waited_ns;
	uid_t uid;		/* whose tenant it is */
	bool uid_known;		/* false: a window of a server VM */
	uint64_t vm;		/* not 0: it is a window of this server VM, */
	unsigned int window;	/* namely this window */
};

/* Returns the first device from @d on that the tenant has, or limits.devices if there is none. */
static inline unsigned int wh_view_device(const struct wh_tenant_view *v, unsigned int d)
{
	while (d < v->limits.devices && wh_is_hidden(v->limits.hidden, (int)d))
		d++;
	return d;
}

#define wh_each_device(v, d) \
	for (d = wh_view_device(v, 0); d < (v)->limits.devices; d = wh_view_device(v, d + 1))

/* The tenants at one look, allocated. */
struct wh_tenant_views {
	struct wh_tenant_view *view;
	int n;
	bool server;		/* a server is running */
	struct wh_protections protections;
	cJSON *libraries, *devices;
};

/*
 * Looks at all tenants, including those of server VMs, or at the named ones. 1/window0
 * names a window. Returns false after a message.
 */
bool wh_tenants_look(const char *dir, char *const *names, int n, struct wh_tenant_views *out);
void wh_tenants_free(struct wh_tenant_views *v);
/* Shows what a suspended tenant has charged as the host's memory, and not as its devices'. */
void wh_view_suspended(struct wh_tenant_view *v);
/*
 * Finds the same tenant in an earlier look. Returns NULL if it is not there, or if @before
 * is NULL.
 */
const struct wh_tenant_view *wh_tenant_before(const struct wh_tenant_views *before,
					      const struct wh_tenant_view *v);

/* --- programs.c ---------------------------------------------------------------------- */

#define WH_USER_TEXT	33

/* Writes a user's name, or the number of one without a name. */
const char *wh_user_text(uid_t uid, char out[WH_USER_TEXT]);
/*
 * Writes text of others so that a terminal gets no control characters: bytes beyond ASCII and
 * such characters become question marks.
 */
const char *wh_plain_text(const char *text, char *out, size_t size);
/* Writes the user of a worker's client; "-" if the client is in another VM. */
const char *wh_program_user(const struct wh_worker_usage *w, char out[WH_USER_TEXT]);
const char *wh_program_command(const struct wh_worker_usage *w, char out[WH_COMMAND]);
/* Adds "client_uid", "client_user" and "client_command", unless the client is in another VM. */
void wh_program_json(const struct wh_worker_usage *w, cJSON *o);

/* --- vm_tenants.c --------------------------------------------------------------------- */

/* The option --timeout of a command that asks server VMs. It has no input. */
extern const struct argp wh_timeout_argp;
/* Does this name a window of a server VM? No tenant's name begins with a digit. */
bool wh_is_window(const char *name);
/* Suspends or resumes a window, and waits for the end of that. Returns the exit status. */
int wh_vm_suspend(const char *name, bool resume, uint64_t wait_ms);
/* Says that such windows cannot be @what. Returns false for other tenants. */
bool wh_refuse_window(const char *name, const char *what);
/* Parses "1/window0" or "1/0"; for "1" *window is -1. Returns false for other texts. */
bool wh_vm_window(const char *name, uint64_t *id, int *window);
/* Return the number of windows found, or -1 after a message. */
int wh_vm_tenants_named(const char *name, struct wh_tenant_view *out, int room);
int wh_vm_tenants_all(struct wh_tenant_view *out, int room);
/*
 * Counts a server VM's windows, and their living workers. Returns -1 with the reason if it does
 * not answer, and 0 for windows of so many workers that they are no tenants.
 */
int wh_vm_windows(const struct wh_vm *vm, unsigned int *workers, char *why, size_t size);
/* Changes limits. Returns the command's exit status. */
int wh_vm_limit(const char *name, const struct wh_limit_list *list);

/* --- tenant_stat.c ------------------------------------------------------------------ */

void wh_tenants_json(const struct wh_tenant_views *v, cJSON *list);
/* Prints a table. @before is an earlier look, for shares of the time in between; NULL: none. */
void wh_tenants_table(const struct wh_tenant_views *v, const struct wh_tenant_views *before);
/* Writes a size like "64.0M", with at most five characters below 1000 T. */
const char *wh_bytes_text(uint64_t bytes, char out[16]);

/* --- vm_look.c ----------------------------------------------------------------------- */

struct wh_vm_view {
	struct wh_vm vm;
	struct wh_host_stat stat;
	uint64_t cpu_ns;	/* CPU time of its VMM */
	uint64_t at_ns;
};

struct wh_vm_views {
	struct wh_vm_view *view;
	int n;
	int rc;			/* reason if VMs are not seen: -errno; -ENOENT: there are none */
};

/* A field of struct wh_host_stat. */
struct wh_vm_counter {
	const char *name, *help;
	size_t offset;
	bool gauge;		/* it can also decrease */
};

#define WH_VM_COUNTERS	16
extern const struct wh_vm_counter wh_vm_counters[WH_VM_COUNTERS];

uint64_t wh_vm_counter(const struct wh_host_stat *s, unsigned int i);
/* Looks at the living VMs that the command started. */
void wh_vms_look(struct wh_vm_views *out);
void wh_vms_free(struct wh_vm_views *v);
const struct wh_vm_view *wh_vm_before(const struct wh_vm_views *before, const struct wh_vm_view *v);
void wh_vm_json(const struct wh_host_stat *s, cJSON *o);

typedef void (*wh_reason_fn)(void *to, const char *name, uint64_t value);
/* Call @fn (NULL: nobody) for each reason that was counted. Return the sum of all. */
uint64_t wh_vm_handoffs(const struct wh_host_stat *s, wh_reason_fn fn, void *to);
uint64_t wh_vm_exits(const struct wh_host_stat *s, wh_reason_fn fn, void *to);

/* --- look.c ---------------------------------------------------------------------------- */

/* Everything, at one moment. */
struct wh_look {
	struct wh_tenant_views tenants;
	struct wh_vm_views vms;
	bool answered;		/* the server answered with the following */
	pid_t pid;
	uint64_t cpu_ns;
	unsigned int devices;
	struct {
		char name[64], uuid[WH_UUID];
		uint64_t memory;
		uint32_t sms;
		struct wh_device_figures figures;
	} device[WH_TENANT_DEVICES];
	uint64_t at_ns;
};

bool wh_look(const char *dir, struct wh_look *out);
void wh_look_free(struct wh_look *l);

/* --- metrics_pods.c -------------------------------------------------------------------- */

/* A pod of Kubernetes that has a tenant; what several containers of it do not share is NULL. */
struct wh_pod {
	const char *tenant;	/* or the share of which it is */
	const char *space, *name, *container;
};
struct wh_pods;

/* Reads the pods' file of the server's folder. NULL: there is none, and no tenant has a pod. */
struct wh_pods *wh_pods_read(const char *dir);
/* NULL does nothing. */
void wh_pods_free(struct wh_pods *p);
/* Returns a tenant's pod, which lives as long as @p; NULL if it has none. */
const struct wh_pod *wh_pod_of(const struct wh_pods *p, const char *tenant);

/* --- metrics.c --------------------------------------------------------------------------- */

/* Writes a look in Prometheus' text format, with the labels of @pods, which may be NULL. */
void wh_metrics_write(const struct wh_look *l, const struct wh_pods *pods, FILE *f);

#endif
