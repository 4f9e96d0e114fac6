// SPDX-License-Identifier: Apache-2.0
/*
 * The target promises answers on the control socket. An input is packets, one in a line,
 * over a connection of its own to the server's own code, with tenants and their files.
 * Each packet has one answer, which says whether it was done. What the packets made can
 * be deleted, and then nothing is left of it.
 */
#include "../../server/daemon/control.c"

#include <dirent.h>

#include "fuzz.h"

#define MOST	16	/* packets of an input */

/* The libraries set this, none of which is here. */
const char *wh_nccl_hint;

static char dir[64];

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "control: %s\n", what);
	abort();
}

/* --- Packets ---------------------------------------------------------------------------- */

static void check_answer(const char *text, ssize_t n)
{
	cJSON *o = n > 0 ? cJSON_ParseWithLength(text, (size_t)n) : NULL;
	const cJSON *good = cJSON_GetObjectItemCaseSensitive(o, "ok");

	must(cJSON_IsTrue(good) || (cJSON_IsFalse(good) && wh_request_text(o, "error")),
	     "an answer says neither that it is done nor what is wrong");
	cJSON_Delete(o);
}

/* Returns false if the connection is over. */
static bool exchange(int us, struct connection *c, const uint8_t *packet, size_t n)
{
	static char text[WH_CONTROL_PACKET];
	bool kept = c->kept != NULL;

	must(send(us, packet, n, 0) == (ssize_t)n, "send");
	on_packet(c->fd, c);
	if (kept || !n)
		return false;
	check_answer(text, recv(us, text, sizeof(text), MSG_DONTWAIT));
	return true;
}

static void converse(const uint8_t *at, const uint8_t *end)
{
	struct connection *c = calloc(1, sizeof(*c));
	int fd[2], packets = 0;
	const uint8_t *line;
	bool lives = true;

	must(c && !socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd), "a pair of sockets");
	c->fd = fd[0];
	connections++;
	while (lives && at < end && packets++ < MOST) {
		line = memchr(at, '\n', end - at);
		line = line ? line : end;
		lives = exchange(fd[1], c, at, line - at);
		at = line + 1;
	}
	close(fd[1]);
	if (lives)
		on_packet(fd[0], c);	/* reads the end of the connection, and drops it */
}

/* --- What is left ------------------------------------------------------------------------ */

/*
 * Checks that only the default tenant's two files (its socket is elsewhere) and the
 * folder of turns are left.
 */
static void check_folder(void)
{
	char path[128], what[300];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/tenants", dir);
	d = opendir(path);
	must(d, "the folder of tenants is gone");
	while ((e = readdir(d))) {
		snprintf(what, sizeof(what), "%s was left behind", e->d_name);
		must(e->d_name[0] == '.' || !strcmp(e->d_name, "turns") ||
		     !strncmp(e->d_name, WH_DEFAULT ".", sizeof(WH_DEFAULT)), what);
	}
	closedir(d);
}

static void delete_all(void)
{
	struct wh_tenant *t = NULL, *next;
	char err[WH_CONTROL_ERROR];

	for (t = wh_tenant_next(NULL); t; t = next) {
		next = wh_tenant_next(t);
		if (strcmp(wh_tenant_name(t), WH_DEFAULT))
			must(wh_tenant_delete(t, true, err, sizeof(err)), err);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	converse(data, data + size);
	must(!connections, "a connection is still counted");
	delete_all();
	check_folder();
	return 0;
}

/* --- The server --------------------------------------------------------------------------- */

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	/* run.sh names this folder, and removes it. */
	const char *tmp = getenv("TMPDIR");
	char err[400] = "a folder";

	(void)argc;
	(void)argv;
	snprintf(dir, sizeof(dir), "%.40s/whfuzzXXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(dir), "mkdtemp");
	snprintf(wh_server.dir, sizeof(wh_server.dir), "%s", dir);
	snprintf(wh_server.socket, sizeof(wh_server.socket), "%s/server.sock", dir);
	wh_server.backend = "libcuda.so.1";
	wh_server.host_memory = 1 << 30;
	wh_server.devices = 2;
	wh_server.device[0] = (struct wh_device){ "one", "GPU-1", 1ULL << 34, 128, { 16, 8, 0, 0 } };
	wh_server.device[1] = (struct wh_device){ "two", "GPU-2", 1ULL << 34, 128, { 0 } };
	must(wh_tenants_start(err, sizeof(err)), err);
	return 0;
}
