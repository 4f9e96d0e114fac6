// SPDX-License-Identifier: Apache-2.0
/*
 * Numbers of users for tenants. A number belongs to one tenant from the moment it is taken until no
 * process has it any more: a process that outlived its tenant must not reach the next tenant's
 * memory as the same user. Servers of one machine share the numbers: each locks the byte of a file
 * that stands for a number.
 */
#define _GNU_SOURCE
#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK_FILE	"/run/wormhole-uids"
#define DEVICE		"/dev/nvidiactl"
#define KILL_TRIES	50	/* 10 ms each */

/*
 * The wide ranges begin where systemd's list of ranges has nothing. The narrow ones lie in a gap of
 * that list within the 65536 numbers of a usual container.
 */
#define FIRST_WIDE	0x70574800u
#define FIRST_NARROW	60600u
#define RANGES		16	/* number of wide ranges */
#define NARROW_RANGES	2	/* systemd's own numbers begin behind these */

static struct {
	uid_t first;		/* 0: workers have the server's user */
	int lock;		/* the lock belongs to the open file, which a child shares */
	bool taken[WH_MAX_TENANTS];
	bool freed[WH_MAX_TENANTS];	/* since the state was saved: still locked */
	pid_t cleaner[WH_MAX_TENANTS];	/* process that cleans up before the number is given back */
	gid_t device_group;	/* group of the driver's files, if others may not open them */
} uids = { .lock = -1 };

/* --- Which processes there are ------------------------------------------------------ */

