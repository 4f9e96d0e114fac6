// SPDX-License-Identifier: Apache-2.0
/* Becomes the program of `wormhole run`, or says why that cannot be. */
#include "wormhole.h"
#include "run.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the path of a program's dynamic loader. False: it has none, or is no ELF program. */
static bool read_loader(int fd, char loader[PATH_MAX])
{
	Elf64_Ehdr e;
	Elf64_Phdr p;
	int i;

	if (pread(fd, &e, sizeof(e), 0) != sizeof(e) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (i = 0; i < e.e_phnum; i++) {
		if (pread(fd, &p, sizeof(p), e.e_phoff + (off_t)i * sizeof(p)) != sizeof(p))
			return false;
		if (p.p_type != PT_INTERP || p.p_filesz >= PATH_MAX)
			continue;
		loader[p.p_filesz] = 0;
		return pread(fd, loader, p.p_filesz, p.p_offset) == (ssize_t)p.p_filesz;
	}
	return false;
}

/*
 * The libraries are built for glibc. musl's loader takes them for its own, and ends the program
 * with the name of a symbol.
 */
static bool is_of_musl(const char *name, char loader[PATH_MAX])
{
	char *path = wh_run_find(name);
	/* Nobody may ever write into what is no program. */
	int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	bool musl = fd >= 0 && read_loader(fd, loader) && strstr(loader, "/ld-musl-");

	if (fd >= 0)
		close(fd);
	free(path);
	return musl;
}

/* The exit status for a program that could not be executed, as shells have it. */
static int status_of(int error)
{
	return error == ENOENT ? 127 : 126;
}

int wh_run_program(char **argv, const char *user)
{
	char loader[PATH_MAX];
	int error;

	if (is_of_musl(argv[0], loader)) {
		wh_error("cannot run '%s': it is built for musl (%s), and CUDA's libraries are for glibc; take a build for glibc",
			 argv[0], loader);
		return status_of(ENOEXEC);
	}
	execvp(argv[0], argv);
	error = errno;
	if (user)
		wh_error("cannot run '%s' as user '%s': %s", argv[0], user, strerror(error));
	else
		wh_error("cannot run '%s': %s", argv[0], strerror(error));
	return status_of(error);
}
