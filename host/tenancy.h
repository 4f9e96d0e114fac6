/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations for the commands that deal with tenants of a server on this machine. */
#ifndef WORMHOLE_HOST_TENANTS_H
#define WORMHOLE_HOST_TENANTS_H

#include <argp.h>
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "tenant/spec.h"

/* --- layout.c: returns allocated paths ----------------------------------------- */

/*
 * Finds a file or folder of ours, such as "server/wormhole-server". Returns NULL if it is
 * missing.
 */
char *wh_layout_find(const char *rel);
/*
 * Returns the folder of the server that a command speaks to: `named` (--dir) or $WORMHOLE_DIR; for
 * root /run/wormhole; for others $XDG_RUNTIME_DIR/wormhole if a server is there, else
 * /run/wormhole.
 */
char *wh_server_dir(const char *named);
/* Returns " or DIR" if wh_server_dir() has looked in vain in a second folder, else "". */
const char *wh_server_dir_else(void);
/* Is there a server's socket, whether this user may use it or not? */
bool wh_server_is_in(const char *dir);
/* Returns the folder of a server that this user starts. */
char *wh_serve_dir(const char *named);
/* Finds NVIDIA's libcuda.so.1. Returns NULL if this machine has none. */
char *wh_find_driver(void);
bool wh_is_client_stub(const char *path);

/* --- tenant_client.c ------------------------------------------------------------- */

/* Connects to the control socket. Returns -1 after a message. */
int wh_server_connect(const char *dir);
int wh_server_reach(const char *dir);	/* the same, with errno in place of a message */
/* Sends a request, frees it, and returns the answer, or NULL after a message. */
cJSON *wh_server_ask(int fd, cJSON *request);
/* Does the same, and returns the file that comes with the answer; -1 after a message. */
int wh_server_ask_file(int fd, cJSON *request);
cJSON *wh_request(const char *op, const char *tenant);
void wh_request_limits(cJSON *request, const struct wh_limit_list *list);
/* Adds the devices of --devices. NULL adds nothing. */
void wh_request_devices(cJSON *request, const char *list);
/*
 * Returns the answer to a request without arguments, or NULL without a message if it takes
 * longer than @ms.
 */
cJSON *wh_server_glance(const char *dir, const char *op, int ms);
/* Connects, asks and closes. Frees the request, and returns NULL after a message. */
cJSON *wh_server_answer(const char *dir, cJSON *request);
/* Does the same, and returns the command's exit status. */
int wh_server_do(const char *dir, cJSON *request);

/* Children of a command's argp. Their inputs are a list of limits and a const char * each. */
extern const struct argp wh_limit_argp, wh_dir_argp, wh_devices_argp;
extern const struct argp_child wh_dir_only[];

/* --- json.c ------------------------------------------------------------------------ */

/* Writes an integer exactly, however large it is. @object is a cJSON object. */
void wh_json_u64(void *object, const char *name, uint64_t value);
void wh_json_print(const cJSON *o);

/* --- tenant_conf.c: `wormhole tenant check, export, import' ------------------------ */

int wh_tenant_check(int argc, char **argv);
int wh_tenant_export(int argc, char **argv);
int wh_tenant_import(int argc, char **argv);

/* --- run_tenant.c ------------------------------------------------------------------ */

struct wh_run_tenant {
	const char *dir, *tenant, *user;
	const char *devices;	/* as given; NULL: all */
	const char *trace;	/* the file to write; NULL: no trace */
	uint64_t trace_size;
	struct wh_limit_list limits;
	char **argv;
};

/* Becomes the program. Returns only on an error. */
int wh_run_tenant(const struct wh_run_tenant *r);

/* --- cmd_suspend.c -------------------------------------------------------------------- */

/* Asks to suspend, resume or move, and waits for the end of that. Returns the exit status. */
int wh_suspend_ask(const char *dir, cJSON *request);
/* Reads the value of --wait, in milliseconds. */
uint64_t wh_suspend_wait(const struct argp_state *state, const char *arg);

/* --- protection.c -------------------------------------------------------------------- */

/* Protections, in the order of protection.c's table. */
struct wh_protections {
	bool known;		/* false: no server has reported any */
	struct {
		bool on;
		char detail[128];
	} one[7];
};

void wh_protections_of_server(const char *dir, struct wh_protections *out);
/* Finds the protections that a server of this user would have here. */
void wh_protections_of_machine(struct wh_protections *out);
/* Prints the lines of `wormhole check'. */
void wh_protections_check(void);
void wh_protections_print(const struct wh_protections *p);
cJSON *wh_protections_json(const struct wh_protections *p);
/* Returns the name of one[i], or NULL after the last. */
const char *wh_protection_name(unsigned int i);

/* --- libraries.c ----------------------------------------------------------------------- */

cJSON *wh_libraries_json(const char *dir);	/* {"cudnn": ["9.19.0", "9.14.0"]} */
void wh_libraries_print(const cJSON *libraries);

/* --- devices.c ------------------------------------------------------------------------- */

cJSON *wh_devices_json(const char *dir);	/* [{"name": "NVIDIA H200", "uuid": "GPU-..."}] */
void wh_devices_print(const cJSON *devices);
/* Adds name and UUID of this device to an object, if the server has said them. */
void wh_device_json(const cJSON *devices, unsigned int number, cJSON *o);

#endif
