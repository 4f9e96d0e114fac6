/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test promises that softgpu/ptx/FORMS.md lists exactly the instruction forms that
 * softgpu runs. "forms.t --print" writes the list for it.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

static char *forms_text(void)
{
	size_t len;
	char *text = NULL;
	FILE *f = open_memstream(&text, &len);

	ptx_list_forms(f);
	fclose(f);
	return text;
}

/* Shows where both texts differ first, for the diagnostics. */
static void show_difference(const char *doc, const char *forms)
{
	while (*forms) {
		size_t n = strcspn(forms, "\n") + 1;

		if (strncmp(doc, forms, n)) {
			diag("FORMS.md lacks: %.*s", (int)n - 1, forms);
			return;
		}
		doc += n;
		forms += n;
	}
	diag("FORMS.md has more: %.40s", doc);
}

int main(int argc, char **argv)
{
	const char *top = getenv("WH_TOP");
	char path[512], *doc, *forms = forms_text(), *at, *end;

	if (argc > 1 && !strcmp(argv[1], "--print")) {
		fputs(forms, stdout);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/softgpu/ptx/FORMS.md", top ? top : TOP);
	doc = slurp(path);
	at = doc ? strstr(doc, "```text\n") : NULL;
	end = at ? strstr(at + 8, "```") : NULL;
	ok(at && end && (size_t)(end - at - 8) == strlen(forms) &&
	   !strncmp(at + 8, forms, strlen(forms)),
	   "documentation_lists_the_forms");
	if (at && end && strncmp(at + 8, forms, end - at - 8)) {
		*end = 0;
		show_difference(at + 8, forms);
	}
	ok(strlen(forms) > 10000 && strstr(forms, "\nadd{.rn}.f32\n"),
	   "list_has_the_forms");
	free(forms);
	free(doc);
	return tap_exit();
}
