// SPDX-License-Identifier: Apache-2.0
/*
 * Finds files. The command finds its own parts relative to its own place, in a build folder
 * (host/, server/, ... side by side) or in an installation (bin/, and the same folders
 * below lib/wormhole/). NVIDIA's driver library is searched where the loader and NVIDIA's
 * installers put it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tenancy.h"
#include "tenant/control.h"
#include "wormhole.h"

#define DRIVER		"libcuda.so.1"
#define ROOTS_DIR	"/run/wormhole"

char *wh_layout_find(const char *rel)
{
	static const char *const from_bin[] = { "..", "../lib/wormhole" };
	char self[PATH_MAX], path[2 * PATH_MAX], *slash, *real;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	self[n > 0 ? n : 0] = 0;
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = 0;
	for (i = 0; i < sizeof(from_bin) / sizeof(*from_bin); i++) {
		snprintf(path, sizeof(path), "%s/%s/%s", self, from_bin[i], rel);
		real = realpath(path, NULL);
		if (real)
			return real;
		if (errno == ENOMEM)
			wh_no_memory();
	}
	return NULL;
}

/* Root's server is found by everybody, so it is in the same place wherever root logged in. */
char *wh_serve_dir(const char *named)
{
	const char *dir = named ? named : getenv("WORMHOLE_DIR"), *run = getenv("XDG_RUNTIME_DIR");
	char *out = NULL;

	if (dir && *dir)
		return wh_must(strdup(dir));
	if (!geteuid() || !run || !*run)
		return wh_must(strdup(ROOTS_DIR));
	if (asprintf(&out, "%s/wormhole", run) < 0)
		wh_no_memory();
	return out;
}

bool wh_server_is_in(const char *dir)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/" WH_CONTROL_SOCKET, dir) < (int)sizeof(path) &&
	       !access(path, F_OK);
}

static bool looked_twice;

char *wh_server_dir(const char *named)
{
	const char *dir = named ? named : getenv("WORMHOLE_DIR");
	char *own = wh_serve_dir(named);

	if ((dir && *dir) || !strcmp(own, ROOTS_DIR) || wh_server_is_in(own))
		return own;
	if (!wh_server_is_in(ROOTS_DIR)) {
		looked_twice = true;
		return own;
	}
	free(own);
	return wh_must(strdup(ROOTS_DIR));
}

const char *wh_server_dir_else(void)
{
	return looked_twice ? " or " ROOTS_DIR : "";
}

/* --- NVIDIA's driver -------------------------------------------------------------- */

/*
 * Our client library has the same name and functions as NVIDIA's, but only ours reads this
 * variable. A server whose workers loaded it would become its own client.
 */
static bool is_client_stub(const char *path)
{
	static const char mark[] = "WORMHOLE_TRANSPORT";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool hit = false;
	struct stat st;
	void *p;

	if (fd < 0)
		return false;
	if (!fstat(fd, &st) && st.st_size > 0) {
		p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			wh_no_memory();
		hit = memmem(p, st.st_size, mark, sizeof(mark));
		munmap(p, st.st_size);
	}
	close(fd);
	return hit;
}

/* Returns the real path of a driver library, or NULL if it is unreadable or our own. */
static char *usable(const char *path)
{
	char *real = realpath(path, NULL);

	if (!real && errno == ENOMEM)
		wh_no_memory();
	if (real && (access(real, R_OK) || is_client_stub(real))) {
		free(real);
		real = NULL;
	}
	return real;
}

/* Parses lines of the loader's cache: `libcuda.so.1 (libc6,x86-64) => /path`. */
static char *from_loader_cache(void)
{
	FILE *f = popen("PATH=/sbin:/usr/sbin:/bin:/usr/bin ldconfig -p 2>/dev/null", "re");
	char line[4096], *path, *out = NULL;

	while (f && !out && fgets(line, sizeof(line), f)) {
		path = strstr(line, " => ");
		if (!path || !strstr(line, "\t" DRIVER " (") || !strstr(line, "x86-64"))
			continue;
		path[strcspn(path, "\n")] = 0;
		out = usable(path + 4);
	}
	if (f)
		pclose(f);
	return out;
}

char *wh_find_driver(void)
{
	static const char *const places[] = {
		"/usr/lib/x86_64-linux-gnu/" DRIVER, "/usr/lib/x86_64-linux-gnu/nvidia/current/" DRIVER,
		"/usr/local/nvidia/lib64/" DRIVER, "/usr/local/nvidia/lib/" DRIVER,
		"/usr/lib64/" DRIVER, "/usr/lib64/nvidia/" DRIVER, "/usr/lib/" DRIVER,
		"/usr/lib/wsl/lib/" DRIVER, "/run/opengl-driver/lib/" DRIVER,
	};
	char *out = from_loader_cache();
	size_t i;

	for (i = 0; !out && i < sizeof(places) / sizeof(*places); i++)
		out = usable(places[i]);
	return out;
}

bool wh_is_client_stub(const char *path)
{
	return is_client_stub(path);
}
