/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoded instruction: the PTX half writes it, and the executor reads it.
 *
 * A module's code is one array of struct insn, and a program counter is an index into it. A
 * register operand is a byte offset into the frame of the current function, where 32 lanes
 * are side by side. A constant operand is a byte offset into the module's pool of broadcast
 * constants, with bit 0 set.
 */
#ifndef WORMHOLE_SOFTGPU_PTX_INSN_H
#define WORMHOLE_SOFTGPU_PTX_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ptx.h"

#define WARP_LANES	32
#define WARP_FULL	0xffffffffu

struct warp;
struct insn;

/* Runs one instruction for the lanes of @mask. Nonzero means that a fault is recorded. */
typedef int exec_fn(struct warp *w, const struct insn *in, uint32_t mask);

enum ptx_type {
	T_NONE, T_PRED,
	T_B8, T_U8, T_S8,
	T_B16, T_U16, T_S16, T_F16, T_BF16,
	T_B32, T_U32, T_S32, T_F32, T_F16X2, T_BF16X2, T_TF32,
	T_U16X2, T_S16X2,
	T_B64, T_U64, T_S64, T_F64, T_F32X2,
	T_B128,
	T_E4M3X2, T_E5M2X2,
	T_COUNT
};

struct type_info {
	const char *name;
	uint8_t size;
	bool is_signed, is_float;
};

extern const struct type_info ptx_types[T_COUNT];
enum sreg {
	SR_NONE,
	SR_TID_X, SR_TID_Y, SR_TID_Z, SR_NTID_X, SR_NTID_Y, SR_NTID_Z,
	SR_CTAID_X, SR_CTAID_Y, SR_CTAID_Z, SR_NCTAID_X, SR_NCTAID_Y,
	SR_NCTAID_Z, SR_LANEID, SR_WARPID, SR_NWARPID, SR_SMID, SR_NSMID,
	SR_GRIDID, SR_LM_EQ, SR_LM_LE, SR_LM_LT, SR_LM_GE, SR_LM_GT, SR_CLOCK,
	SR_CLOCK_HI, SR_CLOCK64, SR_TIMER, SR_TIMER_LO, SR_TIMER_HI,
	SR_DYN_SMEM, SR_TOTAL_SMEM, SR_AGGR_SMEM, SR_ZERO32,
	SR_DYN_BASE, SR_GRID_WS_HI, SR_GRID_WS_LO,
	SR_CLUSTERID_X, SR_CLUSTERID_Y, SR_CLUSTERID_Z,
	SR_NCLUSTERID_X, SR_NCLUSTERID_Y, SR_NCLUSTERID_Z,
	SR_CLUSTER_CTAID_X, SR_CLUSTER_CTAID_Y, SR_CLUSTER_CTAID_Z,
	SR_CLUSTER_NCTAID_X, SR_CLUSTER_NCTAID_Y, SR_CLUSTER_NCTAID_Z,
	SR_CLUSTER_RANK, SR_CLUSTER_NRANK, SR_EXPLICIT_CLUSTER,
};

enum cmp_op {
	CMP_NONE, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE, CMP_LO,
	CMP_LS, CMP_HI, CMP_HS, CMP_EQU, CMP_NEU, CMP_LTU, CMP_LEU, CMP_GTU,
	CMP_GEU, CMP_NUM, CMP_NAN,
};

enum bool_op { BOP_NONE, BOP_AND, BOP_OR, BOP_XOR };

enum atom_op {
	AOP_NONE, AOP_AND, AOP_OR, AOP_XOR, AOP_EXCH, AOP_ADD, AOP_INC,
	AOP_DEC, AOP_MIN, AOP_MAX, AOP_CAS, AOP_POPC,
};

/* Types of a video shift (insn.sub2). */
enum vshift_type { VSHIFT_SIGNED_RESULT = 1, VSHIFT_SIGNED_SOURCE = 2 };

enum testp_op {
	TESTP_FINITE = 1, TESTP_INFINITE, TESTP_NUMBER, TESTP_NAN, TESTP_NORMAL,
	TESTP_SUBNORMAL,
};

enum bar_op { BAR_SYNC, BAR_ARRIVE, BAR_RED };

