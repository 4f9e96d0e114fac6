// SPDX-License-Identifier: Apache-2.0
/*
 * Tenants that move to another device. The driver restores a suspended process on another device of
 * the same kind (checkpoint.c), where it has the same addresses, handles and numbers of devices. So
 * workers go on with their numbers, and so do the tenant's tables; which devices of the server's
 * these are is in its limits (wh_tenant_limits.moved). A new worker of the tenant gets its devices
 * in the same order (session/device.c).
 *
 * The server's own tables of a tenant go by the server's numbers: what stood at one device stands
 * at the other one then.
 */
#define _GNU_SOURCE
#include "daemon/suspend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/keep.h"
#include "daemon/monitor.h"
#include "daemon/tenant.h"

/* --- What is refused --------------------------------------------------------------------- */

static bool has(const struct wh_tenant *t, unsigned int device)
{
	return !wh_is_hidden(wh_hidden_places(t->file.limits), (int)device);
}

/* Finds the device that is left; it need not be said where there is one. */
static bool find_from(const struct wh_tenant *t, const char *text, unsigned int *from, char *err,
		      size_t err_size)
{
	unsigned int d, n = 0;

	if (text)
		return wh_device_named(text, from, err, err_size);
	for (d = 0; d < wh_server.devices; d++)
		if (has(t, d)) {
			*from = d;
			n++;
		}
	if (n == 1)
		return true;
	snprintf(err, err_size, "tenant %s has %u devices: say by --from which one it leaves", t->name, n);
	return false;
}

static bool same_kind(unsigned int a, unsigned int b, char *err, size_t err_size)
{
	const struct wh_device *x = &wh_server.device[a], *y = &wh_server.device[b];

	if (!strcmp(x->name, y->name) && x->memory == y->memory && x->sms == y->sms)
		return true;
	snprintf(err, err_size, "device %u (%s, %llu MiB, %u SMs) is of another kind than device %u (%s, %llu MiB, "
		 "%u SMs); the driver restores programs on the same kind alone", b, y->name,
		 (unsigned long long)(y->memory >> 20), y->sms, a, x->name,
		 (unsigned long long)(x->memory >> 20), x->sms);
	return false;
}

/* The driver and new workers are told devices by their UUIDs. */
static bool all_have_uuids(char *err, size_t err_size)
{
	unsigned int d;

	for (d = 0; d < wh_server.devices; d++)
		if (!wh_server.device[d].uuid[0]) {
			snprintf(err, err_size, "device %u has no UUID, by which the driver would be told", d);
			return false;
		}
	return true;
}

static bool may_move(const struct wh_tenant *t, unsigned int from, unsigned int to, char *err,
		     size_t err_size)
{
	if (wh_devices_instances())
		snprintf(err, err_size, "this server has MIG instances (%s), so a program's driver has its own "
			 "devices alone and cannot be restored on another one; no tenant moves",
			 wh_server.device[__builtin_ctz(wh_devices_instances())].uuid);
	else if (!t->file.limits->hidden)
		snprintf(err, err_size, "tenant %s has all devices of this server, so there is no other one for it; "
			 "--devices of `wormhole tenant create' or `run' gives it some", t->name);
	else if (!has(t, from))
		snprintf(err, err_size, "tenant %s has not device %u", t->name, from);
	else if (has(t, to))
		snprintf(err, err_size, "tenant %s has device %u already", t->name, to);
	else if (!wh_tenants_groups_free(t, to, t->limit[from].sm_groups))
		snprintf(err, err_size, "tenant %s has groups of SMs that other tenants have on device %u; change a "
			 "limit first, or take policy temporal", t->name, to);
	else
		return same_kind(from, to, err, err_size) && all_have_uuids(err, err_size);
	return false;
}

static bool is_free(const struct wh_tenant *t, unsigned int from, unsigned int to, char *err,
		    size_t err_size)
{
	if (wh_suspend_is_under_way(t))
		snprintf(err, err_size, "tenant %s is %s; say it again when that is over", t->name,
			 wh_suspension_name(t));
	else if (t->suspend.move.on && (t->suspend.move.from != from || t->suspend.move.to != to))
		snprintf(err, err_size, "tenant %s is half way from device %u to device %u: say that again, or "
			 "`wormhole resume %s', which brings it back", t->name, t->suspend.move.from,
			 t->suspend.move.to, t->name);
	else
		return true;
	return false;
}

/* --- On the way --------------------------------------------------------------------------- */

bool wh_move_begin(struct wh_tenant *t, const char *to_text, const char *from_text, char *err,
		   size_t err_size)
{
	unsigned int from, to;
	int places = t->suspend.move.places;

	if (!wh_device_named(to_text, &to, err, err_size) ||
	    !find_from(t, from_text, &from, err, err_size) ||
	    !is_free(t, from, to, err, err_size) || !may_move(t, from, to, err, err_size))
		return false;
	if (!places) {
		places = memfd_create("wormhole-places", MFD_CLOEXEC);
		if (places < 0 || ftruncate(places, WH_TENANT_WORKERS)) {
			snprintf(err, err_size, "tenant %s: memory for where its workers are: %s", t->name,
				 strerror(errno));
			if (places >= 0)
				close(places);
			return false;
		}
	}
	t->suspend.move.on = true;
	t->suspend.move.stays = t->suspend.state == WH_SUSPENDED;
	t->suspend.move.from = (uint8_t)from;
	t->suspend.move.to = (uint8_t)to;
	t->suspend.move.places = places;
	wh_monitor_changed();
	return true;
}

