// SPDX-License-Identifier: Apache-2.0
/*
 * This is the library for LD_AUDIT=.../libwormhole-audit.so. If a program searches for a
 * library that also lies in the folder of this file, the search ends there, wherever the
 * program's own libraries lie. DT_RPATH, LD_LIBRARY_PATH and absolute paths given to dlopen()
 * make no difference. The names of the files in the folder are the list of what it serves.
 *
 * The loader puts this library into a namespace of its own, in each process. The library uses
 * no C library, so that none is loaded a second time. It asks for no binding to be reported, so
 * that calls cost the same as without it.
 */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <link.h>

#include "raw.h"
#include "searches.h"
#include "soname.h"
#include "text.h"
#include "versions.h"

#define FILE_NAME	"libwormhole-audit.so"
#define EXPORT		__attribute__((visibility("default")))

#define MOST_NAME	128
#define HASH_DIGITS	8

/* The folder's path, which ends with a slash. Empty: nothing is redirected in this process. */
static char folder[PATH_MAX];
/* The answer to a search: the loader copies it, and holds its lock meanwhile. */
static char answer[PATH_MAX];

/* --- What is served ----------------------------------------------------------------- */

/* Writes the path of the folder's file of that name to `answer`. False: there is no such file. */
static bool in_folder(const char *name, size_t n)
{
	size_t at = length(folder);

	if (at + n >= sizeof(answer))
		return false;
	copy(answer, folder, at);
	copy(answer + at, name, n);
	answer[at + n] = 0;
	return raw_access(answer, R_OK) == 0;
}

/*
 * Returns the length of a name without its last part, if that is a number: without the ".13" of
 * "libcudart.so.13".
 */
static size_t without_number(const char *name, size_t n)
{
	size_t end = n;

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	return n > 1 && n < end && name[n - 1] == '.' ? n - 1 : 0;
}

static bool ends_with_so(const char *name, size_t n)
{
	return n > 3 && same(name + n - 3, ".so", 3);
}

/*
 * The folder serves libcublas.so.13 and libcublas.so.13.1.0.3, but not libcublas.so.10,
 * although a libcublas.so lies in the folder: a name without its version says nothing.
 */
