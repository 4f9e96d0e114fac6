// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole logs`: shows the log of this machine's server (its own messages and its
 * workers'), all of it or the part about one tenant. A server in the background has a file, one
 * that systemd runs has the journal. Or it shows the console of a VM, where
 * the supervisor and the workers of a server VM write. Guests and workers can write
 * anything, so their output is treated as text only, and can do nothing to the terminal.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journal.h"
#include "tenancy.h"
#include "wormhole.h"

#define LINE	2048	/* a longer line is read in parts */

struct logs_args {
	const char *dir, *of;	/* NULL: all */
	uint64_t vm;		/* 0: none */
	uint64_t last;		/* lines; UINT64_MAX: all */
	bool follow;
};

/* --- Arguments ---------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "follow", 'f', NULL, 0, "go on with what comes", 0 },
	{ "lines", 'n', "N", 0, "only the last N lines", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct logs_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		return 0;
	case 'f': a->follow = true; return 0;
	case 'n':
		a->last = wh_arg_u64(state, "--lines", arg, 0, UINT64_MAX - 1);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			return ARGP_ERR_UNKNOWN;
		if (*arg >= '0' && *arg <= '9')
			a->vm = wh_arg_u64(state, "ID", arg, 1, UINT64_MAX);
		else
			a->of = arg;
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, "[TENANT|ID]",
	"Show what a server in the background has written, or of it what is about a tenant; of a VM "
	"(a number) what came on its console.", wh_dir_only, NULL, NULL
};

/* --- Lines ---------------------------------------------------------------------------------- */

static const char *skip(const char *p, const char *word)
{
	size_t n = strlen(word);

	return p && !strncmp(p, word, n) ? p + n : NULL;
}

/* Skips a time like 2026-01-31T12:00:00+0100, as the server writes it. Else skips nothing. */
static const char *skip_time(const char *line)
{
	const char *space = strchr(line, ' ');

	return space && space - line == 24 && line[10] == 'T' ? space + 1 : line;
}

/* Skips "HOST NAME[PID]: ", which the journal puts between the time and the message. */
static const char *skip_source(const char *line)
{
	const char *end = strstr(line, "]: ");

	return end ? end + 3 : line;
}

/*
 * Accepts "worker of NAME: ..." and "LEVEL: tenant NAME: ...". A worker's own words come
 * after its tenant's name, so no worker can write into another tenant's log.
 */
static bool is_about(const char *line, const char *tenant, bool journal)
{
	const char *p = journal ? skip_source(line) : skip_time(line);
	const char *colon = strchr(p, ':'), *name;

	name = skip(p, "worker of ");
	if (!name && colon)
		name = skip(colon, ": tenant ");
	name = skip(name, tenant);
	return name && *name == ':';
}

struct reader {
	const struct logs_args *a;
	FILE *f;
	bool journal;		/* the lines are journalctl's */
	char cursor[512];	/* of the journal: where the lines end; "": there were none */
	bool wanted;		/* the current line is wanted; its beginning decides */
	bool inside;
	uint64_t seen;		/* wanted lines so far */
	uint64_t from;		/* number of the first line that is shown */
};

/* Returns the bytes of a control character at @text, or 0. U+0080 to U+009F have two bytes. */
static int control_bytes(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
		return 2;
	return (*p < ' ' && *p != '\t' && *p != '\n') || *p == 127;
}

static void print_text(const char *text)
{
	int n;

	for (; *text; text += n ? n : 1) {
		n = control_bytes(text);
		if (*text != '\r')
			putchar(n ? '?' : *text);
	}
}

/* Is this no message, but journalctl's word where the next one is? */
static bool is_cursor(struct reader *r, const char *text)
{
	const char *p = r->journal && !r->inside ? skip(text, WH_JOURNAL_CURSOR) : NULL;

	if (p)
		snprintf(r->cursor, sizeof(r->cursor), "%.*s", (int)strcspn(p, "\n"), p);
	return p;
}

/*
 * Reads all lines that the file has now. @show is false to count them only. An incomplete
 * last line is shown as far as it is written.
 */
static void read_lines(struct reader *r, bool show)
{
	char text[LINE];

	while (fgets(text, sizeof(text), r->f)) {
		if (is_cursor(r, text))
			continue;
		if (!r->inside) {
			r->wanted = !r->a->of || is_about(text, r->a->of, r->journal);
			r->seen += r->wanted;
		}
		r->inside = !strchr(text, '\n');
		if (show && r->wanted && r->seen > r->from)
			print_text(text);
	}
	clearerr(r->f);
	fflush(stdout);
}

/* --- Following ----------------------------------------------------------------------------- */

/* If the file has become shorter, reading starts at its beginning. */
static void mind_truncation(FILE *f)
{
	struct stat st;

	if (!fstat(fileno(f), &st) && st.st_size < ftello(f))
		rewind(f);
}

