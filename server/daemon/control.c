// SPDX-License-Identifier: Apache-2.0
/*
 * The control socket: one JSON object in a packet asks, one answers. Its file has mode 0600 and the
 * kernel says who is at the other end; only root and the server's own user are heard.
 * docs/tenants.md describes it.
 *
 * The creator of an ephemeral tenant, and who joins it, keeps it by this connection and by its
 * process (pidfd), whichever lasts longer: a program that closes all its descriptors keeps its
 * tenant, and so do children of a program that has ended. Such a connection is inherited by the
 * program, so requests are no longer accepted on it.
 */
#define _GNU_SOURCE
#include "daemon/front.h"
#include "daemon/handover.h"
#include "daemon/keep.h"
#include "daemon/monitor.h"
#include "daemon/request.h"
#include "daemon/server.h"
#include "daemon/suspend.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tenant/control.h"
#include "tenant/send.h"
#include "wormhole_abi.h"

#define MAX_CONNECTIONS	512

struct connection {
	int fd;
	pid_t peer;
	int file;		/* a descriptor that goes with the answer; -1: none */
	bool stop;		/* end the server once the answer is sent */
	bool waits;		/* its request is not answered yet */
	const struct wh_tenant *awaits;	/* whose suspension it waits for; NULL: for none */
	struct wh_tenant *kept;	/* the tenant that the connection keeps; NULL: none */
};

static int listener = -1, connections;
static struct connection *front;	/* stands for the server (front.h); NULL: none does */
static char path[WH_SOCKET_PATH];

/* --- Answers ---------------------------------------------------------------------- */

static cJSON *failure(const char *err)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddFalseToObject(o, "ok");
	cJSON_AddStringToObject(o, "error", err);
	return o;
}

static cJSON *success(void)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddTrueToObject(o, "ok");
	return o;
}

/*
 * True if memory ran out for the current request: what was read, or the answer, may be incomplete.
 */
static bool no_memory;

static void *counted_malloc(size_t size)
{
	void *p = malloc(size);

	no_memory |= !p;
	return p;
}

char *wh_control_whole(char *(*make)(int), int with)
{
	bool before = no_memory, whole;
	char *text;

	no_memory = false;
	text = make(with);
	whole = !no_memory;
	no_memory = before;
	if (whole)
		return text;
	free(text);
	return NULL;
}

static bool say(const struct connection *c, const char *text)
{
	struct iovec iov = { (void *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	return wh_send_with(c->fd, m, &c->file, !no_memory && c->file >= 0, MSG_DONTWAIT) > 0;
}

static bool answer(const struct connection *c, cJSON *o)
{
	static const char poor[] = "{\"ok\":false,\"error\":\"the server is out of memory\"}";
	char *text = cJSON_PrintUnformatted(o);
	const char *said = no_memory ? poor : text;
	bool sent = say(c, said);

	free(text);
	cJSON_Delete(o);
	return sent;
}

static struct wh_tenant *named(const cJSON *o, char *err, size_t err_size)
{
	const char *name = wh_request_text(o, "tenant");
	struct wh_tenant *t = name ? wh_tenant_find(name) : NULL;

	if (!t)
		snprintf(err, err_size, "there is no tenant '%.80s'; `wormhole tenant list' shows those "
			 "there are", name ? name : "");
	return t;
}

/* --- Requests --------------------------------------------------------------------- */

static void on_process_end(int fd, void *arg)
{
	wh_monitor_changed();
	wh_loop_remove(fd);
	close(fd);
	wh_tenant_release(arg);
}

/*
 * Without a pidfd, only the connection keeps the tenant: the process may be in another pid
 * namespace, or the kernel may be old. Returns false if that is so.
 */
static bool keep(struct connection *c, struct wh_tenant *t, int pidfd)
{
	c->kept = t;
	wh_tenant_hold(t);
	wh_monitor_changed();
	if (pidfd < 0)
		return false;
	fcntl(pidfd, F_SETFD, FD_CLOEXEC);
	if (wh_loop_add(pidfd, on_process_end, t)) {
		wh_tenant_hold(t);
		return true;
	}
	close(pidfd);
	return false;
}

/*
 * Reads which process an ephemeral tenant lives as long as: the one that asks, or the one that it
 * names by "pid". *pidfd is -1 if the tenant stays, or nobody can watch the one that asks.
 */
static bool take_process(const struct connection *c, const cJSON *o, int *pidfd, bool *has,
			 char *err, size_t err_size)
{
	bool ephemeral = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "ephemeral"));
	double pid = c->peer;

	*pidfd = -1;
	if (!wh_request_number(o, "pid", 1, INT_MAX, &pid, has, err, err_size))
		return false;
	if (*has && !ephemeral) {
		snprintf(err, err_size, "pid: only an ephemeral tenant lives as long as a process");
		return false;
	}
	if (ephemeral && pid > 0)
		*pidfd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (!*has || *pidfd >= 0)
		return true;
	snprintf(err, err_size, "pid: process %.0f: %s; the server has to see it", pid, strerror(errno));
	return false;
}

