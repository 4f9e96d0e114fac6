// SPDX-License-Identifier: Apache-2.0
/*
 * Owns the written form of HAMi's variables; knows no tenant. HAMi-core takes what it cannot read
 * for "no limit". Here that is an error, since a limit that was meant would be lost.
 */
#define _GNU_SOURCE
#include "tenant/hami.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY	"CUDA_DEVICE_MEMORY_LIMIT"
#define SM	"CUDA_DEVICE_SM_LIMIT"
#define POLICY	"GPU_CORE_UTILIZATION_POLICY"
#define PRIORITY	"CUDA_TASK_PRIORITY"

static const char *value_of(char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=')
			return (*env)[n + 1] ? *env + n + 1 : NULL;
	return NULL;
}

static void name_of(char out[64], const char *name, int device)
{
	if (device == WH_ALL_DEVICES)
		snprintf(out, 64, "%s", name);
	else
		snprintf(out, 64, "%s_%d", name, device);
}

static int take_memory(struct wh_limit_list *l, char *const *env, int device, char *err,
		       size_t err_size)
{
	struct wh_limit_spec *s;
	const char *value;
	uint64_t bytes;
	char name[64];

	name_of(name, MEMORY, device);
	value = value_of(env, name);
	if (!value)
		return 0;
	if (wh_limit_bytes_in(value, 0, &bytes)) {
		snprintf(err, err_size, "%s='%.80s' is not a size such as 1g, 1024m or 0x40000000", name, value);
		return -1;
	}
	/* Of a device, 0 leaves what is said for all. */
	if (!bytes && strcmp(value, "none"))
		return 0;
	s = wh_limit_of(l, device);
	s->has_memory = 1;
	s->memory = bytes;
	return 0;
}

/* Reads a percentage; *percent is 0 if it says nothing, and 100 for all that is no limit. */
static bool read_share(const char *value, uint32_t *percent)
{
	unsigned long long v;
	char *end;

	*percent = 100;
	if (!strcmp(value, "none"))
		return true;
	if (*value < '0' || *value > '9')
		return false;
	errno = 0;
	v = strtoull(value, &end, 0);
	if (*end == '%')
		end++;
	if (errno || *end)
		return false;
	if (v < 100)
		*percent = (uint32_t)v;
	return true;
}

static int take_share(struct wh_limit_list *l, char *const *env, int device, char *err,
		      size_t err_size)
{
	struct wh_limit_spec *s;
	const char *value;
	uint32_t percent;
	char name[64];

	name_of(name, SM, device);
	value = value_of(env, name);
	if (!value)
		return 0;
	if (!read_share(value, &percent)) {
		snprintf(err, err_size, "%s='%.80s' is not a percentage; 0 and those from 100 on are no limit", name,
			 value);
		return -1;
	}
	if (!percent)
		return 0;
	s = wh_limit_of(l, device);
	s->has_sm = 1;
	s->sm_percent = percent;
	return 0;
}

/* A variable that only begins like one of the names was meant to be a limit. */
static bool is_known(const char *variable, const char *name)
{
	size_t n = strcspn(variable, "=");
	char known[64];
	int device;

	if (strncmp(variable, name, strlen(name)) || n == strlen(name))
		return true;
	for (device = 0; device < WH_TENANT_DEVICES; device++) {
		name_of(known, name, device);
		if (n == strlen(known) && !strncmp(variable, known, n))
			return true;
	}
	return false;
}

/*
 * With `disable' HAMi-core counts no share. With `force' a share holds whatever else is idle, so it
 * is a ceiling; `default' leaves that to whoever gives the share.
 */
static int take_policy(struct wh_limit_list *l, char *const *env, char *err, size_t err_size)
{
	const char *value = value_of(env, POLICY);
	int i;

	if (!value || !strcasecmp(value, "default"))
		return 0;
	if (!strcasecmp(value, "force")) {
		for (i = 0; i < l->n; i++) {
			l->spec[i].has_max = l->spec[i].has_sm;
			l->spec[i].sm_max = 0;
		}
		return 0;
	}
	if (strcasecmp(value, "disable")) {
		snprintf(err, err_size, POLICY "='%.80s' is none of default, force and disable", value);
		return -1;
	}
	for (i = 0; i < l->n; i++)
		l->spec[i].has_sm = 0;
	return 0;
}

/* HAMi's 0 is the higher of its two classes. A class is one of a share, and nothing without it. */
static int take_priority(struct wh_limit_list *l, char *const *env, char *err, size_t err_size)
{
	const char *value = value_of(env, PRIORITY);
	int i;

	if (!value)
		return 0;
	if (strcmp(value, "0") && strcmp(value, "1")) {
		snprintf(err, err_size, PRIORITY "='%.80s' is neither 0 (high) nor 1 (low)", value);
		return -1;
	}
	for (i = 0; i < l->n; i++) {
		l->spec[i].has_class = l->spec[i].has_sm;
		l->spec[i].sm_class = *value == '0' ? WH_CLASS_HIGH : WH_CLASS_LOW;
	}
	return 0;
}

static int take_all(struct wh_limit_list *l, char *const *env, char *err, size_t err_size)
{
	char *const *v;
	int device;

	for (v = env; *v; v++)
		if (!is_known(*v, MEMORY) || !is_known(*v, SM)) {
			snprintf(err, err_size, "%.*s: unknown; there are " MEMORY " and " SM
				 ", each alone or with _0 to _%d",
				 (int)(strcspn(*v, "=") < 80 ? strcspn(*v, "=") : 80), *v,
				 WH_TENANT_DEVICES - 1);
			return -1;
		}
	for (device = WH_ALL_DEVICES; device < WH_TENANT_DEVICES; device++)
		if (take_memory(l, env, device, err, err_size) ||
		    take_share(l, env, device, err, err_size))
			return -1;
	return take_policy(l, env, err, err_size) || take_priority(l, env, err, err_size) ? -1 : 0;
}

/* A container's user wrote the text, and a terminal may get the message. */
static void make_plain(char *s)
{
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
}

int wh_hami_limits(struct wh_limit_list *l, char *const *env, char *err, size_t err_size)
{
	if (!take_all(l, env, err, err_size))
		return 0;
	make_plain(err);
	return -1;
}

/* --- Those without a meaning ------------------------------------------------------------ */

static const char *const idle[] = {
	PRIORITY, "CUDA_OVERSUBSCRIBE", "LIBCUDA_LOG_LEVEL", "ACTIVE_OOM_KILLER",
	"CUDA_DISABLE_CONTROL",
};

static bool has_share(char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, SM, strlen(SM)))
			return true;
	return false;
}

int wh_hami_idle(char *const *env, char *names, size_t size)
{
	size_t i, at = 0;
	int n = 0;

	names[0] = 0;
	for (i = 0; i < sizeof(idle) / sizeof(*idle); i++)
		if (value_of(env, idle[i]) && at < size && (i || !has_share(env)))
			at += (size_t)snprintf(names + at, size - at, "%s%s", n++ ? ", " : "", idle[i]);
	return n;
}
