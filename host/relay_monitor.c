// SPDX-License-Identifier: Apache-2.0
/*
 * The relay's side of QEMU's monitor. QEMU says that the guest has closed a port, at most once a
 * second for each port, and only that it has changed since. So each such event leads to a question:
 * which ports are open now.
 */
#include "relay.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define LONGEST_LINE	(64 << 10)

static struct {
	int fd;
	uint64_t asked;		/* number of questions */
	size_t had;
	char text[LONGEST_LINE + 1];
} monitor = { .fd = -1 };

static bool say(const char *line)
{
	return send(monitor.fd, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line);
}

bool wh_relay_monitor_start(int fd)
{
	monitor.fd = fd;
	return say("{\"execute\":\"qmp_capabilities\"}\n");
}

uint64_t wh_relay_monitor_now(void)
{
	return monitor.asked;
}

static bool ask(void)
{
	char line[80];

	snprintf(line, sizeof(line), "{\"execute\":\"query-chardev\",\"id\":%llu}\n",
		 (unsigned long long)++monitor.asked);
	return say(line);
}

static bool is_closing(const cJSON *o)
{
	const char *event = cJSON_GetStringValue(cJSON_GetObjectItem(o, "event"));

	return event && !strcmp(event, "VSERPORT_CHANGE") &&
	       cJSON_IsFalse(cJSON_GetObjectItem(cJSON_GetObjectItem(o, "data"), "open"));
}

static void look_at(const cJSON *chardevs, uint64_t asked,
		    void (*closed)(unsigned int part, uint64_t asked))
{
	const size_t head = strlen(WH_RELAY_CHARDEV);
	const cJSON *c;

	cJSON_ArrayForEach(c, chardevs) {
		const char *label = cJSON_GetStringValue(cJSON_GetObjectItem(c, "label"));

		if (label && !strncmp(label, WH_RELAY_CHARDEV, head) &&
		    cJSON_IsFalse(cJSON_GetObjectItem(c, "frontend-open")))
			closed((unsigned int)atoi(label + head), asked);
	}
}

static bool take_line(const char *line, void (*closed)(unsigned int part, uint64_t asked))
{
	cJSON *o = cJSON_Parse(line);
	const cJSON *id = cJSON_GetObjectItem(o, "id");
	bool fine = true;

	if (is_closing(o))
		fine = ask();
	else if (cJSON_IsNumber(id))
		look_at(cJSON_GetObjectItem(o, "return"), (uint64_t)id->valuedouble, closed);
	cJSON_Delete(o);
	return fine;
}

bool wh_relay_monitor_hear(void (*closed)(unsigned int part, uint64_t asked))
{
	ssize_t n = recv(monitor.fd, monitor.text + monitor.had, LONGEST_LINE - monitor.had,
			 MSG_DONTWAIT);
	char *line = monitor.text, *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	if (n <= 0)
		return false;
	monitor.had += n;
	while ((end = memchr(line, '\n', monitor.text + monitor.had - line))) {
		*end = 0;
		if (!take_line(line, closed))
			return false;
		line = end + 1;
	}
	monitor.had -= line - monitor.text;
	memmove(monitor.text, line, monitor.had);
	/* QEMU writes no such line; without this the rest would never be read. */
	if (monitor.had == LONGEST_LINE)
		monitor.had = 0;
	return true;
}
