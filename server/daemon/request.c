// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of requests at the control socket: checks their keys and types, and reads limits and
 * devices out of them. Owns no tenant and answers nothing.
 */
#define _GNU_SOURCE
#include "daemon/request.h"

#include <stdio.h>
#include <string.h>

#include "daemon/keep.h"
#include "daemon/server.h"

static const char *const type_names[] = { "a string", "a number", "true or false", "a list",
					  "an object" };

static bool has_type(const cJSON *o, enum type type)
{
	switch (type) {
	case TEXT:	return cJSON_IsString(o);
	case NUMBER:	return cJSON_IsNumber(o);
	case FLAG:	return cJSON_IsBool(o);
	case LIST:	return cJSON_IsArray(o);
	default:	return cJSON_IsObject(o);
	}
}

static const struct key *key_of(const struct key keys[MAX_KEYS], const char *name)
{
	int i;

	for (i = 0; i < MAX_KEYS && keys[i].name; i++)
		if (!strcmp(keys[i].name, name))
			return &keys[i];
	return NULL;
}

static void name_keys(const struct key keys[MAX_KEYS], const char *what, const char *name,
		      char *err, size_t err_size)
{
	size_t n;
	int i;

	n = (size_t)snprintf(err, err_size, "'%.40s': unknown; %s knows", name, what);
	for (i = 0; i < MAX_KEYS && keys[i].name && n < err_size; i++)
		n += (size_t)snprintf(err + n, err_size - n, "%s %s", i ? "," : "", keys[i].name);
}

/* Checks that an object has only these keys, each with its type and only once. */
bool wh_request_keys(const cJSON *o, const char *what, const struct key keys[MAX_KEYS],
		       char *err, size_t err_size)
{
	const struct key *k;
	const cJSON *item;

	cJSON_ArrayForEach(item, o) {
		k = key_of(keys, item->string);
		if (!k) {
			name_keys(keys, what, item->string, err, err_size);
			return false;
		}
		if (!has_type(item, k->type)) {
			snprintf(err, err_size, "%s: is to be %s", k->name, type_names[k->type]);
			return false;
		}
		if (item != cJSON_GetObjectItemCaseSensitive(o, k->name)) {
			snprintf(err, err_size, "%s: is said twice", k->name);
			return false;
		}
	}
	return true;
}

const char *wh_request_text(const cJSON *o, const char *key)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(o, key));
}

/* Reads an integer from min to max; false and one line in err. *has is false if it is absent. */
bool wh_request_number(const cJSON *o, const char *key, double min, double max, double *v,
		       bool *has, char *err, size_t err_size)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, key);

	*has = item != NULL;
	if (!item)
		return true;
	if (item->valuedouble >= min && item->valuedouble <= max &&
	    item->valuedouble == (double)(int64_t)item->valuedouble) {
		*v = item->valuedouble;
		return true;
	}
	snprintf(err, err_size, "%s: not a whole number from %.0f to %.0f", key, min, max);
	return false;
}

static const struct key limit_keys[MAX_KEYS] = {
	{ "device", NUMBER }, { "memory", NUMBER }, { "memory_percent", NUMBER }, { "sm", NUMBER }, { "policy", TEXT },
	{ "sm_max", NUMBER }, { "priority", TEXT },
};

static bool take_class(const cJSON *o, struct wh_limit_spec *s, char *err, size_t err_size)
{
	const char *class = wh_request_text(o, "priority");

	if (!class)
		return true;
	s->has_class = 1;
	if (!wh_limit_class(class, &s->sm_class))
		return true;
	snprintf(err, err_size, "priority: %s", wh_limit_class_why(class));
	return false;
}

static bool take_limit(const cJSON *o, struct wh_limit_list *list, char *err, size_t err_size)
{
	const char *policy;
	struct wh_limit_spec *s;
	bool has;
	double v;

	if (!has_type(o, OBJECT)) {
		snprintf(err, err_size, "limits: each entry is to be an object such as {\"memory\":1073741824}");
		return false;
	}
	if (!wh_request_keys(o, "a limit", limit_keys, err, err_size) ||
	    !wh_request_number(o, "device", 0, WH_TENANT_DEVICES - 1, &v, &has, err, err_size))
		return false;
	s = wh_limit_of(list, has ? (int)v : WH_ALL_DEVICES);
	if (!wh_request_number(o, "memory", 0, 9007199254740991.0, &v, &has, err, err_size))
		return false;
	if (has) {
		s->has_memory = 1;
		s->memory = (uint64_t)v;
	}
	if (!wh_request_number(o, "memory_percent", 1, 100, &v, &has, err, err_size))
		return false;
	if (has) {
		s->has_memory = 1;
		s->memory_percent = (uint32_t)v;
	}
	if (!wh_request_number(o, "sm", 1, 100, &v, &has, err, err_size))
		return false;
	if (has) {
		s->has_sm = 1;
		s->sm_percent = (uint32_t)v;
	}
	if (!wh_request_number(o, "sm_max", 0, 100, &v, &has, err, err_size))
		return false;
	if (has) {
		s->has_max = 1;
		s->sm_max = (uint32_t)v;
	}
	if (!take_class(o, s, err, err_size))
		return false;
	policy = wh_request_text(o, "policy");
	if (policy) {
		s->has_policy = 1;
		if (wh_limit_policy(policy, &s->sm_policy)) {
			snprintf(err, err_size, "policy: '%.40s' is neither temporal, spatial nor both", policy);
			return false;
		}
	}
	if (wh_spec_said(s))
		return true;
	snprintf(err, err_size, "limits: an entry with none of memory, sm, policy limits nothing");
	return false;
}

bool wh_request_limits(const cJSON *o, struct wh_limit_list *list, char *err, size_t err_size)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(o, "limits"))
		if (!take_limit(item, list, err, err_size))
			return false;
	return true;
}

/*
 * Reads the values that belong to no device: host memory, how long a launch may take, whether
 * workers may meet, and whether programs may count.
 */
bool wh_request_host(const cJSON *o, struct wh_limit_list *list, char *err, size_t err_size)
{
	const cJSON *nccl, *counters;
	bool has;
	double v;

	if (!wh_request_number(o, "host_memory", 0, 9007199254740991.0, &v, &has, err, err_size))
		return false;
	list->has_host = has;
	list->host = has ? (uint64_t)v : 0;
	if (!wh_request_number(o, "max_kernel_ms", 0, 86400000.0, &v, &has, err, err_size))
		return false;
	list->has_kernel = has;
	list->kernel_ms = has ? (uint64_t)v : 0;
	nccl = cJSON_GetObjectItemCaseSensitive(o, "nccl");
	list->nccl = cJSON_IsTrue(nccl) ? WH_NCCL_YES : nccl ? WH_NCCL_NO : WH_NCCL_UNSAID;
	counters = cJSON_GetObjectItemCaseSensitive(o, "counters");
	list->counters = cJSON_IsTrue(counters) ? WH_COUNTERS_YES :
			 counters ? WH_COUNTERS_NO : WH_COUNTERS_UNSAID;
	return true;
}

bool wh_request_devices(const cJSON *o, uint32_t *out, char *err, size_t err_size)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(o, "devices"), *item;

	*out = 0;
	cJSON_ArrayForEach(item, list)
		if (!wh_devices_add(out, cJSON_GetStringValue(item),
				    cJSON_IsNumber(item) ? item->valuedouble : -1, err, err_size))
			return false;
	if (!list || *out)
		return true;
	snprintf(err, err_size, "devices: an empty list; leave it out for all devices");
	return false;
}
