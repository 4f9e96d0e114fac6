// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole serve`: finds the driver library and becomes wormhole-server, which does everything
 * else.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenancy.h"
#include "wormhole.h"

#define SOFTGPU	"softgpu"
#define OVERCOMMIT_S	"30"

struct serve_args {
	const char *backend, *dir, *socket, *part_size, *nvml, *slack, *worker_uid, *sm_group;
	const char *overcommit;	/* NULL: off */
	const char *unit, *keep, *scope;
	const char *tenants, *state;
	char *libraries;	/* folders, separated by colons */
	bool background;
	struct wh_limit_list limits;
};

enum {
	KEY_BACKEND = 0x300, KEY_SOCKET, KEY_PART, KEY_DAEMON, KEY_NVML, KEY_SLACK, KEY_LIBRARIES,
	KEY_UID, KEY_SM_GROUP, KEY_JOURNAL, KEY_TENANTS, KEY_STATE, KEY_KEEP, KEY_SCOPE,
	KEY_OVERCOMMIT,
};

static const struct argp_option options[] = {
	{ "backend", KEY_BACKEND, "LIBRARY", 0, "the driver's libcuda.so.1 (default: this machine's), or softgpu: no GPU, PTX runs on the CPU", 0 },
	{ "libraries", KEY_LIBRARIES, "DIR", 0, "folder of the driver side's cuBLAS, cuDNN and others; again, or with colons, for more: of each a program gets the version that it came with, else the newest (default: $WORMHOLE_LIB_PATH, the CUDA toolkit's, the loader's)", 0 },
	{ "worker-uid", KEY_UID, "N", 0, "(root) first of 257 numbers that nobody else has: each tenant's workers run as one of them (default: such numbers); none: as root", 0 },
	{ "socket", KEY_SOCKET, "PATH", 0, "socket of the tenant `default' (default DIR/server.sock)", 0 },
	{ "tenants", KEY_TENANTS, "DIR", 0, "folder of the administrator's files of tenants (default: root's /etc/wormhole/tenants.d, others' ~/.config/wormhole/tenants.d; with a --dir of one's own, its tenants.d)", 0 },
	{ "state", KEY_STATE, "DIR", 0, "folder of the tenants that the server keeps (default: root's /var/lib/wormhole, others' ~/.local/state/wormhole; with a --dir of one's own, its state); none: it keeps none", 0 },
	{ "part-size", KEY_PART, "SIZE", 0, "memory that a client and its worker share (default 256M)", 0 },
	{ "daemon", KEY_DAEMON, NULL, 0, "go to the background once clients can connect", 0 },
	{ "journal", KEY_JOURNAL, "UNIT", 0, "(in a unit of systemd, of Type=notify) messages go to the journal of this unit, where `wormhole logs' finds them", 0 },
	{ "keep", KEY_KEEP, "SECONDS", 0, "(in a unit of systemd) programs live through a restart of the service: when this process ends, the server waits so long for the next start", 0 },
	{ "scope", KEY_SCOPE, "NAME", 0, "with --keep: the server runs in this scope of systemd's, which outlives the unit", 0 },
	{ "sm-group", KEY_SM_GROUP, "SMS", 0, "shares of policy spatial in groups of so many SMs, a multiple of 2 (default: as few as the driver's own groups have); in groups below that size no clusters of more than 2 thread blocks run", 0 },
	{ "overcommit", KEY_OVERCOMMIT, "TIME", OPTION_ARG_OPTIONAL, "quotas may sum up to more than a device has: tenants that do not call are suspended while another's memory needs room, and go on at their next call; one that got room stays so long (default 30, in seconds)", 0 },
	{ "nvml", KEY_NVML, "LIBRARY", 0, "where the driver's own figures are read (default: the libnvidia-ml.so.1 beside the driver), or none", 0 },
	{ "slack", KEY_SLACK, "SIZE", 0, "memory of a tenant that the driver may count beyond the limit (default 1G)", 0 },
	{ 0 }
};

