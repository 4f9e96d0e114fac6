// SPDX-License-Identifier: Apache-2.0
/*
 * Finds the version of a library that a program came with, if the loader has led the program to
 * our library instead. The auditor has kept how the program asked. The loader itself says where
 * that leads (dlinfo(), RTLD_DI_SERINFO: all folders of a search, with DT_RPATH of the asking
 * file and of the file that loaded it). The loader's cache is missing there, since it has no
 * documented form: a library that only ld.so.conf leads to is not found here.
 *
 * The file is not loaded, and nothing of it runs. Its version is said by one of these:
 *
 * - Its own name, behind links, as in toolkits and packages of distributions:
 * libcudnn.so.9.19.0.
 *
 * - The Python package that has it, since wheels have no such name: a folder
 * NAME-VERSION.dist-info beside the package, whose RECORD lists the file (Python packaging user
 * guide, "Recording installed projects"). NVIDIA's packages have the library's version.
 *
 * There is no documented version in the file itself, neither in a section nor in a symbol. If
 * nothing says the version, it is unknown, and the server's newest serves.
 */
#define _GNU_SOURCE
#include "own.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit_searches.h"

#define MOST_LEVELS	6	/* from a wheel's library up to the folder of packages */

/* The auditor sets this before any code of ours runs. */
const struct wh_searches *wh_audit_searches;

/* --- The sources of the version -------------------------------------------------------- */

static uint32_t parse(const char *text)
{
	unsigned int major, minor, patch = 0;

	if (sscanf(text, "%3u.%4u.%4u", &major, &minor, &patch) < 2 || major > 255 ||
	    minor > 4095 || patch > 4095)
		return 0;
	return WH_LIB_VERSION(major, minor, patch);
}

static uint32_t version_in_name(const char *base, const char *soname)
{
	const char *so = strstr(soname, ".so.");
	size_t n = so ? so + strlen(".so.") - soname : 0;

	return n && !strncmp(base, soname, n) ? parse(base + n) : 0;
}

/* Does the list have a line for that file? */
static bool lists(const char *record, const char *file)
{
	size_t n = strlen(file), size = 0;
	bool found = false;
	char *line = NULL;
	FILE *f;

	f = fopen(record, "re");
	while (f && !found && getline(&line, &size, f) > 0)
		found = !strncmp(line, file, n) && line[n] == ',';
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Returns the version in such a folder's name: nvidia_cudnn_cu13-9.19.0.56.dist-info. */
static uint32_t version_of_info(const char *name)
{
	static const char end[] = ".dist-info";
	size_t n = strlen(name), m = strlen(end);
	const char *dash;

	if (strncmp(name, "nvidia", 6) || n <= m || strcmp(name + n - m, end))
		return 0;
	dash = memrchr(name, '-', n - m);
	return dash ? parse(dash + 1) : 0;
}

/* Looks for the package in a folder that has the file, by the file's path from there. */
static uint32_t version_in_packages(const char *folder, const char *file)
{
	char record[2 * PATH_MAX];
	struct dirent *e;
	uint32_t v = 0;
	DIR *d;

	d = opendir(folder);
	while (d && !v && (e = readdir(d))) {
		v = version_of_info(e->d_name);
		snprintf(record, sizeof(record), "%s/%s/RECORD", folder, e->d_name);
		if (v && !lists(record, file))
			v = 0;
	}
	if (d)
		closedir(d);
	return v;
}

static uint32_t version_by_package(const char *path)
{
	char folder[PATH_MAX];
	uint32_t v = 0;
	char *slash;
	int i;

	snprintf(folder, sizeof(folder), "%s", path);
	for (i = 0; i < MOST_LEVELS && !v; i++) {
		slash = strrchr(folder, '/');
		if (!slash || slash == folder)
			break;
		*slash = 0;
		v = version_in_packages(folder, path + strlen(folder) + 1);
	}
	return v;
}

/* --- Where the search would have ended --------------------------------------------------- */

struct own {
	const char *soname;
	char *file;		/* found */
	size_t size;
	uint32_t version;
};

/* Is it in the folder of this library? */
static bool is_ours(const char *real)
{
	char here[PATH_MAX];
	Dl_info me;
	size_t n;

	if (!dladdr(&wh_audit_searches, &me) || !realpath(me.dli_fname, here))
		return false;
	n = strrchr(here, '/') + 1 - here;
	return !strncmp(real, here, n) && !strchr(real + n, '/');
}

/* Is there such a file, and is it not ours? Then *o gets what is known of it. */
static bool look(struct own *o, const char *path)
{
	char real[PATH_MAX];

	if (!realpath(path, real) || is_ours(real))
		return false;
	o->version = version_in_name(strrchr(real, '/') + 1, o->soname);
	if (!o->version)
		o->version = version_by_package(real);
	snprintf(o->file, o->size, "%s", real);
	return true;
}

static Dl_serinfo *folders_of(void *handle)
{
	Dl_serinfo size, *all;

	if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size))
		return NULL;
	all = calloc(1, size.dls_size);
	if (!all)
		return NULL;
	*all = size;
	if (!dlinfo(handle, RTLD_DI_SERINFOSIZE, all) && !dlinfo(handle, RTLD_DI_SERINFO, all))
		return all;
	free(all);
	return NULL;
}

/* The first of the folders that has the file counts, as for the loader. */
static void search(struct own *o, const char *asked, const char *by)
{
	void *handle = dlopen(*by ? by : NULL, RTLD_LAZY | RTLD_NOLOAD);
	Dl_serinfo *all = handle ? folders_of(handle) : NULL;
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; all && i < all->dls_cnt; i++)
		if (snprintf(path, sizeof(path), "%s/%s", all->dls_serpath[i].dls_name, asked) <
			    (int)sizeof(path) && look(o, path))
			break;
	free(all);
	if (handle)
		dlclose(handle);
}

uint32_t wh_own_version(const char *soname, char *file, size_t size)
{
	const struct wh_searches *s = wh_audit_searches;
	struct own o = { .soname = soname, .file = file, .size = size };
	uint32_t n = s ? __atomic_load_n(&s->count, __ATOMIC_ACQUIRE) : 0, i;

	for (i = 0; i < n && !o.version; i++) {
		if (strcmp(s->search[i].name, soname))
			continue;
		if (strchr(s->search[i].asked, '/'))
			look(&o, s->search[i].asked);
		else
			search(&o, s->search[i].asked, s->search[i].by);
	}
	return o.version;
}
