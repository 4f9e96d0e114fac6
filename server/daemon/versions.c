// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the versions of the libraries over the driver in the folders that the administrator named.
 * It happens once at the start. A process of its own, with a worker's protections, asks each file:
 * two versions of one library do not load into the same process, and the server loads no vendor's
 * library at all.
 */
#define _GNU_SOURCE
#include "daemon/isolation.h"
#include "daemon/server.h"
#include "session/choice.h"
#include "session/library.h"
#include "tenant/text.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_MS	60000	/* enough to load libraries of a gigabyte from a cold disk */
#define MAX_FOUND	128

struct answer {
	uint32_t library;	/* WH_LIB_* */
	uint32_t version;
	char path[PATH_MAX];
};

/* --- In the process that loads them ---------------------------------------------------- */

/* Asks one library. What it prints while it loads is not shown. */
static void ask(uint32_t number, const char *path, const char *backend, enum wh_protect protect,
		int fd)
{
	struct answer a = { .library = number };
	char err[240];
	void *handle;

	snprintf(a.path, sizeof(a.path), "%s", path);
	/*
	 * A worker does this too: cuDNN checks the version of its parts, and the search may lead to
	 * others.
	 */
	wh_library_open_beside(wh_libraries[number], path);
	handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (handle && !wh_shm_protect(protect, backend, -1, true, err, sizeof(err)))
		a.version = wh_library_version(wh_libraries[number], handle);
	if (a.version && send(fd, &a, sizeof(a), MSG_NOSIGNAL) < 0)
		_exit(1);
	_exit(0);
}

static void ask_in_child(uint32_t number, const char *path, const char *backend,
			 enum wh_protect protect, int fd)
{
	pid_t parent = getpid();
	int null;

	if (access(path, R_OK) || fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, 2);
	ask(number, path, backend, protect, fd);
}

static void ask_in_folders(uint32_t number, const char *soname, const char *backend,
			   enum wh_protect protect, int fd)
{
	const char *list = getenv("WORMHOLE_LIB_PATH");
	char path[PATH_MAX];
	size_t n;

	for (; soname && list && *list; list += n + (list[n] == ':')) {
		n = strcspn(list, ":");
		if (n && snprintf(path, sizeof(path), "%.*s/%s", (int)n, list, soname) < PATH_MAX)
			ask_in_child(number, path, backend, protect, fd);
	}
}

int wh_versions_main(const char *backend, enum wh_protect protect, int fd)
{
	const struct wh_library *lib;
	char err[240];
	uint32_t i, edition;

	if (wh_shm_protect(protect, backend, -1, false, err, sizeof(err)))
		return 1;
	for (i = 0; i < WH_LIBS; i++) {
		lib = wh_libraries[i];
		if (!lib || !(lib->property || lib->version) || wh_library_named(lib))
			continue;
		for (edition = 0; edition < WH_EDITIONS; edition++)
			ask_in_folders(i, lib->edition[edition].soname, backend, protect, fd);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return 0;
}

/* --- In the server ----------------------------------------------------------------------- */

static struct answer *found[MAX_FOUND];
static int nfound;

static int compare(const void *a, const void *b)
{
	const struct answer *x = *(struct answer *const *)a, *y = *(struct answer *const *)b;

	if (x->library != y->library)
		return x->library < y->library ? -1 : 1;
	if (x->version != y->version)
		return x->version > y->version ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Checks the answer, since a vendor's code has run in the process that sent it. */
static void take(const struct answer *a)
{
	if (nfound == MAX_FOUND || a->library >= WH_LIBS || !wh_libraries[a->library] ||
	    !a->version || !memchr(a->path, 0, sizeof(a->path)) || strchr(a->path, '\n'))
		return;
	found[nfound] = malloc(sizeof(*a));
	if (found[nfound])
		*found[nfound++] = *a;
}

/* Receives until all have answered or ended. */
static void receive(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	static struct answer a;

	while (poll(&p, 1, TIMEOUT_MS) == 1 && recv(fd, &a, sizeof(a), 0) == sizeof(a))
		take(&a);
	qsort(found, nfound, sizeof(*found), compare);
}

static const char *name_of(const struct answer *a)
{
	return wh_libraries[a->library]->name;
}

/* Tells workers, by their environment. */
static bool tell_workers(void)
{
	struct wh_text text;
	char *all;
	bool good;
	FILE *f;
	int i;

	f = wh_text_open(&text);
	if (!f)
		return false;
	for (i = 0; i < nfound; i++)
		fprintf(f, "%s %u %s\n", name_of(found[i]), found[i]->version, found[i]->path);
	all = wh_text_close(f, &text);
	good = all && !setenv(WH_LIBRARIES_FOUND, all, 1);
	free(all);
	return good;
}

static void say(void)
{
	char v[WH_VERSION_TEXT];
	int i;

	for (i = 0; i < nfound; i++)
		wh_say("info", "%s %s is %s%s", name_of(found[i]), wh_version_text(found[i]->version, v),
		       found[i]->path, i && found[i - 1]->library == found[i]->library ?
		       ", for clients that wish for it" : "");
}

void wh_versions_print(void *file)
{
	char v[WH_VERSION_TEXT];
	int i;

	for (i = 0; i < nfound; i++)
		fprintf(file, "%s %s %s\n", name_of(found[i]), wh_version_text(found[i]->version, v),
			found[i]->path);
}

bool wh_versions_start(char *err, size_t err_size)
{
	char *argv[] = { "wormhole-versions", "--versions", "--backend", (char *)wh_server.backend,
			 "--protect", (char *)wh_isolation_protect(false), NULL };
	const char *folders = getenv("WORMHOLE_LIB_PATH");
	struct wh_asked asked;

	unsetenv(WH_LIBRARIES_FOUND);
	if (!folders || !*folders)
		return true;
	if (!wh_asked_start(&asked, argv, "versions", "libraries for their versions", err, err_size))
		return false;
	receive(asked.fd);
	wh_asked_end(&asked);
	say();
	if (tell_workers())
		return true;
	snprintf(err, err_size, "out of memory");
	return false;
}
