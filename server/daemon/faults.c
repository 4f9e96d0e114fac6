// SPDX-License-Identifier: Apache-2.0
/*
 * Memory below a mapped file can go away while it is mapped: by holes, if no filter keeps workers
 * from making them; by a file system that is full or whose disk is gone; by anybody who truncates
 * the file. An access to it is then SIGBUS, which must not end the server. An empty page takes its
 * place, and the tenant's files are whole again after its last worker (tenants.c). What the workers
 * of a tenant write decides nothing here.
 */
#define _GNU_SOURCE
#include "daemon/server.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile sig_atomic_t faults;
static size_t page;

/* Runs at an access of this process itself, so no call of the C library is interrupted. */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	void *at = (void *)((uintptr_t)info->si_addr & ~(page - 1));

	(void)context;
	if (info->si_code > 0 && wh_tenants_map(at) &&
	    mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == at) {
		faults = 1;
		return;
	}
	/* The signal comes again when this returns, and then ends the process. */
	signal(sig, SIG_DFL);
}

void wh_faults_start(void)
{
	const struct sigaction a = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	page = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &a, NULL);
}

bool wh_faults_seen(void)
{
	bool seen = faults;

	faults = 0;
	return seen;
}
