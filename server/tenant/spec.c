// SPDX-License-Identifier: Apache-2.0
/* Owns the written form of limits; knows no tenant. */
#define _GNU_SOURCE
#include "tenant/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- Sizes ------------------------------------------------------------------------ */

#define MOST_BYTES	(UINT64_MAX >> 11)	/* a double of JSON holds it exactly */

/* Reads B, K, M, G or T, the latter also as KiB and so on. Returns the power of 2, or -1. */
static int unit_of(const char *text)
{
	static const char units[] = "bkmgt";
	const char *unit = *text ? strchr(units, *text | 0x20) : NULL;

	if (!unit || (text[1] && (unit == units || strcasecmp(text + 1, "ib"))))
		return -1;
	return 10 * (int)(unit - units);
}

/* Reads the digits after a point as a fraction of *scale; NULL: there is none, or too many. */
static const char *fraction_of(const char *text, uint64_t *part, uint64_t *scale)
{
	const char *p = text;

	for (*part = 0, *scale = 1; *p >= '0' && *p <= '9' && p - text < 9; p++) {
		*part = *part * 10 + (uint64_t)(*p - '0');
		*scale *= 10;
	}
	return p == text ? NULL : p;
}

int wh_limit_bytes(const char *text, uint64_t *bytes)
{
	uint64_t part = 0, scale = 1;
	unsigned __int128 sum;
	unsigned long long v;
	const char *rest;
	char *end;
	int shift;

	*bytes = 0;
	if (!strcmp(text, "none") || !strcmp(text, "0"))
		return 0;
	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	v = strtoull(text, &end, 10);
	rest = *end == '.' ? fraction_of(end + 1, &part, &scale) : end;
	shift = rest && !errno ? unit_of(rest) : -1;
	if (shift < 0 || (!shift && *end == '.'))
		return -1;
	sum = ((unsigned __int128)v << shift) + ((unsigned __int128)part << shift) / scale;
	/* What is rounded to nothing is not meant as no limit. */
	if (sum > MOST_BYTES || (!sum && part))
		return -1;
	*bytes = (uint64_t)sum;
	return 0;
}

const char *wh_limit_bytes_why(const char *text)
{
	static char why[300];

	if (*text && !text[strspn(text, "0123456789.")])
		snprintf(why, sizeof(why), "'%.40s' has no unit: %.40sM is MiB, as Slurm counts, and %.40sB bytes",
			 text, text, text);
	else
		snprintf(why, sizeof(why), "'%.100s' is not a size such as 2G, 1.5G or 512MiB, or none", text);
	return why;
}

/* Reads a whole number from 1 to 100 with "%" behind it; 0 if it is none. */
static uint32_t percent_of(const char *text)
{
	size_t n = strspn(text, "0123456789");
	long v;

	if (!n || n > 3 || strcmp(text + n, "%"))
		return 0;
	v = strtol(text, NULL, 10);
	return v > 100 ? 0 : (uint32_t)v;
}

/* Reads "4G/50%", as limits are that were narrowed (wh_limit_narrow()). */
static int lesser_of_two(const char *text, size_t size, struct wh_limit_spec *s)
{
	char bytes[64];

	if (size >= sizeof(bytes))
		return -1;
	memcpy(bytes, text, size);
	bytes[size] = 0;
	s->memory_percent = percent_of(text + size + 1);
	return s->memory_percent && !wh_limit_bytes(bytes, &s->memory) && s->memory ? 0 : -1;
}

int wh_limit_memory(const char *text, struct wh_limit_spec *s)
{
	const char *slash = strchr(text, '/');

	s->has_memory = 1;
	s->memory = 0;
	if (slash)
		return lesser_of_two(text, (size_t)(slash - text), s);
	s->memory_percent = percent_of(text);
	return s->memory_percent ? 0 : wh_limit_bytes(text, &s->memory);
}