static void add_folder(struct serve_args *a, const char *folder)
{
	char *before = a->libraries;

	if (!before)
		a->libraries = wh_must(strdup(folder));
	else if (asprintf(&a->libraries, "%s:%s", before, folder) < 0)
		wh_no_memory();
	free(before);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct serve_args *a = state->input;
	uint64_t bytes, ms;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->limits;
		state->child_inputs[1] = &a->dir;
		return 0;
	case KEY_BACKEND: a->backend = arg; return 0;
	case KEY_SOCKET: a->socket = arg; return 0;
	case KEY_TENANTS: a->tenants = arg; return 0;
	case KEY_STATE: a->state = arg; return 0;
	case KEY_DAEMON: a->background = true; return 0;
	case KEY_JOURNAL: a->unit = arg; return 0;
	case KEY_KEEP:
		wh_arg_u64(state, "--keep", arg, 1, 86400);
		a->keep = arg;
		return 0;
	case KEY_SCOPE: a->scope = arg; return 0;
	case KEY_LIBRARIES: add_folder(a, arg); return 0;
	case KEY_UID:
		if (strcmp(arg, "none"))
			wh_arg_u64(state, "--worker-uid", arg, 1, 2000000000);
		a->worker_uid = arg;
		return 0;
	case KEY_SM_GROUP:
		if (wh_arg_u64(state, "--sm-group", arg, 2, 4096) % 2)
			wh_usage_error(state, "--sm-group: '%s' SMs: a group has a multiple of 2", arg);
		a->sm_group = arg;
		return 0;
	case KEY_OVERCOMMIT:
		a->overcommit = arg ? arg : OVERCOMMIT_S;
		if (wh_limit_time(a->overcommit, &ms) || !ms)
			wh_usage_error(state, "--overcommit: '%s' is not a time such as 30 or 500ms", arg);
		return 0;
	case KEY_NVML: a->nvml = arg; return 0;
	case KEY_PART:
		if (wh_limit_bytes(arg, &bytes) || bytes < 1 << 20)
			wh_usage_error(state, "--part-size: %s, and of at least 1M", wh_limit_bytes_why(arg));
		a->part_size = arg;
		return 0;
	case KEY_SLACK:
		if (wh_limit_bytes(arg, &bytes))
			wh_usage_error(state, "--slack: %s", wh_limit_bytes_why(arg));
		a->slack = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->background && a->unit)
			wh_usage_error(state, "--journal '%s': not with --daemon, whose messages go to DIR/server.log", a->unit);
		if (a->scope && !a->keep)
			wh_usage_error(state, "--scope '%s': only with --keep", a->scope);
		if (a->background && a->keep)
			wh_usage_error(state, "--keep '%s': not with --daemon: the process that is started stands for the server", a->keep);
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wh_limit_argp, 0, "Limits of the tenant `default':", 1 }, { &wh_dir_argp, 0, NULL, 0 }, { 0 }
};

static const struct argp argp = {
	options, parse, NULL,
	"Serve CUDA programs of this machine, in the foreground.", children, NULL, NULL
};

/* --- Which library does the work -------------------------------------------------- */

static char *find_backend(const char *named)
{
	char *path;

	if (!named) {
		path = wh_find_driver();
		if (!path)
			wh_error("no NVIDIA driver library (libcuda.so.1) on this machine; install the driver, name the library by --backend FILE, or run without a GPU by --backend softgpu");
		return path;
	}
	if (!strcmp(named, SOFTGPU)) {
		path = wh_layout_find("softgpu/libcuda.so.1");
		if (!path)
			wh_error("--backend softgpu: softgpu/libcuda.so.1 is not beside this command; build it by `make'");
		return path;
	}
	path = realpath(named, NULL);
	if (!path)
		wh_error("--backend '%s': %s; name a file, or softgpu", named, strerror(errno));
	else if (wh_is_client_stub(path)) {
		wh_error("--backend '%s' is Wormhole's own client library; name the driver's", named);
		free(path);
		return NULL;
	}
	return path;
}

/* --- Its libraries --------------------------------------------------------------------- */

/*
 * A worker serves calls of cuBLAS and other libraries with NVIDIA's libraries, which the
 * loader need not know. It cannot use the stubs of our client libraries.
 */
static void find_libraries(const struct serve_args *a, bool softgpu)
{
	static const char *const places[] = {
		"/usr/local/cuda/lib64", "/usr/local/cuda/targets/x86_64-linux/lib",
	};
	char *dir = a->libraries ? wh_must(strdup(a->libraries)) : NULL, *file;
	const char *named = getenv("WORMHOLE_LIB_PATH");
	size_t i;

	if (!dir && named && *named)
		return;
	if (!dir && softgpu)
		dir = wh_layout_find("softgpu");
	for (i = 0; !dir && i < sizeof(places) / sizeof(*places); i++) {
		if (asprintf(&file, "%s/libcublas.so.13", places[i]) < 0)
			wh_no_memory();
		if (!access(file, R_OK))
			dir = wh_must(strdup(places[i]));
		free(file);
	}
	if (dir)
		wh_setenv("WORMHOLE_LIB_PATH", dir);
	free(dir);
}

