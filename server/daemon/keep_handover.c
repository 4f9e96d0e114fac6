// SPDX-License-Identifier: Apache-2.0
/*
 * What the next program of this server has to know of tenants that stay (handover.c): it reads no
 * file of tenants again, since all of them are there.
 */
#define _GNU_SOURCE
#include "daemon/keep.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/handover.h"
#include "daemon/tenant.h"
#include "tenant/conf.h"

void wh_keep_hand_over(cJSON *o, const struct wh_tenant *t)
{
	char *text = wh_keep_text(t, false);

	if (text)
		cJSON_AddStringToObject(o, "said", text);
	free(text);
	cJSON_AddNumberToObject(o, "kept", t->kept);
	if (t->conf_file)
		cJSON_AddStringToObject(o, "conf_file", t->conf_file);
}

void wh_keep_take_over(struct wh_tenant *t, const cJSON *o)
{
	const char *said = cJSON_GetStringValue(cJSON_GetObjectItem(o, "said"));
	const char *file = cJSON_GetStringValue(cJSON_GetObjectItem(o, "conf_file"));
	uint64_t kept = wh_taken_number(o, "kept");
	char err[WH_CONF_ERROR];
	struct wh_conf_file f;

	if (said && wh_conf_parse(&f, "handover", said, strlen(said), err, sizeof(err))) {
		if (f.n)
			t->said = f.tenant[0].limits;
		wh_conf_free(&f);
	}
	t->conf_file = file ? strdup(file) : NULL;
	t->kept = kept == WH_KEPT_STATE ? WH_KEPT_STATE :
		  kept == WH_KEPT_FILE && t->conf_file ? WH_KEPT_FILE : WH_KEPT_NOT;
}
