/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of the commands about tenants of a server on this machine. */
#ifndef WORMHOLE_HOST_TENANTS_H
#define WORMHOLE_HOST_TENANTS_H

#include <argp.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "tenant/spec.h"

/* --- layout.c: allocated paths ------------------------------------------------ */

/* A file or folder of ours, such as "server/wormhole-server"; NULL: it is not there. */
char *wh_layout_find(const char *rel);
char *wh_server_dir(const char *named);
/* NVIDIA's libcuda.so.1; NULL: this machine has none. */
char *wh_find_driver(void);
bool wh_is_client_stub(const char *path);

/* --- tenant_client.c ------------------------------------------------------------- */

/* The control socket; -1 after a message. */
int wh_server_connect(const char *dir);
/* The answer to the request, which is freed; NULL after a message. */
cJSON *wh_server_ask(int fd, cJSON *request);
/* The same for the file that comes with the answer; -1 after a message. */
int wh_server_ask_file(int fd, cJSON *request);
cJSON *wh_request(const char *op, const char *tenant);
void wh_request_limits(cJSON *request, const struct wh_limit_list *list);
/* Of --devices; NULL: nothing is said. */
void wh_request_devices(cJSON *request, const char *list);
/* The answer to a request without arguments, within ms, or NULL without a word. */
cJSON *wh_server_glance(const char *dir, const char *op, int ms);
/* Connect, ask, close: the command's exit status. */
int wh_server_do(const char *dir, cJSON *request);

/* Children of a command's argp: their inputs are a list of limits and a const char * each. */
extern const struct argp wh_limit_argp, wh_dir_argp, wh_devices_argp;

/* --- json.c ------------------------------------------------------------------------ */

/* An integer as it is, however large; object is a cJSON object. */
void wh_json_u64(void *object, const char *name, uint64_t value);
void wh_json_print(const cJSON *o);

/* --- run_tenant.c ------------------------------------------------------------------ */

struct wh_run_tenant {
	const char *dir, *tenant, *user;
	const char *devices;	/* as said; NULL: all */
	const char *trace;	/* a file; NULL: none */
	uint64_t trace_size;
	struct wh_limit_list limits;
	char **argv;
};

/* Becomes the program; returns on error. */
int wh_run_tenant(const struct wh_run_tenant *r);

/* --- protection.c -------------------------------------------------------------------- */

/* In the order of protection.c's table. */
struct wh_protections {
	bool known;		/* false: no server has said anything */
	struct {
		bool on;
		char detail[128];
	} one[7];
};

void wh_protections_of_server(const char *dir, struct wh_protections *out);
/* What a server of this user would find here. */
void wh_protections_of_machine(struct wh_protections *out);
/* Lines of `wormhole check'. */
void wh_protections_check(void);
void wh_protections_print(const struct wh_protections *p);
cJSON *wh_protections_json(const struct wh_protections *p);
/* The name of one[i], or NULL behind the last. */
const char *wh_protection_name(unsigned int i);

/* --- libraries.c ----------------------------------------------------------------------- */

cJSON *wh_libraries_json(const char *dir);	/* {"cudnn": ["9.19.0", "9.14.0"]} */
void wh_libraries_print(const cJSON *libraries);

#endif
