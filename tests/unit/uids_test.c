// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that no two servers give the same user to tenants, also when one of them is
 * killed. The next server believes what was saved last, so a user that was given back since is not
 * free. The locks are real ones; everything else of the server is played here.
 */
#define _GNU_SOURCE
#include "tap.h"
#include "daemon/handover.h"
#include "daemon/isolation.h"
#include "daemon/monitor.h"
#include "daemon/server.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST	1900000000u	/* the locks of numbers that nobody uses do no harm */
#define POINTS	7

static cJSON *handed;
static int shared = -1;		/* another descriptor of the server's open file */
static int other;		/* another server's */

/* --- The rest of the server -------------------------------------------------------------- */

const cJSON *wh_handed(const char *part) { (void)part; return handed; }
void wh_leave_fd(cJSON *o, const char *key, int fd) { (void)o; (void)key; shared = dup(fd); }
int wh_taken_fd(const cJSON *o, const char *key) { (void)o; (void)key; return shared; }
uint64_t wh_taken_number(const cJSON *o, const char *key)
{
	const cJSON *n = cJSON_GetObjectItem(o, key);

	return n ? (uint64_t)n->valuedouble : 0;
}
void wh_monitor_changed(void) { }
void wh_monitor_missing(pid_t pid) { (void)pid; }
pid_t wh_fork(int keep) { (void)keep; return fork(); }
pid_t wh_fork_lasting(int keep) { (void)keep; return fork(); }
void wh_say(const char *level, const char *fmt, ...) { (void)level; (void)fmt; }
int wh_uid_had(uid_t uid) { (void)uid; return 0; }
void wh_uid_range_give(void) { }
void wh_uid_range_leave(cJSON *o) { (void)o; }
void wh_uid_range_take_over(const cJSON *o) { (void)o; }
uid_t wh_uid_range_take(int file, uid_t first, unsigned int ranges)
{
	(void)file;
	(void)ranges;
	return first;
}

/* --- The test ------------------------------------------------------------------------------ */

/* Could another server take the user now? */
static bool is_free(uid_t uid)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = uid, .l_len = 1 };

	return !fcntl(other, F_OFD_GETLK, &l) && l.l_type == F_UNLCK;
}

static void start(void)
{
	struct wh_protection p;
	char err[256];

	if (!wh_uids_start("1900000000", &p, err, sizeof(err))) {
		printf("Bail out! %s\n", err);
		exit(1);
	}
}

int main(void)
{
	uid_t a, b;
	int i;

	tap_plan(POINTS);
	if (geteuid()) {
		for (i = 0; i < POINTS; i++)
			skip("users_of_tenants", "only root has them");
		return tap_exit();
	}
	start();
	other = open("/run/wormhole-uids", O_RDWR | O_CLOEXEC);
	a = wh_uid_take();
	b = wh_uid_take();
	ok(a == FIRST && b == FIRST + 1 && !is_free(a), "user_of_a_tenant_is_no_other_servers");
	wh_uid_give(a, false);
	ok(!is_free(a), "nor_is_one_that_was_given_back_while_the_saved_state_has_it");
	wh_uids_saved();
	ok(is_free(a) && !is_free(b), "once_the_state_is_saved_others_may_have_it");
	wh_uid_give(b, false);
	ok(wh_uid_take() == a && wh_uid_take() == b, "the_same_server_may_have_it_at_once");
	wh_uids_saved();
	ok(!is_free(a) && !is_free(b), "and_keeps_it_then");

	/* The server ends between a save that has a user no more and what follows on that. */
	wh_uid_give(a, false);
	handed = cJSON_CreateObject();
	wh_uids_leave(handed);
	start();
	ok(!is_free(b), "next_server_keeps_the_users_that_it_was_told_of");
	ok(is_free(a), "and_no_others");
	return tap_exit();
}
