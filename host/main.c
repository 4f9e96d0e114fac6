// SPDX-License-Identifier: Apache-2.0
/*
 * The `wormhole` command: the table of its commands, how they are found, and the functions
 * for messages that they share. Results go to stdout, messages to stderr. The
 * exit status is 0 for done, 1 for failed, 2 for wrong usage.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "completion.h"
#include "tenant/spec.h"
#include "wormhole.h"

static int cmd_version(int argc, char **argv)
{
	static const struct argp argp = { .doc = "Print the version, and that of the ABI." };

	wh_parse(&argp, argc, argv, 0, NULL);
	printf("wormhole %s, ABI %d\n", WH_VERSION, WH_ABI_VERSION);
	return EXIT_DONE;
}

static int cmd_completion(int argc, char **argv);

static const struct command commands[] = {
	{ "check", cmd_check, "say what this host has and lacks" },
	{ "serve", cmd_serve, "serve CUDA programs of this machine" },
	{ "drain", cmd_drain, "let that server take no new programs" },
	{ "reload", cmd_reload, "let that server become the program that is installed now" },
	{ "stop", cmd_stop, "end that server" },
	{ "run", cmd_run, "run a CUDA program with limits, or a VMM whose VM gets a role" },
	{ "trace", cmd_trace, "write what a tenant's programs do, as a Chrome trace" },
	{ "limit", cmd_limit, "change a tenant's limits" },
	{ "suspend", cmd_suspend, "take a tenant off its devices, while its programs wait" },
	{ "resume", cmd_resume, "let a suspended tenant go on" },
	{ "move", cmd_move, "let a tenant go on on another device" },
	{ "slurm", cmd_slurm, "what Slurm has to know of this node" },
	{ "tenant", cmd_tenant, "make, remove and list tenants" },
	{ "cdi", cmd_cdi, "let containers be a tenant's clients" },
	{ "image", cmd_image, "make the image of a server VM with a GPU" },
	{ "server", cmd_server, "start or replace a server VM" },
	{ "client", cmd_client, "start a client VM" },
	{ "xml", cmd_xml, "print a server or client VM as a domain of libvirt" },
	{ "allow", cmd_allow, "let a client VM attach to a server VM" },
	{ "deny", cmd_deny, "take that back and detach the client VM" },
	{ "kill", cmd_kill, "detach every pair of a VM, as if it had died" },
	{ "stat", cmd_stat, "show the counters of tenants and VMs" },
	{ "top", cmd_top, "show what tenants and VMs do now, again and again" },
	{ "metrics", cmd_metrics, "print the figures of tenants and VMs for Prometheus" },
	{ "logs", cmd_logs, "show what the server, a tenant's workers or a VM have written" },
	{ "completion", cmd_completion, "print what bash needs to complete this command's words" },
	{ "version", cmd_version, "print the version" },
	{ NULL, NULL, NULL }
};

/* Only bash is supported, so its name is the only word. */
static error_t parse_completion(int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_NO_ARGS)
		wh_usage_error(state, "name the shell: bash");
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (strcmp(arg, "bash"))
		wh_usage_error(state, "'%s': there is bash alone", arg);
	return 0;
}

static int cmd_completion(int argc, char **argv)
{
	static const struct argp argp = {
		NULL, parse_completion, "[bash]",
		"Print what bash needs to complete this command's words, from the commands' own tables.",
		NULL, NULL, NULL
	};

	wh_parse(&argp, argc, argv, 0, NULL);
	wh_completion_print(commands);
	return EXIT_DONE;
}

/* The begin is the same for every message that a user of the command sees (CONTRIBUTING.md). */
static void vmessage(const char *level, const char *fmt, va_list ap)
{
	fflush(stdout);
	fprintf(stderr, "wormhole: %s: ", level);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void wh_verror(const char *fmt, va_list ap)
{
	vmessage("error", fmt, ap);
}

void wh_error(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	wh_verror(fmt, ap);
	va_end(ap);
}

void wh_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmessage("warn", fmt, ap);
	va_end(ap);
}

void wh_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vmessage("info", fmt, ap);
	va_end(ap);
}

int wh_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-')
		return -EINVAL;
	if (v < min || v > max)
		return -ERANGE;
	*value = v;
	return 0;
}

int wh_parse_size(const char *text, uint64_t *bytes)
{
	return wh_limit_bytes(text, bytes) || !*bytes ? -EINVAL : 0;
}

static void usage(FILE *f, const struct command *table, const char *path)
{
	const struct command *c;

	fprintf(f, "Usage: %s COMMAND [ARGUMENT...]\n\n", path);
	for (c = table; c->name; c++)
		fprintf(f, "  %-10s %s\n", c->name, c->help);
	fprintf(f, "\n`%s COMMAND --help' says more.\n", path);
}

int wh_command_dispatch(const struct command *table, const char *path, int argc,
			char **argv)
{
	const struct command *c;
	char name[64];

	if (wh_listing()) {
		wh_list_commands(table, path);
		return EXIT_DONE;
	}
	if (argc < 2) {
		usage(stderr, table, path);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout, table, path);
		return EXIT_DONE;
	}
	if (table == commands && !strcmp(argv[1], "--version"))
		return cmd_version(argc - 1, argv + 1);
	for (c = table; c->name; c++) {
		if (strcmp(argv[1], c->name))
			continue;
		snprintf(name, sizeof(name), "%s %s", path, c->name);
		argv[1] = name;
		return c->run(argc - 1, argv + 1);
	}
	wh_error("no command '%s'; `%s --help' lists them", argv[1], path);
	return EXIT_USAGE;
}

void wh_no_memory(void)
{
	fputs("wormhole: error: out of memory\n", stderr);
	exit(EXIT_FAILURE);
}

void *wh_must(void *p)
{
	if (!p)
		wh_no_memory();
	return p;
}

FILE *wh_text_begin(struct wh_text *t)
{
	return wh_must(wh_text_open(t));
}

char *wh_text_end(FILE *f, struct wh_text *t)
{
	return wh_must(wh_text_close(f, t));
}

/* Without one of our variables a program would run without our libraries, or without its limits. */
void wh_setenv(const char *name, const char *value)
{
	if (setenv(name, value, 1))
		wh_no_memory();
}

static void *must_malloc(size_t size)
{
	return wh_must(malloc(size));
}

/* A command whose output could not be written has failed. */
static int end(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	wh_error("standard output cannot be written: %s", strerror(errno));
	return status ? status : EXIT_FAILED;
}

int main(int argc, char **argv)
{
	cJSON_Hooks hooks = { must_malloc, free };

	cJSON_InitHooks(&hooks);
	argp_err_exit_status = EXIT_USAGE;
	return end(wh_command_dispatch(commands, "wormhole", argc, argv));
}
