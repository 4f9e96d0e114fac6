/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The emulator's instrumentation interface (instrument/instrumentation.txt of Bochs). It
 * writes down what runs between two marks: each instruction, each access to memory, each
 * exit and each change of address space. instrument.cc describes the format;
 * bench/record.py reads it. Nothing else is observed, so the machine is fast up to the
 * first mark.
 */
#ifndef WORMHOLE_INSTRUMENT_H
#define WORMHOLE_INSTRUMENT_H

#if BX_INSTRUMENTATION

#include "cpu/decoder/ia_opcodes.h"

class bxInstruction_c;

extern bool wh_recording;	/* between XCHG BX,BX and XCHG CX,CX, at CPL 3 */
void wh_instruction(unsigned int cpu, bxInstruction_c *i);
void wh_access(unsigned int cpu, Bit64u lin, Bit64u phy, unsigned int len, unsigned int rw);
void wh_event(unsigned int cpu, char type, Bit64u what, Bit64u more);
void wh_end(void);

#define BX_INSTR_BEFORE_EXECUTION(cpu, i) do {					\
	if (wh_recording || (i)->getIaOpcode() == BX_IA_XCHG_EwGw)		\
		wh_instruction(cpu, i);						\
} while (0)
#define BX_INSTR_LIN_ACCESS(cpu, lin, phy, len, memtype, rw) do {		\
	if (wh_recording)							\
		wh_access(cpu, lin, phy, len, rw);				\
} while (0)
#define BX_INSTR_VMEXIT(cpu, reason, qualification) do {			\
	if (wh_recording)							\
		wh_event(cpu, 'X', reason, qualification);			\
} while (0)
#define BX_INSTR_TLB_CNTRL(cpu, what, more) do {				\
	if (wh_recording)							\
		wh_event(cpu, 'T', what, more);					\
} while (0)
#define BX_INSTR_EXIT_ENV()			wh_end()

#else

#define BX_INSTR_BEFORE_EXECUTION(cpu, i)
#define BX_INSTR_LIN_ACCESS(cpu, lin, phy, len, memtype, rw)
#define BX_INSTR_VMEXIT(cpu, reason, qualification)
#define BX_INSTR_TLB_CNTRL(cpu, what, more)
#define BX_INSTR_EXIT_ENV()

#endif

/* These events are not observed. */
#define BX_INSTR_INIT_ENV()
#define BX_INSTR_INITIALIZE(cpu)
#define BX_INSTR_EXIT(cpu)
#define BX_INSTR_RESET(cpu, type)
#define BX_INSTR_HLT(cpu)
#define BX_INSTR_MWAIT(cpu, addr, len, flags)
#define BX_INSTR_DEBUG_PROMPT()
#define BX_INSTR_DEBUG_CMD(cmd)
#define BX_INSTR_CNEAR_BRANCH_TAKEN(cpu, branch, target)
#define BX_INSTR_CNEAR_BRANCH_NOT_TAKEN(cpu, branch)
#define BX_INSTR_UCNEAR_BRANCH(cpu, what, branch, target)
#define BX_INSTR_FAR_BRANCH(cpu, what, prev_cs, prev, cs, target)
#define BX_INSTR_OPCODE(cpu, i, opcode, len, is32, is64)
#define BX_INSTR_EXCEPTION(cpu, vector, error_code)
#define BX_INSTR_INTERRUPT(cpu, vector)
#define BX_INSTR_HWINTERRUPT(cpu, vector, cs, eip)
#define BX_INSTR_CLFLUSH(cpu, lin, phy)
#define BX_INSTR_CACHE_CNTRL(cpu, what)
#define BX_INSTR_PREFETCH_HINT(cpu, what, seg, offset)
#define BX_INSTR_AFTER_EXECUTION(cpu, i)
#define BX_INSTR_REPEAT_ITERATION(cpu, i)
#define BX_INSTR_PHY_ACCESS(cpu, phy, len, memtype, rw)
#define BX_INSTR_INP(addr, len)
#define BX_INSTR_INP2(addr, len, val)
#define BX_INSTR_OUTP(addr, len, val)
#define BX_INSTR_WRMSR(cpu, addr, value)

#endif
