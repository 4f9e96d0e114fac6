// SPDX-License-Identifier: Apache-2.0
/*
 * Files that a worker may open once a client can run code in it: the files of libraries and
 * drivers, to read; the device's files and those that the driver shares through /dev/shm, to write.
 * Landlock enforces this, and needs no privilege. The numbers are the kernel's: Debian 12's headers
 * know only the first of them.
 */
#define _GNU_SOURCE
#include "protect/sandbox.h"

#include "gen_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYS_CREATE	444
#define SYS_ADD_RULE	445
#define SYS_RESTRICT	446
#define GIVE_VERSION	1u
#define BENEATH		1

#define EXECUTE		(1ULL << 0)
#define WRITE_FILE	(1ULL << 1)
#define READ_FILE	(1ULL << 2)
#define READ_DIR	(1ULL << 3)
#define REMOVE_DIR	(1ULL << 4)
#define REMOVE_FILE	(1ULL << 5)
#define MAKE_DIR	(1ULL << 7)
#define MAKE_REG	(1ULL << 8)
#define ALL_OF_1	((1ULL << 13) - 1)
#define REFER		(1ULL << 13)	/* version 2 */
#define TRUNCATE	(1ULL << 14)	/* version 3 */
#define ALL_NET		3ULL		/* version 4: bind and connect of TCP */
#define SCOPE_SIGNAL	2ULL		/* version 6 */

#define LOOK		(EXECUTE | READ_FILE | READ_DIR)

struct ruleset {
	uint64_t fs, net, scoped;
};

struct beneath {
	uint64_t access;
	int32_t fd;
} __attribute__((packed));

static const char *const readable[] = {
	"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/nix/store", "/gnu/store",
	"/proc", "/sys", "/run/opengl-driver", "/run/nvidia-persistenced", NULL
};

int wh_landlock_version(void)
{
	long v = syscall(SYS_CREATE, NULL, 0, GIVE_VERSION);

	return v > 0 ? (int)v : 0;
}

/* A path that does not exist need not be allowed. */
static int allow_at(int rules, const char *path, int flags, uint64_t access)
{
	struct beneath b = { .access = access, .fd = open(path, flags) };
	int rc;

	if (b.fd < 0)
		return 0;
	rc = (int)syscall(SYS_ADD_RULE, rules, BENEATH, &b, 0);
	close(b.fd);
	return rc;
}

static int allow(int rules, const char *path, uint64_t access)
{
	return allow_at(rules, path, O_PATH | O_DIRECTORY | O_CLOEXEC, access);
}

static int allow_all(int rules, const char *const *paths)
{
	int rc = 0;

	for (; paths && *paths && !rc; paths++)
		rc = allow(rules, *paths, LOOK);
	return rc;
}

/* Allows folders with colons between them. */
static int allow_list(int rules, const char *list)
{
	char *copy = strdup(list ? list : ""), *save = NULL, *p;
	int rc = copy ? 0 : -1;

	for (p = copy ? strtok_r(copy, ":", &save) : NULL; p && !rc; p = strtok_r(NULL, ":", &save))
		rc = allow(rules, p, LOOK);
	free(copy);
	return rc;
}

static int allow_folder_of(int rules, const char *file)
{
	char *path = realpath(file, NULL), *slash = path ? strrchr(path, '/') : NULL;
	int rc = 0;

	if (slash && slash != path) {
		*slash = 0;
		rc = allow(rules, path, LOOK);
	}
	free(path);
	return rc;
}

#define VARIABLE_OF(name, variable)	"WORMHOLE_" variable,

/* Allows the folders of libraries that an administrator named one by one (library.c). */
static int allow_named(int rules)
{
	static const char *const names[] = { WH_EACH_LIBRARY(VARIABLE_OF) };
	const char *file;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		file = getenv(names[i]);
		if (file && *file && allow_folder_of(rules, file))
			return -1;
	}
	return 0;
}

/*
 * Allows the device's files, and those that every program may open. No terminal is among them: a
 * worker that opens all possible ones leaves none to others. Nor is nvidia-uvm-tools, by which one
 * process can look at others.
 */
static int allow_devices(int rules, uint64_t write)
{
	static const char *const files[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/nvidiactl",
		"/dev/nvidia[0-9]*", "/dev/nvidia-uvm", "/dev/nvidia-modeset", "/dev/nvidia-caps/*",
		"/dev/nvidia-caps-imex-channels/*",
	};
	size_t i, n = sizeof(files) / sizeof(*files);
	glob_t g = { 0 };
	int rc = 0;

	for (i = 0; i < n && !rc; i++)
		rc = glob(files[i], i ? GLOB_APPEND : 0, NULL, &g) == GLOB_NOSPACE ? -1 : 0;
	for (i = 0; i < g.gl_pathc && !rc; i++)
		rc = allow_at(rules, g.gl_pathv[i], O_PATH | O_CLOEXEC, READ_FILE | write);
	globfree(&g);
	return rc ? rc : allow(rules, "/dev", READ_DIR);
}

/*
 * Allows the folder of the seats, with what tenants claim of the device's time: each worker reads
 * the seats of all others.
 */
static int allow_seats(int rules, int seats)
{
	struct beneath b = { .access = READ_FILE, .fd = seats };

	return seats < 0 ? 0 : (int)syscall(SYS_ADD_RULE, rules, BENEATH, &b, 0);
}

/*
 * NVIDIA's driver writes the names of its threads into files there, and does not start if it cannot
 * (CUDA error 304). The folder stays open: rules belong to inodes, and another inode would replace
 * it after the kernel had dropped this one.
 */
static int allow_own_threads(int rules, uint64_t write)
{
	struct beneath b = { .access = LOOK | write };

	b.fd = open("/proc/self/task", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return b.fd < 0 ? 0 : (int)syscall(SYS_ADD_RULE, rules, BENEATH, &b, 0);
}

/* Allows the tenant's own compiled code (code_cache.c). */
static int allow_code_cache(int rules, uint64_t write)
{
	const char *path = getenv("CUDA_CACHE_PATH");

	write |= MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR;
	return path ? allow(rules, path, LOOK | write) : 0;
}

int wh_landlock_enter(const char *backend, int seats, bool tcp)
{
	int version = wh_landlock_version(), rules, rc;
	struct ruleset r = { .fs = ALL_OF_1 };
	uint64_t write = WRITE_FILE;

	r.fs |= version >= 2 ? REFER : 0;
	r.fs |= version >= 3 ? TRUNCATE : 0;
	r.net = version >= 4 && !tcp ? ALL_NET : 0;
	r.scoped = version >= 6 ? SCOPE_SIGNAL : 0;
	write |= r.fs & TRUNCATE;
	rules = (int)syscall(SYS_CREATE, &r, version >= 6 ? sizeof(r) : version >= 4 ? 16ul : 8ul,
			     0);
	if (rules < 0)
		return -1;
	rc = allow_all(rules, readable) || allow_folder_of(rules, backend) || allow_named(rules) ||
	     allow_list(rules, getenv("WORMHOLE_LIB_PATH")) ||
	     allow_list(rules, getenv("LD_LIBRARY_PATH")) ||
	     allow_devices(rules, write) || allow_own_threads(rules, write) ||
	     allow(rules, "/dev/shm", LOOK | write | MAKE_REG | REMOVE_FILE) ||
	     allow_seats(rules, seats) || allow_code_cache(rules, write) ||
	     syscall(SYS_RESTRICT, rules, 0);
	close(rules);
	return rc ? -1 : 0;
}