enum sync_op {
	SYNC_NONE, SYNC_WARP, SYNC_SHFL_UP, SYNC_SHFL_DOWN, SYNC_SHFL_BFLY,
	SYNC_SHFL_IDX, SYNC_VOTE_ALL, SYNC_VOTE_ANY, SYNC_VOTE_UNI,
	SYNC_VOTE_BALLOT, SYNC_MATCH_ANY, SYNC_MATCH_ALL, SYNC_REDUX,
	SYNC_ELECT,
};

/* Windows of the generic address space. Their high bits make the addresses non-canonical. */
#define WIN_SHARED	0x0100000000000000ull
#define WIN_LOCAL	0x0200000000000000ull
#define WIN_PARAM	0x0300000000000000ull
#define WIN_FUNC	0x0400000000000000ull	/* function handles, 16 apart */
#define WIN_MASK	0xff00000000000000ull

/*
 * Shared memory of a cluster: above its offset an address has the rank of a block plus 1. A
 * block's own memory has 0 there, too, in the space .shared::cta.
 */
#define CLUSTER_SHIFT	24
#define CLUSTER_OFFSET	((1ull << CLUSTER_SHIFT) - 1)
#define CLUSTER_NOWHERE	0xff	/* the tag of no block */

enum insn_flags {
	INSN_CTL = 1,		/* control: the scheduler runs it (insn.ctl) */
	INSN_LEADER = 2,	/* a place where diverged lanes may meet again */
	INSN_GUARD = 4,		/* only lanes whose predicate insn.guard is set run it */
	INSN_GUARD_NOT = 8,	/* only lanes whose predicate insn.guard is clear run it */
};

enum insn_ctl {
	CTL_NONE,
	CTL_BRA,		/* imm = target */
	CTL_BRX,		/* a = index, vec = targets, n of them */
	CTL_CALL,		/* vec = index of struct call_site */
	CTL_RET,
	CTL_EXIT,
	CTL_BAR,		/* barrier of the block */
	CTL_CLUSTER,		/* barrier of the cluster; sub = enum bar_op */
	CTL_SYNC,		/* needs all lanes of a member mask */
	CTL_MATRIX,		/* needs all lanes of the warp; insn.fn runs it */
	CTL_WARPGROUP,		/* needs all lanes of four warps; insn.fn runs it */
	CTL_POLL,		/* insn.fn answers; where it is no, other warps run first */
	CTL_TRAP,
	CTL_YIELD,		/* nanosleep: lets other warps run */
};

/* insn.mode of arithmetic: rounding in the low two bits, then flags. */
enum insn_mode {
	MODE_RN = 0,
	MODE_RZ = 1,
	MODE_RM = 2,
	MODE_RP = 3,
	MODE_RND = 3,
	MODE_FTZ = 4,
	MODE_SAT = 8,
	MODE_NAN = 0x10,
	MODE_XORSIGN = 0x20,
	MODE_RELU = 0x40,
	MODE_ABS = 0x80,
	MODE_SATFINITE = 0x100,
	MODE_RNA = 0x200,	/* to nearest, ties away */
	MODE_INTEGRAL = 0x400,	/* the rounding is to an integral value */
	MODE_CLAMP = 0x800,	/* of a shift: 32 is the most, else five bits count */
	MODE_ZERO = 0x1000,	/* of a surface: outside there are zeros, else a fault */
};

/* Types of the elements of matrices (insn.sub and insn.sub2 for those of A and B). */
enum matrix_element {
	EL_NONE, EL_F16, EL_BF16, EL_TF32, EL_E4M3, EL_E5M2, EL_S8, EL_U8, EL_F32, EL_F64, EL_S32,
};

/* What is done to an mbarrier (insn.sub). */
enum mbar_change {
	MBAR_ARRIVE = 1,
	MBAR_DROP = 2,		/* the arrivals leave the phases to come, too */
	MBAR_KEEP = 4,		/* the phase must not become complete */
	MBAR_EXPECT = 8,	/* more bytes are pending */
	MBAR_COMPLETE = 16,	/* fewer bytes are pending */
};

/* insn.mode of wgmma. */
enum wgmma_mode {
	WGMMA_A_REGS = 1,	/* A is in registers, not in shared memory */
	WGMMA_NEGATE = 2,	/* one of A and B is negated */
	WGMMA_TRANS_A = 4,	/* A is stored column after column */
	WGMMA_TRANS_B = 8,	/* B is stored row after row */
	WGMMA_F16 = 16,		/* the sums are f16 */
	WGMMA_S32 = 32,		/* the sums are s32 */
};

