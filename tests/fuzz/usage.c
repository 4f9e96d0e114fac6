// SPDX-License-Identifier: Apache-2.0
/*
 * The target is the readers of what a tenant's workers write. An input is stores into a
 * good `.usage`. Then `wormhole stat`, `top` and `metrics` read it, and the server does
 * with it what it does when workers end. The limits are the server's, which no worker can
 * write.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "tenant/control.h"
#include "top.h"

#define MOST	64	/* stores of an input */

static char dir[64], folder[80];
static struct wh_tenant_file file;
static struct wh_tenant_usage *good;

static void must(bool so, const char *what)
{
	if (so)
		return;
	fprintf(stderr, "usage: %s\n", what);
	abort();
}

/* --- Stores ------------------------------------------------------------------------------- */

static uint64_t value(struct fuzz_input *in)
{
	switch (fuzz_pick(in, 8)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX - fuzz_pick(in, 4);
	case 2:
		return UINT32_MAX;
	case 3:
		return 1ULL << fuzz_pick(in, 64);
	case 4:
		return fuzz_pick(in, 256);
	default:
		return fuzz_pick(in, 0);
	}
}

/* Chooses a place that somebody reads, because few words of the large file are read. */
static void *place(struct fuzz_input *in, size_t *room)
{
	struct wh_tenant_usage *u = file.usage;

	switch (fuzz_pick(in, 6)) {
	case 0:
		*room = sizeof(u->ended);
		return &u->ended;
	case 1:
		*room = sizeof(u->bucket);
		return u->bucket;
	case 2:
		*room = sizeof(u->worker[0]);
		return &u->worker[fuzz_pick(in, WH_TENANT_WORKERS)];
	case 3:
		*room = sizeof(u->shared.entry[0]);
		return &u->shared.entry[fuzz_pick(in, 16)];
	case 4:
		*room = 64;
		return &u->shared.top;
	default:
		*room = offsetof(struct wh_tenant_usage, ended);
		return u;
	}
}

static void store(struct fuzz_input *in)
{
	size_t room, at;
	uint8_t *p = place(in, &room);
	uint64_t v = value(in);

	at = fuzz_pick(in, room / 4 - 1) * 4;
	memcpy(p + at, &v, fuzz_pick(in, 2) ? 4 : 8);
}

/* --- Readers ------------------------------------------------------------------------------- */

/* Checks that a JSON document which is parsed and printed again gives the same text. */
static void check_json(const struct wh_tenant_views *v)
{
	cJSON *list = cJSON_CreateArray(), *again;
	char *text;

	wh_tenants_json(v, list);
	text = cJSON_PrintUnformatted(list);
	again = text ? cJSON_Parse(text) : NULL;
	must(again && cJSON_GetArraySize(again) == v->n, "stat --json is no JSON");
	cJSON_Delete(again);
	cJSON_Delete(list);
	free(text);
}

/* Checks that no line of `top' is longer than the terminal is wide, whatever the figures are. */
static void top_reads(const struct wh_look *now, const struct wh_look *before)
{
	struct top_view v = { .columns = 200 };
	char *text = top_screen(now, before, &v), *line, *end;

	for (line = text; (end = strchr(line, '\n')); line = end + 1)
		must(end - line <= v.columns, "a line of top is too long");
	free(text);
	cJSON_Delete(top_json(now, before));
}

static void stat_reads(void)
{
	struct wh_tenant_views first = { 0 }, second = { 0 };
	struct wh_look now = { 0 }, before = { 0 };

	must(wh_tenants_look(dir, NULL, 0, &first) && first.n == 1, "stat does not read it");
	must(wh_tenants_look(dir, NULL, 0, &second), "stat does not read it again");
	check_json(&first);
	wh_tenants_table(&second, &first);
	before.tenants = first;
	now.tenants = second;
	top_reads(&now, &before);
	wh_metrics_write(&now, NULL, stdout);
	wh_tenants_free(&first);
	wh_tenants_free(&second);
}

static void server_reads(struct fuzz_input *in)
{
	struct wh_tenant_usage *u = file.usage;
	unsigned int i;

	wh_tenant_accounts_only(u, fuzz_pick(in, 0));
	for (i = 0; i < WH_TENANT_WORKERS; i += 1 + fuzz_pick(in, 16))
		wh_tenant_account_clear(u, i);
	wh_tenant_account_open(u, fuzz_pick(in, WH_TENANT_WORKERS));
	for (i = 0; i < WH_TENANT_DEVICES; i++) {
		wh_tenant_orphans(u, i);
		wh_tenant_memory(u, i);
	}
	wh_tenant_host_memory(u);
	wh_tenant_living(u);
}

/* Checks that all lies are gone with the last worker. */
static void check_restart(void)
{
	unsigned int i;

	must(!wh_tenant_usage_restart(file.usage, 1), "restart");
	must(!wh_tenant_living(file.usage), "a worker of nobody's lives");
	must(!wh_tenant_host_memory(file.usage), "nobody holds host memory");
	for (i = 0; i < WH_TENANT_DEVICES; i++)
		must(!wh_tenant_memory(file.usage, i), "nobody holds memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, data + size };
	int i;

	memcpy(file.usage, good, sizeof(*good));
	for (i = 0; i < MOST && in.at < in.end; i++)
		store(&in);
	stat_reads();
	server_reads(&in);
	check_restart();
	return 0;
}

/* --- The tenant ---------------------------------------------------------------------------- */

static void fill(struct wh_tenant_usage *u)
{
	struct wh_shared *e = &u->shared.entry[0];
	int account = wh_tenant_account_take(u, (uint32_t)getpid());

	wh_tenant_account_open(u, account);
	wh_tenant_account_own(u, account, getpid(), getpid());
	u->worker[account].device[0].memory = 1 << 20;
	u->shared.top = 1;
	*e = (struct wh_shared){ .id = { 1, 2 }, .kind = WH_SHARED_MEMORY, .bytes = 4096,
				 .generation = u->worker[account].generation, .openers = 3 };
}

/*
 * Makes a socket, because `stat' shows tenants only where a server answers. It asks the
 * server no more than that.
 */
static void listen_there(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/" WH_CONTROL_SOCKET, dir);
	must(!bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1), "a socket");
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* run.sh names this folder, and removes it. */
	const char *tmp = getenv("TMPDIR");

	(void)argc;
	(void)argv;
	snprintf(dir, sizeof(dir), "%.40s/whfuzzXXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(dir), "mkdtemp");
	snprintf(folder, sizeof(folder), "%s/tenants", dir);
	must(!mkdir(folder, 0700), "mkdir");
	must(!wh_tenant_file_create(&file, folder, "one", 1, 2), "a tenant's files");
	listen_there();
	fill(file.usage);
	good = malloc(sizeof(*good));
	must(good, "memory");
	memcpy(good, file.usage, sizeof(*good));
	/* Nobody reads the table and the text for Prometheus. */
	must(freopen("/dev/null", "w", stdout), "/dev/null");
	return 0;
}
