// SPDX-License-Identifier: Apache-2.0
/*
 * Reads the tenants' current figures from the files of tenant.h, without a request to the
 * server and without disturbing anyone. Tenants in server VMs are asked for (vm_tenants.c).
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tenant/clock.h"
#include "tenant/control.h"
#include "views.h"
#include "wormhole.h"

#define MAX_VIEWS	256

/* The tenant's user owns its socket. */
static void take_user(const char *folder, const char *name, struct wh_tenant_view *v)
{
	char path[PATH_MAX];
	struct stat st;
	int n;

	if (strcmp(name, "default"))
		n = snprintf(path, sizeof(path), "%s/%s.sock", folder, name);
	else
		n = snprintf(path, sizeof(path), "%s/../server.sock", folder);
	v->uid_known = n < (int)sizeof(path) && !lstat(path, &st) && S_ISSOCK(st.st_mode);
	v->uid = v->uid_known ? st.st_uid : 0;
}

/*
 * What a suspended worker has charged is not on its devices; the peak stays. One that has moved its
 * memory itself, or could, has left the rest there. The driver's own figure is of before.
 */
static uint64_t leave_device(struct wh_device_usage *u, bool by_driver)
{
	uint64_t left = by_driver || u->paged > u->memory ? 0 : u->memory - u->paged;
	uint64_t gone = u->memory - left;

	u->memory = u->memory_driver = left;
	return gone;
}

static bool has_moved(const struct wh_worker_usage *w)
{
	uint64_t paged = 0;
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		paged |= w->device[d].paged | w->device[d].can_leave;
	return paged;
}

static void leave_devices(struct wh_tenant_view *v)
{
	struct wh_device_usage *total;
	unsigned int d, i;
	uint64_t gone;
	bool moved;

	for (i = 0; i < v->workers; i++) {
		moved = has_moved(&v->worker[i]);
		for (d = 0; d < WH_TENANT_DEVICES; d++) {
			gone = leave_device(&v->worker[i].device[d], !moved);
			v->suspended_bytes += gone;
			/* Both were not read at one time. */
			total = &v->sum.total.device[d];
			total->memory -= gone < total->memory ? gone : total->memory;
			total->memory_driver = total->memory;
		}
	}
}

void wh_view_suspended(struct wh_tenant_view *v)
{
	v->suspended_bytes = 0;
	v->limits.state = wh_suspension_in(v->limits.state);
	if (v->limits.state == WH_SUSPENDED || v->limits.state == WH_PARKED)
		leave_devices(v);
}

/* The tenant's files go by its workers' numbers of devices. What is shown goes by the server's. */
static void place(const struct wh_tenant_limits *l, void *of_devices, size_t size)
{
	char before[WH_TENANT_DEVICES * sizeof(struct wh_device_usage)];
	unsigned int d;

	memcpy(before, of_devices, WH_TENANT_DEVICES * size);
	for (d = 0; d < WH_TENANT_DEVICES; d++)
		memcpy((char *)of_devices + wh_device_place(l, d) * size, before + d * size, size);
}

static void place_devices(struct wh_tenant_view *v)
{
	struct wh_tenant_limits *l = &v->limits;
	unsigned int i;

	place(l, v->sum.total.device, sizeof(v->sum.total.device[0]));
	for (i = 0; i < v->workers; i++)
		place(l, v->worker[i].device, sizeof(v->worker[i].device[0]));
	place(l, l->device, sizeof(l->device[0]));
	l->hidden = wh_hidden_places(l);
	memset(l->moved, 0, sizeof(l->moved));
}

static int look(const char *folder, const char *name, struct wh_tenant_view *v)
{
	struct wh_tenant_file f;
	int rc = wh_tenant_file_open(&f, folder, name);

	if (rc)
		return rc;
	v->at_ns = wh_now_ns();
	take_user(folder, name, v);
	rc = wh_tenant_limits_read(f.limits, &v->limits);
	if (!rc) {
		wh_tenant_usage_read(f.usage, &v->sum);
		v->sum.total.host_memory += v->limits.host_kept;
		v->workers = wh_tenant_workers_read(f.usage, v->worker);
		place_devices(v);
		wh_view_suspended(v);
		v->limits.name[WH_TENANT_NAME - 1] = 0;
		if (v->limits.devices > WH_TENANT_DEVICES)
			v->limits.devices = WH_TENANT_DEVICES;
	}
	wh_tenant_file_close(&f);
	return rc;
}

