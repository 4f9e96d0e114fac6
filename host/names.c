// SPDX-License-Identifier: Apache-2.0
/*
 * Names of roles, of VMX basic exit reasons (with the numbers of
 * arch/x86/include/uapi/asm/vmx.h) and of handoff reasons, for text and for --json.
 */
#include <errno.h>
#include <string.h>

#include "wormhole.h"

static const char *const roles[] = {
	[WH_ROLE_NONE]		= "none",
	[WH_ROLE_SERVER]	= "server",
	[WH_ROLE_CLIENT]	= "client",
};

static const char *const exits[WH_STAT_EXIT_REASONS] = {
	[0] = "exception_nmi", [1] = "external_interrupt", [2] = "triple_fault",
	[3] = "init_signal", [4] = "sipi_signal", [5] = "io_smi", [6] = "other_smi",
	[7] = "interrupt_window", [8] = "nmi_window", [9] = "task_switch",
	[10] = "cpuid", [11] = "getsec", [12] = "hlt", [13] = "invd", [14] = "invlpg",
	[15] = "rdpmc", [16] = "rdtsc", [17] = "rsm", [18] = "vmcall", [19] = "vmclear",
	[20] = "vmlaunch", [21] = "vmptrld", [22] = "vmptrst", [23] = "vmread",
	[24] = "vmresume", [25] = "vmwrite", [26] = "vmoff", [27] = "vmon",
	[28] = "cr_access", [29] = "dr_access", [30] = "io_instruction",
	[31] = "msr_read", [32] = "msr_write", [33] = "invalid_state",
	[34] = "msr_load_fail", [36] = "mwait", [37] = "monitor_trap_flag",
	[39] = "monitor", [40] = "pause", [41] = "mce_during_vmentry",
	[43] = "tpr_below_threshold", [44] = "apic_access", [45] = "eoi_induced",
	[46] = "gdtr_idtr", [47] = "ldtr_tr", [48] = "ept_violation",
	[49] = "ept_misconfig", [50] = "invept", [51] = "rdtscp",
	[52] = "preemption_timer", [53] = "invvpid", [54] = "wbinvd", [55] = "xsetbv",
	[56] = "apic_write", [57] = "rdrand", [58] = "invpcid", [59] = "vmfunc",
	[60] = "encls", [61] = "rdseed", [62] = "pml_full", [63] = "xsaves",
	[64] = "xrstors", [67] = "umwait", [68] = "tpause", [74] = "bus_lock",
	[75] = "notify",
};

static const char *const handoffs[WH_HANDOFF_REASONS] = {
	[WH_HANDOFF_SYSCALL]	= "syscall",
	[WH_HANDOFF_FAULT]	= "fault",
	[WH_HANDOFF_UD]		= "ud",
	[WH_HANDOFF_EXCEPTION]	= "exception",
	[WH_HANDOFF_INSN]	= "instruction",
};

const char *wh_name_role(uint32_t role)
{
	return role < sizeof(roles) / sizeof(roles[0]) ? roles[role] : "unknown";
}

int wh_role_by_name(const char *name, uint32_t *role)
{
	for (*role = WH_ROLE_SERVER; *role <= WH_ROLE_CLIENT; ++*role)
		if (!strcmp(name, roles[*role]))
			return 0;
	return -EINVAL;
}

const char *wh_name_exit(unsigned int reason)
{
	return reason < WH_STAT_EXIT_REASONS ? exits[reason] : NULL;
}

const char *wh_name_handoff(unsigned int reason)
{
	return reason < WH_HANDOFF_REASONS ? handoffs[reason] : NULL;
}