static bool takes_keep(const cJSON *o, const struct wh_tenant_request *r, bool *keep, char *err,
		       size_t err_size)
{
	*keep = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "keep"));
	if (!*keep || (!r->ephemeral && !r->bounded && r->name && *r->name))
		return true;
	snprintf(err, err_size, "keep: a tenant that is kept has a name, and is neither ephemeral nor bounded");
	return false;
}

static cJSON *create(struct connection *c, const cJSON *o)
{
	struct wh_tenant_request r = { .name = wh_request_text(o, "tenant"), .uid = geteuid() };
	struct wh_tenant *t;
	char err[WH_CONTROL_ERROR];
	cJSON *out;
	double uid = 0;
	bool has, named_pid, kept;
	int pidfd;

	r.bounded = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "bounded"));
	r.ephemeral = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "ephemeral"));
	if (!takes_keep(o, &r, &kept, err, sizeof(err)) ||
	    !wh_request_number(o, "uid", 0, 4294967294.0, &uid, &has, err, sizeof(err)) ||
	    !wh_request_limits(o, &r.limits, err, sizeof(err)) ||
	    !wh_request_devices(o, &r.devices, err, sizeof(err)) ||
	    !wh_request_host(o, &r.limits, err, sizeof(err)) ||
	    !take_process(c, o, &pidfd, &named_pid, err, sizeof(err)))
		return failure(err);
	if (has)
		r.uid = (uid_t)uid;
	t = r.ephemeral && wh_drain_refuses(err, sizeof(err)) ? NULL :
		wh_tenant_create(&r, err, sizeof(err));
	if (!t) {
		if (pidfd >= 0)
			close(pidfd);
		out = failure(err);
		if (r.name && wh_tenant_is_ending(r.name))
			cJSON_AddTrueToObject(out, "ending");
		return out;
	}
	/* In case of an error the tenant ends with the connection. */
	if (r.ephemeral && !keep(c, t, pidfd) && named_pid)
		return failure("pid: out of memory; nobody would see that process end");
	if (kept && !wh_keep_or_delete(t, err, sizeof(err)))
		return failure(err);
	out = success();
	if (kept && *err)
		cJSON_AddStringToObject(out, "note", err);
	cJSON_AddStringToObject(out, "tenant", wh_tenant_name(t));
	cJSON_AddStringToObject(out, "socket", wh_tenant_socket(t));
	/* A client that is told of a failure must not have a tenant. */
	if (no_memory && !c->kept) {
		wh_keep_forget(wh_tenant_name(t), err, sizeof(err));
		wh_tenant_delete(t, true, err, sizeof(err));
	}
	return out;
}

/* Lets a program into a tenant. Of an ephemeral one it is a keeper then, as the creator is. */
static cJSON *join(struct connection *c, const cJSON *o)
{
	const char *name = wh_request_text(o, "tenant");
	struct wh_tenant *t = name ? wh_tenant_find(name) : NULL;
	char err[WH_CONTROL_ERROR];
	cJSON *out;

	if (wh_drain_refuses(err, sizeof(err)))
		return failure(err);
	if (!t || wh_tenant_is_ending(name)) {
		snprintf(err, sizeof(err), "there is no tenant '%.80s'; make it by `wormhole tenant create', or say a "
			 "limit (--mem 2G, --mem none) for one that ends with its program", name ? name : "");
		return failure(err);
	}
	if (wh_suspend_refuses(t, err, sizeof(err)))
		return failure(err);
	if (wh_tenant_is_ephemeral(t))
		keep(c, t, c->peer > 0 ? (int)syscall(SYS_pidfd_open, c->peer, 0) : -1);
	out = success();
	cJSON_AddStringToObject(out, "tenant", wh_tenant_name(t));
	cJSON_AddStringToObject(out, "socket", wh_tenant_socket(t));
	cJSON_AddBoolToObject(out, "ephemeral", wh_tenant_is_ephemeral(t));
	return out;
}

