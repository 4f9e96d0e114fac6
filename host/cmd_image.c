// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole image gpu`: makes a server VM's image from NVIDIA's driver. gpu-image.sh does
 * the work; this file has the arguments and handles the folder. The finished folder is put
 * in place at once, or not at all, and the old one stays until then.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenancy.h"
#include "wormhole.h"

struct image_args {
	char *driver, *modules, *libraries, *out;
};

/* --- Folders -------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_folder(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folder must be an image or empty, so that a mistyped --out destroys no files. */
static int check_old(const char *out)
{
	static const char *const ours[] = { "bzImage", "root.img", "cmdline", "driver", ".", ".." };
	DIR *d = opendir(out);
	struct dirent *e;
	int rc = 0;
	size_t i;

	if (!d && errno == ENOENT)
		return 0;
	if (!d) {
		wh_error("--out: '%s': %s", out, strerror(errno));
		return -1;
	}
	while (!rc && (e = readdir(d))) {
		for (i = 0; i < sizeof(ours) / sizeof(*ours); i++)
			if (!strcmp(e->d_name, ours[i]))
				break;
		if (i == sizeof(ours) / sizeof(*ours)) {
			wh_error("--out: '%s' holds '%s', which is no part of an image: name another folder",
				 out, e->d_name);
			rc = -1;
		}
	}
	closedir(d);
	return rc;
}

/* Replaces the folder at once: readers see the old folder or the new one. */
static int put_in_place(const char *made, const char *out)
{
	if (chmod(made, 0755))
		return -1;
	if (!renameat2(AT_FDCWD, made, AT_FDCWD, out, RENAME_EXCHANGE)) {
		remove_folder(made);
		return 0;
	}
	return errno == ENOENT ? rename(made, out) : -1;
}

/* --- The script ------------------------------------------------------------------- */

static pid_t script;

/* The script removes its unfinished files and ends; then this process ends, too. */
static void pass_on(int sig)
{
	if (script > 0)
		kill(script, sig);
}

static int run_script(char **argv)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction act = { .sa_handler = pass_on }, old[3];
	int status = 0, i;

	script = fork();
	if (!script) {
		execv(argv[0], argv);
		_exit(127);
	}
	for (i = 0; i < 3; i++)
		sigaction(signals[i], &act, &old[i]);
	if (script < 0)
		status = -1;
	while (script > 0 && waitpid(script, &status, 0) < 0 && errno == EINTR)
		;
	for (i = 0; i < 3; i++)
		sigaction(signals[i], &old[i], NULL);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Makes the new folder beside the old one, so that a rename is enough to replace it. */
static char *make_beside(const char *out)
{
	size_t len = strlen(out);
	char *made;

	while (len > 1 && out[len - 1] == '/')
		len--;
	if (asprintf(&made, "%.*s.new.XXXXXX", (int)len, out) < 0)
		wh_no_memory();
	if (mkdtemp(made))
		return made;
	wh_error("--out: '%s' cannot be made: %s", made, strerror(errno));
	free(made);
	return NULL;
}

static int make_image(const struct image_args *a, char *path)
{
	char *argv[12] = { path, "--driver", a->driver, "--out", make_beside(a->out) };
	const char *made = argv[4];
	int n = 5, rc = EXIT_FAILED;

	if (!made)
		return EXIT_FAILED;
	if (a->modules) {
		argv[n++] = "--kernel-modules";
		argv[n++] = a->modules;
	}
	if (a->libraries) {
		argv[n++] = "--libraries";
		argv[n++] = a->libraries;
	}
	if (!run_script(argv)) {
		rc = put_in_place(made, a->out) ? EXIT_FAILED : EXIT_DONE;
		if (rc)
			wh_error("--out: '%s' cannot be put in place: %s", a->out, strerror(errno));
	}
	if (rc) {
		remove_folder(made);
		wh_error("no image was made; '%s' is as it was", a->out);
	}
	free(argv[4]);
	return rc;
}

/* --- Arguments ------------------------------------------------------------------------ */

enum { KEY_DRIVER = 0x100, KEY_MODULES, KEY_LIBRARIES, KEY_OUT };

static const struct argp_option options[] = {
	{ "driver", KEY_DRIVER, "PATH", 0, "NVIDIA's driver: NVIDIA-Linux-x86_64-VERSION.run, or a folder with Debian's packages of it", 0 },
	{ "out", KEY_OUT, "DIR", 0, "folder for the image; one that holds an image is replaced", 0 },
	{ "kernel-modules", KEY_MODULES, "DIR", 0, "NVIDIA's open modules of that version, source or built for the image's kernel (default: those in the driver)", 0 },
	{ "libraries", KEY_LIBRARIES, "DIR", 0, "CUDA libraries to put in: cuBLAS, cuRAND, cuDNN and what they need", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct image_args *a = state->input;

	switch (key) {
	case KEY_DRIVER: a->driver = arg; break;
	case KEY_MODULES: a->modules = arg; break;
	case KEY_LIBRARIES: a->libraries = arg; break;
	case KEY_OUT: a->out = arg; break;
	case ARGP_KEY_SUCCESS:
		if (!a->driver)
			wh_usage_error(state, "--driver is needed: NVIDIA-Linux-x86_64-VERSION.run, or a folder with Debian's packages");
		if (!a->out || !*a->out)
			wh_usage_error(state, "--out is needed: the folder for the image");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	options, parse, "",
	"Make the image of a server VM with an NVIDIA GPU, for `wormhole server start'.",
	NULL, NULL, NULL
};

static int image_gpu(int argc, char **argv)
{
	struct image_args a = { 0 };
	char *path;
	int rc;

	wh_parse(&argp, argc, argv, 0, &a);
	path = wh_layout_find("host/gpu-image.sh");
	if (!path) {
		wh_error("this installation makes no images: run build/host/wormhole of a source tree, after `make gpu-kernel'");
		return EXIT_FAILED;
	}
	rc = check_old(a.out) ? EXIT_FAILED : make_image(&a, path);
	free(path);
	return rc;
}

int cmd_image(int argc, char **argv)
{
	static const struct command table[] = {
		{ "gpu", image_gpu, "a server VM with an NVIDIA GPU, from the driver's .run file or packages" },
		{ NULL, NULL, NULL }
	};

	return wh_command_dispatch(table, argv[0], argc, argv);
}
