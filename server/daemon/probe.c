// SPDX-License-Identifier: Apache-2.0
/*
 * Finds out which devices the backend has. A process of its own asks once at the start, because the
 * server itself never loads a driver. So a driver that does not start is noticed here, and not by
 * the first client.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures/figures.h"

/*
 * nvml: "" is none that somebody has chosen. Runs with a worker's protections, so that what a
 * worker could not load or open shows at the start.
 */
int wh_probe_main(const char *backend, const char *nvml, uint32_t sm_group,
		  enum wh_protect protect, int fd)
{
	static struct wh_devices_report r;
	struct wh_contexts_report c;

	if (!wh_shm_protect(protect, backend, -1, false, r.error, sizeof(r.error)) &&
	    wh_devices_load(backend, &r) &&
	    !wh_shm_protect(protect, backend, -1, true, r.error, sizeof(r.error)))
		wh_devices_ask(backend, sm_group, &r);
	if (write(fd, &r, sizeof(r)) != sizeof(r) || r.error[0])
		return 1;
	wh_contexts_measure(*nvml ? nvml : NULL, backend, &r, &c);
	return write(fd, &c, sizeof(c)) == sizeof(c) ? 0 : 1;
}

/* --- In the server ---------------------------------------------------------------- */

bool wh_probe(struct wh_server *s, char *err, size_t err_size)
{
	char groups[16];
	char *argv[] = { "wormhole-probe", "--probe", "--backend", (char *)s->backend, "--protect",
			 (char *)wh_isolation_protect(false), "--nvml",
			 (char *)(s->nvml ? s->nvml : ""), s->sm_group ? "--sm-group" : NULL,
			 groups, NULL };
	static struct wh_devices_report r;
	struct wh_asked asked;
	bool good;

	snprintf(groups, sizeof(groups), "%u", s->sm_group);
	if (!wh_asked_start(&asked, argv, "probe", "the backend for its devices", err, err_size))
		return false;
	good = wh_devices_receive(asked.fd, s->backend, &r);
	if (good && !wh_contexts_receive(asked.fd, &r))
		wh_say("warn", "the driver did not say what a context takes of a device: a tenant may get a "
		       "limit of memory that is too small for any program");
	wh_asked_end(&asked);
	if (!good) {
		snprintf(err, err_size, "%s%s", r.error, wh_protection[WH_PROTECT_USER].on ?
			 "; workers are no root: what they load has to be readable for others, the device's "
			 "files open to them (or --worker-uid none)" : "");
		return false;
	}
	if (r.refused[0]) {
		snprintf(err, err_size, "%s", r.refused);
		return false;
	}
	s->devices = r.devices;
	memcpy(s->device, r.device, sizeof(s->device));
	wh_devices_warn(&r, wh_say);
	return true;
}
