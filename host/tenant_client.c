// SPDX-License-Identifier: Apache-2.0
/* The command's side of the server's control socket, and the arguments for limits. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tenancy.h"
#include "tenant/control.h"
#include "wormhole.h"

/* A worker ends in a tenth of a second on a GPU. A driver can make it much slower. */
#define ENDING_MS	20
#define ENDING_MAX_MS	10000

#define TIMEOUT_S	30

/* --- Requests --------------------------------------------------------------------- */

static void explain_connect(const char *dir, int err)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (err == EACCES || err == EPERM)
		wh_error("%s/" WH_CONTROL_SOCKET ": only root and the server's user may control it; ask them for a "
			 "tenant: `wormhole tenant create NAME --user %s'", dir, pw ? pw->pw_name : "USER");
	else if (err == ENAMETOOLONG)
		wh_error("%s/" WH_CONTROL_SOCKET ": too long for a socket; choose a shorter --dir", dir);
	else
		wh_error("no server answers at %s%s: %s; start one by `wormhole serve', or name its --dir",
			 dir, wh_server_dir_else(), strerror(err));
}

/* Where this process has connected to last; the socket itself names no path that others can use. */
static struct sockaddr_un address;

/*
 * Opens the control socket. Returns -1 with errno. @connect_ms limits the wait for a
 * connection if other clients are waiting, too.
 */
static int open_socket(const char *dir, int answer_ms, int connect_ms)
{
	struct timeval wait = { connect_ms / 1000, connect_ms % 1000 * 1000 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd, n, err;

	n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/" WH_CONTROL_SOCKET, dir);
	if (n >= (int)sizeof(a.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(fd, (struct sockaddr *)&a, sizeof(a))) {
		err = errno;
		close(fd);
		errno = err;
		return -1;
	}
	address = a;
	wait = (struct timeval){ answer_ms / 1000, answer_ms % 1000 * 1000 };
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	return fd;
}

int wh_server_reach(const char *dir)
{
	return open_socket(dir, TIMEOUT_S * 1000, 0);
}

int wh_server_connect(const char *dir)
{
	int fd = wh_server_reach(dir);

	if (fd < 0)
		explain_connect(dir, errno);
	return fd;
}

static int file = -1;	/* the file that came with the last answer */

static ssize_t receive(int fd, char *text)
{
	union {
		struct cmsghdr hdr;
		char buf[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec iov = { text, WH_CONTROL_PACKET };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &ctl,
			    .msg_controllen = sizeof(ctl) };
	ssize_t n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(file)))
		memcpy(&file, CMSG_DATA(c), sizeof(file));
	return n;
}

/* Returns NULL with errno if there is no answer at all. */
static cJSON *exchange(int fd, const cJSON *request)
{
	static char text[WH_CONTROL_PACKET + 1];
	char *out = cJSON_PrintUnformatted(request);
	ssize_t n = -1;

	if (out && send(fd, out, strlen(out), MSG_NOSIGNAL) > 0)
		n = receive(fd, text);
	/* A server that refuses the connection sends the reason and closes without reading. */
	if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
		n = receive(fd, text);
	free(out);
	if (n <= 0) {
		errno = n ? errno : ECONNRESET;
		return NULL;
	}
	text[n] = 0;
	return cJSON_Parse(text);
}

/* The tenant that a request names may be about to end, so the request is repeated for a while. */
static cJSON *exchange_patiently(int fd, const cJSON *request)
{
	const struct timespec pause = { 0, ENDING_MS * 1000000L };
	cJSON *answer = exchange(fd, request);
	int ms;

	for (ms = 0; ms < ENDING_MAX_MS && answer &&
		     cJSON_IsTrue(cJSON_GetObjectItem(answer, "ending")); ms += ENDING_MS) {
		cJSON_Delete(answer);
		nanosleep(&pause, NULL);
		answer = exchange(fd, request);
	}
	return answer;
}

/* --- A server that was killed before it answered ------------------------------------ */

#define REPEATS	3	/* its monitor starts another one, which listens where it did */

/* Does it do no harm to do this twice? An ephemeral tenant ends with its connection. */
static bool may_repeat(const cJSON *request)
{
	static const char *const ops[] = {
		"info", "join", "set", "export", "list", "usage", "trace", "programs", "drain",
	};
	const char *op = cJSON_GetStringValue(cJSON_GetObjectItem(request, "op"));
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (!strcmp(op, ops[i]))
			return true;
	return !strcmp(op, "create") && cJSON_IsTrue(cJSON_GetObjectItem(request, "ephemeral"));
}

/* Connects the descriptor once more. */
static bool connect_again(int fd)
{
	socklen_t size = sizeof(struct timeval);
	struct timeval wait;
	int again;
	bool done;

	if (getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, &size))
		return false;
	again = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	done = again >= 0 && !connect(again, (struct sockaddr *)&address, sizeof(address)) &&
	       !setsockopt(again, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
	       dup3(again, fd, O_CLOEXEC) == fd;
	if (again >= 0)
		close(again);
	return done;
}

static cJSON *exchange_again(int fd, const cJSON *request)
{
	cJSON *answer = exchange_patiently(fd, request);
	int i, err = errno;

	for (i = 0; !answer && (err == ECONNRESET || err == EPIPE) && i < REPEATS; i++) {
		if (!may_repeat(request) || !connect_again(fd))
			break;
		answer = exchange_patiently(fd, request);
		err = errno;
	}
	errno = err;
	return answer;
}

cJSON *wh_server_ask(int fd, cJSON *request)
{
	cJSON *answer = exchange_again(fd, request);
	const char *why;

	cJSON_Delete(request);
	if (!answer) {
		wh_error("the server did not answer: %s%s", strerror(errno),
			 errno == ECONNRESET || errno == EPIPE ?
			 "; only root and its user may control it" : "");
		return NULL;
	}
	if (cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok"))) {
		why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "note"));
		if (why)
			wh_warn("%s", why);
		return answer;
	}
	why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
	wh_error("%s", why ? why : "the server refused without a reason");
	cJSON_Delete(answer);
	return NULL;
}