/* Ends when nobody reads the output any more, or by a signal. */
static int follow(struct reader *r, const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd p[2] = { { fd, POLLIN, 0 }, { STDOUT_FILENO, 0, 0 } };
	char events[4096];

	if (fd < 0 || inotify_add_watch(fd, path, IN_MODIFY | IN_ATTRIB) < 0) {
		wh_error("%s: cannot be watched: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	do {
		mind_truncation(r->f);
		read_lines(r, true);
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
	} while (!p[1].revents && (read(fd, events, sizeof(events)) > 0 || errno == EAGAIN));
	close(fd);
	return EXIT_DONE;
}

/* journalctl writes whole lines, so a line that has begun is read to its end. */
static void show_more(struct reader *r, int out)
{
	struct pollfd p[2] = { { out, POLLIN, 0 }, { STDOUT_FILENO, 0, 0 } };

	do {
		read_lines(r, true);
	} while ((poll(p, 2, -1) >= 0 || errno == EINTR) && !p[1].revents &&
		 !(p[0].revents & (POLLHUP | POLLERR)));
	read_lines(r, true);
}

/* Ends when nobody reads the output any more, by a signal, or with journalctl. */
static int follow_journal(struct reader *r, const char *unit)
{
	int fds[2], status = -1;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		wh_error("journalctl cannot be followed: %s", strerror(errno));
		return EXIT_FAILED;
	}
	pid = wh_journal_start(unit, r->cursor, fds[1]);
	close(fds[1]);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	fclose(r->f);
	r->f = wh_must(fdopen(fds[0], "r"));
	if (pid < 0)
		return EXIT_FAILED;
	show_more(r, fds[0]);
	kill(pid, SIGTERM);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) ? EXIT_FAILED : EXIT_DONE;
}

/* --- Which file ---------------------------------------------------------------------------- */

static char *log_of_vm(uint64_t id)
{
	char path[PATH_MAX];
	int rc = wh_registry_console(id, path, sizeof(path));

	if (!rc)
		return wh_must(strdup(path));
	if (rc == -ENOENT)
		wh_error("no VM %" PRIu64 " is alive that this command started", id);
	else
		wh_error("VM %" PRIu64 ": its console is where it was started; give it a file by `wormhole server start --console FILE'",
			 id);
	return NULL;
}

static char *log_of_server(const char *dir)
{
	char *path;

	if (asprintf(&path, "%s/server.log", dir) < 0)
		wh_no_memory();
	if (!access(path, R_OK))
		return path;
	if (errno == ENOENT)
		wh_error("%s: no server has run there in the background or as a service; one in the foreground writes where it was started, and `journalctl -u wormhole' has why a service did not start",
			 path);
	else
		wh_error("%s: %s; only root and the server's user may read it", path, strerror(errno));
	free(path);
	return NULL;
}

static bool is_tenant(const char *dir, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tenants/%s.limits", dir, name);
	return !access(path, F_OK);
}

/* Shows what there is by now. False: it is about a tenant that there neither is nor was. */
static bool show_past(struct reader *r)
{
	const struct logs_args *a = r->a;

	if (a->last != UINT64_MAX) {
		read_lines(r, false);
		r->from = r->seen > a->last ? r->seen - a->last : 0;
		r->seen = 0;
		r->inside = false;
		rewind(r->f);
	}
	read_lines(r, true);
	if (!a->of || r->seen || is_tenant(a->dir, a->of))
		return true;
	wh_error("there is no tenant '%s', and nothing about it was written", a->of);
	return false;
}

/* `of` is the path of the log, or the unit whose journal it is. */
static int show(struct reader *r, const char *of)
{
	int rc = EXIT_DONE;

	if (!show_past(r))
		rc = EXIT_FAILED;
	else if (r->a->follow)
		rc = r->journal ? follow_journal(r, of) : follow(r, of);
	fclose(r->f);
	return rc;
}

static int show_file(const struct logs_args *a, const char *path)
{
	struct reader r = { .a = a, .f = fopen(path, "re") };

	if (r.f)
		return show(&r, path);
	wh_error("%s: %s", path, strerror(errno));
	return EXIT_FAILED;
}

static int show_journal(const struct logs_args *a, const char *unit)
{
	struct reader r = { .a = a, .f = wh_journal_read(unit), .journal = true };

	return r.f ? show(&r, unit) : EXIT_FAILED;
}

int cmd_logs(int argc, char **argv)
{
	struct logs_args a = { .last = UINT64_MAX };
	char *path = NULL, *unit;
	int rc;

	wh_parse(&argp, argc, argv, 0, &a);
	a.dir = wh_server_dir(a.dir);
	unit = a.vm ? NULL : wh_journal_of(a.dir);
	if (!unit)
		path = a.vm ? log_of_vm(a.vm) : log_of_server(a.dir);
	rc = unit ? show_journal(&a, unit) : path ? show_file(&a, path) : EXIT_FAILED;
	free(path);
	free(unit);
	return rc;
}
