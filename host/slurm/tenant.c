// SPDX-License-Identifier: Apache-2.0
/*
 * The tenant of a job. It is made on the device that has the job's memory and share left
 * beside the other jobs', and is removed with its workers. Slurm counts for the whole node;
 * the choice of the device is made here, under a lock for the node's jobs.
 */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "slurm.h"
#include "tenant/control.h"
#include "tenant/file.h"
#include "tenant/spec.h"
#include "tenant/tenant.h"

#define PREFIX		"slurm-"
#define TIMEOUT_S	30
#define TRIES		3	/* where the server is killed each time */
#define WORK_MS		20000	/* a job's calls and work under way may last, and then */
#define DRIVER_S	600	/* the driver, that takes or gives it the device */
#define GONE_MS		20000	/* a driver may need long to end a process */

struct room {
	uint64_t memory;
	unsigned int sm;
};

/*
 * Nodes that are devices of one machine have the same server, and a job may have several of
 * them. So the name contains the device.
 */
void ws_tenant_name(const struct ws_config *c, uint32_t job, char out[WS_NAME])
{
	if (c->device < 0)
		snprintf(out, WS_NAME, PREFIX "%u", job);
	else
		snprintf(out, WS_NAME, PREFIX "%u.gpu%d", job, c->device);
}

/* --- The control socket -------------------------------------------------------------- */

/* Returns -1 with err and errno. */
static int open_control(const char *dir, unsigned int seconds, char err[WS_ERROR])
{
	const struct timeval wait = { seconds, 0 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/" WH_CONTROL_SOCKET, dir), error;

	if (fd >= 0 && n < (int)sizeof(a.sun_path) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
	    !connect(fd, (struct sockaddr *)&a, sizeof(a)))
		return fd;
	error = n < (int)sizeof(a.sun_path) ? errno : ENAMETOOLONG;
	snprintf(err, WS_ERROR, "no server answers at %.200s: %s", dir,
		 error == ENAMETOOLONG ? "its name is too long for a socket" : strerror(error));
	if (fd >= 0)
		close(fd);
	errno = error;
	return -1;
}

/*
 * Sends a request on a connection of its own. Returns the bytes of the answer; 0: the server was
 * killed meanwhile, and perhaps the next one has taken its place; -1 with err: no answer, and *gone
 * if there is no server.
 */
static ssize_t exchange(const char *dir, unsigned int seconds, const char *text,
			char in[WH_CONTROL_PACKET + 1], bool *gone, char err[WS_ERROR])
{
	int fd = open_control(dir, seconds, err);
	ssize_t n = 0;

	*gone = fd < 0 && (errno == ENOENT || errno == ECONNREFUSED);
	if (fd < 0)
		return -1;
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) > 0)
		n = recv(fd, in, WH_CONTROL_PACKET, 0);
	if (n < 0 && errno == ECONNRESET)
		n = 0;
	snprintf(err, WS_ERROR, "the server at %.200s did not answer%s%s", dir, n < 0 ? ": " : "",
		 n < 0 ? strerror(errno) : "");
	close(fd);
	return n;
}

/* Sends a request, so often. The caller deletes the answer. Returns NULL with err. */
static cJSON *ask_often(const char *dir, const cJSON *request, unsigned int seconds, int tries,
			bool *gone, char err[WS_ERROR])
{
	char *text = cJSON_PrintUnformatted(request), *in = malloc(WH_CONTROL_PACKET + 1);
	cJSON *answer = NULL;
	const char *why;
	ssize_t n = 0;
	int i;

	*gone = false;
	snprintf(err, WS_ERROR, "no memory");
	for (i = 0; text && in && !n && i < tries; i++)
		n = exchange(dir, seconds, text, in, gone, err);
	if (n > 0) {
		in[n] = 0;
		answer = cJSON_Parse(in);
	}
	free(text);
	free(in);
	if (!answer || cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok")))
		return answer;
	why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
	snprintf(err, WS_ERROR, "%s", why ? why : "the server refused without a reason");
	cJSON_Delete(answer);
	return NULL;
}

/* Sends a request once and deletes it. */
static cJSON *ask_for(const char *dir, cJSON *request, unsigned int seconds, char err[WS_ERROR])
{
	bool gone;
	cJSON *answer = ask_often(dir, request, seconds, 1, &gone, err);

	cJSON_Delete(request);
	return answer;
}

static cJSON *ask(const char *dir, cJSON *request, char err[WS_ERROR])
{
	return ask_for(dir, request, TIMEOUT_S, err);
}

static cJSON *request(const char *op, const char *tenant)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "op", op);
	if (tenant)
		cJSON_AddStringToObject(o, "tenant", tenant);
	return o;
}

