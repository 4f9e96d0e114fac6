// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out which devices the backend has. A process of its own asks once at the start, because the
 * server itself never loads a driver. So a driver that does not start is noticed here, and not by
 * the first client. Where there are MIG instances, one more process asks for each device alone.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures/figures.h"

/* Answers with devices, or with the UUIDs by which others are to ask. */
static void answer(const char *backend, const char *nvml, uint32_t sm_group, const char *visible,
		   struct wh_devices_report *r, struct wh_apart_report *apart)
{
	if (*visible && setenv("CUDA_VISIBLE_DEVICES", visible, 1))
		snprintf(r->error, sizeof(r->error), "out of memory");
	else if (*visible || (!wh_devices_apart(nvml, backend, r, apart) && !r->error[0]))
		wh_devices_ask(backend, sm_group, r);
}

/*
 * nvml: "" is none that somebody has chosen. Runs with a worker's protections, so that what a
 * worker could not load or open shows at the start.
 */
int wh_probe_main(const char *backend, const char *nvml, uint32_t sm_group, const char *visible,
		  enum wh_protect protect, int fd)
{
	static struct wh_devices_report r;
	static struct wh_apart_report apart;
	struct wh_contexts_report c;

	nvml = *nvml ? nvml : NULL;
	if (!wh_shm_protect(protect, backend, -1, false, r.error, sizeof(r.error)) &&
	    wh_devices_load(backend, &r) &&
	    !wh_shm_protect(protect, backend, -1, true, r.error, sizeof(r.error)))
		answer(backend, nvml, sm_group, visible, &r, &apart);
	if (write(fd, &r, sizeof(r)) != sizeof(r) || r.error[0])
		return 1;
	if (apart.n)
		return write(fd, &apart, sizeof(apart)) == sizeof(apart) ? 0 : 1;
	wh_contexts_measure(nvml, backend, &r, &c);
	return write(fd, &c, sizeof(c)) == sizeof(c) ? 0 : 1;
}

/* --- In the server ---------------------------------------------------------------- */

static void say_error(const char *text, char *err, size_t err_size)
{
	snprintf(err, err_size, "%s%s", text, wh_protection[WH_PROTECT_USER].on ?
		 "; workers are no root: what they load has to be readable for others, the device's files "
		 "open to them (or --worker-uid none)" : "");
}

/*
 * Asks for all devices, or for the one of this UUID alone. If each is to be asked for alone,
 * apart->n is not 0.
 */
static bool ask(const struct wh_server *s, const char *uuid, struct wh_devices_report *r,
		struct wh_apart_report *apart, char *err, size_t err_size)
{
	char groups[16];
	char *argv[] = { "wormhole-probe", "--probe", "--backend", (char *)s->backend, "--protect",
			 (char *)wh_isolation_protect(false), "--nvml",
			 (char *)(s->nvml ? s->nvml : ""), "--visible",
			 (char *)(uuid ? uuid : ""), s->sm_group ? "--sm-group" : NULL,
			 groups, NULL };
	struct wh_asked asked;
	bool good;

	snprintf(groups, sizeof(groups), "%u", s->sm_group);
	if (!wh_asked_start(&asked, argv, "probe", "the backend for its devices", err, err_size))
		return false;
	good = wh_devices_receive(asked.fd, s->backend, r);
	if (good && !r->devices && !wh_apart_receive(asked.fd, apart)) {
		snprintf(r->error, sizeof(r->error), "%.150s: the driver told no device", s->backend);
		good = false;
	}
	if (good && r->devices && !wh_contexts_receive(asked.fd, r))
		wh_say("warn", "the driver did not say what a context takes of a device: a tenant may get a "
		       "limit of memory that is too small for any program");
	wh_asked_end(&asked);
	if (good && !r->refused[0])
		return true;
	if (good)
		snprintf(err, err_size, "%s", r->refused);
	else
		say_error(r->error, err, err_size);
	return false;
}

/* Asks for each of the devices, and puts the answers together. */
static bool ask_each(const struct wh_server *s, const struct wh_apart_report *apart,
		     struct wh_devices_report *all, char *err, size_t err_size)
{
	static struct wh_devices_report one;
	struct wh_apart_report none;
	uint32_t i;

	for (i = 0; i < apart->n; i++) {
		memset(&one, 0, sizeof(one));
		if (!ask(s, apart->uuid[i], &one, &none, err, err_size))
			return false;
		if (one.devices != 1 || strcasecmp(one.device[0].uuid, apart->uuid[i])) {
			snprintf(err, err_size, "%s: asked for %s alone, the driver gave %u devices, the first of "
				 "them %s", s->backend, apart->uuid[i], one.devices, one.device[0].uuid);
			return false;
		}
		all->pageable |= (one.pageable & 1u) << i;
		all->device[i] = one.device[0];
	}
	if (apart->n)
		all->devices = apart->n;
	if (apart->beyond)
		wh_say("warn", "this machine has more than %d devices and MIG instances, and the server has the first; "
		       "CUDA_VISIBLE_DEVICES of the server chooses others by their UUIDs", WH_TENANT_DEVICES);
	return true;
}

bool wh_probe(struct wh_server *s, char *err, size_t err_size)
{
	static struct wh_devices_report r;
	static struct wh_apart_report apart;

	if (!ask(s, NULL, &r, &apart, err, err_size) || !ask_each(s, &apart, &r, err, err_size))
		return false;
	s->devices = r.devices;
	memcpy(s->device, r.device, sizeof(s->device));
	wh_devices_warn(&r, wh_say);
	return true;
}
