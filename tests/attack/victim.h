/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the target of an attack as root sees it: the worker's process and its memory. */
#ifndef WORMHOLE_ATTACK_VICTIM_H
#define WORMHOLE_ATTACK_VICTIM_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static inline int youngest_child(int pid)
{
	int child = 0, next;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	f = fopen(path, "r");
	while (f && fscanf(f, "%d", &next) == 1)
		child = next;
	if (f)
		fclose(f);
	return child;
}

/* Returns the youngest worker of the server with the process number $ATTACK_SERVER. */
static inline int worker_process(void)
{
	const char *server = getenv("ATTACK_SERVER");
	int pid = server ? atoi(server) : 0, child = pid;

	while (pid && (child = youngest_child(pid)))
		pid = child;
	return pid;
}

/* Returns the first writable mapping whose line contains this word, or 0 if there is none. */
static inline uint64_t worker_mapping(int pid, const char *word, uint64_t *end)
{
	char path[64], line[512], rights[8];
	unsigned long from, to;
	uint64_t at = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && !at && fgets(line, sizeof(line), f))
		if (strstr(line, word) &&
		    sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && rights[1] == 'w') {
			at = from;
			*end = to;
		}
	if (f)
		fclose(f);
	return at;
}

static inline bool worker_read(int pid, uint64_t at, void *to, size_t n)
{
	char path[64];
	bool good;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	good = fd >= 0 && pread(fd, to, n, at) == (ssize_t)n;
	if (fd >= 0)
		close(fd);
	return good;
}

#endif
