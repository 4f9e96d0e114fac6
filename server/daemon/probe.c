// SPDX-License-Identifier: Apache-2.0
/*
 * What devices the backend has: asked once at the start, by a process of its
 * own, because the server itself never loads a driver. That the driver starts
 * at all is found out here, too, and not by the first client.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/server.h"
#include "tenant/sm_groups.h"

#include <cuda.h>
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_TIMEOUT_MS	60000	/* a real driver initialises every GPU */

struct report {
	uint32_t devices;
	uint32_t pageable;	/* bit i: kernels of device i reach what is not registered */
	char error[300];	/* empty: all went well */
	struct wh_device device[WH_TENANT_DEVICES];
};

/* --- In the process that loads the backend ---------------------------------------- */

static struct {
	CUresult (*init)(unsigned int);
	CUresult (*count)(int *);
	CUresult (*get)(CUdevice *, int);
	CUresult (*name)(char *, int, CUdevice);
	CUresult (*uuid)(CUuuid *, CUdevice);
	CUresult (*memory)(size_t *, CUdevice);
	CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
	void *split;		/* only whether it is there */
} drv;

static bool load(const char *path, char *err, size_t err_size)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!lib) {
		snprintf(err, err_size, "%s", dlerror());
		return false;
	}
	*(void **)&drv.init = dlsym(lib, "cuInit");
	*(void **)&drv.count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&drv.get = dlsym(lib, "cuDeviceGet");
	*(void **)&drv.name = dlsym(lib, "cuDeviceGetName");
	*(void **)&drv.uuid = dlsym(lib, "cuDeviceGetUuid_v2");
	*(void **)&drv.memory = dlsym(lib, "cuDeviceTotalMem_v2");
	*(void **)&drv.attribute = dlsym(lib, "cuDeviceGetAttribute");
	drv.split = dlsym(lib, "cuDevSmResourceSplitByCount");
	if (drv.init && drv.count)
		return true;
	snprintf(err, err_size, "%s has no cuInit: not a CUDA driver library", path);
	return false;
}

static uint32_t attribute(CUdevice dev, CUdevice_attribute which)
{
	int v = 0;

	if (!drv.attribute || drv.attribute(&v, which, dev) != CUDA_SUCCESS || v < 0)
		return 0;
	return (uint32_t)v;
}

static void uuid_text(char out[WH_UUID], const CUuuid *u)
{
	const unsigned char *b = (const unsigned char *)u->bytes;

	int i, n = snprintf(out, WH_UUID, "GPU-");

	for (i = 0; i < 16; i++)
		n += snprintf(out + n, WH_UUID - n, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      b[i]);
}

static void look(struct wh_device *d, CUdevice dev)
{
	size_t memory = 0;
	CUuuid uuid;

	if (drv.name)
		drv.name(d->name, sizeof(d->name), dev);
	if (drv.uuid && drv.uuid(&uuid, dev) == CUDA_SUCCESS)
		uuid_text(d->uuid, &uuid);
	if (drv.memory && drv.memory(&memory, dev) == CUDA_SUCCESS)
		d->memory = memory;
	d->sms = attribute(dev, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	d->groups = drv.split ? wh_sm_groups(d->sms) : 0;
}

static void fill(struct report *r, const char *backend, enum wh_protect protect)
{
	CUdevice dev = 0;
	int i, n = 0;
	CUresult res;

	/* As a worker: what one could not load or open shows at the start. */
	if (wh_shm_protect(protect, backend, -1, false, r->error, sizeof(r->error)) ||
	    !load(backend, r->error, sizeof(r->error)) ||
	    wh_shm_protect(protect, backend, -1, true, r->error, sizeof(r->error)))
		return;
	res = drv.init(0);
	if (res == CUDA_SUCCESS)
		res = drv.count(&n);
	if (res != CUDA_SUCCESS || n < 1) {
		snprintf(r->error, sizeof(r->error), "%s: the driver does not start: CUDA error %d%s",
			 backend, res ? (int)res : CUDA_ERROR_NO_DEVICE,
			 res == CUDA_ERROR_NO_DEVICE || !res ? " (no device)" : "");
		return;
	}
	for (i = 0; i < n && i < WH_TENANT_DEVICES; i++, dev = i)
		if (!drv.get || drv.get(&dev, i) == CUDA_SUCCESS) {
			if (attribute(dev, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS))
				r->pageable |= 1u << r->devices;
			look(&r->device[r->devices++], dev);
		}
}

int wh_probe_main(const char *backend, enum wh_protect protect, int fd)
{
	static struct report r;

	fill(&r, backend, protect);
	return write(fd, &r, sizeof(r)) == sizeof(r) ? 0 : 1;
}

/* --- In the server ---------------------------------------------------------------- */

static bool receive(int fd, struct report *r)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, PROBE_TIMEOUT_MS) == 1 && read(fd, r, sizeof(*r)) == sizeof(*r);
}

static void take(struct wh_server *s, struct report *r)
{
	unsigned int i;

	s->devices = r->devices < WH_TENANT_DEVICES ? r->devices : WH_TENANT_DEVICES;
	for (i = 0; i < s->devices; i++) {
		s->device[i] = r->device[i];
		s->device[i].name[sizeof(s->device[i].name) - 1] = 0;
		s->device[i].uuid[WH_UUID - 1] = 0;
	}
}

/* No check of ours stands between a kernel and memory that its device can reach. */
static void warn_of_hmm(const struct wh_server *s, uint32_t pageable)
{
	unsigned int i;

	for (i = 0; i < s->devices; i++)
		if (pageable & 1u << i)
			wh_say("warn", "device %u: kernels reach all memory of their worker, its limits "
			       "and counters, too, because the driver's HMM is on: load nvidia-uvm with "
			       "uvm_disable_hmm=1, then start again", i);
}

bool wh_probe(struct wh_server *s, char *err, size_t err_size)
{
	char *argv[] = { "wormhole-probe", "--probe", "--backend", (char *)s->backend, "--protect",
			 (char *)wh_isolation_protect(false), NULL };
	static struct report r;
	struct wh_isolation as;
	int pair[2];
	bool good;
	pid_t pid;

	if (!wh_isolation_open(&as, "probe", err, err_size))
		return false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) {
		snprintf(err, err_size, "cannot ask the backend for its devices");
		wh_isolation_close(&as);
		return false;
	}
	pid = wh_start_as(argv, pair[1], &as);
	close(pair[1]);
	good = pid > 0 && receive(pair[0], &r);
	close(pair[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	wh_isolation_close(&as);
	r.error[sizeof(r.error) - 1] = 0;
	if (!good)
		snprintf(err, err_size, "%s: the driver ended the process that asked for its devices, "
			 "or did not answer", s->backend);
	else if (r.error[0])
		snprintf(err, err_size, "%s%s", r.error, wh_protection[WH_PROTECT_USER].on ?
			 "; workers are no root: what they load has to be readable for others, the device's "
			 "files open to them (or --worker-uid none)" : "");
	else
		take(s, &r);
	if (good && !r.error[0])
		warn_of_hmm(s, r.pageable);
	return good && !r.error[0];
}
