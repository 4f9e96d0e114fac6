// SPDX-License-Identifier: Apache-2.0
/*
 * Whose programs a tenant's clients are, for people and for JSON. A program chooses its command's
 * name itself, and its tenant's workers can write the account that has it: what is shown is text
 * of others.
 */
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "views.h"

#define KNOWN	16

const char *wh_plain_text(const char *text, char *out, size_t size)
{
	size_t i;

	for (i = 0; i + 1 < size && text[i]; i++)
		out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	out[i] = 0;
	return out;
}

/* Looks users up once: a look has the same few again and again, and a directory may be slow. */
const char *wh_user_text(uid_t uid, char out[WH_USER_TEXT])
{
	static struct {
		uid_t uid;
		char name[WH_USER_TEXT];
	} known[KNOWN];
	static unsigned int n;
	const struct passwd *pw;
	unsigned int i;

	for (i = 0; i < n && i < KNOWN; i++)
		if (known[i].uid == uid)
			return strcpy(out, known[i].name);
	pw = getpwuid(uid);
	if (pw && *pw->pw_name)
		wh_plain_text(pw->pw_name, out, WH_USER_TEXT);
	else
		snprintf(out, WH_USER_TEXT, "%u", uid);
	i = n++ % KNOWN;
	known[i].uid = uid;
	strcpy(known[i].name, out);
	return out;
}

const char *wh_program_user(const struct wh_worker_usage *w, char out[WH_USER_TEXT])
{
	return w->client_pid ? wh_user_text(w->client_uid, out) : strcpy(out, "-");
}

const char *wh_program_command(const struct wh_worker_usage *w, char out[WH_COMMAND])
{
	char text[WH_COMMAND];

	memcpy(text, w->command, sizeof(text));
	text[sizeof(text) - 1] = 0;
	return text[0] ? wh_plain_text(text, out, WH_COMMAND) : strcpy(out, "-");
}

void wh_program_json(const struct wh_worker_usage *w, cJSON *o)
{
	char user[WH_USER_TEXT], command[WH_COMMAND];

	if (!w->client_pid)
		return;
	wh_json_u64(o, "client_uid", w->client_uid);
	cJSON_AddStringToObject(o, "client_user", wh_program_user(w, user));
	cJSON_AddStringToObject(o, "client_command", wh_program_command(w, command));
}