static cJSON *set(struct connection *c, const cJSON *o)
{
	struct wh_limit_list list = { .n = 0 };
	char err[WH_CONTROL_ERROR];
	struct wh_tenant *t = named(o, err, sizeof(err));
	cJSON *out;

	(void)c;
	if (!t || !wh_request_limits(o, &list, err, sizeof(err)) ||
	    !wh_request_host(o, &list, err, sizeof(err)) ||
	    !wh_tenant_limit(t, &list, false, err, sizeof(err)))
		return failure(err);
	wh_keep_changed(t, err, sizeof(err));
	out = success();
	if (*err)
		cJSON_AddStringToObject(out, "note", err);
	return out;
}

static cJSON *delete(struct connection *c, const cJSON *o)
{
	bool force = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "force"));
	char err[WH_CONTROL_ERROR], name[WH_TENANT_NAME];
	struct wh_tenant *t = named(o, err, sizeof(err));

	(void)c;
	snprintf(name, sizeof(name), "%s", t ? wh_tenant_name(t) : "");
	return t && wh_keep_may_delete(t, err, sizeof(err)) &&
	       wh_tenant_delete(t, force, err, sizeof(err)) &&
	       wh_keep_forget(name, err, sizeof(err)) ? success() : failure(err);
}

/* Also resume and move. The answer comes when the driver has answered: NULL here. */
static cJSON *suspend(struct connection *c, const cJSON *o)
{
	char err[WH_CONTROL_ERROR];
	struct wh_tenant *t = named(o, err, sizeof(err));
	bool done;

	if (!t || !wh_suspend_request(t, o, &done, err, sizeof(err)))
		return failure(err);
	if (done)
		return success();
	c->awaits = t;
	return NULL;
}

/* Answers with the tenant as a section of a file that makes it again. */
static cJSON *export(struct connection *c, const cJSON *o)
{
	char err[WH_CONTROL_ERROR];
	struct wh_tenant *t = named(o, err, sizeof(err));
	char *text = t ? wh_keep_text(t, true) : NULL;
	cJSON *out;

	(void)c;
	if (!text)
		return failure(t ? "the server is out of memory" : err);
	out = success();
	cJSON_AddStringToObject(out, "text", text);
	free(text);
	return out;
}

static cJSON *list(struct connection *c, const cJSON *o)
{
	(void)c;
	(void)o;
	return wh_say_tenants(success());
}

static cJSON *info(struct connection *c, const cJSON *o)
{
	(void)c;
	(void)o;
	return wh_say_server(success());
}

static cJSON *usage(struct connection *c, const cJSON *o)
{
	(void)c;
	(void)o;
	return wh_say_usage(success());
}

/* Hands out the tenant's trace itself: whoever may ask may see all of it, and turns it on. */
static cJSON *trace(struct connection *c, const cJSON *o)
{
	char err[WH_CONTROL_ERROR];
	struct wh_tenant *t = named(o, err, sizeof(err));

	if (!t)
		return failure(err);
	c->file = wh_tenant_trace(t);
	return success();
}

static cJSON *programs(struct connection *c, const cJSON *o)
{
	cJSON *out = success();

	(void)c;
	(void)o;
	wh_drain_list(cJSON_AddArrayToObject(out, "programs"));
	cJSON_AddBoolToObject(out, "ends", wh_drain_ends());
	return out;
}

static cJSON *drain(struct connection *c, const cJSON *o)
{
	wh_drain(!cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(o, "on")), false);
	return programs(c, o);
}

static cJSON *stop(struct connection *c, const cJSON *o)
{
	bool when_idle = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "when_idle"));
	bool force = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "force"));
	char err[WH_CONTROL_ERROR];

	if (when_idle && !force && !wh_suspend_allows_idle_stop(err, sizeof(err)))
		return failure(err);
	if (!when_idle && !force && !wh_drain_allows_stop(err, sizeof(err)))
		return failure(err);
	if (when_idle && !force)
		wh_drain(true, true);
	c->stop = force || !wh_drain_programs();
	return programs(c, o);
}

