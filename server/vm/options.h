/* SPDX-License-Identifier: Apache-2.0 */
/* Command line of wormhole-worker. */
#ifndef WORMHOLE_VM_OPTIONS_H
#define WORMHOLE_VM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
	const char *device;
	const char *backend;
	const char *lib_path;	/* of libraries over the driver; NULL: as the loader finds them */
	const char *preload;	/* names of those to load at the start, or NULL */
	uint32_t window;
	uint32_t part;
	uint64_t part_size;	/* 0: the whole window */
	unsigned int cpu;
	uid_t uid;
	gid_t gid;
	pid_t parent;		/* end when this process is not the parent any more */
	int ready;		/* descriptor that a byte is written to when all is prepared; -1 */
	const char *tenant;	/* DIR/NAME of its files; NULL for none */
	int account;		/* of the tenant; -1: none */
	/* Descriptors; -1: it serves. What it tells there instead: */
	int devices;		/* which devices the backend has */
	int figures;		/* what the driver counts, whenever it is asked */
	const char *nvml;	/* by this library; NULL: beside the backend */
	unsigned int slots;	/* calls that can be under way at the same time */
	size_t stack;		/* of each slot */
	size_t stack_touched;
	size_t heap;
	size_t prefault_max;
	int seccomp;
	int verbose;
};

/* Exits with status 2 and a line on stderr when the command line is wrong. */
void wh_options_parse(struct options *o, int argc, char **argv);

#endif
