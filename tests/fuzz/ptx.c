// SPDX-License-Identifier: Apache-2.0
/*
 * The target is the reader of PTX. An input is one text, or several with 0xff between
 * them, which are joined as the parts of a linked program are. The loaded code is not
 * run.
 */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "fuzz.h"
#include "ptx/ptx.h"

#define PARTS		4
#define VARIABLE	(1u << 20)	/* the size limit of a variable on this device */

static void *give(void *ctx, const struct ptx_var *var)
{
	(void)ctx;
	if (var->size > VARIABLE || var->align > 4096 || var->align & (var->align - 1))
		return NULL;
	return aligned_alloc(var->align ? var->align : 1,
			     (var->size + var->align) / (var->align ? var->align : 1) *
			     (var->align ? var->align : 1));
}

static void take(void *ctx, void *addr)
{
	(void)ctx;
	free(addr);
}

static void load(const char *text, size_t n)
{
	static const struct ptx_alloc device = { .alloc = give, .free = take };
	struct ptx_module *mod;
	char log[256];

	if (ptx_load(text, n, &device, &mod, log, sizeof(log)) == PTX_OK) {
		ptx_find_entry(mod, "kernel");
		ptx_find_var(mod, "word");
		ptx_unload(mod);
	}
}

/* Returns a copy of the text, with the NUL that images have. */
static char *copy_of(const uint8_t *from, size_t n)
{
	char *text = malloc(n + 1);

	memcpy(text, from, n);
	text[n] = 0;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size, *next;
	struct sgpu_image part[PARTS] = { 0 }, joined;
	unsigned int n = 0, i;

	do {
		next = memchr(at, 0xff, end - at);
		next = next ? next : end;
		part[n].text = copy_of(at, next - at);
		part[n].len = strlen(part[n].text);
		part[n].target = 70;
		part[n].part = n;
		n++;
		at = next + 1;
	} while (at < end && n < PARTS);
	if (n == 1) {
		load(part[0].text, part[0].len);
	} else if (!sgpu_join(part, n, &joined)) {
		load(joined.text, joined.len);
		free(joined.text);
	}
	for (i = 0; i < n; i++)
		free(part[i].text);
	return 0;
}
