// SPDX-License-Identifier: Apache-2.0
/*
 * Measures the start of a program that uses no CUDA, with and without the variables that
 * `wormhole run` adds to its environment. The variants take turns, and the least time of
 * each counts, since many disturbances affect a start.
 *
 * usage: starts FOLDER [ROUNDS]	FOLDER has the client libraries
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#define PROGRAM "/bin/true"

struct variant {
	const char *name;
	char *env[4];
	double least;
};

static char *variable(const char *name, const char *folder, const char *file)
{
	char *text;

	if (asprintf(&text, "%s=%s%s", name, folder, file) < 0)
		exit(1);
	return text;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static double start(char **env)
{
	char *argv[] = { PROGRAM, NULL };
	double begin = now();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, PROGRAM, NULL, NULL, argv, env) ||
	    waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, PROGRAM " failed\n");
		exit(1);
	}
	return now() - begin;
}

int main(int argc, char **argv)
{
	const char *folder = argc > 1 ? argv[1] : ".";
	int i, rounds = argc > 2 ? atoi(argv[2]) : 1000;
	char *path = variable("LD_LIBRARY_PATH", folder, "");
	char *audit = variable("LD_AUDIT", folder, "/libwormhole-audit.so");
	char *preload = variable("LD_PRELOAD", folder, "/libwormhole-preload.so");
	struct variant variants[] = {
		{ "alone", { NULL }, 1e9 },
		{ "LD_AUDIT", { audit }, 1e9 },
		{ "LD_PRELOAD", { preload }, 1e9 },
		{ "wormhole run", { path, audit, preload }, 1e9 },
	};
	struct variant *v, *end = variants + sizeof(variants) / sizeof(*variants);
	double took;

	for (i = 0; i < rounds; i++)
		for (v = variants; v < end; v++) {
			took = start(v->env);
			if (took < v->least)
				v->least = took;
		}
	for (v = variants; v < end; v++)
		printf("%-14s %6.0f us %+6.0f\n", v->name, v->least, v->least - variants[0].least);
	return 0;
}
