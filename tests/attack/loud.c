// SPDX-License-Identifier: Apache-2.0
/*
 * `loud FILE` writes what a hijacked worker can write into its standard error: a line
 * that looks like one of the server's, a line without an end, and the same line for ever.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define LONG	1000
#define TIMES	20000

static int say(int fd, const char *text)
{
	return write(fd, text, strlen(text)) < 0;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_WRONLY) : -1, i, failed;

	if (fd < 0)
		return 2;
	failed = say(fd, "\033[2Jerror: the server ends\n");
	for (i = 0; i < LONG; i++)
		failed |= say(fd, "no end of a line ");
	failed |= say(fd, "\n");
	for (i = 0; i < TIMES; i++)
		failed |= say(fd, "warn: worker: says the same again and again\n");
	return failed;
}