const char *wh_limit_memory_why(const char *text)
{
	if (strchr(text, '/'))
		return "two limits are a size and a percentage of the device's memory, as 4G/50%; the lesser counts";
	if (*text && text[strlen(text) - 1] == '%')
		return "a percentage of the device's memory is a whole number from 1% to 100%";
	return wh_limit_bytes_why(text);
}

/* HAMi's reading: without a unit it is bytes, in any of C's bases. */
int wh_limit_bytes_in(const char *text, int base, uint64_t *bytes)
{
	static const char units[] = "kmgt";
	unsigned long long v;
	const char *unit;
	char *end;
	int shift = 0;

	if (!strcmp(text, "none")) {
		*bytes = 0;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	v = strtoull(text, &end, base);
	if (errno)
		return -1;
	if (*end) {
		unit = strchr(units, *end | 0x20);
		if (!unit || end[1])
			return -1;
		shift = 10 * (int)(unit - units + 1);
	}
	if (v > (UINT64_MAX >> 11) >> shift)	/* a double of JSON holds it exactly */
		return -1;
	*bytes = v << shift;
	return 0;
}

#define DAY_MS	86400000ull

int wh_limit_time(const char *text, uint64_t *ms)
{
	unsigned long long v;
	char *end;

	if (!strcmp(text, "none")) {
		*ms = 0;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -1;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || v > DAY_MS)
		return -1;
	if (!*end || !strcmp(end, "s"))
		v *= 1000;
	else if (strcmp(end, "ms"))
		return -1;
	if (!v || v > DAY_MS)
		return -1;
	*ms = v;
	return 0;
}

int wh_limit_said(const struct wh_limit_list *l)
{
	return l->n || l->has_host || l->has_kernel || l->nccl || l->counters;
}

int wh_limit_percent(const char *text, uint32_t *percent)
{
	char *end;
	long v;

	if (!strcmp(text, "none")) {
		*percent = 100;
		return 0;
	}
	if (*text < '0' || *text > '9')
		return -1;
	v = strtol(text, &end, 10);
	if (*end == '%')
		end++;
	if (*end || v < 1 || v > 100)
		return -1;
	*percent = (uint32_t)v;
	return 0;
}

int wh_limit_ceiling(const char *text, uint32_t *percent)
{
	*percent = 0;
	return strcmp(text, "hard") ? wh_limit_percent(text, percent) : 0;
}

const char *wh_limit_ceiling_why(const char *text)
{
	static char why[160];

	snprintf(why, sizeof(why), "'%.60s' is not a percentage from 1 to 100, none, or hard for no more than the share",
		 text);
	return why;
}

static const char *const classes[WH_CLASSES] = {
	[WH_CLASS_NORMAL] = "normal", [WH_CLASS_HIGH] = "high", [WH_CLASS_LOW] = "low",
};

int wh_limit_class(const char *text, uint32_t *class)
{
	uint32_t i;

	for (i = 0; i < WH_CLASSES; i++)
		if (!strcmp(classes[i], text)) {
			*class = i;
			return 0;
		}
	return -1;
}

const char *wh_limit_class_why(const char *text)
{
	static char why[120];

	snprintf(why, sizeof(why), "'%.60s' is neither low, normal nor high", text);
	return why;
}

const char *wh_limit_class_name(uint32_t class)
{
	return classes[class < WH_CLASSES ? class : WH_CLASS_NORMAL];
}

static const struct {
	const char *name;
	uint32_t policy;
} policies[] = {
	{ "temporal", WH_SM_TEMPORAL },
	{ "spatial", WH_SM_SPATIAL },
	{ "both", WH_SM_TEMPORAL | WH_SM_SPATIAL },
};
#define POLICIES (sizeof(policies) / sizeof(*policies))

int wh_limit_policy(const char *text, uint32_t *policy)
{
	size_t i;

	for (i = 0; i < POLICIES; i++) {
		if (strcmp(policies[i].name, text))
			continue;
		*policy = policies[i].policy;
		return 0;
	}
	return -1;
}

const char *wh_limit_policy_name(uint32_t policy)
{
	size_t i;

	for (i = 0; i < POLICIES; i++)
		if (policies[i].policy == policy)
			return policies[i].name;
	return "none";
}

struct wh_limit_spec *wh_limit_of(struct wh_limit_list *l, int device)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (l->spec[i].device == device)
			return &l->spec[i];
	l->spec[l->n] = (struct wh_limit_spec){ .device = device };
	return &l->spec[l->n++];
}