/* --- Which device ---------------------------------------------------------------------- */

/* Subtracts what another job's tenant has of each device. */
static void subtract_from(struct room *room, const struct wh_device_limit *has)
{
	room->memory -= has->memory < room->memory ? has->memory : room->memory;
	room->sm -= has->sm_percent < room->sm ? has->sm_percent : room->sm;
}

static void subtract(const char *dir, const char *file, struct room *room, int devices)
{
	char path[2 * PATH_MAX];
	struct wh_tenant_limits l;
	int fd, i;

	snprintf(path, sizeof(path), "%s/tenants/%s", dir, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (read(fd, &l, sizeof(l)) == (ssize_t)sizeof(l) && l.magic == WH_TENANT_LIMITS_MAGIC)
		for (i = 0; i < devices; i++)
			if (!wh_is_hidden(wh_hidden_places(&l), i))
				subtract_from(&room[i],
					      &l.device[wh_device_index(&l, (unsigned int)i)]);
	close(fd);
}

static void subtract_jobs(const char *dir, struct room *room, int devices)
{
	char path[PATH_MAX + 16];
	struct dirent *e;
	const char *end;
	DIR *d;

	snprintf(path, sizeof(path), "%s/tenants", dir);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		end = strrchr(e->d_name, '.');
		if (!strncmp(e->d_name, PREFIX, strlen(PREFIX)) && end && !strcmp(end, ".limits"))
			subtract(dir, e->d_name, room, devices);
	}
	if (d)
		closedir(d);
}

/* Finds what is left of each of the server's devices. Returns their number, or -1 with err. */
static int look(const char *dir, struct room room[WH_TENANT_DEVICES], char err[WS_ERROR])
{
	cJSON *answer = ask(dir, request("info", NULL), err), *e;
	int n = 0;

	if (!answer)
		return -1;
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "devices")) {
		if (n == WH_TENANT_DEVICES)
			break;
		room[n].memory = (uint64_t)cJSON_GetNumberValue(cJSON_GetObjectItem(e, "memory"));
		room[n++].sm = 100;
	}
	cJSON_Delete(answer);
	subtract_jobs(dir, room, n);
	return n;
}

/* Returns the fullest device that has the room, so that empty devices stay empty. -1: none has. */
static int fullest(const struct room *room, int from, int to, const struct ws_grant *g)
{
	int i, best = -1;

	for (i = from; i < to; i++)
		if (room[i].memory >= g->memory && room[i].sm >= g->sm &&
		    (best < 0 || room[i].memory < room[best].memory))
			best = i;
	return best;
}

static enum ws_made choose(const struct ws_config *c, const struct ws_grant *g, int *device,
			   int *devices, char err[WS_ERROR])
{
	struct room room[WH_TENANT_DEVICES];
	int n = look(c->dir, room, err), only = n == 1 ? 0 : c->device;

	if (n < 0)
		return WS_FAILED;
	if (only >= n) {
		snprintf(err, WS_ERROR, "node %s is device %d, and the server has %d", c->node, only, n);
		return WS_FAILED;
	}
	*devices = n;
	*device = only < 0 ? fullest(room, 0, n, g) : fullest(room, only, only + 1, g);
	if (*device >= 0)
		return WS_MADE;
	snprintf(err, WS_ERROR, "none of %d devices has %llu MiB and %u %% of its SMs left beside the "
		 "other jobs", only < 0 ? n : 1, (unsigned long long)(g->memory >> 20), g->sm);
	return WS_NO_ROOM;
}

/* --- Life ------------------------------------------------------------------------------- */

/*
 * The tenant gets a part of one device and sees no other device. A job without a share gets
 * the smallest share. A share that is larger than the cluster's ceiling is its own ceiling.
 */
