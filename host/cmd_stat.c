// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole stat`: the counters that KVM keeps for a VM with a role, for people
 * or as JSON. The names of the fields are those of struct wh_host_stat; exits
 * and handoffs go by the name of their reason, and only those that happened.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wormhole.h"

#define MAX_VMS	512

struct stat_args {
	uint64_t ids[MAX_VMS];
	int n;
	bool json;
};

static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(field) { #field, offsetof(struct wh_host_stat, field) }
	COUNTER(attaches), COUNTER(detaches), COUNTER(rearms), COUNTER(refusals),
	COUNTER(suspends), COUNTER(fills), COUNTER(filled_pages), COUNTER(zapped_pages),
	COUNTER(fatal), COUNTER(parked), COUNTER(deferred_timers),
#undef COUNTER
};
#define NCOUNTERS (sizeof(counters) / sizeof(counters[0]))

static uint64_t counter(const struct wh_host_stat *s, unsigned int i)
{
	return *(const __u64 *)((const char *)s + counters[i].offset);
}

static const char *name_or_number(const char *name, unsigned int i, char buf[16])
{
	if (name)
		return name;
	snprintf(buf, 16, "reason_%u", i);
	return buf;
}

typedef void (*each_fn)(void *to, const char *name, uint64_t value);

/* Call fn for each reason that was counted; returns their sum. */
static uint64_t each_reason(const __u64 *values, unsigned int n,
			    const char *(*name)(unsigned int), each_fn fn, void *to)
{
	uint64_t sum = 0;
	unsigned int i;
	char buf[16];

	for (i = 0; i < n; i++) {
		if (values[i] && fn)
			fn(to, name_or_number(name(i), i, buf), values[i]);
		sum += values[i];
	}
	return sum;
}

/* --- JSON ------------------------------------------------------------------------ */

/* Counters fit a double up to 2^53; they count events of one VM's life. */
static void add_number(void *to, const char *name, uint64_t value)
{
	cJSON_AddNumberToObject(to, name, (double)value);
}

static cJSON *as_json(const struct wh_host_stat *s)
{
	cJSON *o = cJSON_CreateObject();
	unsigned int i;

	add_number(o, "id", s->vm_id);
	cJSON_AddStringToObject(o, "role", wh_name_role(s->role));
	add_number(o, "pairs", s->pairs);
	for (i = 0; i < NCOUNTERS; i++)
		add_number(o, counters[i].name, counter(s, i));
	each_reason(s->handoffs, WH_HANDOFF_REASONS, wh_name_handoff, add_number,
		    cJSON_AddObjectToObject(o, "handoffs"));
	each_reason(s->exits, WH_STAT_EXIT_REASONS, wh_name_exit, add_number,
		    cJSON_AddObjectToObject(o, "exits"));
	return o;
}

static void print_json(cJSON *list)
{
	char *text = cJSON_Print(list);

	puts(text ? text : "[]");
	free(text);
}

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
	for (i = 0; i < NCOUNTERS; i++)
		if (counter(s, i))
			printf("  %-22s %" PRIu64 "\n", counters[i].name, counter(s, i));
	printf("  %-22s %" PRIu64 "\n", "handoffs",
	       each_reason(s->handoffs, WH_HANDOFF_REASONS, wh_name_handoff, NULL, NULL));
	each_reason(s->handoffs, WH_HANDOFF_REASONS, wh_name_handoff, print_reason, NULL);
	printf("  %-22s %" PRIu64 "\n", "exits in a view",
	       each_reason(s->exits, WH_STAT_EXIT_REASONS, wh_name_exit, NULL, NULL));
	each_reason(s->exits, WH_STAT_EXIT_REASONS, wh_name_exit, print_reason, NULL);
}

/* --- Command ----------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "print a JSON array", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_args *a = state->input;

	switch (key) {
	case 'j':
		a->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->n == MAX_VMS)
			argp_error(state, "at most %d ids", MAX_VMS);
		a->ids[a->n++] = wh_arg_u64(state, "ID", arg, 1, UINT64_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "[ID...]",
	"Show the counters of VMs with a role; without an ID, of those that "
	"`wormhole run' or `start' started and that live.", NULL, NULL, NULL
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

static int show(int fd, const struct stat_args *a)
{
	cJSON *list = a->json ? cJSON_CreateArray() : NULL;
	int i, rc, status = EXIT_DONE;
	struct wh_host_stat s;

	for (i = 0; i < a->n; i++) {
		rc = wh_control_stat(fd, a->ids[i], &s);
		if (rc) {
			wh_error("VM %" PRIu64 ": %s", a->ids[i],
				 rc == -ENOENT ? "no such VM is alive" : strerror(-rc));
			status = EXIT_FAILED;
		} else if (list) {
			cJSON_AddItemToArray(list, as_json(&s));
		} else {
			print_text(&s);
		}
	}
	if (list)
		print_json(list);
	cJSON_Delete(list);
	return status;
}

int cmd_stat(int argc, char **argv)
{
	static struct stat_args a;
	int fd, rc;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	fd = wh_control_open_checked();
	if (fd < 0)
		return EXIT_FAILED;
	rc = a.n ? EXIT_DONE : add_living(&a);
	if (!rc)
		rc = show(fd, &a);
	close(fd);
	return rc;
}
