// SPDX-License-Identifier: Apache-2.0
/*
 * The program of an ephemeral tenant that is deleted while it runs; it asks for no
 * worker. What keeps its tenant then ends after the tenant: once, the server freed
 * that twice. deleted [WORD...], then says "ready", and "ended" when it ends with its
 * input, if it is not killed before:
 *   close	keeps none of the descriptors that it was given: the process alone
 *   child	leaves a child that has them, and itself ends at once: the connection alone
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIVES	120	/* seconds, whatever becomes of the test */
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
