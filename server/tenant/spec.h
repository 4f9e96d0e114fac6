/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits as people write them: sizes, percentages, policies, and the form
 * DEVICE:mem=SIZE,sm=PERCENT,sm-max=PERCENT,policy=POLICY,priority=CLASS. The server, the
 * supervisor and the command share this.
 */
#ifndef WORMHOLE_TENANT_SPEC_H
#define WORMHOLE_TENANT_SPEC_H

#include <stddef.h>
#include <stdint.h>

#include "tenant/tenant.h"

#define WH_ALL_DEVICES	(-1)
#define WH_LIMIT_SPECS	(WH_TENANT_DEVICES + 1)

/* Limits for one device or for all of them; a limit that is not given stays as it is. */
struct wh_limit_spec {
	int device;		/* or WH_ALL_DEVICES */
	int has_memory, has_sm, has_max, has_policy, has_class;
	uint64_t memory;	/* bytes, 0: no limit */
	uint32_t memory_percent;	/* 1..100: of the device's memory; the lesser counts */
	uint32_t sm_percent;	/* 1..100; 100: no limit */
	uint32_t sm_max;	/* 1..100, WH_SM_NO_CEILING; 0: no more than sm_percent */
	uint32_t sm_policy;	/* WH_SM_* */
	uint32_t sm_class;	/* WH_CLASS_* */
};

/* Does it limit anything? */
static inline int wh_spec_said(const struct wh_limit_spec *s)
{
	return s->has_memory || s->has_sm || s->has_max || s->has_policy || s->has_class;
}

/* Whether workers of a tenant may meet by sockets. */
enum { WH_NCCL_NO = -1, WH_NCCL_UNSAID, WH_NCCL_YES };

/* Whether programs of a tenant may count by the hardware's counters. */
enum { WH_COUNTERS_NO = -1, WH_COUNTERS_UNSAID, WH_COUNTERS_YES };

/* A list of limits; a later limit for the same device changes the earlier one. */
struct wh_limit_list {
	struct wh_limit_spec spec[WH_LIMIT_SPECS];
	int n;
	int has_host;		/* host memory, which belongs to no device */
	uint64_t host;		/* bytes, 0: no limit */
	int has_kernel;		/* how long a launch may hold a device */
	uint64_t kernel_ms;	/* 0: no limit */
	/* WH_NCCL_*: it is no limit, but is set by the administrator, too */
	int nccl;
	/* WH_COUNTERS_*: the same */
	int counters;
};

/*
 * Reads a size: a number, whole or with up to nine digits after a point, and B, K, M, G or T of
 * either case, also as KiB and so on. A number without a unit is none: others read it as bytes or
 * as MiB. "none" and "0" are 0. 0 or -1.
 */
int wh_limit_bytes(const char *text, uint64_t *bytes);
/* Says what is wrong with a text that it has refused. The next call changes the line. */
const char *wh_limit_bytes_why(const char *text);
/*
 * Reads a device's memory into the limit: a size, "50%" of what the device has, or the lesser of
 * the two, "4G/50%". 0 or -1.
 */
int wh_limit_memory(const char *text, struct wh_limit_spec *s);
const char *wh_limit_memory_why(const char *text);
/*
 * HAMi's reading of a size, in which a number without a unit is bytes. Numbers have this base; 0:
 * as in C, with 0x for hexadecimal ones.
 */
int wh_limit_bytes_in(const char *text, int base, uint64_t *bytes);
/* Reads seconds, or with "ms" behind them milliseconds, at most a day; "none" is 0. 0 or -1. */
int wh_limit_time(const char *text, uint64_t *ms);
/* Does the list contain anything? */
int wh_limit_said(const struct wh_limit_list *l);
/* Reads 1 to 100, with or without "%"; "none" is 100. 0 or -1. */
int wh_limit_percent(const char *text, uint32_t *percent);
/* Reads a ceiling: 1 to 100, with or without "%", "none", or "hard" for the share. 0 or -1. */
int wh_limit_ceiling(const char *text, uint32_t *percent);
const char *wh_limit_ceiling_why(const char *text);
/* Reads low, normal or high. 0 or -1. */
int wh_limit_class(const char *text, uint32_t *class);
const char *wh_limit_class_why(const char *text);
const char *wh_limit_class_name(uint32_t class);
/* Reads temporal, spatial or both. 0 or -1. */
int wh_limit_policy(const char *text, uint32_t *policy);
const char *wh_limit_policy_name(uint32_t policy);
/* Returns the list's entry for the device, and makes it if there is none. */
struct wh_limit_spec *wh_limit_of(struct wh_limit_list *l, int device);
/* Amends the list by what was said later: what holds for all devices replaces what held for one. */
void wh_limit_merge(struct wh_limit_list *l, const struct wh_limit_list *later);
/*
 * Reads "0:mem=2G,sm=30,policy=both" into the list; without the number it holds for all devices
 * ("mem=2G"). 0, or -1 with one line in err.
 */
int wh_limit_parse(struct wh_limit_list *l, const char *text, char *err, size_t err_size);
/* Lowers limits of devices to those of another list; it raises none, and keeps policies. */
void wh_limit_narrow(struct wh_limit_list *l, const struct wh_limit_list *to);

#endif