/*
 * A killed server leaves its files, so they prove nothing. A user who may not connect
 * cannot read the files either, and gets that message.
 */
static bool server_lives(const char *dir)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool lives;

	if (snprintf(a.sun_path, sizeof(a.sun_path), "%s/" WH_CONTROL_SOCKET, dir) >=
	    (int)sizeof(a.sun_path) || fd < 0)
		return false;
	lives = !connect(fd, (struct sockaddr *)&a, sizeof(a)) || errno == EAGAIN ||
		errno == EACCES;
	close(fd);
	return lives;
}

static int is_limits_file(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return n > 7 && !strcmp(e->d_name + n - 7, ".limits");
}

static void explain(const char *folder, const char *name, int rc)
{
	if (rc == -ENOENT)
		wh_error("there is no tenant '%s'; `wormhole stat' shows those there are", name);
	else if (rc == -EACCES)
		wh_error("tenant %s: only root and the server's user may look at it", name);
	else if (rc == -EINVAL)
		wh_error("%s/%s.limits is of another release of Wormhole", folder, name);
	else
		wh_error("tenant %s: %s", name, strerror(-rc));
}

static bool look_at_named(const char *dir, const char *folder, char *const *names, int n,
			  struct wh_tenant_views *out)
{
	int i, rc;

	for (i = 0; i < n; i++) {
		if (wh_is_window(names[i])) {
			rc = wh_vm_tenants_named(names[i], &out->view[out->n], 1);
			if (rc < 0)
				return false;
			out->n += rc;
			continue;
		}
		if (!out->server) {
			wh_error("no server runs at %s; start one by `wormhole serve', or name its --dir", dir);
			return false;
		}
		rc = look(folder, names[i], &out->view[out->n]);
		if (rc) {
			explain(folder, names[i], rc);
			return false;
		}
		out->n++;
	}
	return true;
}

/* A tenant that ends during the look counts as missing. */
static bool look_at_all(const char *folder, struct wh_tenant_views *out)
{
	struct dirent **list;
	int i, n = scandir(folder, &list, is_limits_file, alphasort), rc;

	if (n < 0) {
		if (errno == ENOENT)
			return true;
		wh_error("%s: %s; only root and the server's user may look at tenants", folder,
			 strerror(errno));
		return false;
	}
	for (i = 0; i < n; i++) {
		list[i]->d_name[strlen(list[i]->d_name) - 7] = 0;
		rc = -ENOENT;
		if (out->n < MAX_VIEWS)
			rc = look(folder, list[i]->d_name, &out->view[out->n]);
		if (!rc)
			out->n++;
		else if (rc != -ENOENT)
			explain(folder, list[i]->d_name, rc);
		free(list[i]);
	}
	free(list);
	return true;
}

bool wh_tenants_look(const char *dir, char *const *names, int n, struct wh_tenant_views *out)
{
	char folder[PATH_MAX];

	*out = (struct wh_tenant_views){ .server = server_lives(dir) };
	snprintf(folder, sizeof(folder), "%s/tenants", dir);
	if (out->server) {
		wh_protections_of_server(dir, &out->protections);
		out->libraries = wh_libraries_json(dir);
		out->devices = wh_devices_json(dir);
	}
	out->view = calloc(n > MAX_VIEWS ? n : MAX_VIEWS, sizeof(*out->view));
	if (!out->view)
		wh_no_memory();
	if (n)
		return look_at_named(dir, folder, names, n, out);
	if (out->server && !look_at_all(folder, out))
		return false;
	out->n += wh_vm_tenants_all(out->view + out->n, MAX_VIEWS - out->n);
	return true;
}

void wh_tenants_free(struct wh_tenant_views *v)
{
	cJSON_Delete(v->libraries);
	cJSON_Delete(v->devices);
	free(v->view);
	*v = (struct wh_tenant_views){ 0 };
}

const struct wh_tenant_view *wh_tenant_before(const struct wh_tenant_views *before,
					      const struct wh_tenant_view *v)
{
	const struct wh_tenant_view *b;
	int i;

	for (i = 0; before && i < before->n; i++) {
		b = &before->view[i];
		/* A server that was restarted counts from the beginning. */
		if (b->limits.tenant_id == v->limits.tenant_id &&
		    !strcmp(b->limits.name, v->limits.name) && v->at_ns > b->at_ns)
			return b;
	}
	return NULL;
}