/* --- The server's command line ---------------------------------------------------- */

#define MAX_WORDS	(41 + 2 * WH_LIMIT_SPECS)

struct words {
	char *v[MAX_WORDS];
	int n;
};

static void add(struct words *w, const char *option, const char *value)
{
	if (!value)
		return;
	w->v[w->n++] = (char *)option;
	w->v[w->n++] = (char *)value;
}

/* Writes a parsed limit again in the form that --limit takes. */
static char *limit_text(const struct wh_limit_spec *s)
{
	struct wh_text out;
	FILE *f = wh_text_begin(&out);

	if (s->device != WH_ALL_DEVICES)
		fprintf(f, "%d:", s->device);
	if (s->memory_percent && s->memory)
		fprintf(f, "mem=%" PRIu64 "B/%u%%,", s->memory, s->memory_percent);
	else if (s->memory_percent)
		fprintf(f, "mem=%u%%,", s->memory_percent);
	else if (s->has_memory)
		fprintf(f, "mem=%" PRIu64 "B,", s->memory);
	if (s->has_sm)
		fprintf(f, "sm=%u,", s->sm_percent);
	if (s->has_max && s->sm_max)
		fprintf(f, "sm-max=%u,", s->sm_max);
	else if (s->has_max)
		fputs("sm-max=hard,", f);
	if (s->has_policy)
		fprintf(f, "policy=%s,", wh_limit_policy_name(s->sm_policy));
	if (s->has_class)
		fprintf(f, "priority=%s,", wh_limit_class_name(s->sm_class));
	return wh_text_end(f, &out);
}

static int become_server(const struct serve_args *a, char *program, char *backend)
{
	struct words w = { .v = { program }, .n = 1 };
	/* NVML does not know softgpu, so it is used then only if a library was named. */
	bool softgpu = a->backend && !strcmp(a->backend, SOFTGPU);
	char host[32], kernel[32];
	int i;

	find_libraries(a, softgpu);
	add(&w, "--backend", backend);
	add(&w, "--dir", wh_serve_dir(a->dir));
	add(&w, "--socket", a->socket);
	add(&w, "--tenants", a->tenants);
	add(&w, "--state", a->state);
	add(&w, "--part-size", a->part_size);
	add(&w, "--nvml", a->nvml ? a->nvml : softgpu ? "none" : NULL);
	add(&w, "--slack", a->slack);
	add(&w, "--worker-uid", a->worker_uid);
	add(&w, "--sm-group", a->sm_group);
	add(&w, "--overcommit", a->overcommit);
	add(&w, "--journal", a->unit);
	add(&w, "--keep", a->keep);
	add(&w, "--scope", a->scope);
	if (a->limits.has_host) {
		snprintf(host, sizeof(host), "%" PRIu64 "B", a->limits.host);
		add(&w, "--host-mem", host);
	}
	if (a->limits.has_kernel) {
		snprintf(kernel, sizeof(kernel), "%" PRIu64 "ms", a->limits.kernel_ms);
		add(&w, "--max-kernel", a->limits.kernel_ms ? kernel : "none");
	}
	for (i = 0; i < a->limits.n; i++)
		add(&w, "--limit", limit_text(&a->limits.spec[i]));
	if (a->limits.nccl != WH_NCCL_UNSAID)
		w.v[w.n++] = a->limits.nccl == WH_NCCL_YES ? "--nccl" : "--no-nccl";
	if (a->limits.counters == WH_COUNTERS_YES)
		w.v[w.n++] = "--counters";
	if (a->background)
		w.v[w.n++] = "--daemon";
	w.v[w.n] = NULL;
	execv(program, w.v);
	wh_error("cannot run '%s': %s", program, strerror(errno));
	return EXIT_FAILED;
}

int cmd_serve(int argc, char **argv)
{
	struct serve_args a = { 0 };
	char *program, *backend;

	wh_parse(&argp, argc, argv, 0, &a);
	program = wh_layout_find("server/wormhole-server");
	if (!program) {
		wh_error("server/wormhole-server is not beside this command; build it by `make'");
		return EXIT_FAILED;
	}
	backend = find_backend(a.backend);
	if (!backend)
		return EXIT_FAILED;
	return become_server(&a, program, backend);
}
