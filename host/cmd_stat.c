// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole stat`: the counters that KVM keeps for a VM with a role, and the figures of
 * tenants (tenant_stat.c), as text or as JSON. Of exits and handoffs only reasons that have
 * happened are shown.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "views.h"

#define MAX_VMS	512

struct stat_args {
	uint64_t ids[MAX_VMS];
	int n;
	char *names[MAX_VMS];	/* names of tenants */
	int nnames;
	const char *dir;
	bool json;
	unsigned int watch;	/* seconds between two looks; 0: one look */
};

/* --- Text ------------------------------------------------------------------------- */

static void print_reason(void *to, const char *name, uint64_t value)
{
	(void)to;
	printf("    %-20s %" PRIu64 "\n", name, value);
}

static void print_text(const struct wh_host_stat *s)
{
	unsigned int i;

	printf("%s %" PRIu64 "\n", wh_name_role(s->role), (uint64_t)s->vm_id);
	printf("  %-22s %u\n", "pairs", s->pairs);
	for (i = 0; i < WH_VM_COUNTERS; i++)
		if (wh_vm_counter(s, i))
			printf("  %-22s %" PRIu64 "\n", wh_vm_counters[i].name, wh_vm_counter(s, i));
	/*
	 * All system calls of these pairs are handed off, since their LSTAR or STAR allows
	 * no gate.
	 */
	if (s->role == WH_ROLE_CLIENT && s->gates < s->pairs)
		printf("  %-22s %" PRIu64 "\n", "pairs without a gate",
		       (uint64_t)(s->pairs - s->gates));
	printf("  %-22s %" PRIu64 "\n", "handoffs", wh_vm_handoffs(s, NULL, NULL));
	wh_vm_handoffs(s, print_reason, NULL);
	printf("  %-22s %" PRIu64 "\n", "exits in a view", wh_vm_exits(s, NULL, NULL));
	wh_vm_exits(s, print_reason, NULL);
}

/* --- Command ---------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print a JSON array", 0 },
	{ "watch", 'w', "SECONDS", 0, "look again and again, and show each tenant's share of GPU time meanwhile", 0 },
	{ 0 }
};

/*
 * A number is a VM's id; one with a slash is a window of that VM. Names of tenants begin
 * with a letter.
 */
static void add_subject(struct stat_args *a, char *arg, struct argp_state *state)
{
	if (a->n == MAX_VMS || a->nnames == MAX_VMS)
		wh_usage_error(state, "at most %d ids", MAX_VMS);
	if (*arg >= '0' && *arg <= '9' && !strchr(arg, '/'))
		a->ids[a->n++] = wh_arg_u64(state, "ID", arg, 1, UINT64_MAX);
	else
		a->names[a->nnames++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		return 0;
	case 'j':
		a->json = true;
		return 0;
	case 'w':
		a->watch = wh_arg_u64(state, "--watch", arg, 1, 86400);
		return 0;
	case ARGP_KEY_ARG:
		add_subject(a, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &wh_dir_argp, 0, NULL, 0 }, { &wh_timeout_argp, 0, NULL, 0 }, { 0 }
};
static const struct argp argp = {
	options, parse, "[TENANT|ID...]",
	"Show the counters of tenants and of VMs with a role; without a name or ID, of all tenants "
	"of the server on this machine, of those VMs that `wormhole run' or `start' started "
	"and that live, and of the windows of server VMs among them, which are tenants named as "
	"1/window0.", children, NULL, NULL
};

static int add_living(struct stat_args *a)
{
	static struct wh_vm vms[MAX_VMS];
	int n = wh_registry_list(vms, MAX_VMS);
	int i;

	if (n < 0) {
		wh_error("/run/wormhole: %s; name the VMs by their ids", strerror(-n));
		return EXIT_FAILED;
	}
	for (i = 0; i < n; i++)
		a->ids[a->n++] = vms[i].id;
	return EXIT_DONE;
}

static int show_vms(int fd, const struct stat_args *a, cJSON *list)
{
	int i, rc, status = EXIT_DONE;
	struct wh_host_stat s;
	cJSON *o;

	for (i = 0; i < a->n; i++) {
		rc = wh_control_stat(fd, a->ids[i], &s);
		if (rc) {
			wh_error("VM %" PRIu64 ": %s", a->ids[i],
				 rc == -ENOENT ? "no such VM is alive" : strerror(-rc));
			status = EXIT_FAILED;
		} else if (list) {
			o = cJSON_CreateObject();
			wh_vm_json(&s, o);
			cJSON_AddItemToArray(list, o);
		} else {
			print_text(&s);
		}
	}
	return status;
}

/*
 * Shows the named VMs, or all living ones. If tenants are shown and nothing is named, the
 * control device may be missing.
 */
static int vms(const struct stat_args *a, cJSON *list, bool tenants_too)
{
	static struct stat_args mine;
	bool all = !a->n && !a->nnames;
	int fd, rc;

	if (!all && !a->n)
		return EXIT_DONE;
	if (all && access(WH_CONTROL_DEVICE, F_OK)) {
		if (tenants_too)
			return EXIT_DONE;
		wh_error("no server is at %s%s, and no VMs can have a role here; start one by `wormhole serve', or name its --dir",
			 a->dir, wh_server_dir_else());
		return EXIT_FAILED;
	}
	mine = *a;
	rc = all ? add_living(&mine) : EXIT_DONE;
	if (rc || (all && tenants_too && !mine.n))
		return rc;
	fd = wh_control_open_checked();
	if (fd < 0)
		return EXIT_FAILED;
	rc = show_vms(fd, &mine, list);
	close(fd);
	return rc;
}

static void show_tenants(const struct wh_tenant_views *v, const struct wh_tenant_views *before,
			 cJSON *list)
{
	if (list)
		wh_tenants_json(v, list);
	else if (v->n)
		wh_tenants_table(v, before);
}

/* Looks at everything once. *before becomes this look. */
static int look(const struct stat_args *a, struct wh_tenant_views *before)
{
	cJSON *list = a->json ? cJSON_CreateArray() : NULL;
	struct wh_tenant_views now = { 0 };
	bool wanted = a->nnames || !a->n;
	int rc = EXIT_DONE;

	if (wanted && !wh_tenants_look(a->dir, a->names, a->nnames, &now))
		rc = EXIT_FAILED;
	if (a->watch && !list && isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	if (vms(a, list, now.server))
		rc = EXIT_FAILED;
	show_tenants(&now, before->view ? before : NULL, list);
	if (list)
		wh_json_print(list);
	cJSON_Delete(list);
	fflush(stdout);
	wh_tenants_free(before);
	*before = now;
	return rc;
}

int cmd_stat(int argc, char **argv)
{
	static struct stat_args a;
	struct wh_tenant_views seen = { 0 };
	int rc;

	wh_parse(&argp, argc, argv, 0, &a);
	a.dir = wh_server_dir(a.dir);
	rc = look(&a, &seen);
	while (a.watch && !rc) {
		struct timespec pause = { .tv_sec = a.watch };

		nanosleep(&pause, NULL);
		rc = look(&a, &seen);
	}
	wh_tenants_free(&seen);
	return rc;
}