int wh_server_ask_file(int fd, cJSON *request)
{
	cJSON *answer;

	file = -1;
	answer = wh_server_ask(fd, request);
	if (answer && file < 0)
		wh_error("the server is of another release: its answer lacks a file");
	cJSON_Delete(answer);
	return file;
}

cJSON *wh_request(const char *op, const char *tenant)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "op", op);
	if (tenant)
		cJSON_AddStringToObject(o, "tenant", tenant);
	return o;
}

cJSON *wh_server_glance(const char *dir, const char *op, int ms)
{
	int fd = open_socket(dir, ms, ms);
	cJSON *request, *answer;

	if (fd < 0)
		return NULL;
	request = wh_request(op, NULL);
	answer = exchange(fd, request);
	cJSON_Delete(request);
	close(fd);
	if (answer && cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok")))
		return answer;
	cJSON_Delete(answer);
	return NULL;
}

cJSON *wh_server_answer(const char *dir, cJSON *request)
{
	int fd = wh_server_connect(dir);
	cJSON *answer;

	if (fd < 0) {
		cJSON_Delete(request);
		return NULL;
	}
	answer = wh_server_ask(fd, request);
	close(fd);
	return answer;
}

int wh_server_do(const char *dir, cJSON *request)
{
	cJSON *answer = wh_server_answer(dir, request);

	cJSON_Delete(answer);
	return answer ? EXIT_DONE : EXIT_FAILED;
}

void wh_request_limits(cJSON *request, const struct wh_limit_list *list)
{
	cJSON *all = cJSON_AddArrayToObject(request, "limits"), *e;
	const struct wh_limit_spec *s;
	int i;

	if (list->has_host)
		cJSON_AddNumberToObject(request, "host_memory", (double)list->host);
	if (list->has_kernel)
		cJSON_AddNumberToObject(request, "max_kernel_ms", (double)list->kernel_ms);
	if (list->nccl != WH_NCCL_UNSAID)
		cJSON_AddBoolToObject(request, "nccl", list->nccl == WH_NCCL_YES);
	if (list->counters != WH_COUNTERS_UNSAID)
		cJSON_AddBoolToObject(request, "counters", list->counters == WH_COUNTERS_YES);
	for (i = 0; i < list->n; i++) {
		s = &list->spec[i];
		e = cJSON_CreateObject();
		if (s->device != WH_ALL_DEVICES)
			cJSON_AddNumberToObject(e, "device", s->device);
		if (s->memory_percent)
			cJSON_AddNumberToObject(e, "memory_percent", s->memory_percent);
		if (s->has_memory && (s->memory || !s->memory_percent))
			cJSON_AddNumberToObject(e, "memory", (double)s->memory);
		if (s->has_sm)
			cJSON_AddNumberToObject(e, "sm", s->sm_percent);
		if (s->has_max)
			cJSON_AddNumberToObject(e, "sm_max", s->sm_max);
		if (s->has_policy)
			cJSON_AddStringToObject(e, "policy", wh_limit_policy_name(s->sm_policy));
		if (s->has_class)
			cJSON_AddStringToObject(e, "priority", wh_limit_class_name(s->sm_class));
		cJSON_AddItemToArray(all, e);
	}
}

void wh_request_devices(cJSON *request, const char *list)
{
	char *copy = list ? wh_must(strdup(list)) : NULL, *save = NULL, *word;
	cJSON *all;

	if (!list)
		return;
	all = cJSON_AddArrayToObject(request, "devices");
	for (word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
		cJSON_AddItemToArray(all, word[strspn(word, "0123456789")] ? cJSON_CreateString(word) :
				     cJSON_CreateNumber(strtod(word, NULL)));
	free(copy);
}

/* --- Arguments -------------------------------------------------------------------- */

enum { KEY_MEM = 0x200, KEY_SM, KEY_MAX, KEY_POLICY, KEY_CLASS, KEY_DEVICE, KEY_HOST,
       KEY_KERNEL, KEY_NCCL, KEY_NO_NCCL, KEY_COUNTERS, KEY_NO_COUNTERS, KEY_DIR, KEY_DEVICES };

static const struct argp_option limit_options[] = {
	{ "mem", KEY_MEM, "SIZE", 0, "device memory, such as 2G, 1.5GiB or 512M, or 50% of what the device has; a number needs its unit; none: no limit", 0 },
	{ "host-mem", KEY_HOST, "SIZE", 0, "host memory that workers keep in place for programs, shared and pinned (default: half of the machine's); none: no limit", 0 },
	{ "max-kernel", KEY_KERNEL, "TIME", 0, "under a share of time: how long one launch may hold the device beyond the share, in seconds or as 500ms (default: 2); then its program ends with CUDA_ERROR_LAUNCH_TIMEOUT; none: no limit", 0 },
	{ "sm", KEY_SM, "PERCENT", 0, "share of the device's computing power, 1 to 100; none: no limit", 0 },
	{ "sm-max", KEY_MAX, "PERCENT", 0, "the most of the device's time, where a share of it is a guarantee; none: all that others leave; hard: no more than the share (default)", 0 },
	{ "priority", KEY_CLASS, "CLASS", 0, "low, normal (default) or high: among shares of the time the higher class goes first, as long as the lower has its own", 0 },
	{ "sm-policy", KEY_POLICY, "POLICY", 0, "temporal: a share of the time (default); spatial: a share of the SMs; both", 0 },
	{ "nccl", KEY_NCCL, NULL, 0, "several of its programs, or devices, may be ranks of NCCL: their workers may make sockets, in a network that is the tenant's alone. By default so for the programs of `wormhole run', where the machine can", 0 },
	{ "no-nccl", KEY_NO_NCCL, NULL, 0, "they may not: workers make no sockets", 0 },
	{ "counters", KEY_COUNTERS, NULL, 0, "its programs may count by the hardware's counters (CUPTI's range profiler), which tell of other tenants' work, too", 0 },
	{ "no-counters", KEY_NO_COUNTERS, NULL, 0, "they may not, from their next call on (default)", 0 },
	{ "device", KEY_DEVICE, "N:mem=..,sm=..,policy=..", 0, "of one device, in place of what is said for all; also sm-max= and priority=; may be given again", 0 },
	{ 0 }
};

static error_t parse_limit(int key, char *arg, struct argp_state *state)
{
	struct wh_limit_list *l = state->input;
	struct wh_limit_spec *all;
	char err[300];

	if (key < KEY_MEM || key > KEY_NO_COUNTERS)
		return ARGP_ERR_UNKNOWN;
	if (key == KEY_NCCL || key == KEY_NO_NCCL) {
		l->nccl = key == KEY_NCCL ? WH_NCCL_YES : WH_NCCL_NO;
		return 0;
	}
	if (key == KEY_COUNTERS || key == KEY_NO_COUNTERS) {
		l->counters = key == KEY_COUNTERS ? WH_COUNTERS_YES : WH_COUNTERS_NO;
		return 0;
	}
	if (key == KEY_HOST) {
		l->has_host = 1;
		if (wh_limit_bytes(arg, &l->host))
			wh_usage_error(state, "--host-mem: %s", wh_limit_bytes_why(arg));
		return 0;
	}
	if (key == KEY_KERNEL) {
		l->has_kernel = 1;
		if (wh_limit_time(arg, &l->kernel_ms))
			wh_usage_error(state, "--max-kernel: '%s' is not a time such as 2 or 500ms, of a day at most, or none", arg);
		return 0;
	}
	if (key == KEY_DEVICE) {
		if (!strchr(arg, ':'))
			wh_usage_error(state, "--device: '%s' has no device's number and colon", arg);
		if (wh_limit_parse(l, arg, err, sizeof(err)))
			wh_usage_error(state, "--device: %s", err);
		return 0;
	}
	all = wh_limit_of(l, WH_ALL_DEVICES);
	if (key == KEY_MEM) {
		if (wh_limit_memory(arg, all))
			wh_usage_error(state, "--mem: %s", wh_limit_memory_why(arg));
	} else if (key == KEY_SM) {
		all->has_sm = 1;
		if (wh_limit_percent(arg, &all->sm_percent))
			wh_usage_error(state, "--sm: '%s' is not a percentage from 1 to 100, or none", arg);
	} else if (key == KEY_MAX) {
		all->has_max = 1;
		if (wh_limit_ceiling(arg, &all->sm_max))
			wh_usage_error(state, "--sm-max: %s", wh_limit_ceiling_why(arg));
	} else if (key == KEY_CLASS) {
		all->has_class = 1;
		if (wh_limit_class(arg, &all->sm_class))
			wh_usage_error(state, "--priority: %s", wh_limit_class_why(arg));
	} else {
		all->has_policy = 1;
		if (wh_limit_policy(arg, &all->sm_policy))
			wh_usage_error(state, "--sm-policy: '%s' is neither temporal, spatial nor both", arg);
	}
	return 0;
}

const struct argp wh_limit_argp = { limit_options, parse_limit, NULL, NULL, NULL, NULL, NULL };

static const struct argp_option devices_options[] = {
	{ "devices", KEY_DEVICES, "LIST", 0, "the devices that it has, by numbers or UUIDs, such as 0,2; its programs see no others (default: all)", 0 },
	{ 0 }
};

static error_t parse_devices(int key, char *arg, struct argp_state *state)
{
	const char **list = state->input;

	if (key != KEY_DEVICES)
		return ARGP_ERR_UNKNOWN;
	if (!arg[strspn(arg, ",")])
		wh_usage_error(state, "--devices: '%s' names no device", arg);
	*list = arg;
	return 0;
}

const struct argp wh_devices_argp = {
	devices_options, parse_devices, NULL, NULL, NULL, NULL, NULL
};

static const struct argp_option dir_options[] = {
	{ "dir", KEY_DIR, "DIR", 0, "the server's folder (default: $WORMHOLE_DIR; for root /run/wormhole, for others $XDG_RUNTIME_DIR/wormhole before that)", 0 },
	{ 0 }
};

static error_t parse_dir(int key, char *arg, struct argp_state *state)
{
	const char **dir = state->input;

	if (key != KEY_DIR)
		return ARGP_ERR_UNKNOWN;
	*dir = arg;
	return 0;
}

const struct argp wh_dir_argp = { dir_options, parse_dir, NULL, NULL, NULL, NULL, NULL };
const struct argp_child wh_dir_only[] = { { &wh_dir_argp, 0, NULL, 0 }, { 0 } };
