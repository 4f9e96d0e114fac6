/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cgroup for each name: a tenant of `wormhole serve`, a worker of a server VM.
 * What the machine has is found once. Of one thread.
 */
#ifndef WORMHOLE_CGROUP_H
#define WORMHOLE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_protection {
	bool on;
	char detail[120];	/* what it is; or why it is not */
};

/* Finds where ours can be, for each controller, and says so; removes what killed ones left. */
void wh_cgroup_start(struct wh_protection *memory, struct wh_protection *processes,
		     struct wh_protection *cpu);
void wh_cgroup_stop(void);
/* false: err says why, and there is none of that name. */
bool wh_cgroup_open(const char *name, char *err, size_t err_size);
/* What has no process in it may have been removed: made again, all but its limit of memory. */
bool wh_cgroup_renew(const char *name, char *err, size_t err_size);
/* Its one folder for everything, as a descriptor; -1: it has several, or none. */
int wh_cgroup_folder(const char *name);
/* In a child: 0, or -1 with errno. */
int wh_cgroup_enter(const char *name);
/* Bytes of memory; 0: no limit. Less than is in use waits. false: err says why not. */
bool wh_cgroup_memory(const char *name, uint64_t bytes, char *err, size_t err_size);
/* Kills who is in it and removes it; waits for their end, a few seconds at most. */
void wh_cgroup_close(const char *name);

#endif
