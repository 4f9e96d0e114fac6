// SPDX-License-Identifier: Apache-2.0
/*
 * See handover.h. It is the monitor that becomes the installed program. An exec keeps its number,
 * so its children stay its children: workers live on, and so does the lock. Descriptors that the
 * state names pass the exec, all others are closed by it.
 *
 * An older program may be installed, or one that does not know what this one has: the program is
 * asked first, in a process of its own. After the exec there is no way back.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/monitor.h"
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

extern char **environ;

#define STATE_VERSION	2
#define OPTION		"--resume"

static char **words;
static char program[PATH_MAX];
static cJSON *state;
static const cJSON *next;	/* what wh_handover_with() was given; NULL: nothing */

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

const char *wh_handover_program(void)
{
	return program;
}

/* The same words, but for what an earlier handover or start has added. */
static char **words_with(char **old, char *option, char *value)
{
	char **out;
	int n = 0, i, k = 0;

	while (old[n])
		n++;
	out = calloc((size_t)n + 3, sizeof(*out));
	for (i = 0; out && i < n; i++) {
		if (!strcmp(old[i], OPTION) || !strcmp(old[i], "--behind"))
			i++;
		else
			out[k++] = old[i];
	}
	if (!out)
		return NULL;
	out[k++] = option;
	out[k] = value;
	return out;
}

/* Returns an array that ends with NULL, or NULL without memory. Its strings are the list's. */
static char **strings_of(const cJSON *list)
{
	char **out = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*out));
	const cJSON *item;
	int n = 0;

	cJSON_ArrayForEach(item, list)
		if (out && cJSON_IsString(item))
			out[n++] = item->valuestring;
	return out;
}

/*
 * The environment of a service that was started anew. Standard error is still what it was, and so
 * is the variable by which a service knows that it is the journal; systemd waits for the front
 * alone.
 */
static char **environment_of(const cJSON *list)
{
	static const char journal[] = "JOURNAL_STREAM=", notify[] = "NOTIFY_SOCKET=";
	char **out = strings_of(list), *own = getenv("JOURNAL_STREAM");
	int i, n = 0;

	for (i = 0; out && out[i]; i++)
		if (strncmp(out[i], journal, sizeof(journal) - 1) &&
		    strncmp(out[i], notify, sizeof(notify) - 1))
			out[n++] = out[i];
	/* The list had one, too, where this process does. */
	if (out && own && i > n && asprintf(&out[n], "%s%s", journal, own) >= 0)
		n++;
	if (out)
		out[n] = NULL;
	return out;
}

/*
 * Runs the installed program to hear whether it understands this one, and the words that it would
 * have. It reads them before the last one.
 */
