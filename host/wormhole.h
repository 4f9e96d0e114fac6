/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the parts of the `wormhole` command share. Functions that can fail
 * return 0 or a negative errno; or they print a message and return the command's exit
 * status (cmd_*).
 */
#ifndef WORMHOLE_HOST_WORMHOLE_H
#define WORMHOLE_HOST_WORMHOLE_H

#include <argp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "tenant/text.h"
#include "wormhole_abi.h"

/* The series' own number: the machine's <linux/kvm.h> may be older. */
#ifndef KVM_CAP_X86_WORMHOLE
#define KVM_CAP_X86_WORMHOLE	250
#endif

#define WH_CONTROL_DEVICE	"/dev/kvm-wormhole"
#define WH_VERSION		"0.1"

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE };

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
};

/* Runs the entry of a table that argv[1] names. argv[0] becomes "wormhole x". */
int wh_command_dispatch(const struct command *table, const char *path, int argc,
			char **argv);

/* Print messages on stderr, with a level. The last words are the next step. */
__attribute__((format(printf, 1, 2))) void wh_error(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) void wh_verror(const char *fmt, va_list ap);
__attribute__((format(printf, 1, 2))) void wh_warn(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void wh_info(const char *fmt, ...);
/* End the command with a message if there is no memory. wh_must() returns @p if there is some. */
__attribute__((noreturn)) void wh_no_memory(void);
void *wh_must(void *p);
/* The same for a text that is written as a file (tenant/text.h). */
FILE *wh_text_begin(struct wh_text *t);
char *wh_text_end(FILE *f, struct wh_text *t);
void wh_setenv(const char *name, const char *value);

/* Parse argp options: numbers within a range, and sizes as wh_limit_bytes() has them, but zero. */
int wh_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);
int wh_parse_size(const char *text, uint64_t *bytes);

/* --- arguments.c -------------------------------------------------------------------------- */

/* Calls argp_parse(). It would leave options unread if memory is missing; this ends the command. */
void wh_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
/* Ends the command with a message, and with argp's hint. It takes the place of argp_error(). */
__attribute__((noreturn, format(printf, 2, 3)))
void wh_usage_error(const struct argp_state *state, const char *fmt, ...);
/* Parses a number as above, which is called @what. An error ends the command. */
uint64_t wh_arg_u64(struct argp_state *state, const char *what, const char *text,
		    uint64_t min, uint64_t max);

/* --- draft.c ------------------------------------------------------------------------------ */

/*
 * Opens a new file that replaces the one at @path. Returns NULL with errno; EINVAL for a
 * device or a pipe.
 */
FILE *wh_file_anew(const char *path, mode_t mode);
/*
 * Opens a file with exactly this mode. It is hidden beside @path until it is renamed, so
 * readers find the last complete file.
 */
FILE *wh_draft_open(const char *path, mode_t mode, char **draft);
/* Closes @f and frees @draft. Returns false with errno if @path is unchanged. */
bool wh_draft_done(FILE *f, char *draft, const char *path);

/* --- kvm.c: the host's KVM, through its documented interfaces ---------------- */

int wh_kvm_extension(int cap);		/* value, or -errno */
int wh_control_open(void);		/* fd that no program inherits, or -errno */
int wh_control_version(int fd);		/* ABI version, or -errno */
/*
 * Makes a role descriptor for the next VM of this process. It is inherited across exec. Or
 * -errno.
 */
int wh_control_create_role(int fd, uint64_t id, uint32_t role);
int wh_control_allow(int fd, const struct wh_host_allow *allow);
int wh_control_deny(int fd, uint64_t client);
int wh_control_kill(int fd, uint64_t id);
int wh_control_stat(int fd, uint64_t id, struct wh_host_stat *stat);
/* Opens the device and compares versions. Prints a message and returns -errno if that fails. */
int wh_control_open_checked(void);

/* --- names.c ---------------------------------------------------------------- */

const char *wh_name_role(uint32_t role);
int wh_role_by_name(const char *name, uint32_t *role);
/* These return NULL if the number has no name. */
const char *wh_name_exit(unsigned int reason);
const char *wh_name_handoff(unsigned int reason);

/* --- registry.c: the VMs that `wormhole run` started ------------------------- */

struct wh_vm {
	uint64_t id;
	uint32_t role;
	pid_t pid;
	char name[64];
	const char *console;	/* to add a VM: its console's file; NULL: none */
};

int wh_registry_add(const struct wh_vm *vm);
void wh_registry_remove(uint64_t id);
/* Lists living VMs in the order of their ids. Returns their number, or -errno. */
int wh_registry_list(struct wh_vm *vms, int max);
/*
 * Finds the file of a living VM's console. Returns 0, -ENOENT (no such VM) or -ENODATA (no
 * file).
 */
int wh_registry_console(uint64_t id, char *path, size_t size);
/* Returns the path where QEMU listens for requests to a server VM's supervisor. */
void wh_registry_channel(uint64_t id, char *path, size_t size);
/* Finds a living VM. */
bool wh_registry_find(uint64_t id, struct wh_vm *vm);
/* Returns a descriptor of a living VM's process, or -errno. */
int wh_registry_open(uint64_t id, struct wh_vm *vm);

/* The window of a permission that lasts for the attached programs alone: no worker serves it. */
#define WH_NO_WINDOW		UINT32_MAX
#define WH_REGISTRY_ALLOWS	512

/* Notes a permission, which the kernel has but does not show. Returns 0 or -errno. */
int wh_registry_allow(const struct wh_host_allow *a);
/* Forgets those to a client VM, or to a server VM; 0: any. */
void wh_registry_deny(uint64_t client, uint64_t server);
/* Lists those to a server VM, at most WH_REGISTRY_ALLOWS. Returns their number. */
int wh_registry_allowed(uint64_t server, struct wh_host_allow *list);

/* --- commands ----------------------------------------------------------------- */

int cmd_check(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_drain(int argc, char **argv);
int cmd_suspend(int argc, char **argv);
int cmd_resume(int argc, char **argv);
int cmd_move(int argc, char **argv);
int cmd_reload(int argc, char **argv);
int cmd_stop(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_limit(int argc, char **argv);
int cmd_tenant(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_cdi(int argc, char **argv);
int cmd_slurm(int argc, char **argv);
int cmd_image(int argc, char **argv);
int cmd_server(int argc, char **argv);
int cmd_client(int argc, char **argv);
int cmd_xml(int argc, char **argv);
int cmd_allow(int argc, char **argv);
int wh_server_start(int argc, char **argv);
int wh_server_replace(int argc, char **argv);
int cmd_deny(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_logs(int argc, char **argv);

/*
 * Gives the next VM of this process a role. It lasts as long as the VM, and as this process
 * and the program that it becomes.
 */
int wh_run_role(const struct wh_vm *vm);
/* Returns the path where execvp() finds a program, or NULL. The caller frees it. */
char *wh_run_find(const char *program);
/*
 * Becomes argv, which must run the VM that has the role. It runs without CAP_SYS_ADMIN,
 * with which it could control other VMs. Returns only on an error.
 */
int wh_run_exec(const struct wh_vm *vm, char **argv);

#endif
