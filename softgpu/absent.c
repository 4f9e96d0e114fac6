// SPDX-License-Identifier: Apache-2.0
/*
 * Weak stand-ins that refuse, until the PTX half is linked in.
 */
#include "driver.h"

#define WEAK __attribute__((weak))

WEAK enum ptx_status ptx_load(const char *text, size_t len,
			      const struct ptx_alloc *alloc,
			      struct ptx_module **out, char *log, size_t n)
{
	(void)text, (void)len, (void)alloc, (void)log, (void)n;
	*out = NULL;
	return PTX_ERR_UNSUPPORTED;
}

WEAK void ptx_unload(struct ptx_module *mod)
{
	(void)mod;
}

WEAK const struct ptx_func *ptx_find_entry(const struct ptx_module *mod,
					   const char *name)
{
	(void)mod, (void)name;
	return NULL;
}

WEAK const struct ptx_var *ptx_find_var(const struct ptx_module *mod,
					const char *name)
{
	(void)mod, (void)name;
	return NULL;
}

WEAK const char *exec_status_name(enum exec_status status)
{
	(void)status;
	return "?";
}

WEAK struct exec_machine *exec_new(void)
{
	static char none;

	return (struct exec_machine *)&none;
}

WEAK enum exec_status exec_run(struct exec_machine *m,
			       const struct exec_launch *l,
			       struct exec_fault *fault)
{
	(void)m, (void)l, (void)fault;
	return EXEC_ILLEGAL_INSTRUCTION;
}

/* Handlers that are still being written. */
WEAK int lop3_pred_v1(void)
{
	__builtin_trap();
}

WEAK int lop3_pred_v3(void)
{
	__builtin_trap();
}
