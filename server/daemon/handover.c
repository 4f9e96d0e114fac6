// SPDX-License-Identifier: Apache-2.0
/*
 * See handover.h. An exec keeps the process's number, so its children stay its children: workers
 * live on, and so does the lock. Descriptors that the state names pass the exec, all others are
 * closed by it.
 *
 * An older program may be installed, or one that does not know what this one has: the program is
 * asked first, in a process of its own. After the exec there is no way back.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenant/tenant.h"
#include "tenant/trace.h"

#define STATE_VERSION	1
#define OPTION		"--resume"
#define MAX_STATE	(64 << 20)

static char **words;
static char program[PATH_MAX];
static cJSON *state;

/* --- Before --------------------------------------------------------------------------- */

/* Workers of both programs share files, so the layouts of these count as well. */
static const char *version(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "%d.%d.%u", STATE_VERSION, WH_TENANT_VERSION, WH_TRACE_VERSION);
	return text;
}

bool wh_handover_knows(const char *of)
{
	return !strcmp(of, version());
}

/* The path is read now: once another file is installed, the kernel calls this one deleted. */
void wh_handover_start(char **argv)
{
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	words = argv;
	program[n > 0 ? n : 0] = 0;
}

/* Runs the installed program to hear whether it understands this one. */
static bool program_knows(char *err, size_t err_size)
{
	char *const argv[] = { program, "--resumes", (char *)version(), NULL };
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		wh_child_signals();
		wh_close_in_child();
		execv(program, argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	snprintf(err, err_size, "%s cannot go on where this server is, since it is of another version or "
		 "cannot be run; the server goes on as it is, and `wormhole stop --when-idle' ends it with "
		 "its last program", program);
	return false;
}

void wh_leave_fd(cJSON *o, const char *key, int fd)
{
	cJSON_AddNumberToObject(o, key, fd);
	if (fd >= 0)
		fcntl(fd, F_SETFD, 0);
}

static cJSON *part(cJSON *all, const char *name, void (*leave)(cJSON *o))
{
	cJSON *o = cJSON_AddObjectToObject(all, name);

	if (o)
		leave(o);
	return o;
}

static cJSON *describe(int asker)
{
	cJSON *all = cJSON_CreateObject();

	cJSON_AddStringToObject(all, "version", version());
	wh_leave_fd(all, "asker", asker);
	if (part(all, "lock", wh_lock_leave) && part(all, "uids", wh_uids_leave) &&
	    part(all, "isolation", wh_isolation_leave) && part(all, "tenants", wh_tenants_leave) &&
	    part(all, "control", wh_control_leave) && part(all, "drain", wh_drain_leave) &&
	    part(all, "log", wh_log_leave))
		return all;
	cJSON_Delete(all);
	return NULL;
}

/* Returns a descriptor that passes an exec, or -1 with errno. */
static int write_state(int asker)
{
	cJSON *all = describe(asker);
	char *text = all ? cJSON_PrintUnformatted(all) : NULL;
	size_t n = text ? strlen(text) : 0;
	int fd = text ? memfd_create("wormhole-state", 0) : -1;

	cJSON_Delete(all);
	errno = text ? errno : ENOMEM;
	if (fd >= 0 && write(fd, text, n) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
	free(text);
	return fd;
}

/* Nothing was handed over, so children must not get it either. */
static void take_back(void)
{
	struct rlimit r = { .rlim_cur = WH_MAX_FILES };
	int fd;

	getrlimit(RLIMIT_NOFILE, &r);
	for (fd = 3; fd < (int)r.rlim_cur && fd < WH_MAX_FILES; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The same words, but for what an earlier handover has added. */
static char **words_with(char *number)
{
	char **out;
	int n = 0, i, k = 0;

	while (words[n])
		n++;
	out = calloc((size_t)n + 3, sizeof(*out));
	for (i = 0; out && i < n; i++) {
		if (!strcmp(words[i], OPTION))
			i++;
		else
			out[k++] = words[i];
	}
	if (!out)
		return NULL;
	out[k++] = OPTION;
	out[k] = number;
	return out;
}

bool wh_handover(int asker, char *err, size_t err_size)
{
	char number[16], **argv;
	int fd;

	if (!program_knows(err, err_size))
		return false;
	wh_judge_stop();
	wh_log_stop();
	fd = write_state(asker);
	snprintf(number, sizeof(number), "%d", fd);
	argv = words_with(number);
	if (fd >= 0 && argv)
		execv(program, argv);
	snprintf(err, err_size, "%s: %s; the server goes on as it is", program, strerror(errno));
	take_back();
	free(argv);
	if (fd >= 0)
		close(fd);
	if (!wh_judge_start())
		wh_say("warn", "nothing reads the driver's figures: %s", strerror(errno));
	return false;
}

/* --- Afterwards ------------------------------------------------------------------------- */

bool wh_handover_read(int fd, char *err, size_t err_size)
{
	struct stat st;
	char *text = NULL;

	if (!fstat(fd, &st) && st.st_size > 0 && st.st_size < MAX_STATE)
		text = calloc(1, (size_t)st.st_size + 1);
	if (text && pread(fd, text, (size_t)st.st_size, 0) == st.st_size)
		state = cJSON_Parse(text);
	free(text);
	close(fd);
	if (state && wh_handover_knows(wh_taken_text(state, "version")))
		return true;
	snprintf(err, err_size, OPTION ": %d is no state that this program understands", fd);
	return false;
}

const cJSON *wh_handed(const char *name)
{
	return state ? cJSON_GetObjectItemCaseSensitive(state, name) : NULL;
}

void wh_handover_done(void)
{
	static const char text[] = "{\"ok\":true}";
	int asker = state ? wh_taken_fd(state, "asker") : -1;

	if (state)
		wh_say("info", "went on as %s, with all tenants and programs", program);
	if (asker >= 0)
		send(asker, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	cJSON_Delete(state);
	state = NULL;
}

int wh_taken_fd(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
	int fd = item ? item->valueint : -1;

	if (fd >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC))
		return -1;
	return fd;
}

uint64_t wh_taken_number(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	return item ? (uint64_t)item->valuedouble : 0;
}

bool wh_taken_flag(const cJSON *o, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, key));
}

const char *wh_taken_text(const cJSON *o, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));

	return text ? text : "";
}
