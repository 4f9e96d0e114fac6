/* SPDX-License-Identifier: Apache-2.0 */
/* Command line of wormhole-worker. */
#ifndef WORMHOLE_VM_OPTIONS_H
#define WORMHOLE_VM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "checkpoint/checkpoint.h"

struct options {
	const char *device;
	const char *backend;
	/* folder of libraries over the driver; NULL: the loader finds them */
	const char *lib_path;
	const char *preload;	/* names of libraries to load at the start, or NULL */
	uint32_t window;
	uint32_t part;
	uint64_t part_size;	/* 0: the whole window */
	unsigned int cpu;
	uid_t uid;
	gid_t gid;
	pid_t parent;		/* the worker ends when this process is not its parent any more */
	int ready;		/* descriptor that gets a byte when all is prepared; -1: none */
	const char *tenant;	/* DIR/NAME of the tenant's files; NULL: none */
	int account;		/* account of the tenant; -1: none */
	/* Descriptors, or -1. With one of them the worker serves nobody, but writes there: */
	int devices;		/* which devices the backend has */
	int figures;		/* what the driver counts, each time it is asked */
	/* What of a suspension is asked of the driver; where `result' is -1, nothing is. */
	struct wh_checkpoint checkpoint;
	const char *nvml;	/* library that it asks; NULL: the one beside the backend */
	unsigned int slots;	/* calls that can be under way at the same time */
	size_t stack;		/* stack size of each slot */
	size_t stack_touched;
	size_t heap;
	size_t prefault_max;
	int seccomp;
	int verbose;
};

/* Exits with status 2 and a line on stderr if the command line is wrong. */
void wh_options_parse(struct options *o, int argc, char **argv);

#endif