/* Returns only if it fails: the program that goes on answers. */
static cJSON *reload(struct connection *c, const cJSON *o)
{
	char err[WH_CONTROL_ERROR];

	(void)o;
	wh_handover(c->fd, err, sizeof(err));
	return failure(err);
}

/* With words, it returns only if it fails: the program that goes on answers. */
static cJSON *attach(struct connection *c, const cJSON *o)
{
	char err[WH_CONTROL_ERROR];

	if (front || !wh_server.keep_s)
		return failure("another server answers there");
	front = c;
	if (cJSON_GetObjectItemCaseSensitive(o, "words")) {
		wh_handover_with(o, c->fd, err, sizeof(err));
		front = NULL;
		return failure(err);
	}
	wh_front_here();
	return success();
}

static const struct {
	const char *op;
	cJSON *(*run)(struct connection *c, const cJSON *o);
	bool looks;		/* it changes nothing */
	struct key keys[MAX_KEYS];
} requests[] = {
	{ "info", info, true, { { "op", TEXT } } },
	{ "create", create, false, { { "op", TEXT }, { "tenant", TEXT }, { "uid", NUMBER },
			      { "ephemeral", FLAG }, { "pid", NUMBER }, { "limits", LIST },
			      { "host_memory", NUMBER },
			      { "max_kernel_ms", NUMBER }, { "nccl", FLAG }, { "counters", FLAG },
			      { "bounded", FLAG },
			      { "devices", LIST }, { "keep", FLAG } } },
	{ "join", join, false, { { "op", TEXT }, { "tenant", TEXT } } },
	{ "set", set, false, { { "op", TEXT }, { "tenant", TEXT }, { "limits", LIST },
			{ "host_memory", NUMBER }, { "max_kernel_ms", NUMBER },
			{ "nccl", FLAG }, { "counters", FLAG } } },
	{ "delete", delete, false, { { "op", TEXT }, { "tenant", TEXT }, { "force", FLAG } } },
	{ "suspend", suspend, false, { { "op", TEXT }, { "tenant", TEXT }, { "wait_ms", NUMBER },
				{ "drain", FLAG }, { "to", TEXT } } },
	{ "resume", suspend, false, { { "op", TEXT }, { "tenant", TEXT } } },
	{ "move", suspend, false, { { "op", TEXT }, { "tenant", TEXT }, { "to", TEXT }, { "from", TEXT },
			  { "wait_ms", NUMBER } } },
	{ "export", export, true, { { "op", TEXT }, { "tenant", TEXT } } },
	{ "list", list, true, { { "op", TEXT } } },
	{ "usage", usage, true, { { "op", TEXT } } },
	{ "trace", trace, true, { { "op", TEXT }, { "tenant", TEXT } } },
	{ "reload", reload, true, { { "op", TEXT } } },
	{ "attach", attach, false, { { "op", TEXT }, { "program", TEXT }, { "words", LIST },
				     { "environment", LIST } } },
	{ "programs", programs, true, { { "op", TEXT } } },
	{ "drain", drain, false, { { "op", TEXT }, { "on", FLAG } } },
	{ "stop", stop, false, { { "op", TEXT }, { "when_idle", FLAG }, { "force", FLAG } } },
};

static cJSON *run_request(struct connection *c, const cJSON *o)
{
	const char *op = cJSON_IsObject(o) ? wh_request_text(o, "op") : NULL;
	char err[WH_CONTROL_ERROR], what[40];
	size_t i;

	for (i = 0; op && i < sizeof(requests) / sizeof(*requests); i++) {
		if (strcmp(requests[i].op, op))
			continue;
		snprintf(what, sizeof(what), "the request %s", op);
		if (!wh_request_keys(o, what, requests[i].keys, err, sizeof(err)))
			return failure(err);
		if (!requests[i].looks)
			wh_monitor_changed();
		return requests[i].run(c, o);
	}
	snprintf(err, sizeof(err), "op: no request '%.40s'; there are info, create, join, set, delete, suspend, resume, move, export, list, usage, trace, programs, drain, attach, reload, stop",
		 op ? op : "");
	return failure(err);
}

/*
 * Accepts one object with nothing behind it, since a request that is cut off would be guessed at.
 */
