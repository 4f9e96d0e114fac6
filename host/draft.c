// SPDX-License-Identifier: Apache-2.0
/*
 * Writes files into folders that may belong to others. A file is always made anew, so that
 * a link or a file which somebody put there is replaced and never written through.
 */
#include "wormhole.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns a name that is unique to this process, and hidden until the file is complete. */
static char *draft_name(const char *path)
{
	char *copy = wh_must(strdup(path)), *base = wh_must(strdup(path)), *name;

	if (asprintf(&name, "%s/.%s.%d", dirname(copy), basename(base), getpid()) < 0)
		name = NULL;
	free(copy);
	free(base);
	return wh_must(name);
}

/*
 * A device or a pipe, or a name for one (/dev/stdout), must not be replaced: root would
 * destroy it.
 */
static bool may_be_replaced(const char *path)
{
	struct stat st;

	if (stat(path, &st) || S_ISREG(st.st_mode))
		return true;
	errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
	return false;
}

static FILE *create(const char *path, mode_t mode)
{
	FILE *f = NULL;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd >= 0)
		f = fdopen(fd, "w");
	if (!f && fd >= 0)
		close(fd);
	return f;
}

FILE *wh_file_anew(const char *path, mode_t mode)
{
	return may_be_replaced(path) ? create(path, mode) : NULL;
}

FILE *wh_draft_open(const char *path, mode_t mode, char **draft)
{
	FILE *f;

	if (!may_be_replaced(path))
		return NULL;
	*draft = draft_name(path);
	f = create(*draft, mode);
	if (f)
		fchmod(fileno(f), mode);	/* independent of the umask */
	else
		free(*draft);
	return f;
}

bool wh_draft_done(FILE *f, char *draft, const char *path)
{
	bool good = !ferror(f);
	int err;

	good = !fclose(f) && good && !rename(draft, path);
	err = errno;
	if (!good)
		unlink(draft);
	free(draft);
	errno = err;
	return good;
}
