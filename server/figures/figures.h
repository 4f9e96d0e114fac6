/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says of its devices and of processes. Each of the two questions is
 * asked by a process of its own (devices.c, reader.c), which sends the answer to the
 * owner of the tenants (report.c, judge.c).
 */
#ifndef WORMHOLE_FIGURES_H
#define WORMHOLE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/file.h"
#include "tenant/plan.h"

/* One line: level, what, consequence. */
typedef void (*wh_say_fn)(const char *level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- Devices ------------------------------------------------------------------------ */

struct wh_devices_report {
	uint32_t devices;
	uint32_t pageable;	/* bit i: kernels of device i reach what is not registered */
	char error[300];	/* empty: all went well */
	char refused[300];	/* empty: SMs are divided as asked; else why no driver does it so */
	struct wh_device device[WH_TENANT_DEVICES];
};

/* In the process that asks: the backend, then its devices. false: r->error says why. */
bool wh_devices_load(const char *backend, struct wh_devices_report *r);
/* sm_group: SMs of the groups that its devices are split into; 0: the driver's own size. */
bool wh_devices_ask(const char *backend, uint32_t sm_group, struct wh_devices_report *r);

/*
 * In the owner: read the report, and bound what is in it. false: none came in time, or
 * one that says why not; r->error has a line then.
 */
bool wh_devices_receive(int fd, const char *backend, struct wh_devices_report *r);
/* Says what no limit holds, and what groups of SMs below the driver's own size cost. */
void wh_devices_warn(const struct wh_devices_report *r, wh_say_fn say);

/* --- Figures ------------------------------------------------------------------------ */

#define WH_FIGURES_MAX	512

struct wh_figure_of {
	uint32_t pid;		/* as the driver names it */
	uint32_t resv;
	uint64_t bytes;		/* NVML_UNKNOWN_BYTES: the driver does not say */
	uint64_t busy_ns;	/* time of the device since the last reading, sampled */
};

/* One reading of one device: a packet. */
struct wh_figures {
	char uuid[WH_UUID];
	uint32_t count;
	uint32_t resv;
	struct wh_figure_of figure[WH_FIGURES_MAX];
};

/*
 * In the process that reads: until the owner is gone. library: NVML; NULL: beside the
 * backend, or the loader's. period_ms 0: whenever the owner has sent a byte. The
 * process's status: 0 where nothing can be read, and it has said why.
 */
int wh_figures_main(const char *library, const char *backend, unsigned int period_ms, int fd,
		    wh_say_fn say);

/* --- Judgement ---------------------------------------------------------------------- */

/* What a tenant's workers hold by the driver's account; the owner keeps it. */
struct wh_held {
	uint64_t driver[WH_TENANT_WORKERS][WH_TENANT_DEVICES];	/* bytes */
	uint64_t bound[WH_TENANT_DEVICES];	/* the limit, or what was held when it came */
	unsigned int over[WH_TENANT_DEVICES];			/* readings in a row */
};

/* A tenant, as its owner knows it: of none of this has a worker a say, but of usage. */
struct wh_audited {
	const char *name;
	const struct wh_device_limit *limit;
	struct wh_tenant_usage *usage;
	struct wh_held *held;
	pid_t pid[WH_TENANT_WORKERS];	/* 0: the account is free */
};

struct wh_audit {
	const struct wh_device *device;
	unsigned int devices;
	uint64_t slack;		/* of a tenant: beyond its limit, of what its handlers know */
	uint64_t unseen;	/* and of what they do not */
	/* The tenant behind @at, which begins as 0 and is moved; false: that was the last. */
	bool (*next)(unsigned int *at, struct wh_audited *t);
	wh_say_fn say;
	/* judge.c's own. */
	unsigned int blind;
	bool said_blind, said_unknown;
};

/* A packet of the reader. 1: there is one; 0: it was none of ours; -1: the reader has gone. */
int wh_figures_receive(int fd, struct wh_figures *f);
/*
 * Notes what it says and stops who holds too much for too long. true: somebody holds
 * more than he may, and the next readings decide.
 */
bool wh_audit_use(struct wh_audit *a, const struct wh_figures *f);

#endif