static cJSON *run(struct connection *c, const char *text, size_t n)
{
	cJSON *o, *out;

	if (n > WH_CONTROL_PACKET)
		return failure("the request is longer than 64 KiB");
	o = strlen(text) == n ? cJSON_ParseWithOpts(text, NULL, true) : NULL;
	/* An incomplete request does not count. */
	out = o && !no_memory ? run_request(c, o) : failure("the request is not one JSON object");
	cJSON_Delete(o);
	return out;
}

/* --- Connections ------------------------------------------------------------------ */

static void drop(struct connection *c)
{
	wh_loop_remove(c->fd);
	close(c->fd);
	connections--;
	if (c->kept) {
		wh_tenant_release(c->kept);
		wh_monitor_changed();
	}
	if (c == front) {
		front = NULL;
		wh_monitor_changed();
		wh_front_gone();
	}
	free(c);
}

/*
 * What is answered outlives the server. The state says meanwhile that the client waits: a next
 * server knows no answer and ends the connection, so that the client does not wait for ever.
 */
static bool answer_saved(struct connection *c, cJSON *o)
{
	bool sent;

	c->waits = true;
	wh_monitor_save();
	sent = answer(c, o);
	c->waits = false;
	if (c->kept || c == front)
		wh_monitor_changed();
	return sent;
}

static void on_packet(int fd, void *arg)
{
	static char text[WH_CONTROL_PACKET + 1];
	struct connection *c = arg;
	cJSON *out;
	ssize_t n = recv(fd, text, WH_CONTROL_PACKET, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* Who has not got his answer yet has nothing to ask. */
	if (n <= 0 || c->kept || c->awaits) {
		drop(c);
		return;
	}
	text[n < WH_CONTROL_PACKET ? n : WH_CONTROL_PACKET] = 0;
	no_memory = false;
	c->file = -1;
	out = run(c, text, (size_t)n);
	if (c->awaits && !out)
		return;
	if (!answer_saved(c, out)) {
		drop(c);
		return;
	}
	if (c->stop)
		wh_loop_stop();
}

static cJSON *noted(const char *note)
{
	cJSON *o = success();

	if (note)
		cJSON_AddStringToObject(o, "note", note);
	return o;
}

void wh_control_settled(const struct wh_tenant *t, const char *why, const char *note)
{
	struct connection *c;
	void *arg;
	int at, fd;

	for (at = 0; (fd = wh_loop_next(&at, on_packet, &arg)) >= 0;) {
		c = arg;
		if (c->awaits != t)
			continue;
		c->awaits = NULL;
		no_memory = false;
		if (!answer_saved(c, why ? failure(why) : noted(note)))
			shutdown(fd, SHUT_RDWR);
	}
}

static bool may_control(int fd, pid_t *peer)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n))
		return false;
	*peer = cred.pid;
	return cred.uid == 0 || cred.uid == geteuid();
}

static void turn_away(int conn, void *arg)
{
	struct connection c = { .fd = conn, .file = -1 };

	(void)arg;
	answer(&c, failure(WH_NO_DESCRIPTOR));
	close(conn);
}

/* A client that may ask is told why it cannot. */
static struct connection *take(struct connection *c)
{
	struct connection *kept = connections < MAX_CONNECTIONS ? malloc(sizeof(*kept)) : NULL;

	no_memory = false;
	if (kept)
		*kept = *c;
	if (kept && wh_loop_add(c->fd, on_packet, kept))
		return kept;
	answer(c, failure("the server has no room for a connection: out of memory, or too many"));
	free(kept);
	return NULL;
}

static void on_connection(int fd, void *arg)
{
	struct connection c = { .fd = wh_accept(fd, turn_away, NULL), .file = -1 };

	(void)arg;
	if (c.fd < 0)
		return;
	if (may_control(c.fd, &c.peer) && take(&c))
		connections++;
	else
		close(c.fd);
}

/* --- Over a handover ---------------------------------------------------------------- */

static cJSON *leave_kept(cJSON *all, int fd, const struct wh_tenant *t, bool waits)
{
	cJSON *o = cJSON_CreateObject();

	wh_leave_fd(o, "file", fd);
	cJSON_AddBoolToObject(o, "waits", waits);
	if (t && wh_tenant_find(wh_tenant_name(t)) == t)
		cJSON_AddStringToObject(o, "tenant", wh_tenant_name(t));
	cJSON_AddItemToArray(all, o);
	return o;
}

