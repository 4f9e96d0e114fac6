// SPDX-License-Identifier: Apache-2.0
//
// Writes the file `record` in the machine's folder: one struct record for each event
// between two marks, in the order of the emulated machine. If two processors take turns,
// the field `cpu` tells them apart.
//
//	B, E	marks: a = RAX of the program, which identifies the call
//	S	what follows on this processor runs with EPT root a (0: no guest) and CR3 b
//	I	an instruction: a = RIP, b = its physical address, flags = CPL, len = class
//	M	an access to data: a = linear, b = physical address, flags = 1 if it writes, len = bytes
//	X	VM exit: a = reason, b = qualification
//	T	translations are invalidated: a = by what (BX_INSTR_MOV_CR3 ...)
#include "bochs.h"
#include "cpu/cpu.h"
#include "instrument.h"

#define MAX_CPUS 8

struct record {
	Bit8u type;
	Bit8u flags;
	Bit8u cpu;
	Bit8u len;
	Bit32u zero;
	Bit64u a;
	Bit64u b;
};

// Classes of instructions that cost more than others. bench/record.py has their names.
enum {
	IS_PLAIN, IS_VMFUNC, IS_FSGSBASE, IS_CPUID, IS_SYSCALL, IS_SYSRET, IS_MSR, IS_SWAPGS, IS_XSTATE,
	IS_VMENTRY, IS_ATOMIC, IS_FENCE, IS_PAUSE,
};

bool wh_recording;
static FILE *file;
static Bit64u last_root[MAX_CPUS], last_cr3[MAX_CPUS];

static void put(unsigned int cpu, char type, unsigned int flags, unsigned int len, Bit64u a, Bit64u b)
{
	struct record r = { (Bit8u)type, (Bit8u)flags, (Bit8u)cpu, (Bit8u)len, 0, a, b };

	if (!file && !(file = fopen("record", "wb"))) {
		perror("record");
		exit(1);
	}
	fwrite(&r, sizeof(r), 1, file);
}

static unsigned int class_of(const bxInstruction_c *i)
{
	switch (i->getIaOpcode()) {
	case BX_IA_VMFUNC:
		return IS_VMFUNC;
	case BX_IA_RDFSBASE_Ed: case BX_IA_RDFSBASE_Eq: case BX_IA_WRFSBASE_Ed: case BX_IA_WRFSBASE_Eq:
	case BX_IA_RDGSBASE_Ed: case BX_IA_RDGSBASE_Eq: case BX_IA_WRGSBASE_Ed: case BX_IA_WRGSBASE_Eq:
		return IS_FSGSBASE;
	case BX_IA_CPUID:
		return IS_CPUID;
	case BX_IA_SYSCALL:
		return IS_SYSCALL;
	case BX_IA_SYSRET:
		return IS_SYSRET;
	case BX_IA_RDMSR: case BX_IA_WRMSR:
		return IS_MSR;
	case BX_IA_SWAPGS:
		return IS_SWAPGS;
	case BX_IA_FXSAVE: case BX_IA_FXRSTOR: case BX_IA_XSAVE: case BX_IA_XSAVEC: case BX_IA_XSAVES:
	case BX_IA_XSAVEOPT: case BX_IA_XRSTOR: case BX_IA_XRSTORS:
		return IS_XSTATE;
	case BX_IA_VMLAUNCH: case BX_IA_VMRESUME:
		return IS_VMENTRY;
	case BX_IA_LFENCE: case BX_IA_MFENCE:
		return IS_FENCE;
	case BX_IA_PAUSE:
		return IS_PAUSE;
	case BX_IA_XCHG_EdGd: case BX_IA_XCHG_EqGq:
		return i->modC0() ? IS_PLAIN : IS_ATOMIC;
	default:
		return i->getLock() ? IS_ATOMIC : IS_PLAIN;
	}
}

static void tell_space(unsigned int cpu)
{
	BX_CPU_C *c = BX_CPU(cpu);
	Bit64u root = c->in_vmx_guest ? c->vmcs.eptptr : 0, cr3 = c->cr3;

	if (root == last_root[cpu] && cr3 == last_cr3[cpu])
		return;
	last_root[cpu] = root;
	last_cr3[cpu] = cr3;
	put(cpu, 'S', c->vmcs.vpid & 0xff, 0, root, cr3);
}

// A mark is an XCHG of a register with itself at CPL 3: BX begins, CX ends.
static bool is_mark(const BX_CPU_C *c, const bxInstruction_c *i)
{
	return i->getIaOpcode() == BX_IA_XCHG_EwGw && i->modC0() && i->dst() == i->src() &&
	       c->sregs[BX_SEG_REG_CS].selector.rpl == 3;
}

static void mark(unsigned int cpu, bool begins)
{
	unsigned int n;

	if (begins == wh_recording)
		return;
	wh_recording = begins;
	put(cpu, begins ? 'B' : 'E', 0, 0, BX_CPU(cpu)->get_reg64(BX_64BIT_REG_RAX), 0);
	for (n = 0; begins && n < MAX_CPUS; n++)
		last_root[n] = last_cr3[n] = ~(Bit64u)0;
}

void wh_instruction(unsigned int cpu, bxInstruction_c *i)
{
	BX_CPU_C *c = BX_CPU(cpu);
	Bit64u rip = c->get_instruction_pointer();

	if (is_mark(c, i) && (i->src() == BX_16BIT_REG_BX || i->src() == BX_16BIT_REG_CX)) {
		mark(cpu, i->src() == BX_16BIT_REG_BX);
		return;
	}
	if (!wh_recording)
		return;
	tell_space(cpu);
	put(cpu, 'I', c->sregs[BX_SEG_REG_CS].selector.rpl, class_of(i), rip,
	    c->pAddrFetchPage | (rip & 0xfff));
}

void wh_access(unsigned int cpu, Bit64u lin, Bit64u phy, unsigned int len, unsigned int rw)
{
	put(cpu, 'M', rw == BX_WRITE || rw == BX_RW, len, lin, phy);
}

void wh_event(unsigned int cpu, char type, Bit64u what, Bit64u more)
{
	put(cpu, type, 0, 0, what, more);
}

void wh_end(void)
{
	if (file)
		fclose(file);
	file = NULL;
}
