/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns PTX text into runnable code: the parser's interface to the driver half of softgpu.
 *
 * A module is loaded once (parsed, checked, decoded) and is read-only from then on, so any
 * number of exec_run() may use it at the same time. An instruction or form that the
 * executor does not know is an error of the load, which names the whole opcode and its
 * line. Nothing is ever guessed.
 */
#ifndef WORMHOLE_SOFTGPU_PTX_H
#define WORMHOLE_SOFTGPU_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ptx_status {
	PTX_OK,
	PTX_ERR_SYNTAX,		/* not PTX, or breaks its rules */
	PTX_ERR_UNSUPPORTED,	/* PTX that this executor does not run */
	PTX_ERR_UNRESOLVED,	/* an .extern that nothing defines */
	PTX_ERR_NOMEM,
};

enum ptx_space {
	PTX_SPACE_GLOBAL,
	PTX_SPACE_CONST,
};

/* One kernel parameter: its place in the packed block of parameters. */
struct ptx_param {
	uint32_t offset;
	uint32_t size;
	uint32_t align;
};

struct ptx_code;

/* A kernel (.entry) or a device function (.func). */
struct ptx_func {
	const char *name;
	bool entry;
	uint32_t nparams;
	const struct ptx_param *params;
	uint32_t param_bytes;	/* length of the packed block, for entries only */
	uint32_t static_shared;	/* bytes, including functions that it may call */
	uint32_t local_bytes;	/* per thread, including functions that it may call */
	uint32_t nregs;		/* 32-bit registers per thread, at most 255 */
	uint32_t max_threads;	/* per block (.maxntid, .reqntid); 0 = no bound */
	uint32_t min_blocks;	/* .minnctapersm; 0 = not given */
	uint32_t reqntid[3];	/* the block shape that is required; 0,0,0 = any */
	uint32_t cluster[3];	/* the cluster shape that is required (.reqnctapercluster) */
	uint32_t max_cluster;	/* blocks of a cluster (.maxclusterrank); 0 = no bound */
	bool explicit_cluster;	/* each launch must have clusters (.explicitcluster) */
	const struct ptx_module *module;
	struct ptx_code *code;	/* internal to the PTX half */
};

/* A module-scope .global or .const variable. */
struct ptx_var {
	const char *name;
	enum ptx_space space;
	bool visible;		/* .visible, .weak or .common: other modules find it by name */
	bool managed;		/* .attribute(.managed): the host uses it, too */
	bool texref;		/* .texref: holds the texture object that is bound, or 0 */
	bool surfref;		/* .surfref: the same for a surface object */
	uint64_t size;
	uint64_t align;
	void *addr;		/* device memory from struct ptx_alloc */
};

struct ptx_module {
	uint32_t version;	/* .version 9.0 is 90 */
	uint32_t target;	/* .target sm_75 is 75 */
	uint32_t nfuncs;
	struct ptx_func *funcs;
	uint32_t nvars;
	struct ptx_var *vars;
};

/*
 * Device memory for the variables of a module. alloc() returns memory that exec_mem.find()
 * will accept later, or NULL. ptx_load() fills in initialisers, or zeros if there is none.
 * ptx_unload() calls free() once for each allocation.
 */
struct ptx_alloc {
	void *ctx;
	void *(*alloc)(void *ctx, const struct ptx_var *var);
	void (*free)(void *ctx, void *addr);
};

/*
 * Loads @len bytes of PTX; a NUL ends the text earlier. On success *@out is the module. On
 * failure *@out is NULL and @log holds one line "line N: ...". @alloc is copied. The
 * function never crashes on any input, and its time is bounded by the length of the text.
 */
enum ptx_status ptx_load(const char *text, size_t len,
			 const struct ptx_alloc *alloc, struct ptx_module **out,
			 char *log, size_t log_len);
void ptx_unload(struct ptx_module *mod);

/* These return NULL if there is none of that name. ptx_find_entry() finds kernels only. */
const struct ptx_func *ptx_find_entry(const struct ptx_module *mod,
				      const char *name);
const struct ptx_var *ptx_find_var(const struct ptx_module *mod,
				   const char *name);

/* Prints every supported instruction form, one per line, sorted. */
void ptx_list_forms(FILE *out);

#endif
