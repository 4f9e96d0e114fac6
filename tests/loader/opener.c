// SPDX-License-Identifier: Apache-2.0
/*
 * A program that uses the loader as its arguments say, one after the other, and prints a
 * line for each:
 *
 * 	open=PATH, noload=PATH	dlopen() it: the name that the loader knows it by
 * 	space=PATH		the same in a namespace of its own
 * 	call=FUNCTION		what this function of the last opened library returns
 * 	phdr=WORD		files with the word in their names, by dl_iterate_phdr()
 * 	maps=WORD		the same by /proc/self/maps, each once
 * 	secure			whether it has more rights than the user who started it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static void *last;

static void show(void *handle)
{
	struct link_map *map;

	if (!handle)
		printf("%s\n", dlerror() ? "error" : "nothing");
	else if (!dlinfo(handle, RTLD_DI_LINKMAP, &map))
		printf("%s\n", map->l_name);
}

static void call(const char *name)
{
	int (*function)(void);

	*(void **)&function = dlsym(last, name);
	if (function)
		printf("%d\n", function());
	else
		printf("%s\n", dlerror());
}

static int phdr(struct dl_phdr_info *info, size_t size, void *word)
{
	(void)size;
	if (strstr(info->dlpi_name, word))
		printf("%s\n", info->dlpi_name);
	return 0;
}

/* The mappings of a file lie behind each other. */
static void maps(const char *word)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[8192], before[8192] = "", *path;

	while (f && fgets(line, sizeof(line), f)) {
		path = strchr(line, '/');
		if (!path || !strstr(path, word) || !strcmp(path, before))
			continue;
		fputs(path, stdout);
		strcpy(before, path);
	}
	if (f)
		fclose(f);
}

static bool word(const char *arg, const char *verb, const char **value)
{
	size_t n = strlen(verb);

	*value = arg + n;
	return !strncmp(arg, verb, n);
}

static bool act(const char *arg)
{
	const char *v;

	if (word(arg, "open=", &v))
		show(last = dlopen(v, RTLD_NOW));
	else if (word(arg, "noload=", &v))
		show(dlopen(v, RTLD_NOW | RTLD_NOLOAD));
	else if (word(arg, "space=", &v))
		show(last = dlmopen(LM_ID_NEWLM, v, RTLD_NOW));
	else if (word(arg, "call=", &v))
		call(v);
	else if (word(arg, "phdr=", &v))
		dl_iterate_phdr(phdr, (void *)v);
	else if (word(arg, "maps=", &v))
		maps(v);
	else if (word(arg, "secure", &v))
		printf("secure %lu\n", getauxval(AT_SECURE));
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (!act(argv[i]))
			return 2;
	return 0;
}