static void limits_of(cJSON *o, const struct ws_config *c, const struct ws_grant *g, int device)
{
	cJSON *limit = cJSON_CreateObject();
	unsigned int sm = g->sm ? g->sm : 1;

	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "devices"), cJSON_CreateNumber(device));
	cJSON_AddNumberToObject(limit, "memory", (double)g->memory);
	cJSON_AddNumberToObject(limit, "sm", sm);
	if (c->ceiling > sm)
		cJSON_AddNumberToObject(limit, "sm_max", c->ceiling);
	cJSON_AddStringToObject(limit, "priority", wh_limit_class_name(g->class));
	cJSON_AddItemToArray(cJSON_AddArrayToObject(o, "limits"), limit);
}

static int lock_jobs(const char *dir)
{
	char path[PATH_MAX + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/slurm.lock", dir);
	fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool is_there(const char *dir, const char *name)
{
	char path[PATH_MAX + WS_NAME + 16];

	snprintf(path, sizeof(path), "%s/tenants/%s.usage", dir, name);
	return !access(path, F_OK);
}

static enum ws_made create(const struct ws_config *c, const struct ws_grant *g, const char *name,
			   char err[WS_ERROR])
{
	int device, devices;
	enum ws_made made = choose(c, g, &device, &devices, err);
	cJSON *o, *answer;

	if (made != WS_MADE)
		return made;
	o = request("create", name);
	cJSON_AddNumberToObject(o, "uid", g->uid);
	cJSON_AddTrueToObject(o, "bounded");
	limits_of(o, c, g, device);
	answer = ask(c->dir, o, err);
	cJSON_Delete(answer);
	return answer ? WS_MADE : WS_FAILED;
}

enum found { ABSENT, FOUND, UNKNOWN };

/*
 * A killed server leaves files that are no longer a tenant, so the server itself is asked, and the
 * one after it if that is killed meanwhile. Copies the tenant's state, such as "running". Where no
 * server is, there is no tenant. UNKNOWN with err: there is one, and it does not answer.
 */
static enum found find(const char *dir, const char *name, char state[WS_NAME], char err[WS_ERROR])
{
	cJSON *o = request("list", NULL), *answer, *e;
	enum found found = ABSENT;
	const char *it, *is;
	bool gone;

	answer = ask_often(dir, o, TIMEOUT_S, TRIES, &gone, err);
	cJSON_Delete(o);
	if (!answer)
		return gone ? ABSENT : UNKNOWN;
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "tenants")) {
		it = cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant"));
		if (!it || strcmp(it, name))
			continue;
		found = FOUND;
		is = cJSON_GetStringValue(cJSON_GetObjectItem(e, "state"));
		snprintf(state, WS_NAME, "%s", is ? is : "");
	}
	cJSON_Delete(answer);
	return found;
}

static enum found server_has(const char *dir, const char *name, char err[WS_ERROR])
{
	char state[WS_NAME];

	return find(dir, name, state, err);
}

enum ws_made ws_tenant_ensure(const struct ws_config *c, const struct ws_grant *g,
			      char err[WS_ERROR])
{
	char name[WS_NAME];
	int lock = lock_jobs(c->dir);
	enum ws_made made;

	if (lock < 0) {
		snprintf(err, WS_ERROR, "%.200s/slurm.lock: %s; is the server there?", c->dir,
			 strerror(errno));
		return WS_FAILED;
	}
	ws_tenant_name(c, g->job, name);
	switch (server_has(c->dir, name, err)) {
	case FOUND:	made = WS_MADE; break;
	case ABSENT:	made = create(c, g, name, err); break;
	default:	made = WS_FAILED;
	}
	close(lock);
	return made;
}

/* --- Suspended jobs ---------------------------------------------------------------------- */

