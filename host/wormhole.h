/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the parts of the `wormhole` command. Functions that
 * can fail return 0 or a negative errno, or have said what failed and return
 * the command's exit status (cmd_*).
 */
#ifndef WORMHOLE_HOST_WORMHOLE_H
#define WORMHOLE_HOST_WORMHOLE_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "wormhole_abi.h"

/* The series' own: the machine's <linux/kvm.h> may be older. */
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

/* Runs the entry of a table that argv[1] names; argv[0] says "wormhole x". */
int wh_command_dispatch(const struct command *table, const char *path, int argc,
			char **argv);

/* Messages on stderr, with a level and, as last words, the next step. */
__attribute__((format(printf, 1, 2))) void wh_error(const char *fmt, ...);
/* A command that has no memory ends, and says so: p if there is some. */
__attribute__((noreturn)) void wh_no_memory(void);
void *wh_must(void *p);
/* Of an open_memstream(), whose end does not say that there was no memory for its last step. */
char *wh_text_end(FILE *f, char *const *text);
void wh_setenv(const char *name, const char *value);
/* argp_parse(), which for want of memory would leave options unread: then the command ends. */
void wh_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input);
__attribute__((format(printf, 1, 2))) void wh_warn(const char *fmt, ...);

/* argp options: numbers within a range, sizes with K, M or G. */
int wh_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value);
int wh_parse_size(const char *text, uint64_t *bytes);
/* The same for an argument `what`; an error ends the program with usage. */
uint64_t wh_arg_u64(struct argp_state *state, const char *what, const char *text,
		    uint64_t min, uint64_t max);

/* --- draft.c ------------------------------------------------------------------------------ */

/* A new file in the place of what was at path; NULL and errno, EINVAL for a device or a pipe. */
FILE *wh_file_anew(const char *path, mode_t mode);
/* With this very mode, hidden beside path until it is renamed: readers find the last whole one. */
FILE *wh_draft_open(const char *path, mode_t mode, char **draft);
/* Ends f and draft; false and errno where path is as before. */
bool wh_draft_done(FILE *f, char *draft, const char *path);

/* --- kvm.c: the host's KVM, by its documented interfaces ------------------ */

int wh_kvm_extension(int cap);		/* value, or -errno */
int wh_control_open(void);		/* fd that no other program inherits, or -errno */
int wh_control_version(int fd);		/* ABI version, or -errno */
/* A role descriptor, inherited across exec, for the next VM of this process; or -errno. */
int wh_control_create_role(int fd, uint64_t id, uint32_t role);
int wh_control_allow(int fd, const struct wh_host_allow *allow);
int wh_control_deny(int fd, uint64_t client);
int wh_control_kill(int fd, uint64_t id);
int wh_control_stat(int fd, uint64_t id, struct wh_host_stat *stat);
/* Opens the device and compares versions; explains and returns -errno. */
int wh_control_open_checked(void);

/* --- names.c ---------------------------------------------------------------- */

const char *wh_name_role(uint32_t role);
int wh_role_by_name(const char *name, uint32_t *role);
/* NULL where the number has no name. */
const char *wh_name_exit(unsigned int reason);
const char *wh_name_handoff(unsigned int reason);

/* --- registry.c: what `wormhole run` started -------------------------------- */

struct wh_vm {
	uint64_t id;
	uint32_t role;
	pid_t pid;
	char name[64];
	const char *console;	/* of one that is added: a file; NULL: none */
};

int wh_registry_add(const struct wh_vm *vm);
void wh_registry_remove(uint64_t id);
/* Living VMs in order of id; returns their number, or -errno. */
int wh_registry_list(struct wh_vm *vms, int max);
/* The file of a living VM's console: 0, -ENOENT (no such VM) or -ENODATA (none). */
int wh_registry_console(uint64_t id, char *path, size_t size);
/* Where QEMU listens for what is meant for a server VM's supervisor. */
void wh_registry_channel(uint64_t id, char *path, size_t size);

/* --- commands ----------------------------------------------------------------- */

int cmd_check(int argc, char **argv);
int cmd_serve(int argc, char **argv);
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
int cmd_deny(int argc, char **argv);
int cmd_kill(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_metrics(int argc, char **argv);
int cmd_logs(int argc, char **argv);

/* Gives the next VM of this process a role, for as long as it and what it becomes live. */
int wh_run_role(const struct wh_vm *vm);
/* Where execvp() finds a program, or NULL; to be freed. */
char *wh_run_find(const char *program);
/*
 * Becomes argv, which is to run the VM that has the role: without CAP_SYS_ADMIN, by
 * which it could control others. Returns on error.
 */
int wh_run_exec(const struct wh_vm *vm, char **argv);

#endif
