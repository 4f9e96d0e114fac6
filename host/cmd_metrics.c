// SPDX-License-Identifier: Apache-2.0
/*
 * `wormhole metrics`: figures of tenants, VMs and the server for Prometheus (metrics.c), on
 * standard output, in a file for node_exporter's textfile collector, or on sockets
 * (metrics_http.c). Each request reads the figures anew.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "metrics.h"
#include "views.h"

struct metrics_args {
	const char *dir, *output;
	unsigned int every;	/* in seconds; 0: once */
	const char *listen[METRICS_LISTENERS];
	int n;
};

/* --- Arguments ------------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write them into a file, whole or not at all, such as /var/lib/prometheus/node-exporter/wormhole.prom", 0 },
	{ "every", 'e', "SECONDS", 0, "write the file again and again", 0 },
	{ "listen", 'l', "ADDRESS", 0, "answer GET /metrics at unix:PATH, PORT, 127.0.0.1:PORT or [::1]:PORT; may be given again", 0 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct metrics_args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->dir;
		return 0;
	case 'o': a->output = arg; return 0;
	case 'e':
		a->every = (unsigned int)wh_arg_u64(state, "--every", arg, 1, 86400);
		return 0;
	case 'l':
		if (a->n == METRICS_LISTENERS)
			wh_usage_error(state, "--listen: at most %d", METRICS_LISTENERS);
		a->listen[a->n++] = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (a->every && !a->output)
			wh_usage_error(state, "--every: into which file? give --output");
		if (a->n && a->output && !a->every)
			wh_usage_error(state, "--output with --listen: how often? give --every");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	options, parse, NULL,
	"Print the figures of tenants, VMs and the server in the text form that Prometheus reads.",
	wh_dir_only, NULL, NULL
};

/* --- Text ---------------------------------------------------------------------------------- */

static char *look(void *arg, size_t *size)
{
	const struct metrics_args *a = arg;
	struct wh_pods *pods;
	struct wh_look l;
	struct wh_text text;
	char *all;
	FILE *f;

	if (!wh_look(a->dir, &l)) {
		wh_look_free(&l);
		return NULL;
	}
	pods = wh_pods_read(a->dir);
	f = wh_text_begin(&text);
	wh_metrics_write(&l, pods, f);
	wh_pods_free(pods);
	wh_look_free(&l);
	all = wh_text_end(f, &text);
	*size = text.n;
	return all;
}

/* --- Into a file ---------------------------------------------------------------------------- */

/* Replaces the file at once, so readers always see a complete one. */
static int replace(const char *path, const char *text, size_t size)
{
	char *draft;
	FILE *f = wh_draft_open(path, 0644, &draft);

	if (f)
		fwrite(text, 1, size, f);
	if (f && wh_draft_done(f, draft, path))
		return EXIT_DONE;
	switch (errno) {
	case EINVAL:
		wh_error("--output '%s': a device or a pipe; without --output the figures are printed", path);
		break;
	case ENOENT:
		wh_error("--output '%s': there is no such folder; make it first", path);
		break;
	default:
		wh_error("--output '%s': %s", path, strerror(errno));
	}
	return EXIT_FAILED;
}

static int write_file(struct metrics_args *a)
{
	size_t size;
	char *text = look(a, &size);
	int rc = text ? replace(a->output, text, size) : EXIT_FAILED;

	free(text);
	return rc;
}

static void tick(void *arg)
{
	write_file(arg);
}

/* --- On sockets ---------------------------------------------------------------------------- */

static volatile int end;

static void on_end(int sig)
{
	(void)sig;
	end = 1;
}

static int serve(struct metrics_args *a)
{
	struct sigaction s = { .sa_handler = on_end };
	int listener[METRICS_LISTENERS], n, i, rc = EXIT_DONE;
	char err[300];

	for (n = 0; n < a->n; n++) {
		listener[n] = metrics_listen(a->listen[n], err, sizeof(err));
		if (listener[n] >= 0)
			continue;
		rc = errno == EINVAL ? EXIT_USAGE : EXIT_FAILED;
		wh_error("--listen: %s", err);
		break;
	}
	sigaction(SIGTERM, &s, NULL);
	sigaction(SIGINT, &s, NULL);
	if (!rc && a->output)
		rc = write_file(a);
	if (!rc)
		metrics_serve(listener, n, look, a, a->every * 1000, tick, &end);
	for (i = 0; i < n; i++) {
		close(listener[i]);
		metrics_forget(a->listen[i]);
	}
	return rc;
}

int cmd_metrics(int argc, char **argv)
{
	static struct metrics_args a;
	size_t size;
	char *text;

	wh_parse(&argp, argc, argv, 0, &a);
	a.dir = wh_server_dir(a.dir);
	if (a.n || a.every)
		return serve(&a);
	if (a.output)
		return write_file(&a);
	text = look(&a, &size);
	if (!text)
		return EXIT_FAILED;
	fwrite(text, 1, size, stdout);
	free(text);
	return EXIT_DONE;
}