static bool served(const char *name)
{
	size_t n = length(name);

	if (!begins(name, "lib"))
		return false;
	for (; without_number(name, n); n = without_number(name, n))
		if (in_folder(name, n))
			return true;
	return false;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Is that a dash, eight digits of a hash, and the end of a library's name? */
static bool is_hash(const char *s)
{
	size_t i;

	for (i = 1; i <= HASH_DIGITS; i++)
		if (s[0] != '-' || !is_hex(s[i]))
			return false;
	return begins(s + i, ".so");
}

/*
 * Wheels rename the libraries that they bundle: libcudart-e409450e.so.11.0 is libcudart.so.11.0.
 * Takes such a hash out of the name.
 */
static void take_hash_out(char *name)
{
	for (; *name; name++)
		if (is_hash(name)) {
			copy(name, name + 1 + HASH_DIGITS, length(name + 1 + HASH_DIGITS) + 1);
			return;
		}
}

/*
 * A file of another name may be the same library: programs are linked with libcublas.so, and a
 * driver is libcuda.so.580.65.06. This function reads the file's DT_SONAME if we have a library
 * of the same name without any version.
 */
static bool file_is_served(const char *path, const char *base)
{
	char soname[MOST_NAME], name[MOST_NAME];
	size_t n = length(base);

	if (n >= sizeof(name))
		return false;
	copy(name, base, n + 1);
	take_hash_out(name);
	n = length(name);
	while (without_number(name, n))
		n = without_number(name, n);
	if (!begins(name, "lib") || !ends_with_so(name, n) || !in_folder(name, n) ||
	    !soname_of(path, soname, sizeof(soname)))
		return false;
	take_hash_out(soname);
	return served(soname);
}

/* Returns the file that searches. The loader's cookie is its link map, from la_objopen() on. */
static const char *searcher(const uintptr_t *cookie)
{
	const struct link_map *map = cookie ? (const struct link_map *)*cookie : NULL;

	return map && map->l_name ? map->l_name : "";
}

/*
 * The loader calls this when a search begins, with the name that is asked for, and then for
 * each place that it looks at.
 */
EXPORT char *la_objsearch(const char *name, uintptr_t *cookie, unsigned int flag)
{
	const char *base = base_name(name);

	if (!(flag == LA_SER_ORIG && served(base)) &&
	    !(base != name && file_is_served(name, base)))
		return (char *)name;
	searches_note(base_name(answer), name, searcher(cookie));
	return answer;
}

/* --- The C library --------------------------------------------------------------------- */

/* The program's C library, once it is mapped. */
static const struct link_map *libc;
static bool started;

static void say(const char *text)
{
	raw_call(SYS_write, STDERR_FILENO, (long)text, length(text), 0);
}

/* Ends the program with a message. The loader would end it as well, in words that help nobody. */
static void check(const struct link_map *ours)
{
	const char *version = versions_lacking(ours, libc);

	if (!version)
		return;
	say("wormhole: error: the C library here, ");
	say(libc->l_name);
	say(", is too old for ");
	say(base_name(ours->l_name));
	say(": it has no ");
	say(version);
	say(". Programs in containers need an image of a newer system, such as Debian 12 or Ubuntu 22.04\n");
	raw_call(SYS_exit_group, 127, 0, 0, 0);
}

/*
 * Preloaded libraries come before the C library, and libraries that the program opens itself
 * come behind it.
 */
static void check_versions(const struct link_map *map)
{
	const struct link_map *m;

	if (started)
		return;
	if (libc) {
		if (begins(map->l_name, folder))
			check(map);
		return;
	}
	if (!same(base_name(map->l_name), VERSIONS_LIBC, sizeof(VERSIONS_LIBC)))
		return;
	libc = map;
	for (m = map->l_prev; m; m = m->l_prev)
		if (begins(m->l_name, folder))
			check(m);
}

/* From here on, a library that does not fit makes dlopen() fail, which the program handles. */
EXPORT void la_preinit(uintptr_t *cookie)
{
	(void)cookie;
	started = true;
}

/*
 * The loader calls this for each file that is mapped, before the file's code runs. The result 0
 * means that its calls need not be reported.
 */
EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	static const char driver[] = "libcuda.so.1";
	size_t n = length(folder);

	(void)cookie;
	if (space == LM_ID_BASE)
		check_versions(map);
	if (begins(map->l_name, folder) && same(map->l_name + n, driver, sizeof(driver)))
		searches_show(map);
	return 0;
}

/* --- The start ---------------------------------------------------------------------- */

/* Finds this file's folder in the entry of LD_AUDIT that names it, which must be absolute. */
static void find_folder(const char *list)
{
	const char *end, *base;
	size_t n;

	for (; *list; list = *end ? end + 1 : end) {
		base = list;
		for (end = list; *end && *end != ':'; end++)
			if (*end == '/')
				base = end + 1;
		n = base - list;
		if (*list != '/' || n >= sizeof(folder) || end - base != sizeof(FILE_NAME) - 1 ||
		    !same(base, FILE_NAME, end - base))
			continue;
		copy(folder, list, n);
		folder[n] = 0;
		return;
	}
}

/* Over loopback, the worker's code and NVIDIA's own libraries are in the process. */
static bool is_loopback(char **env)
{
	for (; *env; env++)
		if (begins(*env, "WORMHOLE_TRANSPORT=loopback"))
			return true;
	return false;
}

__attribute__((constructor))
static void audit_start(int argc, char **argv, char **env)
{
	static const char variable[] = "LD_AUDIT=";

	(void)argc;
	(void)argv;
	if (!env || is_loopback(env))
		return;
	for (; *env; env++)
		if (begins(*env, variable))
			find_folder(*env + sizeof(variable) - 1);
}

/*
 * If the result is 0, the loader unloads this library. Version 1, which every release has, is
 * enough for it.
 */
EXPORT unsigned int la_version(unsigned int version)
{
	return folder[0] && version ? 1 : 0;
}
