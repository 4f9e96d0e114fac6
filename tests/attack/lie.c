// SPDX-License-Identifier: Apache-2.0
/*
 * `lie FILE WORD [VALUE]` writes what a hijacked worker could write into the file that
 * the workers of its tenant share.
 *   head          the file denies that it is such a file
 *   locks         both locks are held by a thread that does not exist
 *   accounts=PID  every free account belongs to the living worker PID, which holds all memory
 *   counted=PID   this worker has counted all memory there is
 *   odd           the sums of the ended workers are being changed, for ever
 *   tokens        GPU time for years on every device
 *   table         shared objects: all entries and their number are random
 *   noise=SEED    every word of the file is random
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tenant/tenant.h"

static void noise(void *p, size_t n, uint64_t seed)
{
	uint64_t *word = p;
	size_t i;

	for (i = 0; i < n / sizeof(*word); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		word[i] = seed ^ seed >> 29;
	}
}

static void claim_accounts(struct wh_tenant_usage *u, uint32_t pid)
{
	int i, d;

	for (i = 0; i < WH_TENANT_WORKERS; i++) {
		if (u->worker[i].pid)
			continue;
		u->worker[i].pid = pid;
		for (d = 0; d < WH_TENANT_DEVICES; d++)
			u->worker[i].device[d].memory = UINT64_MAX / 2;
	}
}

static void count_all(struct wh_tenant_usage *u, uint32_t pid)
{
	int i;

	for (i = 0; i < WH_TENANT_WORKERS; i++)
		if (u->worker[i].pid == pid)
			u->worker[i].device[0].memory = UINT64_MAX / 2;
}

/*
 * Writes a lock as the C library does: its first words hold the owner's number. This
 * owner never gives it back.
 */
static void hold_lock(uint64_t *lock)
{
	((uint32_t *)lock)[0] = 0x3fffffff;
	((uint32_t *)lock)[2] = 0x3fffffff;
}

static int lie(struct wh_tenant_usage *u, const char *word, uint64_t value)
{
	int d;

	if (!strcmp(word, "head")) {
		memset(u, 0xff, 24);
	} else if (!strcmp(word, "locks")) {
		hold_lock(u->lock);
		hold_lock(u->shared.lock);
	} else if (!strcmp(word, "accounts")) {
		claim_accounts(u, (uint32_t)value);
	} else if (!strcmp(word, "counted")) {
		count_all(u, (uint32_t)value);
	} else if (!strcmp(word, "odd")) {
		u->ended.generation |= 1;
	} else if (!strcmp(word, "tokens")) {
		for (d = 0; d < WH_TENANT_DEVICES; d++)
			u->bucket[d].tokens_ns = INT64_MAX / 2;
	} else if (!strcmp(word, "table")) {
		noise(&u->shared.top, sizeof(u->shared) - sizeof(u->shared.lock), 1);
	} else if (!strcmp(word, "noise")) {
		noise(u, sizeof(*u), value);
	} else {
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;
	struct wh_tenant_usage *u;
	char *value;

	if (fd < 0)
		return 2;
	u = mmap(NULL, sizeof(*u), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	value = strchr(argv[2], '=');
	if (value)
		*value++ = 0;
	return u == MAP_FAILED ? 2 : lie(u, argv[2], value ? strtoull(value, NULL, 0) : 0);
}
