// SPDX-License-Identifier: Apache-2.0
/*
 * A server whose programs live through a restart of its service (--keep). The process that was
 * started is only its front: it starts monitor and server, which are not its children for long, and
 * stands for them as long as it lives. When it ends, the server waits for the next front, and ends
 * if none comes in time. The next one finds the server by its control socket, and lets the program
 * that is installed now go on with its own words and environment (handover.c).
 */
#define _GNU_SOURCE
#include "daemon/front.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/handover.h"
#include "daemon/server.h"
#include "tenant/control.h"

extern char **environ;

/* --- The front ------------------------------------------------------------------------- */

static int reach(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" WH_CONTROL_SOCKET, wh_server.dir);
	return wh_dial(path);
}

static cJSON *list_of(char **words)
{
	cJSON *all = cJSON_CreateArray();

	for (; *words; words++)
		cJSON_AddItemToArray(all, cJSON_CreateString(*words));
	return all;
}

static char *request_of(char **words)
{
	cJSON *o = cJSON_CreateObject();
	char *text;

	cJSON_AddStringToObject(o, "op", "attach");
	if (words) {
		cJSON_AddStringToObject(o, "program", wh_handover_program());
		cJSON_AddItemToObject(o, "words", list_of(words));
		cJSON_AddItemToObject(o, "environment", list_of(environ));
	}
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	return text;
}

/* Receives one answer. NULL: the connection has ended. */
static cJSON *receive(int fd)
{
	static char text[WH_CONTROL_PACKET + 1];
	ssize_t n;

	do
		n = recv(fd, text, WH_CONTROL_PACKET, 0);
	while (n < 0 && errno == EINTR);
	text[n > 0 ? n : 0] = 0;
	return n > 0 ? cJSON_Parse(text) : NULL;
}

/* Becomes the front on this connection. With words: the server takes these for its own. */
static bool attach(int fd, char **words)
{
	char *text = request_of(words);
	cJSON *answer = text && send(fd, text, strlen(text), MSG_NOSIGNAL) > 0 ? receive(fd) : NULL;
	const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
	bool done = cJSON_IsTrue(cJSON_GetObjectItem(answer, "ok"));

	if (!done)
		wh_say("error", "%s: %s", wh_server.dir, why ? why : "the server there does not answer");
	free(text);
	cJSON_Delete(answer);
	return done;
}

/*
 * Runs the server in a scope of systemd's, whose cgroup is not the service's: systemd starts no
 * process in a cgroup that has processes below it and is divided among them. systemd-run becomes
 * the program.
 */
__attribute__((noreturn)) static void run_in_scope(char **words, int ready)
{
	char *const front[] = {
		"systemd-run", geteuid() ? "--user" : "--system", "--scope", "--quiet", "--collect",
		"-pDelegate=yes", "--unit", (char *)wh_server.scope, "--", NULL
	};
	char number[16], **argv;
	int n = 0, i;

	while (words[n])
		n++;
	argv = calloc((size_t)n + 14, sizeof(*argv));
	if (argv) {
		for (n = 0; front[n]; n++)
			argv[n] = front[n];
		argv[n++] = (char *)wh_handover_program();
		for (i = 1; words[i]; i++)
			argv[n++] = words[i];
		snprintf(number, sizeof(number), "%d", ready);
		argv[n++] = "--behind";
		argv[n] = number;
		fcntl(ready, F_SETFD, 0);
		execvp(argv[0], argv);
	}
	wh_say("error", "--scope %s: systemd-run: %s", wh_server.scope, strerror(errno));
	_exit(1);
}

/* Starts the server in a child, and waits until clients can connect. */
static bool start(char **words, int (*server)(int ready), int *status)
{
	char word;
	int fds[2];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		wh_say("error", "a pipe: %s", strerror(errno));
		return false;
	}
	pid = fork();
	if (!pid) {
		close(fds[0]);
		unsetenv("NOTIFY_SOCKET");	/* systemd waits for this process's parent */
		setsid();
		if (wh_server.scope)
			run_in_scope(words, fds[1]);
		exit(server(fds[1]));
	}
	close(fds[1]);
	if (pid > 0 && read(fds[0], &word, 1) == 1) {
		close(fds[0]);
		return true;
	}
	if (pid < 0)
		wh_say("error", "a process for the server: %s", strerror(errno));
	else if (waitpid(pid, status, 0) == pid && WIFEXITED(*status))
		*status = WEXITSTATUS(*status);
	else
		*status = 1;
	close(fds[0]);
	return false;
}

/* Waits for the server's last word. A front that is to end is ended by its signal. */
static int stand(int fd)
{
	cJSON *word = receive(fd);
	bool ended = cJSON_IsTrue(cJSON_GetObjectItem(word, "ended"));

	cJSON_Delete(word);
	if (!ended)
		wh_say("error", "the server was killed, with its monitor; its programs have ended");
	return !ended;
}

int wh_front(char **words, int (*server)(int ready))
{
	int fd = reach(), status = 1;

	if (fd < 0) {
		if (!start(words, server, &status))
			return status;
		fd = reach();
		words = NULL;
	}
	if (fd < 0 || !attach(fd, words))
		return 1;
	wh_service_ready();
	return stand(fd);
}

/* --- In the server ---------------------------------------------------------------------- */

static int timer = -1;

static void on_time(void)
{
	wh_say("info", "the server was not started again within %u s, and ends", wh_server.keep_s);
	wh_loop_stop();
}

static void set(unsigned int seconds)
{
	if (timer < 0 && seconds) {
		timer = wh_timer_new(on_time);
		if (timer < 0) {
			wh_say("error", "a timer: %s; the server ends at once", strerror(errno));
			wh_loop_stop();
			return;
		}
	}
	if (timer >= 0)
		wh_timer_set(timer, seconds * 1000ull, false);
}

void wh_front_gone(void)
{
	wh_say("info", "the service was stopped; programs run on for %u s, and further if it is started again",
	       wh_server.keep_s);
	set(wh_server.keep_s);
}

void wh_front_here(void)
{
	set(0);
}
