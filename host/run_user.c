// SPDX-License-Identifier: Apache-2.0
/*
 * Changes root's process for `wormhole run --user` before the program starts: the user and
 * the user's groups, the user's environment, no files that root had open, and no folder
 * that the user could not enter by name. At a terminal the program gets a terminal of its
 * own (run_terminal.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"
#include "wormhole.h"

#define USERS_PATH	"/usr/local/bin:/usr/bin:/bin"
#define ROOTS_PATH	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

extern char **environ;

const struct passwd *wh_user_find(const char *name)
{
	const struct passwd *pw;
	uint64_t uid;

	if (geteuid()) {
		wh_error("--user '%s': only root can run a program as another user", name);
		return NULL;
	}
	pw = getpwnam(name);
	if (!pw && !wh_parse_u64(name, 0, UINT32_MAX - 1, &uid))
		pw = getpwuid((uid_t)uid);
	if (!pw)
		wh_error("--user: there is no user '%s'; `getent passwd' lists those that there are", name);
	return pw;
}

/* --- Environment ------------------------------------------------------------------ */

/*
 * The variables of root that are passed on: language and display, and settings of CUDA.
 * None names a file or a program, and none can be a secret.
 */
static const char *const passed[] = {
	"TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "TZ",
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "WORMHOLE_LOG",
};

static bool passes(const char *entry)
{
	size_t n = strcspn(entry, "="), i;

	if (!strncmp(entry, "LC_", 3))
		return true;
	for (i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		if (n == strlen(passed[i]) && !strncmp(entry, passed[i], n))
			return true;
	return false;
}

void wh_user_environment(const struct passwd *pw)
{
	char **old = environ;

	if (clearenv())
		wh_no_memory();
	for (; old && *old; old++)
		if (passes(*old) && strchr(*old, '=') && putenv(*old))
			wh_no_memory();
	wh_setenv("HOME", pw->pw_dir);
	wh_setenv("USER", pw->pw_name);
	wh_setenv("LOGNAME", pw->pw_name);
	wh_setenv("SHELL", *pw->pw_shell ? pw->pw_shell : "/bin/sh");
	wh_setenv("PATH", pw->pw_uid ? USERS_PATH : ROOTS_PATH);
}

/* --- Becoming the user ------------------------------------------------------------- */

/* A user's program keeps no capability, whatever capabilities the process was started with. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return (int)syscall(SYS_capset, &head, none);
}

static int change_user(const struct passwd *pw)
{
	if (!initgroups(pw->pw_name, pw->pw_gid) &&
	    !setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) &&
	    !setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) &&
	    !(pw->pw_uid && drop_capabilities()))
		return 0;
	wh_error("--user '%s': cannot become user %u: %s; root needs CAP_SETUID and CAP_SETGID, and the user to be mapped here",
		 pw->pw_name, pw->pw_uid, strerror(errno));
	return -1;
}

/*
 * A process may stay in a folder below one that the user may not enter. So the user must be
 * able to reach the folder by its name.
 */
static void change_folder(const struct passwd *pw)
{
	char *here = getcwd(NULL, 0);

	if (!here || *here != '/' || chdir(here)) {
		if (chdir(pw->pw_dir) && chdir("/"))
			wh_no_memory();
		wh_warn("--user '%s': may not enter %s; the program starts in his own folder, or in /",
			pw->pw_name, here ? here : "this folder");
	}
	free(here);
}

/*
 * Of all open files, only the three standard files and the connection that keeps the tenant
 * stay open.
 */
static void close_others(int keep)
{
	if (keep == 3)
		fcntl(keep, F_SETFD, 0);
	else if (keep > 3)
		keep = dup2(keep, 3);
	closefrom(keep < 0 ? 3 : 4);
}

/*
 * Root can reach files that the user cannot. Then the program would run without limits and
 * without a message, so this is checked.
 */
static int check_reach(const struct wh_run_as *r)
{
	char *file;
	int rc = -1;

	if (asprintf(&file, "%s/libcuda.so.1", r->libraries) < 0)
		wh_no_memory();
	if (access(file, R_OK))
		wh_error("--user '%s': may not read %s: %s; install Wormhole where everybody may read it",
			 r->pw->pw_name, file, strerror(errno));
	else if (access(r->socket, W_OK))
		wh_error("--user '%s': may not use tenant %s (%s: %s); name limits (--mem, --sm) for a tenant of his own, or one of `wormhole tenant create NAME --user %s'",
			 r->pw->pw_name, r->tenant, r->socket, strerror(errno), r->pw->pw_name);
	else
		rc = 0;
	free(file);
	return rc;
}

static int become(const void *arg)
{
	const struct wh_run_as *r = arg;

	if (change_user(r->pw) || check_reach(r))
		return EXIT_FAILED;
	change_folder(r->pw);
	close_others(r->keep);
	/* Nobody wants files that everybody may write. */
	umask(umask(077) | 022);
	return wh_run_program(r->argv, r->pw->pw_name);
}

/* None of our files may get the number of a standard descriptor that is closed. */
void wh_user_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < 3);
	if (fd > 2)
		close(fd);
}

int wh_run_as(const struct wh_run_as *r)
{
	int tty = wh_terminal_of_caller();

	return tty < 0 ? become(r) : wh_terminal_run(tty, r->pw->pw_uid, become, r);
}
