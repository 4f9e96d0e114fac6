// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole completion bash`: prints what bash needs to complete the words of this command.
 * It is written from the tables with which the commands parse: each command runs until it
 * would parse its arguments, and its table is listed instead. So a new option is completed
 * without a change here.
 */
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "completion.h"
#include "wormhole.h"

static struct {
	bool on;
	jmp_buf back;
	const char *path;	/* path of the command that is listed */
} listing;

bool wh_listing(void)
{
	return listing.on;
}

/* --- Kinds of values -------------------------------------------------------------------- */

/* The word for a value in the help text decides. For other words nothing is offered. */
static const struct {
	const char *name, *kind;
} kinds[] = {
	{ "DIR", "@dir" }, { "FILE", "@file" }, { "FILE[,SIZE]", "@file" }, { "LIBRARY", "@file" },
	{ "PATH", "@file" }, { "USER", "@user" }, { "TENANT", "@tenant" },
	{ "POLICY", "temporal spatial both" }, { "ROLE", "server client" },
	{ "KIND", "none ibpb strict" }, { "TYPE", "q35 microvm" },
};

static const char *kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].kind;
	return "";
}

/* The tables contain no quotes, so their text can stand in bash's quotes. */
static void entry(const char *array, const char *key, const char *more, const char *value)
{
	printf("_wormhole_%s['%s%s']='%s'\n", array, key, more, value);
}

/* --- Options ------------------------------------------------------------------------------ */

static bool is_option(const struct argp_option *o)
{
	return o->name && !(o->flags & OPTION_HIDDEN);
}

static void print_names(const struct argp *a)
{
	const struct argp_option *o = a->options;
	const struct argp_child *c;

	for (; o && (o->name || o->doc || o->key); o++)
		if (is_option(o))
			printf(" --%s%s", o->name, o->arg ? "=" : "");
	for (c = a->children; c && c->argp; c++)
		print_names(c->argp);
}

static void print_values(const struct argp *a)
{
	const struct argp_option *o = a->options;
	const struct argp_child *c;
	char name[80];

	for (; o && (o->name || o->doc || o->key); o++) {
		if (!is_option(o) || !o->arg)
			continue;
		snprintf(name, sizeof(name), " --%s", o->name);
		entry("value", listing.path, name, kind_of(o->arg));
		snprintf(name, sizeof(name), " -%c", o->key);
		if (o->key > ' ' && o->key <= '~')
			entry("value", listing.path, name, kind_of(o->arg));
	}
	for (c = a->children; c && c->argp; c++)
		print_values(c->argp);
}

/* --- Arguments ---------------------------------------------------------------------------- */

/* "[programs|vms]" is a choice. A word in capitals names the kind of argument. */
static void print_arguments(const char *doc)
{
	static const struct {
		const char *word, *kind;
	} meant[] = { { "COMMAND", "@command" }, { "PROGRAM", "@command" }, { "TENANT|ID", "@subject" },
		      { "TENANT", "@tenant" }, { "FILE", "@file" } };
	char words[80];
	size_t i, n;

	n = doc && doc[0] == '[' ? strcspn(doc + 1, "]") : 0;
	if (n && n < sizeof(words) && strspn(doc + 1, "abcdefghijklmnopqrstuvwxyz|") == n) {
		snprintf(words, sizeof(words), "%.*s", (int)n, doc + 1);
		for (i = 0; i < n; i++)
			if (words[i] == '|')
				words[i] = ' ';
		entry("argument", listing.path, "", words);
		return;
	}
	for (i = 0; doc && i < sizeof(meant) / sizeof(*meant); i++)
		if (strstr(doc, meant[i].word)) {
			entry("argument", listing.path, strcmp(meant[i].kind, "@command") ? "" : " --",
			      meant[i].kind);
			if (!strcmp(meant[i].kind, "@subject"))
				return;
		}
}

void wh_list_argp(const struct argp *argp)
{
	printf("_wormhole_options['%s']='", listing.path);
	print_names(argp);
	printf(" --help'\n");
	print_values(argp);
	print_arguments(argp->args_doc);
	longjmp(listing.back, 1);
}

/* --- Commands --------------------------------------------------------------------------------- */

static void look_into(const struct command *c, char *name)
{
	char *argv[] = { name, NULL };
	const char *before = listing.path;

	listing.path = name;
	if (!setjmp(listing.back))
		c->run(1, argv);
	listing.path = before;
}

