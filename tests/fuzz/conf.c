// SPDX-License-Identifier: Apache-2.0
/*
 * The target is the reader of files of tenants. An input is such a file. What is read is written
 * and read again, and has to be the same.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "tenant/conf.h"

static void must(bool so, const char *what)
{
	if (so)
		return;
	fprintf(stderr, "conf: %s\n", what);
	abort();
}

static char *printed(const struct wh_conf_file *f, size_t *n)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, n);
	unsigned int i;

	must(out, "no memory");
	for (i = 0; i < f->n; i++)
		wh_conf_print(out, &f->tenant[i]);
	must(!fclose(out), "no memory");
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wh_conf_file first, second;
	char err[WH_CONF_ERROR] = "", *text, *again;
	size_t n, m;

	if (!wh_conf_parse(&first, "input", (const char *)data, size, err, sizeof(err))) {
		must(!strncmp(err, "input:", 6) && !strchr(err, '\n'), "an error without a file, or of two lines");
		must(!first.tenant && !first.n, "half a file was read");
		return 0;
	}
	text = printed(&first, &n);
	must(wh_conf_parse(&second, "output", text, n, err, sizeof(err)), err);
	again = printed(&second, &m);
	must(n == m && !memcmp(text, again, n), "what was written is read as something else");
	free(again);
	free(text);
	wh_conf_free(&second);
	wh_conf_free(&first);
	return 0;
}