static void merge_spec(struct wh_limit_spec *to, const struct wh_limit_spec *s)
{
	if (s->has_memory) {
		to->has_memory = 1;
		to->memory = s->memory;
		to->memory_percent = s->memory_percent;
	}
	if (s->has_sm) {
		to->has_sm = 1;
		to->sm_percent = s->sm_percent;
	}
	if (s->has_max) {
		to->has_max = 1;
		to->sm_max = s->sm_max;
	}
	if (s->has_policy) {
		to->has_policy = 1;
		to->sm_policy = s->sm_policy;
	}
	if (s->has_class) {
		to->has_class = 1;
		to->sm_class = s->sm_class;
	}
}

/* Takes from the entries of single devices what was now said for all. */
static void forget_single(struct wh_limit_list *l, const struct wh_limit_spec *all)
{
	int i;

	for (i = 0; i < l->n; i++) {
		if (l->spec[i].device == WH_ALL_DEVICES)
			continue;
		l->spec[i].has_memory &= !all->has_memory;
		l->spec[i].has_sm &= !all->has_sm;
		l->spec[i].has_max &= !all->has_max;
		l->spec[i].has_policy &= !all->has_policy;
		l->spec[i].has_class &= !all->has_class;
	}
}

void wh_limit_merge(struct wh_limit_list *l, const struct wh_limit_list *later)
{
	int i;

	for (i = 0; i < later->n; i++)
		if (later->spec[i].device == WH_ALL_DEVICES)
			forget_single(l, &later->spec[i]);
	for (i = 0; i < later->n; i++)
		merge_spec(wh_limit_of(l, later->spec[i].device), &later->spec[i]);
	if (later->has_host) {
		l->has_host = 1;
		l->host = later->host;
	}
	if (later->has_kernel) {
		l->has_kernel = 1;
		l->kernel_ms = later->kernel_ms;
	}
	if (later->nccl != WH_NCCL_UNSAID)
		l->nccl = later->nccl;
	if (later->counters != WH_COUNTERS_UNSAID)
		l->counters = later->counters;
}

/* --- DEVICE:mem=SIZE,sm=PERCENT,... ------------------------------------------------ */

static int take_word(struct wh_limit_spec *s, const char *key, const char *value,
		     char *err, size_t err_size)
{
	if (!strcmp(key, "mem")) {
		if (!wh_limit_memory(value, s))
			return 0;
		snprintf(err, err_size, "mem: %s", wh_limit_memory_why(value));
	} else if (!strcmp(key, "sm")) {
		s->has_sm = 1;
		if (!wh_limit_percent(value, &s->sm_percent))
			return 0;
		snprintf(err, err_size, "sm: '%s' is not a percentage from 1 to 100, or none", value);
	} else if (!strcmp(key, "sm-max")) {
		s->has_max = 1;
		if (!wh_limit_ceiling(value, &s->sm_max))
			return 0;
		snprintf(err, err_size, "sm-max: %s", wh_limit_ceiling_why(value));
	} else if (!strcmp(key, "priority")) {
		s->has_class = 1;
		if (!wh_limit_class(value, &s->sm_class))
			return 0;
		snprintf(err, err_size, "priority: %s", wh_limit_class_why(value));
	} else if (!strcmp(key, "policy")) {
		s->has_policy = 1;
		if (!wh_limit_policy(value, &s->sm_policy))
			return 0;
		snprintf(err, err_size, "policy: '%s' is neither temporal, spatial nor both", value);
	} else {
		snprintf(err, err_size, "'%s' is none of mem=, sm=, sm-max=, policy=, priority=",
			 key);
	}
	return -1;
}