static bool brought(const struct ws_config *c, uint32_t job, const char *op, const char *wanted,
		    char err[WS_ERROR])
{
	char name[WS_NAME], state[WS_NAME];
	cJSON *o, *answer;
	enum found found;

	ws_tenant_name(c, job, name);
	found = find(c->dir, name, state, err);
	if (found == UNKNOWN)
		return false;
	if (found == ABSENT || !strcmp(state, wanted))
		return true;
	o = request(op, name);
	if (!strcmp(op, "suspend"))
		cJSON_AddNumberToObject(o, "wait_ms", WORK_MS);
	answer = ask_for(c->dir, o, DRIVER_S, err);
	cJSON_Delete(answer);
	return answer;
}

bool ws_tenant_suspend(const struct ws_config *c, uint32_t job, char err[WS_ERROR])
{
	return brought(c, job, "suspend", "suspended", err);
}

bool ws_tenant_resume(const struct ws_config *c, uint32_t job, char err[WS_ERROR])
{
	return brought(c, job, "resume", "running", err);
}

bool ws_tenant_is_suspended(const struct ws_config *c, uint32_t job)
{
	char name[WS_NAME], state[WS_NAME], err[WS_ERROR];
	enum found found;

	ws_tenant_name(c, job, name);
	found = find(c->dir, name, state, err);
	return found == UNKNOWN || (found == FOUND && !strcmp(state, "suspended"));
}

/* --- All of them, and their end ------------------------------------------------------------- */

unsigned int ws_tenant_jobs(const struct ws_config *c, uint32_t jobs[WS_JOBS])
{
	char err[WS_ERROR], name[WS_NAME];
	cJSON *o = request("list", NULL), *answer, *e;
	unsigned int n = 0;
	const char *it;
	bool gone;

	answer = ask_often(c->dir, o, TIMEOUT_S, TRIES, &gone, err);
	cJSON_Delete(o);
	cJSON_ArrayForEach(e, cJSON_GetObjectItem(answer, "tenants")) {
		it = cJSON_GetStringValue(cJSON_GetObjectItem(e, "tenant"));
		if (!it || n == WS_JOBS || sscanf(it, PREFIX "%" SCNu32, &jobs[n]) != 1)
			continue;
		ws_tenant_name(c, jobs[n], name);
		n += !strcmp(it, name);
	}
	cJSON_Delete(answer);
	return n;
}

/*
 * Reads the final figures. The mapping outlives the file: the server adds a worker's counts
 * only after the worker has ended, and then removes the file.
 */
static void read_figures(const struct wh_tenant_file *f, struct ws_figures *out)
{
	struct wh_tenant_sum sum;
	int i;

	out->known = true;
	wh_tenant_usage_read(f->usage, &sum);
	for (i = 0; i < WH_TENANT_DEVICES; i++) {
		out->gpu_ns += wh_gpu_ns(&sum.total.device[i]);
		out->memory_peak += sum.total.device[i].memory_peak;
		out->throttled_ns += sum.total.device[i].throttled_ns;
	}
}

static bool delete(const char *dir, const char *name, char err[WS_ERROR])
{
	const struct timespec pause = { 0, 10000000 };
	cJSON *o = request("delete", name), *answer;
	char other[WS_ERROR];
	int i;

	cJSON_AddTrueToObject(o, "force");
	answer = ask(dir, o, err);
	cJSON_Delete(answer);
	if (!answer)
		return server_has(dir, name, other) == ABSENT;
	for (i = 0; i < GONE_MS / 10 && is_there(dir, name); i++)
		nanosleep(&pause, NULL);
	return true;
}

bool ws_tenant_delete(const struct ws_config *c, uint32_t job, struct ws_figures *figures,
		      char err[WS_ERROR])
{
	const char *dir = c->dir;
	char name[WS_NAME], folder[PATH_MAX + 16];
	struct wh_tenant_file file;
	enum found found;
	bool mapped, done;

	*figures = (struct ws_figures){ 0 };
	ws_tenant_name(c, job, name);
	snprintf(folder, sizeof(folder), "%s/tenants", dir);
	/* This also works with files of a killed server, until the next server removes them. */
	mapped = !wh_tenant_file_open(&file, folder, name);
	/* If no server lives, its tenants do not live either. */
	found = server_has(dir, name, err);
	done = found == ABSENT || (found == FOUND && delete(dir, name, err));
	if (mapped) {
		if (done)
			read_figures(&file, figures);
		wh_tenant_file_close(&file);
	}
	return done;
}
