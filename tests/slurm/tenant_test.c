// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a server which is killed while it is asked for a job's tenant is not taken
 * for one without that tenant (host/slurm/tenant.c). This program is the server: it ends so many of
 * the connections without an answer, and knows one tenant, which is suspended.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "tap.h"
#include "tenant/control.h"

#define JOB	7

static struct ws_config config = { .device = -1 };
static char path[sizeof(((struct sockaddr_un *)0)->sun_path)];

/* Shared with the server. */
static struct seen {
	int drops;		/* connections that end without an answer from now on */
	int resumed, deleted;
} *seen;

static const char *answer(const char *request)
{
	seen->resumed += strstr(request, "\"resume\"") != NULL;
	seen->deleted += strstr(request, "\"delete\"") != NULL;
	if (!strstr(request, "\"list\""))
		return "{\"ok\":true}";
	return "{\"ok\":true,\"tenants\":[{\"tenant\":\"slurm-7\",\"state\":\"suspended\"}]}";
}

static pid_t serve(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), fd;
	char text[4096];
	const char *said;
	ssize_t n;
	pid_t pid;

	strcpy(a.sun_path, path);
	if (bind(listener, (struct sockaddr *)&a, sizeof(a)) || listen(listener, 8))
		exit(1);
	pid = fork();
	if (pid) {
		close(listener);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		n = recv(fd, text, sizeof(text) - 1, 0);
		text[n < 0 ? 0 : n] = 0;
		said = seen->drops > 0 ? NULL : answer(text);
		seen->drops -= !said;
		if (said && send(fd, said, strlen(said), MSG_NOSIGNAL) < 0)
			_exit(1);
		close(fd);
	}
	_exit(1);
}

static void test_killed(void)
{
	struct ws_figures figures;
	char err[WS_ERROR] = "";

	seen->drops = 1;
	ok(ws_tenant_resume(&config, JOB, err) && seen->resumed == 1,
	   "tenant_is_resumed_by_the_server_after_one_that_was_killed");
	seen->drops = 1;
	ok(ws_tenant_delete(&config, JOB, &figures, err) && seen->deleted == 1, "and_deleted");
}

static void test_silent(void)
{
	struct ws_figures figures;
	char err[WS_ERROR] = "";

	seen->drops = 1000;
	ok(!ws_tenant_suspend(&config, JOB, err) && *err,
	   "server_that_does_not_answer_has_not_suspended_the_tenant");
	*err = 0;
	ok(!ws_tenant_resume(&config, JOB, err) && *err, "nor_resumed_it");
	ok(ws_tenant_is_suspended(&config, JOB), "so_that_it_is_tried_again");
	*err = 0;
	ok(!ws_tenant_delete(&config, JOB, &figures, err) && *err, "nor_deleted_it");
}

/* If no server lives, its tenants do not live either. */
static void test_gone(void)
{
	struct ws_figures figures;
	char err[WS_ERROR] = "";

	ok(ws_tenant_resume(&config, JOB, err) && !ws_tenant_is_suspended(&config, JOB) &&
	   ws_tenant_delete(&config, JOB, &figures, err),
	   "tenant_of_a_server_that_is_gone_is_gone");
}

int main(void)
{
	char folder[] = "/tmp/wormhole-slurm-XXXXXX";
	pid_t pid;

	tap_plan(7);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED || !mkdtemp(folder))
		return 1;
	snprintf(config.dir, sizeof(config.dir), "%s", folder);
	snprintf(path, sizeof(path), "%s/" WH_CONTROL_SOCKET, folder);
	pid = serve();
	test_killed();
	test_silent();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	test_gone();
	unlink(path);
	rmdir(folder);
	return tap_exit();
}