static void leave_connection(cJSON *all, int fd, const struct connection *c, bool planned)
{
	cJSON *o = leave_kept(all, fd, c->kept, c->waits && !planned);

	cJSON_AddBoolToObject(o, "front", c == front);
	if (c->awaits)
		cJSON_AddStringToObject(o, "awaits", wh_tenant_name(c->awaits));
}

/*
 * A connection that keeps nothing, and waits for no tenant, is left for a program that goes on, but
 * not for a server after one that was killed: that may have taken a request and not answered.
 */
void wh_control_leave(cJSON *o)
{
	bool all = wh_handover_is_planned();
	const struct connection *c;
	cJSON *connected, *ends;
	void *arg;
	int at, fd;

	wh_leave_fd(o, "listener", listener);
	connected = cJSON_AddArrayToObject(o, "connections");
	for (at = 0; (fd = wh_loop_next(&at, on_packet, &arg)) >= 0;) {
		c = arg;
		if (all || c->kept || c->awaits || c == front)
			leave_connection(connected, fd, c, all);
	}
	ends = cJSON_AddArrayToObject(o, "processes");
	for (at = 0; (fd = wh_loop_next(&at, on_process_end, &arg)) >= 0;)
		leave_kept(ends, fd, arg, false);
}

static bool take_connection(int fd, struct wh_tenant *t, const cJSON *o)
{
	const struct wh_tenant *awaited = wh_tenant_find(wh_taken_text(o, "awaits"));
	struct connection c = { .fd = fd, .file = -1, .kept = t, .awaits = awaited }, *kept;

	/* What it waits for was over before anybody could say so. */
	if (*wh_taken_text(o, "awaits") && !(awaited && wh_suspend_is_under_way(awaited)))
		return false;
	kept = may_control(fd, &c.peer) ? take(&c) : NULL;
	if (!kept)
		return false;
	connections++;
	if (wh_taken_flag(o, "front"))
		front = kept;
	return true;
}

/* What keeps a tenant that is gone, or cannot be listened to, is closed. */
static void take_kept(const cJSON *all, bool process)
{
	const char *name;
	struct wh_tenant *t;
	const cJSON *o;
	int fd;

	cJSON_ArrayForEach(o, all) {
		fd = wh_taken_fd(o, "file");
		name = wh_taken_text(o, "tenant");
		t = wh_tenant_find(name);
		if (fd < 0)
			continue;
		if (process ? t && wh_loop_add(fd, on_process_end, t) :
			      (t || !*name) && !wh_taken_flag(o, "waits") &&
			      take_connection(fd, t, o)) {
			if (t)
				wh_tenant_hold(t);
		} else {
			close(fd);
		}
	}
}

/* Ends tenants whose last keeper has ended while nobody listened. */
static void release_all(void)
{
	struct wh_tenant *t = wh_tenant_next(NULL), *next;

	for (; t; t = next) {
		next = wh_tenant_next(t);
		wh_tenant_hold(t);
		wh_tenant_release(t);
	}
}

static bool take_over(const cJSON *o)
{
	listener = wh_taken_fd(o, "listener");
	if (listener < 0 || !wh_loop_add(listener, on_connection, NULL))
		return false;
	take_kept(cJSON_GetObjectItem(o, "connections"), false);
	take_kept(cJSON_GetObjectItem(o, "processes"), true);
	release_all();
	if (wh_server.keep_s && !front)
		wh_front_gone();
	return true;
}

bool wh_control_start(char *err, size_t err_size)
{
	int n = snprintf(path, sizeof(path), "%s/" WH_CONTROL_SOCKET, wh_server.dir);
	cJSON_Hooks hooks = { counted_malloc, free };

	cJSON_InitHooks(&hooks);
	if (wh_handed("control") && take_over(wh_handed("control")))
		return true;
	if (n < (int)sizeof(path))
		listener = wh_listen(path, 0600, geteuid());
	else
		errno = ENAMETOOLONG;
	if (listener >= 0 && wh_loop_add(listener, on_connection, NULL))
		return true;
	snprintf(err, err_size, "%s/" WH_CONTROL_SOCKET ": %s", wh_server.dir, strerror(errno));
	return false;
}

void wh_control_farewell(void)
{
	static const char text[] = "{\"ended\":true}";

	if (front)
		send(front->fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void wh_control_stop(void)
{
	if (listener < 0)
		return;
	wh_loop_remove(listener);
	close(listener);
	unlink(path);
}
