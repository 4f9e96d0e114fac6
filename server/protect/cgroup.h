/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup for each name: for a tenant of `wormhole serve`, or a worker of a server VM. The
 * controllers of the machine are found once. One thread may use it.
 */
#ifndef WORMHOLE_CGROUP_H
#define WORMHOLE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_protection {
	bool on;
	char detail[120];	/* what it is, or why it is off */
};

/*
 * Finds the place of our cgroups, for each controller, and reports it; removes what killed servers
 * left.
 */
void wh_cgroup_start(struct wh_protection *memory, struct wh_protection *processes,
		     struct wh_protection *cpu);
void wh_cgroup_stop(void);

/* The places that were found, for another program that this process becomes. */
struct wh_cgroup_place {
	bool v2;
	const char *dir;	/* "": none */
};
#define WH_CGROUP_KINDS	3
void wh_cgroup_leave(struct wh_cgroup_place out[WH_CGROUP_KINDS]);
/* Call this in place of wh_cgroup_start(). */
void wh_cgroup_take(const struct wh_cgroup_place place[WH_CGROUP_KINDS],
		    struct wh_protection *memory, struct wh_protection *processes,
		    struct wh_protection *cpu);
/* Makes the cgroup of a name. False: err says why, and there is none of that name. */
bool wh_cgroup_open(const char *name, char *err, size_t err_size);
/* A cgroup without processes may have been removed: makes it again, without its limit of memory. */
bool wh_cgroup_renew(const char *name, char *err, size_t err_size);
/* Returns a descriptor of its one folder for all controllers; -1: it has several, or none. */
int wh_cgroup_folder(const char *name);
/* Call this in a child: 0, or -1 with errno. */
int wh_cgroup_enter(const char *name);
/*
 * Sets the bytes of memory; 0: no limit. A limit below the current use is not set, and *waits (or
 * NULL) says so: it can be set when less is in use. False: err says why.
 */
bool wh_cgroup_memory(const char *name, uint64_t bytes, bool *waits, char *err, size_t err_size);
/*
 * Returns the bytes that are charged to it and are in no process or file any more, but in pipes and
 * sockets of anybody (cgroup_memory.c); 0 also if that is not known. A little is not noticed: 512
 * KiB for each CPU.
 */
uint64_t wh_cgroup_loose(const char *name);
/* The same for a folder of the one or the other version. */
uint64_t wh_cgroup_loose_in(const char *dir, bool v2);
/* Reads a file of a cgroup's folder, as a string; what has no room is left out. */
bool wh_cgroup_get(const char *dir, const char *file, char *out, size_t size);
/* Kills all processes in it and removes it; waits for their end, a few seconds at most. */
void wh_cgroup_close(const char *name);

#endif