/* Takes the device's number before the colon, if there is one; -2 for a bad one. */
static int take_device(const char **text)
{
	const char *colon = strchr(*text, ':');
	char *end;
	long v;

	if (!colon)
		return WH_ALL_DEVICES;
	v = strtol(*text, &end, 10);
	if (end != colon || end == *text || v < 0 || v >= WH_TENANT_DEVICES)
		return -2;
	*text = colon + 1;
	return (int)v;
}

int wh_limit_parse(struct wh_limit_list *l, const char *text, char *err, size_t err_size)
{
	const char *words = text;
	int device = take_device(&words), rc = 0;
	struct wh_limit_spec *s;
	char *copy, *save = NULL, *word, *eq;

	if (device == -2 || !*words) {
		snprintf(err, err_size, "'%s' is not DEVICE:mem=SIZE,sm=PERCENT,policy=POLICY with "
			 "DEVICE from 0 to %d", text, WH_TENANT_DEVICES - 1);
		return -1;
	}
	s = wh_limit_of(l, device);
	copy = strdup(words);
	if (!copy) {
		snprintf(err, err_size, "out of memory");
		return -1;
	}
	for (word = strtok_r(copy, ",", &save); word && !rc; word = strtok_r(NULL, ",", &save)) {
		eq = strchr(word, '=');
		if (eq)
			*eq++ = 0;
		rc = take_word(s, word, eq ? eq : "", err, err_size);
	}
	free(copy);
	return rc;
}

/* --- The lesser of two limits --------------------------------------------------------- */

static const struct wh_limit_spec *find(const struct wh_limit_list *l, int device)
{
	int i;

	for (i = 0; i < l->n; i++)
		if (l->spec[i].device == device)
			return &l->spec[i];
	return NULL;
}

/* What is said of a device holds before what is said of all. */
static struct wh_limit_spec effective(const struct wh_limit_list *l, int device)
{
	const struct wh_limit_spec *of[] = { find(l, WH_ALL_DEVICES), find(l, device) };
	struct wh_limit_spec out = { .device = device, .sm_percent = 100 };
	int i;

	for (i = 0; i < 2; i++)
		if (of[i])
			merge_spec(&out, of[i]);
	return out;
}

/* Who says nothing of a ceiling or a class wants no other. */
static void lower(struct wh_limit_spec *out, const struct wh_limit_spec *want)
{
	if (out->has_max && want->has_max && want->sm_max < out->sm_max)
		out->sm_max = want->sm_max;
	if (want->has_class && wh_class_order(want->sm_class) < wh_class_order(out->sm_class)) {
		out->has_class = 1;
		out->sm_class = want->sm_class;
	}
}

/* Of memory 0 is no limit, so every other number is less. */
static struct wh_limit_spec lesser(const struct wh_limit_list *a, const struct wh_limit_list *b,
				   int device)
{
	struct wh_limit_spec out = effective(a, device), want = effective(b, device);

	if (want.memory && (!out.memory || want.memory < out.memory))
		out.memory = want.memory;
	if (want.memory_percent &&
	    (!out.memory_percent || want.memory_percent < out.memory_percent))
		out.memory_percent = want.memory_percent;
	if (want.sm_percent < out.sm_percent)
		out.sm_percent = want.sm_percent;
	lower(&out, &want);
	/* Of one device, no limit is said as well, since it replaces that of all. */
	out.has_memory = device != WH_ALL_DEVICES || out.memory || out.memory_percent;
	out.has_sm = device != WH_ALL_DEVICES || out.sm_percent < 100;
	return out;
}

void wh_limit_narrow(struct wh_limit_list *l, const struct wh_limit_list *to)
{
	struct wh_limit_list out = *l;
	struct wh_limit_spec s;
	int device;

	out.n = 0;
	for (device = WH_ALL_DEVICES; device < WH_TENANT_DEVICES; device++) {
		if (device != WH_ALL_DEVICES && !find(l, device) && !find(to, device))
			continue;
		s = lesser(l, to, device);
		if (wh_spec_said(&s))
			out.spec[out.n++] = s;
	}
	*l = out;
}
