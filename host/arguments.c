// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments of commands, by argp. Its messages begin with the command's name, and ours with
 * "wormhole: error: ", which is what people look for. So argp and getopt get that for a name, and
 * the command's own name only where they name the command.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "completion.h"
#include "wormhole.h"

/* What the parser around a command's own one knows. */
struct around {
	char **argv;
	void *input;
};

void wh_usage_error(const struct argp_state *state, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	wh_verror(fmt, ap);
	va_end(ap);
	argp_state_help(state, stderr, ARGP_HELP_STD_ERR);
	exit(EXIT_USAGE);
}

/*
 * getopt's messages begin with argv[0]. argp takes the short name of this program instead where it
 * finds another argv than the one that it was given.
 */
static void name_messages(struct argp_state *state, char **argv)
{
	static char prefix[] = "wormhole: error";

	program_invocation_short_name = argv[0];
	argv[0] = prefix;
	state->argv = argv;
}

enum { KEY_USAGE = 0x7000 };

/* argp's own table has the short form -? alone, which is a pattern to shells. */
static const struct argp_option help[] = {
	{ "help", 'h', NULL, 0, "Give this help list", -1 },
	{ NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "usage", KEY_USAGE, NULL, 0, "Give a short usage message", 0 },
	{ 0 }
};

static error_t parse_around(int key, char *arg, struct argp_state *state)
{
	struct around *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = a->input;
		name_messages(state, a->argv);
		return 0;
	case 'h':
	case '?':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* It comes last, so these are arguments that the command does not take. */
static error_t parse_rest(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != ARGP_KEY_ARGS)
		return ARGP_ERR_UNKNOWN;
	wh_usage_error(state, "'%s': one argument too many", state->argv[state->next]);
}

void wh_parse(const struct argp *argp, int argc, char **argv, unsigned int flags, void *input)
{
	static const struct argp rest = { .parser = parse_rest };
	struct argp own = *argp;
	const struct argp_child children[] = { { &own, 0, NULL, 0 }, { &rest, 0, NULL, 0 }, { 0 } };
	const struct argp all = {
		help, parse_around, argp->args_doc, argp->doc, children, NULL, NULL
	};
	struct around around = { argv, input };
	char *other[] = { argv[0], NULL };

	if (wh_listing())
		wh_list_argp(argp);
	own.args_doc = own.doc = NULL;
	if (argp_parse(&all, argc, other, flags | ARGP_NO_HELP, NULL, &around))
		wh_no_memory();
}

uint64_t wh_arg_u64(struct argp_state *state, const char *what, const char *text,
		    uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (wh_parse_u64(text, min, max, &value))
		wh_usage_error(state, "%s: '%s' is not a number from %llu to %llu", what, text,
			       (unsigned long long)min, (unsigned long long)max);
	return value;
}
