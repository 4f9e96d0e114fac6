// SPDX-License-Identifier: Apache-2.0
/*
 * The protections of a server's workers, and those that are missing, as the server found
 * them: from its file, or from a server that only looks (`wormhole check`).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenancy.h"
#include "wormhole.h"

/* The server's words for protections, their meaning, and how to get one that is missing. */
static const struct {
	const char *name, *text, *fix;
} kinds[] = {
	{ "user", "workers: users of their own", "start `wormhole serve' as root" },
	{ "calls", "workers: system call filter", "boot a kernel with CONFIG_SECCOMP_FILTER" },
	{ "files", "workers: no way to files", "boot a kernel with Landlock (lsm=landlock,...)" },
	{ "network", "workers: namespaces", "run as root, or allow user namespaces (user.max_user_namespaces)" },
	{ "memory", "workers: memory by cgroup", "run as root or in a systemd user session; in a container, with /sys/fs/cgroup writable" },
	{ "processes", "workers: threads by cgroup", "as for memory" },
	{ "cpu", "workers: equal CPU weights", "as for memory; for a user, delegate the controller cpu" },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < KINDS; i++)
		if (!strcmp(kinds[i].name, name))
			return (int)i;
	return -1;
}

static void read_lines(FILE *f, struct wh_protections *out)
{
	char line[256], name[32], word[8];
	int k, n;

	*out = (struct wh_protections){ 0 };
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		n = 0;
		if (sscanf(line, "%31s %7s %n", name, word, &n) < 2 || !n)
			continue;
		k = kind_of(name);
		if (k < 0)
			continue;
		out->known = true;
		out->one[k].on = !strcmp(word, "on");
		snprintf(out->one[k].detail, sizeof(out->one[k].detail), "%.120s", line + n);
	}
}

void wh_protections_of_server(const char *dir, struct wh_protections *out)
{
	char *path;
	FILE *f;

	if (asprintf(&path, "%s/protection", dir) < 0)
		wh_no_memory();
	f = fopen(path, "re");
	read_lines(f, out);
	if (f)
		fclose(f);
	free(path);
}

void wh_protections_of_machine(struct wh_protections *out)
{
	char *server = wh_layout_find("server/wormhole-server"), *command;
	FILE *f;

	*out = (struct wh_protections){ 0 };
	if (!server)
		return;
	if (asprintf(&command, "'%s' --protection 2>/dev/null", server) < 0)
		wh_no_memory();
	f = popen(command, "re");
	read_lines(f, out);
	if (f)
		pclose(f);
	free(command);
	free(server);
}

void wh_protections_check(void)
{
	struct wh_protections p;
	size_t i;

	wh_protections_of_machine(&p);
	if (!p.known)
		printf("%-30s %-8s %s\n", "workers' protection", "MISSING",
		       "wormhole-server does not say; build it by `make shm'");
	for (i = 0; p.known && i < KINDS; i++)
		printf("%-30s %-8s %s%s%s\n", kinds[i].text, p.one[i].on ? "ok" : "MISSING",
		       p.one[i].detail, p.one[i].on ? "" : "; ", p.one[i].on ? "" : kinds[i].fix);
}

/* Prints one line: the protections that workers have, and after `but not' the missing ones. */
void wh_protections_print(const struct wh_protections *p)
{
	const char *separator = "";
	size_t i;

	if (!p->known)
		return;
	printf("workers are protected by:");
	for (i = 0; i < KINDS; i++)
		if (p->one[i].on)
			printf(" %s", kinds[i].name);
	for (i = 0; i < KINDS; i++)
		if (!p->one[i].on) {
			printf("%s %s (%s)", *separator ? separator : "; not by:", kinds[i].name,
			       p->one[i].detail);
			separator = ",";
		}
	putchar('\n');
}

cJSON *wh_protections_json(const struct wh_protections *p)
{
	cJSON *o = cJSON_CreateObject();
	size_t i;

	for (i = 0; p->known && i < KINDS; i++)
		cJSON_AddBoolToObject(o, kinds[i].name, p->one[i].on);
	return o;
}

const char *wh_protection_name(unsigned int i)
{
	return i < KINDS ? kinds[i].name : NULL;
}