void wh_list_commands(const struct command *table, const char *path)
{
	const struct command *c;
	char name[64];

	printf("_wormhole_commands['%s']='", path);
	for (c = table; c->name; c++)
		printf("%s%s", c == table ? "" : " ", c->name);
	printf("'\n");
	for (c = table; c->name; c++) {
		snprintf(name, sizeof(name), "%s %s", path, c->name);
		look_into(c, name);
	}
}

/* --- The script ---------------------------------------------------------------------------- */

static const char begin[] =
"# bash completion for wormhole, written by `wormhole completion bash'. Do not edit.\n"
"declare -gA _wormhole_commands _wormhole_options _wormhole_value _wormhole_argument\n";

/*
 * Bash splits --mem=2G at the =, because COMP_WORDBREAKS contains it. The words before the
 * cursor are looked at once: they tell which command it is, and whether the words of
 * another program follow.
 */
static const char end[] =
"_wormhole_offer() {\n"
"	case $1 in\n"
"	@dir) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$2\") ;;\n"
"	@file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
"	@user) mapfile -t COMPREPLY < <(compgen -u -- \"$2\") ;;\n"
"	@command) mapfile -t COMPREPLY < <(compgen -c -- \"$2\") ;;\n"
"	@tenant) mapfile -t COMPREPLY < <(compgen -W \"$(\"${COMP_WORDS[0]}\" tenant list 2>/dev/null |\n"
"		sed -n '2,$s/ .*//p')\" -- \"$2\") ;;\n"
"	@subject) mapfile -t COMPREPLY < <(compgen -W \"$(\"${COMP_WORDS[0]}\" tenant list 2>/dev/null |\n"
"		sed -n '2,$s/ .*//p'; ls /run/wormhole 2>/dev/null |\n"
"		sed -n 's/[.]control$//p')\" -- \"$2\") ;;\n"
"	*) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\") ;;\n"
"	esac\n"
"}\n"
"_wormhole() {\n"
"	local cur=${COMP_WORDS[COMP_CWORD]} path=wormhole word before= program= arguments=0 i skip\n"
"	COMPREPLY=()\n"
"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
"		word=${COMP_WORDS[i]}\n"
"		if [[ $before && $word == = ]]; then\n"
"			continue\n"
"		elif [[ $before ]]; then\n"
"			before=\n"
"		elif [[ $word == -- ]]; then\n"
"			program=$((i + 1)); break\n"
"		elif [[ $word == -* ]]; then\n"
"			[[ ${_wormhole_value[\"$path $word\"]+set} ]] && before=$word\n"
"		elif [[ \" ${_wormhole_commands[$path]} \" == *\" $word \"* ]]; then\n"
"			path+=\" $word\"\n"
"		else\n"
"			((arguments++))\n"
"			skip=0; [[ ${_wormhole_argument[$path]} ]] && skip=1\n"
"			[[ ${_wormhole_argument[\"$path --\"]} && $arguments -gt $skip ]] &&\n"
"				{ program=$i; break; }\n"
"		fi\n"
"	done\n"
"	if [[ $program ]]; then\n"
"		if ((program == COMP_CWORD)); then\n"
"			_wormhole_offer @command \"$cur\"\n"
"		else\n"
"			_wormhole_offer @file \"$cur\"\n"
"		fi\n"
"	elif [[ $before ]]; then\n"
"		[[ $cur == = ]] && cur=\n"
"		_wormhole_offer \"${_wormhole_value[\"$path $before\"]}\" \"$cur\"\n"
"	elif [[ $cur == -* ]]; then\n"
"		_wormhole_offer \"${_wormhole_options[$path]:---help --version}\" \"$cur\"\n"
"		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
"	elif [[ ${_wormhole_commands[$path]} ]]; then\n"
"		_wormhole_offer \"${_wormhole_commands[$path]}\" \"$cur\"\n"
"	elif [[ $arguments == 0 && ${_wormhole_argument[$path]} ]]; then\n"
"		_wormhole_offer \"${_wormhole_argument[$path]}\" \"$cur\"\n"
"	else\n"
"		_wormhole_offer \"${_wormhole_argument[\"$path --\"]}\" \"$cur\"\n"
"	fi\n"
"}\n"
"complete -F _wormhole wormhole\n";

void wh_completion_print(const struct command *commands)
{
	fputs(begin, stdout);
	listing.on = true;
	wh_list_commands(commands, "wormhole");
	listing.on = false;
	fputs(end, stdout);
}