enum mem_space {
	SP_GENERIC,
	SP_GLOBAL,		/* also .const: both are plain addresses */
	SP_SHARED,
	SP_LOCAL,
	SP_PARAM,		/* the parameter block of the entry */
	SP_FRAME,		/* .param of functions and call sequences */
	SP_CONST,
	SP_CLUSTER,		/* shared memory of all blocks of the cluster */
};

/*
 * Several loads from shared memory may use the same address register, with nothing between
 * them that could change it or the active lanes. Then only the first one looks at the
 * addresses; it keeps the result in a slot of the warp.
 */
#define NSLOTS		4
#define SLOT_KNOWN	0x80	/* insn.slot: the slot was filled before */
#define SLOT_NONE	0xff

/* Shapes of textures and surfaces (insn.sub). */
enum tex_shape {
	TEX_1D = 1, TEX_2D, TEX_3D, TEX_A1D, TEX_A2D, TEX_CUBE, TEX_ACUBE,
};

/* Flags of a fetch: its coordinates are float; its operand is the address of a texture object. */
#define TEX_FLOATS	1
#define TEX_REFERENCE	2

struct insn {
	exec_fn *fn;
	int32_t d, a, b, c;
	int64_t imm;
	int32_t guard;
	int32_t vec;		/* index into the module's list of operands */
	uint32_t line;
	uint16_t mode;
	uint8_t flags;		/* enum insn_flags */
	uint8_t ctl;		/* enum insn_ctl */
	uint8_t space;		/* enum mem_space */
	uint8_t n;		/* elements of a vector, or targets' kind */
	uint8_t size;		/* bytes of one element in memory */
	uint8_t wide;		/* bytes of one lane of the register */
	uint8_t sub;		/* operation of a family, from the family's own enum */
	uint8_t sub2;
	uint8_t a32;		/* the address register has 32 bits */
	uint8_t sext;		/* a narrow load is sign-extended */
	uint8_t slot;		/* SLOT_*: addresses that loads share */
	uint8_t len;		/* instructions that fn runs: 1, or a fused run */
	uint8_t dead;		/* in a fused run: a later instruction overwrites the result */
};

/* One argument or result: its place in the frames of the caller and the callee. */
struct call_arg {
	uint32_t from;		/* in the caller's local frame */
	uint32_t size;
};

enum call_builtin {
	CALL_NORMAL,
	CALL_VPRINTF,
	CALL_ASSERTFAIL,
	CALL_CONDITION,		/* cudaGraphSetConditional() */
};

struct call_site {
	uint32_t caller;	/* function indices */
	int32_t callee;		/* -1: the target is in the register insn.a */
	uint8_t builtin;	/* enum call_builtin */
	uint32_t nargs, nrets;
	struct call_arg *args;	/* nargs, then nrets results */
};

/* Facts about a function that the executor needs. */
struct ptx_code {
	uint32_t index;		/* in ptx_module.funcs */
	uint32_t first;		/* first instruction */
	uint32_t end;		/* after the last one */
	bool defined;
	uint8_t builtin;	/* enum call_builtin */
	uint32_t frame_bytes;	/* registers of a warp, with the frame header */
	uint32_t local_frame;	/* local memory of this function alone */
	uint32_t stack_regs;	/* bytes for the deepest call chain; 0 = unbounded */
	uint32_t stack_local;
	uint32_t nformals, nresults;
	struct call_arg *formals; /* nformals, then nresults; from = own frame */
};

/* The frame starts with the return addresses of the 32 lanes. */
#define FRAME_HEADER	128u

/* Memory that is freed as a whole (util.c). */
struct arena_chunk;
struct arena {
	struct arena_chunk *head;
	size_t used, cap;
};

/* A module as the executor sees it. */
struct ptx_image {
	struct ptx_module mod;	/* first */
	struct arena arena;
	struct ptx_alloc alloc;
	struct insn *code;
	uint32_t ncode;
	int32_t *vecs;
	struct call_site *sites;
	uint32_t nsites;
	uint8_t *consts;	/* the pool of broadcast constants */
	uint32_t dyn_align;	/* of .extern .shared arrays */
	size_t const_bytes;
};

/* Returns the set of handlers that new modules use: 0 plain x86-64, 1 AVX2 with FMA. */
int ptx_isa(void);
/* For tests: forces a set (0 or 1), or detects it (-1). Returns false if the CPU lacks it. */
bool ptx_force_isa(int isa);

#endif
