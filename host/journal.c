// SPDX-License-Identifier: Apache-2.0
/*
 * The log of a server that systemd runs: journalctl reads it. server/daemon/service.c writes the
 * name of the server's unit, and of the scope in which it runs, if it has one.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal.h"
#include "wormhole.h"

static char *scope;	/* the option for the server's scope; NULL: it has none */

static char *read_option(FILE *f)
{
	char unit[NAME_MAX + 1], *option = NULL;
	struct stat st;

	if (fscanf(f, "%255s", unit) == 1 && !fstat(fileno(f), &st) &&
	    asprintf(&option, "--%s=%s", st.st_uid ? "user-unit" : "unit", unit) < 0)
		wh_no_memory();
	return option;
}

char *wh_journal_of(const char *dir)
{
	char path[PATH_MAX], *option;
	FILE *f;

	snprintf(path, sizeof(path), "%s/server.journal", dir);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	option = read_option(f);
	free(scope);
	scope = read_option(f);
	fclose(f);
	return option;
}

pid_t wh_journal_start(const char *unit, const char *after, int out)
{
	char *option = NULL;
	pid_t pid;

	if (after && asprintf(&option, "--after-cursor=%s", after) < 0)
		wh_no_memory();
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(out, STDOUT_FILENO);
		execlp("journalctl", "journalctl", unit, scope ? scope : unit,
		       "--output=short-iso", "--no-pager",
		       "--quiet", after ? "--follow" : "--show-cursor",
		       after && *after ? option : after ? "--no-tail" : NULL, (char *)NULL);
		wh_error("cannot run 'journalctl': %s; it comes with systemd", strerror(errno));
		_exit(EXIT_FAILED);
	}
	free(option);
	if (pid < 0)
		wh_error("cannot run 'journalctl': %s", strerror(errno));
	return pid;
}

FILE *wh_journal_read(const char *unit)
{
	FILE *f = tmpfile();
	pid_t pid = f ? wh_journal_start(unit, NULL, fileno(f)) : -1;
	int status = -1;

	if (!f)
		wh_error("no temporary file for the journal: %s", strerror(errno));
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status) {
		rewind(f);
		return f;
	}
	if (pid > 0)
		wh_error("journalctl %s ended with status %d", unit,
			 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (f)
		fclose(f);
	return NULL;
}
