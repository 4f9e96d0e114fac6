/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of requests at the control socket. Functions write one line into err where they fail. */
#ifndef WORMHOLE_REQUEST_H
#define WORMHOLE_REQUEST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tenant/spec.h"

/*
 * The keys that a request may have. Any other key is refused by name: with a misspelled word a
 * request would mean less than was wanted, for example a tenant without its limit.
 */
enum type { TEXT, NUMBER, FLAG, LIST, OBJECT };

struct key {
	const char *name;
	enum type type;
};

#define MAX_KEYS	13

/* Checks that an object has only these keys, each with its type and only once. */
bool wh_request_keys(const cJSON *o, const char *what, const struct key keys[MAX_KEYS],
		     char *err, size_t err_size);
const char *wh_request_text(const cJSON *o, const char *key);
/* Reads an integer from min to max. *has is false if it is absent. */
bool wh_request_number(const cJSON *o, const char *key, double min, double max, double *v,
		       bool *has, char *err, size_t err_size);
bool wh_request_limits(const cJSON *o, struct wh_limit_list *list, char *err, size_t err_size);
/* Reads the values that belong to no device. */
bool wh_request_host(const cJSON *o, struct wh_limit_list *list, char *err, size_t err_size);
/* Reads devices, a bit each; *out is 0 if none are named. */
bool wh_request_devices(const cJSON *o, uint32_t *out, char *err, size_t err_size);

#endif
