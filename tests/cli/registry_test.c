// SPDX-License-Identifier: Apache-2.0
/*
 * The test promises that a VM that `wormhole' starts is known from then on, whoever looks
 * meanwhile: readers remove the files of VMs that have ended. It has a folder of its own.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"
#include "wormhole.h"

#define TIMES	5000
#define ID	7

/* The registry takes numbers from names of files by this. */
int wh_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	*out = strtoull(s, &end, 10);
	return *end || end == s || *out < min || *out > max ? -1 : 0;
}

/* Looks for the VM all the time, as `wormhole server replace' does. */
static pid_t look_on(void)
{
	pid_t pid = fork();
	struct wh_vm vm;

	while (!pid)
		wh_registry_find(ID, &vm);
	return pid;
}

static void test_reader(void)
{
	struct wh_vm vm = { .id = ID, .role = 1, .pid = getpid(), .name = "vm" }, found;
	struct wh_vm dead = { .id = ID, .role = 1, .pid = 0, .name = "dead" };
	int i, lost = 0, odd = 0;
	pid_t pid = look_on();

	for (i = 0; i < TIMES; i++) {
		/* What is replaced may be a VM's that has ended. */
		if (i % 2)
			wh_registry_add(&dead);
		wh_registry_add(&vm);
		if (!wh_registry_find(ID, &found))
			lost++;
		else
			odd += found.pid != getpid() || found.role != 1;
		wh_registry_remove(ID);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok_eq(lost, 0, "vm_that_was_started_is_known_while_others_look");
	ok_eq(odd, 0, "what_is_known_of_it_is_whole");
}

static void test_dead(void)
{
	struct wh_vm dead = { .id = ID, .role = 1, .pid = 0, .name = "dead" }, found;

	ok(!wh_registry_add(&dead) && !wh_registry_find(ID, &found), "vm_that_has_ended_is_not_found");
	ok_eq(access("vms/7", F_OK), -1, "and_its_file_is_removed");
}

static void test_allow(void)
{
	struct wh_host_allow a = { .client_id = 2, .server_id = ID, .window = 1, .max_pairs = 3 };
	static struct wh_host_allow list[WH_REGISTRY_ALLOWS];

	ok(!wh_registry_allow(&a) && wh_registry_allowed(ID, list) == 1 && list[0].max_pairs == 3,
	   "permission_is_noted");
	a.max_pairs = 4;
	ok(!wh_registry_allow(&a) && wh_registry_allowed(ID, list) == 1 && list[0].max_pairs == 4,
	   "and_replaced");
}

int main(void)
{
	char folder[] = "/tmp/registry.XXXXXX";

	tap_plan(6);
	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	test_reader();
	test_dead();
	test_allow();
	wh_registry_deny(0, 0);
	unlink("vms/.lock");
	rmdir("vms");
	rmdir(folder);
	return tap_exit();
}