static bool program_knows(char *err, size_t err_size)
{
	char **old = words, **env = environ, **argv;
	int status = -1;
	pid_t pid = -1;

	if (next) {
		old = strings_of(cJSON_GetObjectItem(next, "words"));
		env = environment_of(cJSON_GetObjectItem(next, "environment"));
	}
	argv = old && env ? words_with(old, "--resumes", (char *)version()) : NULL;
	if (argv)
		pid = fork();
	if (!pid) {
		wh_child_signals();
		wh_close_in_child();
		execve(program, argv, env);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	free(argv);
	if (next) {
		free(old);
		free(env);
	}
	if (pid > 0 && WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	snprintf(err, err_size, "%s cannot go on where this server is, since it is of another version, does not know "
		 "its options or cannot be run; the server goes on as it is, and `wormhole stop --when-idle' "
		 "ends it with its last program", program);
	return false;
}

/* The files that the state names, each with what tells it from another of the same number. */
static cJSON *files;
static bool planned;

/* A text, since the state is written often and cJSON takes long for large numbers. */
static cJSON *file_of(int fd)
{
	struct stat st = { 0 };
	char text[64];

	fstat(fd, &st);
	snprintf(text, sizeof(text), "%d:%lx:%lx", fd, (unsigned long)st.st_dev,
		 (unsigned long)st.st_ino);
	return cJSON_CreateString(text);
}

void wh_leave_fd(cJSON *o, const char *key, int fd)
{
	cJSON_AddNumberToObject(o, key, fd);
	if (fd < 0)
		return;
	cJSON_AddItemToArray(files, file_of(fd));
	if (planned)
		fcntl(fd, F_SETFD, 0);
}

bool wh_handover_is_planned(void)
{
	return planned;
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
	files = cJSON_AddArrayToObject(all, "files");
	wh_leave_fd(all, "asker", asker);
	if (next)
		cJSON_AddItemToObject(all, "next", cJSON_Duplicate(next, true));
	if (part(all, "lock", wh_lock_leave) && part(all, "devices", wh_devices_leave) &&
	    part(all, "uids", wh_uids_leave) &&
	    part(all, "isolation", wh_isolation_leave) && part(all, "tenants", wh_tenants_leave) &&
	    part(all, "control", wh_control_leave) && part(all, "drain", wh_drain_leave) &&
	    part(all, "log", wh_log_leave))
		return all;
	cJSON_Delete(all);
	return NULL;
}

static char *text_of(int asker)
{
	cJSON *all = describe(asker);
	char *text = all ? cJSON_PrintUnformatted(all) : NULL;

	cJSON_Delete(all);
	return text;
}

char *wh_handover_text(void)
{
	return wh_control_whole(text_of, -1);
}

/* Returns a descriptor that passes an exec, or -1 with errno. */
static int write_state(const char *text)
{
	int fd = text ? memfd_create("wormhole-state", 0) : -1;
	size_t n = text ? strlen(text) : 0;

	if (!text)
		errno = ENOMEM;
	if (fd >= 0 && write(fd, text, n) != (ssize_t)n) {
		close(fd);
		fd = -1;
	}
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

void wh_handover_exec(int file)
{
	cJSON *all = cJSON_Parse(wh_monitor_state()), *with = cJSON_GetObjectItem(all, "next");
	const char *path = with ? wh_taken_text(with, "program") : program;
	char number[16], **argv, **old = words, **env = environ;

	if (with) {
		old = strings_of(cJSON_GetObjectItem(with, "words"));
		env = environment_of(cJSON_GetObjectItem(with, "environment"));
	}
	snprintf(number, sizeof(number), "%d", file);
	argv = old ? words_with(old, OPTION, number) : NULL;
	if (argv && env)
		execve(path, argv, env);
	free(argv);
	cJSON_Delete(all);
}

/* The state is saved, too: from it a server of this program goes on if the other cannot be run. */
bool wh_handover(int asker, char *err, size_t err_size)
{
	char *text;
	int fd;

	if (!program_knows(err, err_size))
		return false;
	wh_log_flush();
	planned = true;
	text = wh_control_whole(text_of, asker);
	planned = false;
	fd = write_state(text);
	if (fd >= 0 && wh_monitor_put(text)) {
		wh_judge_stop();
		wh_monitor_become(fd);
	}
	snprintf(err, err_size, "%s: %s; the server goes on as it is", program, strerror(errno));
	take_back();
	free(text);
	if (fd >= 0)
		close(fd);
	return false;
}

bool wh_handover_with(const cJSON *o, int asker, char *err, size_t err_size)
{
	char own[PATH_MAX];

	strcpy(own, program);
	snprintf(program, sizeof(program), "%s", wh_taken_text(o, "program"));
	next = o;
	wh_handover(asker, err, err_size);
	next = NULL;
	strcpy(program, own);
	return false;
}

/* --- Afterwards ------------------------------------------------------------------------- */

/* What became of a descriptor of the server before. */
static enum { NOT_NAMED, NAMED, LOST } was[WH_MAX_FILES];

static bool is_same(int fd, unsigned long dev, unsigned long ino)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_dev == dev && st.st_ino == ino;
}

/*
 * The server was killed, and all that it had open is open here. What the state does not name is
 * closed. So is what has got the number of a file that was closed after the state was saved: the
 * time between is that of one round of the loop.
 *
 * Descriptors of processes cannot be told from each other before Linux 6.9. If one of them took
 * another's number in that time, a tenant would end with the wrong program.
 */
static void close_unnamed(void)
{
	unsigned long dev, ino;
	const cJSON *file;
	int fd;

	cJSON_ArrayForEach(file, cJSON_GetObjectItem(state, "files"))
		if (cJSON_IsString(file) &&
		    sscanf(file->valuestring, "%d:%lx:%lx", &fd, &dev, &ino) == 3 &&
		    fd >= 0 && fd < WH_MAX_FILES)
			was[fd] = is_same(fd, dev, ino) ? NAMED : LOST;
	for (fd = 3; fd < WH_MAX_FILES; fd++)
		if (was[fd] != NAMED && !wh_monitor_has(fd))
			close(fd);
}

bool wh_handover_read(char *err, size_t err_size)
{
	const char *saved = wh_monitor_state();

	if (!saved)
		return true;
	state = cJSON_Parse(saved);
	close_unnamed();
	if (state && wh_handover_knows(wh_taken_text(state, "version")))
		return true;
	snprintf(err, err_size, "the state of the server before is none that this program understands");
	return false;
}

const cJSON *wh_handed(const char *name)
{
	return state ? cJSON_GetObjectItemCaseSensitive(state, name) : NULL;
}

static void tell(int asker)
{
	static const char done[] = "{\"ok\":true}";
	char text[PATH_MAX + 200];

	snprintf(text, sizeof(text), "{\"ok\":false,\"error\":\"the installed program: %s; the server goes "
		 "on as it is\"}", strerror(wh_monitor_failure()));
	if (asker < 0)
		return;
	if (wh_monitor_failure())
		send(asker, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	else
		send(asker, done, sizeof(done) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void say_how(void)
{
	if (wh_monitor_died())
		wh_say("error", "the server was killed by signal %d; this one goes on, with all "
		       "tenants and programs", wh_monitor_died());
	else if (wh_monitor_failure())
		wh_say("error", "%s: %s; the server goes on as it is", program, strerror(wh_monitor_failure()));
	else
		wh_say("info", "went on as %s, with all tenants and programs", program);
}

void wh_handover_done(void)
{
	if (!state)
		return;
	say_how();
	tell(wh_taken_fd(state, "asker"));
	cJSON_Delete(state);
	state = NULL;
}

int wh_taken_fd(const cJSON *o, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);
	int fd = item ? item->valueint : -1;

	if (fd < 0 || fd >= WH_MAX_FILES || was[fd] == LOST || fcntl(fd, F_SETFD, FD_CLOEXEC))
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