void wh_move_end(struct wh_tenant *t)
{
	if (t->suspend.move.places)
		close(t->suspend.move.places);
	t->suspend.move.places = 0;
	t->suspend.move.on = false;
	wh_monitor_changed();
}

/* The change is its own inverse. */
static void swap_words(struct wh_tenant *t, unsigned int a, unsigned int b)
{
	struct wh_device_limit l = t->limit[a], most = t->most[a];
	uint64_t bound = t->held.bound[a], had = t->had[a];
	int i;

	t->limit[a] = t->limit[b];
	t->limit[b] = l;
	t->most[a] = t->most[b];
	t->most[b] = most;
	t->held.bound[a] = t->held.bound[b];
	t->held.bound[b] = bound;
	t->had[a] = t->had[b];
	t->had[b] = had;
	for (i = 0; i < t->said.n; i++)
		if (t->said.spec[i].device == (int)a)
			t->said.spec[i].device = (int)b;
}

void wh_move_done(struct wh_tenant *t)
{
	unsigned int a = t->suspend.move.from, b = t->suspend.move.to, i;
	struct wh_tenant_limits *file = t->file.limits;
	unsigned int from = wh_device_index(file, a), to = wh_device_index(file, b);

	file->moved[from] = (uint8_t)(from ^ b);
	file->moved[to] = (uint8_t)(to ^ a);
	swap_words(t, a, b);
	/* What its workers claimed of the device that they have left. */
	for (i = 0; i < WH_TENANT_WORKERS; i++)
		wh_seats_worker_ended(&wh_tenant_seats, t->seat, i);
	wh_limits_put(file, &wh_tenant_seats, t->seat, t->limit, wh_server.devices);
	wh_move_end(t);
}

/* --- Over a handover ---------------------------------------------------------------------- */

void wh_move_leave(cJSON *o, const struct wh_tenant *t)
{
	cJSON *moved = cJSON_AddArrayToObject(o, "moved");
	unsigned int d;

	for (d = 0; d < WH_TENANT_DEVICES; d++)
		cJSON_AddItemToArray(moved, cJSON_CreateNumber(t->file.limits->moved[d]));
	if (!t->suspend.move.on)
		return;
	o = cJSON_AddObjectToObject(o, "move");
	cJSON_AddBoolToObject(o, "stays", t->suspend.move.stays);
	cJSON_AddNumberToObject(o, "from", t->suspend.move.from);
	cJSON_AddNumberToObject(o, "to", t->suspend.move.to);
	wh_leave_fd(o, "places", t->suspend.move.places);
}

/*
 * A server that was killed may have written the file, and not saved that the move is over. The
 * state counts: by it the tenant is still on its way.
 */
bool wh_move_take_places(struct wh_tenant *t, const cJSON *o)
{
	const cJSON *all = cJSON_GetObjectItem(o, "moved");
	bool changed = false;
	double moved;
	int d;

	for (d = 0; d < cJSON_GetArraySize(all) && d < WH_TENANT_DEVICES; d++) {
		moved = cJSON_GetNumberValue(cJSON_GetArrayItem(all, d));
		if (!(moved >= 0 && moved < WH_TENANT_DEVICES))
			continue;
		changed |= moved != t->file.limits->moved[d];
		t->file.limits->moved[d] = (uint8_t)moved;
	}
	return changed;
}

void wh_move_take(struct wh_tenant *t, const cJSON *o)
{
	const cJSON *move = cJSON_GetObjectItem(o, "move");
	int places = move ? wh_taken_fd(move, "places") : -1;

	if (places < 0)
		return;
	t->suspend.move.on = true;
	t->suspend.move.stays = wh_taken_flag(move, "stays");
	t->suspend.move.from = (uint8_t)(wh_taken_number(move, "from") % WH_TENANT_DEVICES);
	t->suspend.move.to = (uint8_t)(wh_taken_number(move, "to") % WH_TENANT_DEVICES);
	t->suspend.move.places = places;
}

/* --- For workers and checkpoint.c ----------------------------------------------------------- */

/* "UUID,UUID,...", by the server's numbers. */
bool wh_move_tell_devices(void)
{
	char list[WH_TENANT_DEVICES * WH_UUID];
	unsigned int d;
	size_t n = 0;

	*list = 0;
	for (d = 0; d < wh_server.devices; d++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", d ? "," : "",
				      wh_server.device[d].uuid);
	return !setenv(WH_DEVICES_VARIABLE, list, 1);
}
