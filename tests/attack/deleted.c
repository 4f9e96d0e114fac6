// SPDX-License-Identifier: Apache-2.0
/*
 * The program of an ephemeral tenant that is deleted while the program runs; it asks for
 * no worker. Whatever keeps the tenant ends after the tenant; earlier the server freed
 * that twice. `deleted [WORD...]` says "ready", and "ended" when its input ends, if it is
 * not killed before:
 *   close	closes all descriptors that it was given, so that the process alone keeps the
 *		tenant
 *   child	leaves a child that has them and ends itself at once, so that the connection
 *		alone keeps the tenant
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIVES	120	/* seconds; the limit of its life, whatever becomes of the test */
#define FILES	256

static void close_all(void)
{
	int fd;

	for (fd = 3; fd < FILES; fd++)
		close(fd);
}

int main(int argc, char **argv)
{
	char c;
	int i;

	alarm(LIVES);
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "close"))
			close_all();
		else if (!strcmp(argv[i], "child") && fork())
			_exit(0);
	}
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
	puts("ended");
	return 0;
}
