// SPDX-License-Identifier: Apache-2.0
/* `wormhole suspend`, `resume` and `move`: a tenant leaves its devices, and comes to some again. */
#include <cjson/cJSON.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tenancy.h"
#include "tenant/spec.h"
#include "views.h"
#include "wormhole.h"

struct suspend_args {
	const char *dir, *name;
	const char *to, *from;	/* devices, as given, or "swap" of a suspension; NULL: not said */
	uint64_t wait_ms;	/* 0: not said */
};

enum { KEY_WAIT = 0x700, KEY_TO, KEY_FROM };

uint64_t wh_suspend_wait(const struct argp_state *state, const char *arg)
{
	uint64_t ms;

	if (wh_limit_time(arg, &ms) || !ms || ms > 86400000)
		wh_usage_error(state, "--wait: '%s' is not a time such as 30 or 500ms, of at most a day",
			       arg);
	return ms;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct suspend_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &a->dir; return 0;
	case KEY_WAIT: a->wait_ms = wh_suspend_wait(state, arg); return 0;
	case KEY_TO: a->to = arg; return 0;
	case KEY_FROM: a->from = arg; return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			return ARGP_ERR_UNKNOWN;
		a->name = arg;
		return 0;
	case ARGP_KEY_NO_ARGS: wh_usage_error(state, "name the tenant");
	default: return ARGP_ERR_UNKNOWN;
	}
}

/* The answer may come as late as the driver takes, so nothing but a signal ends the wait for it. */
int wh_suspend_ask(const char *dir, cJSON *request)
{
	const struct timeval for_ever = { 0 };
	int fd = wh_server_connect(wh_server_dir(dir));
	cJSON *answer;

	if (fd < 0) {
		cJSON_Delete(request);
		return EXIT_FAILED;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof(for_ever));
	answer = wh_server_ask(fd, request);
	close(fd);
	if (cJSON_GetObjectItem(answer, "note"))
		wh_info("%s", cJSON_GetStringValue(cJSON_GetObjectItem(answer, "note")));
	cJSON_Delete(answer);
	return answer ? EXIT_DONE : EXIT_FAILED;
}

#define WAIT_MS	30000	/* of a window, if nothing else is said; that of tenants is the server's */
#define WAIT	{ "wait", KEY_WAIT, "TIME", 0, \
		  "how long calls and work under way may last, in seconds or as 500ms (default: 30)", 0 }

static const struct argp_option suspend_options[] = {
	{ "to", KEY_TO, "swap", 0, "its memory goes on to the machine's swap, so that the host has it back", 0 },
	WAIT,
	{ 0 }
};

static const struct argp suspend_argp = {
	suspend_options, parse, "TENANT",
	"Take a tenant, or a window of a server VM such as 1/window0, off its devices: what its programs "
	"have there goes to memory of the host, or of that VM, and they wait in their next call until "
	"`wormhole resume'.", wh_dir_only, NULL, NULL
};

static cJSON *waiting(const char *op, const struct suspend_args *a)
{
	cJSON *request = wh_request(op, a->name);

	if (a->wait_ms)
		cJSON_AddNumberToObject(request, "wait_ms", (double)a->wait_ms);
	return request;
}

int cmd_suspend(int argc, char **argv)
{
	struct suspend_args a = { 0 };
	cJSON *request;

	wh_parse(&suspend_argp, argc, argv, 0, &a);
	if (wh_is_window(a.name) && a.to) {
		wh_error("%s: --to: a server VM has no swap: what a window had stays in the VM's memory", a.name);
		return EXIT_FAILED;
	}
	if (wh_is_window(a.name))
		return wh_vm_suspend(a.name, false, a.wait_ms ? a.wait_ms : WAIT_MS);
	request = waiting("suspend", &a);
	if (a.to)
		cJSON_AddStringToObject(request, "to", a.to);
	return wh_suspend_ask(a.dir, request);
}

static const struct argp resume_argp = {
	NULL, parse, "TENANT",
	"Let a suspended tenant go on, with all that its programs had on their devices.", wh_dir_only, NULL,
	NULL
};

int cmd_resume(int argc, char **argv)
{
	struct suspend_args a = { 0 };

	wh_parse(&resume_argp, argc, argv, 0, &a);
	if (wh_is_window(a.name))
		return wh_vm_suspend(a.name, true, 0);
	return wh_suspend_ask(a.dir, wh_request("resume", a.name));
}

static const struct argp_option move_options[] = {
	{ "to", KEY_TO, "DEVICE", 0, "the device that it is to have, by its number or UUID", 0 },
	{ "from", KEY_FROM, "DEVICE", 0, "the one that it leaves, where it has several", 0 },
	WAIT,
	{ 0 }
};

static const struct argp move_argp = {
	move_options, parse, "TENANT",
	"Let a tenant, running or suspended, go on on another device of the same kind. Its programs wait "
	"meanwhile, and find all as it was.", wh_dir_only, NULL, NULL
};

int cmd_move(int argc, char **argv)
{
	struct suspend_args a = { 0 };
	cJSON *request;

	wh_parse(&move_argp, argc, argv, 0, &a);
	if (!a.to) {
		wh_error("say the device by --to; `wormhole stat' shows which there are");
		return EXIT_USAGE;
	}
	if (wh_refuse_window(a.name, "moved"))
		return EXIT_FAILED;
	request = waiting("move", &a);
	cJSON_AddStringToObject(request, "to", a.to);
	if (a.from)
		cJSON_AddStringToObject(request, "from", a.from);
	return wh_suspend_ask(a.dir, request);
}