/* Kills as that user, so that the kernel itself keeps us from killing another user's processes. */
static void kill_all_of(uid_t uid)
{
	pid_t pid = wh_fork(-1);

	if (!pid) {
		if (wh_uid_become(uid))
			kill(-1, SIGKILL);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

/* --- Becoming one ------------------------------------------------------------------- */

/* Returns a group only if the driver's files are a group's: everybody may open NVIDIA's default. */
static gid_t group_of_device(void)
{
	struct stat st;

	if (stat(DEVICE, &st) || (st.st_mode & 06) == 06 || (st.st_mode & 060) != 060)
		return 0;
	return st.st_gid;
}

bool wh_uid_become(uid_t uid)
{
	return !setgroups(uids.device_group ? 1 : 0, &uids.device_group) &&
	       !setresgid(uid, uid, uid) && !setresuid(uid, uid, uid);
}

/* --- Numbers ------------------------------------------------------------------------ */

/* Do these numbers exist in this user namespace? */
static bool mapped(uid_t first, const char *file)
{
	unsigned long inside, outside, count;
	FILE *f = fopen(file, "re");
	bool found = false;

	while (f && !found && fscanf(f, "%lu %lu %lu", &inside, &outside, &count) == 3)
		found = first >= inside && first - inside + WH_UID_RANGE <= count;
	if (f)
		fclose(f);
	return found;
}

static bool usable(uid_t first)
{
	errno = 0;
	return mapped(first, "/proc/self/uid_map") && mapped(first, "/proc/self/gid_map");
}

/* Was usable() false because it could not look? Then there is one line in err. */
static bool could_not_look(char *err, size_t err_size)
{
	if (errno != ENOMEM && errno != EMFILE && errno != ENFILE)
		return false;
	snprintf(err, err_size, "/proc/self/uid_map: %s", strerror(errno));
	return true;
}

/* Can a child really become such a user? */
static bool works(uid_t uid, char *err, size_t err_size)
{
	int status = 1;
	pid_t pid = wh_fork(-1);

	if (!pid)
		_exit(wh_uid_become(uid) ? 0 : 1);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status)
		return true;
	if (pid < 0)
		snprintf(err, err_size, "a process to try user %u: %s", uid, strerror(errno));
	else
		snprintf(err, err_size, "workers cannot become user %u (CAP_SETUID, CAP_SETGID); run them as "
			 "root by --worker-uid none", uid);
	return false;
}

static bool parse(const char *option, uid_t *first)
{
	char *end;
	unsigned long v = strtoul(option, &end, 10);

	if (*option < '0' || *option > '9' || *end || !v || v > INT32_MAX - WH_UID_RANGE)
		return false;
	*first = (uid_t)v;
	return true;
}

static bool off(struct wh_protection *p, const char *why)
{
	*p = (struct wh_protection){ .on = false };
	snprintf(p->detail, sizeof(p->detail), "%s", why);
	return true;
}

/* Returns for how many ranges there are numbers; 0 with one line in err: nobody knows. */
static unsigned int ranges(const char *option, uid_t first, char *err, size_t err_size)
{
	unsigned int most = first == FIRST_NARROW ? NARROW_RANGES : RANGES, n = 1;

	while (!option && n < most && usable(first + n * WH_UID_RANGE))
		n++;
	return !option && n < most && could_not_look(err, err_size) ? 0 : n;
}

static void say_range(struct wh_protection *p)
{
	p->on = true;
	snprintf(p->detail, sizeof(p->detail), "%u to %u", uids.first,
		 uids.first + WH_MAX_TENANTS - 1);
}

static bool take_range(const char *option, uid_t first, struct wh_protection *p, char *err,
		       size_t err_size)
{
	unsigned int n = ranges(option, first, err, err_size);

	if (!n)
		return false;
	uids.first = wh_uid_range_take(uids.lock, first, n);
	if (!uids.first && errno) {
		snprintf(err, err_size, LOCK_FILE ": %s", errno == ETIMEDOUT ?
			 "another server has had it locked for 10 s, while it starts; end that one "
			 "(`fuser " LOCK_FILE "' has its pid)" : strerror(errno));
		return false;
	}
	if (!uids.first) {
		snprintf(err, err_size, "users from %u on: a server that sees another /run gives them out; "
			 "name others by --worker-uid N, or let the two have the same /run", first);
		return false;
	}
	say_range(p);
	return true;
}

static bool lock(uid_t uid, short type)
{
	struct flock l = { .l_type = type, .l_whence = SEEK_SET, .l_start = uid, .l_len = 1 };

	return uids.lock < 0 || !fcntl(uids.lock, F_OFD_SETLK, &l);
}

void wh_uids_leave(cJSON *o)
{
	cJSON *taken, *one;
	int i;

	cJSON_AddNumberToObject(o, "first", uids.first);
	wh_leave_fd(o, "lock", uids.lock);
	taken = cJSON_AddArrayToObject(o, "taken");
	for (i = 0; i < WH_MAX_TENANTS; i++) {
		if (!uids.taken[i])
			continue;
		one = cJSON_CreateObject();
		cJSON_AddNumberToObject(one, "number", i);
		cJSON_AddNumberToObject(one, "cleaner", uids.cleaner[i]);
		cJSON_AddItemToArray(taken, one);
	}
	wh_uid_range_leave(o);
}

static bool take_over(const cJSON *o, struct wh_protection *p)
{
	const cJSON *one;
	uint64_t i;

	uids.first = (uid_t)wh_taken_number(o, "first");
	uids.lock = wh_taken_fd(o, "lock");
	cJSON_ArrayForEach(one, cJSON_GetObjectItem(o, "taken")) {
		i = wh_taken_number(one, "number");
		if (i >= WH_MAX_TENANTS)
			continue;
		uids.taken[i] = true;
		uids.cleaner[i] = (pid_t)wh_taken_number(one, "cleaner");
		wh_monitor_missing(uids.cleaner[i]);
	}
	/* The server before may have ended between a save and wh_uids_saved(). */
	for (i = 0; i < WH_MAX_TENANTS; i++)
		if (!uids.taken[i])
			lock(uids.first + (uid_t)i, F_UNLCK);
	wh_uid_range_take_over(o);
	say_range(p);
	return true;
}

bool wh_uids_start(const char *option, struct wh_protection *p, char *err, size_t err_size)
{
	uid_t first = FIRST_WIDE;

	if (option && !strcmp(option, "none"))
		return off(p, "--worker-uid none");
	if (option && (!parse(option, &first) || geteuid())) {
		snprintf(err, err_size, "--worker-uid: '%s': %s", option,
			 geteuid() ? "only root can run workers as other users" :
			 "neither none nor the first of 257 numbers that nobody has");
		return false;
	}
	if (geteuid())
		return off(p, "only root can give workers users of their own");
	if (!option && !usable(first)) {
		if (could_not_look(err, err_size))
			return false;
		first = FIRST_NARROW;
	}
	if (!usable(first)) {
		if (could_not_look(err, err_size))
			return false;
		snprintf(err, err_size, "users %u to %u are not there in this user namespace; name others by "
			 "--worker-uid N, or run workers as root by --worker-uid none", first,
			 first + WH_MAX_TENANTS);
		return false;
	}
	uids.device_group = group_of_device();
	if (!works(first, err, err_size))
		return false;
	if (wh_handed("uids"))
		return take_over(wh_handed("uids"), p);
	uids.lock = open(LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (uids.lock < 0)
		wh_say("warn", LOCK_FILE ": %s; another server on this machine must have other numbers "
		       "(--worker-uid)", strerror(errno));
	return take_range(option, first, p, err, err_size);
}

void wh_uids_stop(void)
{
	wh_uid_range_give();
}

uid_t wh_uid_take(void)
{
	uid_t uid;
	int i, has, saved;

	for (i = 0; i < WH_MAX_TENANTS; i++) {
		uid = uids.first + i;
		if (uids.taken[i] || !lock(uid, F_WRLCK))
			continue;
		has = wh_uid_had(uid);
		saved = errno;
		if (!has) {
			uids.taken[i] = true;
			wh_monitor_changed();
			return uid;
		}
		if (!uids.freed[i])
			lock(uid, F_UNLCK);
		errno = saved;
		if (has < 0)
			return WH_NO_UID;
		wh_say("warn", "user %u is left out: a process has it that is no worker", uid);
	}
	errno = 0;
	return WH_NO_UID;
}

/* Runs in a child: removes the driver's files of events, which a killed worker leaves there. */
__attribute__((noreturn)) static void clean(uid_t uid)
{
	DIR *d = opendir(SHARED_FILES);
	struct dirent *e;
	struct stat st;

	while (d && (e = readdir(d)))
		if (!fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode) && st.st_uid == uid)
			unlinkat(dirfd(d), e->d_name, 0);
	_exit(0);
}

/*
 * The next server of one that is killed believes what was saved last, and ends the processes of
 * tenants that have ended since. Until then no other server may have their numbers.
 */
static void free_number(unsigned int i)
{
	uids.cleaner[i] = 0;
	uids.taken[i] = false;
	uids.freed[i] = true;
	wh_monitor_changed();
}

void wh_uids_saved(void)
{
	unsigned int i;

	for (i = 0; i < WH_MAX_TENANTS; i++) {
		if (uids.freed[i] && !uids.taken[i])
			lock(uids.first + i, F_UNLCK);
		uids.freed[i] = false;
	}
}

/* Returns the number that this process cleans up; WH_MAX_TENANTS: none. */
static unsigned int cleaned_by(pid_t pid)
{
	unsigned int i = 0;

	while (i < WH_MAX_TENANTS && (!pid || uids.cleaner[i] != pid))
		i++;
	return i;
}

bool wh_uids_has(pid_t pid)
{
	return cleaned_by(pid) < WH_MAX_TENANTS;
}

bool wh_uids_reap(pid_t pid)
{
	unsigned int i = cleaned_by(pid);

	if (i < WH_MAX_TENANTS)
		free_number(i);
	return i < WH_MAX_TENANTS;
}

void wh_uid_give(uid_t uid, bool files)
{
	struct timespec pause = { .tv_nsec = 10000000 };
	unsigned int number = uid - uids.first;
	pid_t pid = 0;
	int i;

	/* A killed process keeps its user until it is reaped. */
	for (i = 0; wh_uid_had(uid) && i < KILL_TRIES; i++) {
		kill_all_of(uid);
		if (i)
			nanosleep(&pause, NULL);
	}
	if (wh_uid_had(uid)) {
		wh_say("warn", "user %u is not given out again: a process that cannot be ended has it", uid);
		return;
	}
	/* The tenant may have made many files there. */
	if (files)
		pid = wh_fork_lasting(-1);
	if (files && !pid)
		clean(uid);
	if (pid > 0)
		uids.cleaner[number] = pid;
	else if (!pid)
		free_number(number);
	else
		wh_say("warn", "user %u is not given out again: fork: %s", uid, strerror(errno));
}
