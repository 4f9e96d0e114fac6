/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a tenant and a device for programs of these tests: files in a folder of their
 * own, the environment that makes the client's library find them, and children that use
 * CUDA, so that the test itself never does.
 */
#ifndef WORMHOLE_TESTS_LIMITS_TENANCY_H
#define WORMHOLE_TESTS_LIMITS_TENANCY_H

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mock.h"
#include "tenant/seats.h"
#include "tap.h"
#include "tenant/tenant.h"

#define MIB	(1ull << 20)

static char folder[256];
static struct mock_gpu *gpu;
static struct wh_tenant_limits *limits;
static struct wh_tenant_usage *usage;
static struct wh_seats seats;
static int seat;

static void *map_file(const char *name, size_t size)
{
	char path[512];
	void *p;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, (off_t)size)) {
		perror(path);
		exit(1);
	}
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p;
}

static inline void set_memory(uint64_t bytes)
{
	struct wh_device_limit l = { .memory = bytes };

	wh_tenant_limits_set(limits, 0, &l);
}

static inline uint64_t charged(void)
{
	return wh_tenant_memory(usage, 0);
}

static void set_path(const char *name, const char *root, const char *rest)
{
	char path[1024];

	snprintf(path, sizeof(path), "%s/%s", root, rest);
	setenv(name, path, 1);
}

/* With a driver in the place of the client's library the test would test nothing. */
static void check_library(void)
{
	Dl_info info;

	if (dladdr(dlsym(RTLD_DEFAULT, "cuInit"), &info) && info.dli_fname && strstr(info.dli_fname, "client-stubs/"))
		return;
	printf("Bail out! cuInit is not of the client's library\n");
	exit(1);
}

/* argv[0] lies in build/tests/limits. */
static void make_tenant(const char *argv0, const char *backend)
{
	char root[512], tenant[512];
	char *slash;

	check_library();
	snprintf(root, sizeof(root), "%s", argv0);
	slash = strrchr(root, '/');
	snprintf(slash ? slash : root, 16, "%s/../..", slash ? "" : ".");
	snprintf(folder, sizeof(folder), "/tmp/wormhole-limits-XXXXXX");
	if (!mkdtemp(folder))
		exit(1);
	gpu = map_file("gpu", sizeof(*gpu));
	gpu->total = 8192 * MIB;
	limits = map_file("t.limits", sizeof(*limits));
	usage = map_file("t.usage", sizeof(*usage));
	wh_tenant_limits_init(limits, "t", 1);
	wh_tenant_usage_init(usage, 1);
	seat = wh_seats_create(&seats, folder) ? -1 : wh_seats_take(&seats, 1);
	if (seat < 0)
		exit(1);
	limits->seat = (uint32_t)seat;
	snprintf(tenant, sizeof(tenant), "%s/t", folder);
	setenv("WORMHOLE_TENANT", tenant, 1);
	setenv("WORMHOLE_TRANSPORT", "loopback", 1);
	set_path("WORMHOLE_SESSION", root, "server/libwormhole-session.so");
	if (!getenv("WORMHOLE_BACKEND"))
		set_path("WORMHOLE_BACKEND", root, backend);
	set_path("MOCK_GPU", folder, "gpu");
}

static inline void remove_tenant(void)
{
	static const char *const names[] = { "gpu", "t.limits", "t.usage" };
	char path[512];
	unsigned int i;

	wh_seats_remove(&seats, folder);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* Makes a device without processes, and a tenant without limits and workers. */
static inline void fresh(void)
{
	int i;

	for (i = 0; i < MOCK_PROCESSES; i++)
		gpu->process[i].pid = 0, gpu->process[i].bytes = 0;
	gpu->used = gpu->peak = 0;
	wh_tenant_accounts_reap(usage);
	set_memory(0);
}

static inline CUcontext start(void)
{
	CUcontext ctx = NULL;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx))
		return NULL;
	return ctx;
}

#endif
