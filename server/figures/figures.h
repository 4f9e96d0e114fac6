/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the driver says about its devices and about processes. A process of its own asks each of the
 * two questions (devices.c, reader.c), and sends the answer to the owner of the tenants (report.c,
 * judge.c).
 */
#ifndef WORMHOLE_FIGURES_H
#define WORMHOLE_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tenant/file.h"
#include "tenant/plan.h"

/* Prints one line: level, what, consequence. */
typedef void (*wh_say_fn)(const char *level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* --- Devices ------------------------------------------------------------------------ */

struct wh_devices_report {
	uint32_t devices;
	uint32_t pageable;	/* bit i: kernels of device i reach memory that is not registered */
	char error[300];	/* empty: all went well */
	/* empty: SMs are divided as asked for; otherwise why the driver cannot do it */
	char refused[300];
	struct wh_device device[WH_TENANT_DEVICES];
};

/*
 * The devices of a machine with MIG instances, of which a process has one: each is to be asked for
 * alone. It follows a report without devices.
 */
struct wh_apart_report {
	uint32_t n;
	uint32_t beyond;	/* there are more, for which there is no room */
	char uuid[WH_TENANT_DEVICES][WH_UUID];
};

/* For the process that asks: loads the backend. False: r->error says why. */
bool wh_devices_load(const char *backend, struct wh_devices_report *r);
/*
 * Looks by NVML for MIG instances, before the driver starts. If there are any, *out has the
 * UUIDs of all instances, and of the GPUs that are not in MIG mode: those that CUDA_VISIBLE_DEVICES
 * names, or all. `library` is as for wh_figures_main(), and "none" stands for the one beside the
 * backend. False: there is none, or r->error says what is wrong.
 */
bool wh_devices_apart(const char *library, const char *backend, struct wh_devices_report *r,
		      struct wh_apart_report *out);
/*
 * Asks for its devices. sm_group: SMs of the groups into which they are split; 0: the driver's own
 * size.
 */
bool wh_devices_ask(const char *backend, uint32_t sm_group, struct wh_devices_report *r);

/* What a context takes of each device, in bytes; 0: not known. */
struct wh_contexts_report {
	uint64_t bytes[WH_TENANT_DEVICES];
};

/*
 * For the process that asks, after wh_devices_ask(): makes a context on each device, one after the
 * other, which takes a GPU 0.2 s, and reads by NVML what it takes. `library` is as for
 * wh_figures_main().
 */
void wh_contexts_measure(const char *library, const char *backend,
			 const struct wh_devices_report *r, struct wh_contexts_report *out);

/*
 * For the owner: reads the report, and bounds the values in it. False: none came in time, or it
 * reports an error; r->error then has a line.
 */
bool wh_devices_receive(int fd, const char *backend, struct wh_devices_report *r);
/* For the owner, after a report without devices. False: none came in time. */
bool wh_apart_receive(int fd, struct wh_apart_report *out);
/*
 * For the owner, after that: reads what contexts take into r->device[].context. A driver that does
 * not say so in time costs nothing but these figures. False: it did not.
 */
bool wh_contexts_receive(int fd, struct wh_devices_report *r);
/*
 * Warns of memory that no limit bounds, and of the cost of SM groups below the driver's own size.
 */
void wh_devices_warn(const struct wh_devices_report *r, wh_say_fn say);

/* --- Figures ------------------------------------------------------------------------ */

#define WH_FIGURES_MAX	512

struct wh_figure_of {
	uint32_t pid;		/* the driver's number of the process */
	uint32_t resv;
	uint64_t bytes;		/* NVML_UNKNOWN_BYTES: the driver does not say */
	uint64_t busy_ns;	/* time of the device since the last reading, sampled */
};

/* One reading of one device, which is one packet. */
struct wh_figures {
	char uuid[WH_UUID];
	uint32_t count;
	uint32_t resv;
	struct wh_device_figures device;
	struct wh_figure_of figure[WH_FIGURES_MAX];
};

/*
 * For the process that reads: runs until the owner is gone. `library` is NVML; NULL: the one beside
 * the backend, or the loader's. period_ms 0: reads whenever the owner has sent a byte. Returns the
 * process's status; it is 0 if nothing can be read, after a line that says why.
 */
int wh_figures_main(const char *library, const char *backend, unsigned int period_ms, int fd,
		    wh_say_fn say);

/* --- Judgement ---------------------------------------------------------------------- */

/* What a tenant's workers hold by the driver's account; the owner of the tenants keeps it. */
struct wh_held {
	uint64_t driver[WH_TENANT_WORKERS][WH_TENANT_DEVICES];	/* bytes */
	/* the limit, or what was held when the limit came */
	uint64_t bound[WH_TENANT_DEVICES];
	unsigned int over[WH_TENANT_DEVICES];			/* readings in a row */
};

/* A tenant, as its owner knows it. A worker can influence only `usage`. */
struct wh_judged {
	const char *name;
	const struct wh_device_limit *limit;
	const struct wh_tenant_limits *file;	/* for the places of devices */
	struct wh_tenant_usage *usage;
	struct wh_held *held;
	pid_t pid[WH_TENANT_WORKERS];	/* 0: the account is free */
};

struct wh_judge {
	const struct wh_device *device;
	unsigned int devices;
	/* bytes beyond its limit that a tenant may hold, if its handlers know them */
	uint64_t slack;
	uint64_t unseen;	/* such bytes that they do not know */
	/* Moves to the next tenant; *at begins as 0. False: there are no more. */
	bool (*next)(unsigned int *at, struct wh_judged *t);
	wh_say_fn say;
	void (*kill)(pid_t worker);
	struct wh_device_figures *figures;	/* of each device, as last read; NULL: not kept */
	/* These belong to judge.c. */
	unsigned int blind;
	bool said_blind, said_unknown;
};

/*
 * Receives a packet of the reader. 1: there is one; 0: it was malformed; -1: the reader has gone.
 */
int wh_figures_receive(int fd, struct wh_figures *f);
/*
 * Notes the figures, and stops a worker of a tenant that holds too much for too long. True: a
 * tenant holds more than it may, and the next readings decide.
 */
bool wh_judge_use(struct wh_judge *a, const struct wh_figures *f);

#endif
