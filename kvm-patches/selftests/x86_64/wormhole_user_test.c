// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ordinary user process of a client VM gains over its own kernel by being in
 * a view: nothing.  Every architectural way from CPL 3 to CPL 0 ends as it does in
 * the worker's own world, or fails the call; the client's kernel sees no exception at
 * CPL 0, and none with a user's GS base.  Needs VMFUNC.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include "wormhole.h"

#define GATE_SELECTOR	0x60		/* free in the GDT of the tests' VMs */
#define LDT_GATE	0x07		/* the first entry of the LDT, RPL 3 */
#define MSR_SYSENTER_CS	0x174
#define MSR_SYSENTER_ESP 0x175
#define MSR_SYSENTER_EIP 0x176
#define RESUMED		0x600d
#define SPIN_WORD	256		/* of the data area */

/* --- In the view, CPL 3 ------------------------------------------------------------ */

/*
 * One way.  A fault that the server's kernel does not know goes on at wh_way_fixup
 * with the vector, negative; of a #GP it skips two bytes and sets RAX.
 */
#define WAY(name, code)							\
static __attribute__((naked)) s64 name(void *session, u64 slot, u64 a0, u64 a1)	\
{									\
	asm("mov %rdx, %rdi\n\t"					\
	    "mov %rcx, %rsi\n\t"					\
	    "mov $0x600d, %eax\n\t"					\
	    code "\n\t"							\
	    "ret");							\
}

#define FRAME	"push $0x2b\npush %rsp\npushfq\npush $0x33\nlea 2f(%rip), %rdx\npush %rdx\n"
#define SYSENTER "mov %rsp, %rcx\nlea 1f(%rip), %rdx\nsysenter\n1:"
#define SET_FLAG(flag) "pushfq\norl $" flag ", (%rsp)\npopfq\n"
#define CLEAR_FLAG(flag) "pushfq\nandl $~" flag ", (%rsp)\npopfq\n"

WAY(way_syscall, "mov $1, %eax\nsyscall")
WAY(way_int, ".byte 0xcd, 0x40")
WAY(way_int80, ".byte 0xcd, 0x80")
WAY(way_int3, "int3")
WAY(way_int3_long, ".byte 0xcd, 0x03")
WAY(way_into, ".byte 0xce")
WAY(way_int1, ".byte 0xf1")
WAY(way_int_df, ".byte 0xcd, 0x08")
WAY(way_int_mc, ".byte 0xcd, 0x12")
WAY(way_div, "xor %ecx, %ecx\nxor %edx, %edx\ndiv %ecx")
WAY(way_far_call, "lea wh_far_call(%rip), %rax\n.byte 0xff, 0x18")
WAY(way_far_call_ldt, "lea wh_far_ldt(%rip), %rax\n.byte 0xff, 0x18")
WAY(way_far_jmp, "lea wh_far_call(%rip), %rax\n.byte 0xff, 0x28")
WAY(way_far_jmp_kernel, "lea wh_far_kernel(%rip), %rax\n.byte 0xff, 0x28")
WAY(way_far_ret, "push $0x10\nlea 1f(%rip), %rdx\npush %rdx\nlretq\n1: add $16, %rsp")
WAY(way_iret_kernel, "push $0x18\npush %rsp\npushfq\npush $0x10\npush %rdx\niretq\nadd $40, %rsp")
WAY(way_iret_nt, SET_FLAG("0x4000") FRAME "iretq\nadd $32, %rsp\n2: add $8, %rsp\n"
	CLEAR_FLAG("0x4000"))
WAY(way_sysret, ".byte 0x0f, 0x07")
WAY(way_sysexit, ".byte 0x0f, 0x35")
WAY(way_sysenter, "wrgsbase %rdi\n" SYSENTER)
/* The trap comes behind SYSENTER, at CPL 0. */
WAY(way_sysenter_tf, "wrgsbase %rdi\nmov %rsp, %rcx\nlea 1f(%rip), %rdx\n"
	SET_FLAG("0x100") "sysenter\n1:")
WAY(way_add, "lea (%rdi, %rsi), %rax")
/* What would show the client's top-level table if the slot's gigabyte were one. */
WAY(way_write, "mov %rsi, (%rdi)\nmov (%rdi), %rax")
/* A second thread in the slot waits here, in the server, for as long as it is told. */
WAY(way_fault, "mov (%rdi), %rax")

extern const u8 wh_way_fixup[], wh_far_call[], wh_far_ldt[], wh_far_kernel[], kernel_entry[];

asm(".pushsection .text\n"
	"	.globl wh_way_fixup\n"
	"wh_way_fixup: ret\n"
	"	.globl wh_far_call, wh_far_ldt, wh_far_kernel\n"
	"wh_far_call: .long 0\n .word 0x63\n"
	"wh_far_ldt: .long 0\n .word 0x07\n"
	"wh_far_kernel: .long 0\n .word 0x10\n"
	".popsection\n");

enum { H_ADD, H_WRITE, H_FAULT, H_SYSENTER, H_SYSENTER_TF, H_WAYS };

static const struct {
	const char *name;
	wh_handler_fn fn;
	s64 result;
} ways[] = {
	{ "syscall", way_syscall, 7 },
	{ "int_n", way_int, WH_AFTER_GP },
	{ "int_0x80", way_int80, WH_AFTER_GP },
	{ "int3", way_int3, RESUMED },
	{ "int_3", way_int3_long, RESUMED },
	{ "into", way_into, -6 },
	{ "int1", way_int1, -1 },
	{ "int_of_double_fault", way_int_df, WH_AFTER_GP },
	{ "int_of_machine_check", way_int_mc, WH_AFTER_GP },
	{ "divide_error", way_div, WH_AFTER_DE },
	{ "call_through_a_gate_of_the_gdt", way_far_call, WH_AFTER_GP },
	/* The server's own LDT is not there. */
	{ "call_through_a_gate_of_the_ldt", way_far_call_ldt, -14 },
	{ "jmp_through_a_gate_of_the_gdt", way_far_jmp, WH_AFTER_GP },
	{ "far_jmp_to_a_kernel_segment", way_far_jmp_kernel, WH_AFTER_GP },
	{ "far_ret_to_a_kernel_segment", way_far_ret, WH_AFTER_GP },
	{ "iret_to_a_kernel_segment", way_iret_kernel, WH_AFTER_GP },
	/* A handoff carries no NT, so the worker's thread comes back from it. */
	{ "iret_with_nt", way_iret_nt, RESUMED },
	{ "sysret", way_sysret, WH_AFTER_GP },
	{ "sysexit", way_sysexit, WH_AFTER_GP },
};

static wh_handler_fn handlers[H_WAYS + WH_ARRAY_SIZE(ways)] = {
	way_add, way_write, way_fault, way_sysenter, way_sysenter_tf,
};

/* Of the client's kernel: what no user may run. */
asm(".pushsection .text\n"
	"	.globl kernel_entry\n"
	"kernel_entry:\n"
	"	mov %cs, %eax\n"
	"0:	out %al, $0xe0\n"
	"	jmp 0b\n"
	".popsection\n");

/* --- The test ------------------------------------------------------------------------ */

static struct wh_server srv;
static struct wh_worker worker;
static struct wh_client client;

/*
 * The client's descriptor tables have gates that CPL 3 may use, as no kernel would
 * make them: in the view they do not count.
 */
static void make_gates(void)
{
	u64 entry = WH_KVA + (u64)kernel_entry, gate[2], ldt = wh_page_alloc(&client.vm);
	struct kvm_sregs *sregs = &client.vcpu->sregs;
	u64 gdt = sregs->gdt.base - WH_KVA;

	gate[0] = (entry & 0xffff) | 0x10 << 16 | 0xecULL << 40 | (entry >> 16 & 0xffff) << 48;
	gate[1] = entry >> 32;
	memcpy((u8 *)wh_gpa(&client.vm, gdt) + GATE_SELECTOR, gate, sizeof(gate));
	memcpy(wh_gpa(&client.vm, ldt), gate, sizeof(gate));
	sregs->gdt.limit = GATE_SELECTOR + 15;
	sregs->ldt = (struct kvm_segment) {
		.base = WH_KVA + ldt, .limit = 15, .selector = 0x48, .type = 2, .present = 1,
	};
}

static void set_sysenter(struct wh_vcpu *vcpu)
{
	wh_set_msr(vcpu, MSR_SYSENTER_CS, 0x10);
	wh_set_msr(vcpu, MSR_SYSENTER_ESP, vcpu->kstack);
	wh_set_msr(vcpu, MSR_SYSENTER_EIP, WH_KVA + (u64)kernel_entry);
}

static u64 kernel_traps(void)
{
	return G(&client.vm, wh_log).others;
}

static bool call_works(void)
{
	return wh_delegate(&client, H_ADD, 40, 2).rax == 42;
}

static u64 view_exits(void)
{
	struct wh_host_stat st;
	u64 i, n = 0;

	wh_stat(2, &st);
	for (i = 0; i < WH_STAT_EXIT_REASONS; i++)
		n += st.exits[i];
	return n;
}

static void test_ways(void)
{
	u64 before, exits, i;
	struct wh_result r;
	char name[128];

	for (i = 0; i < WH_ARRAY_SIZE(ways); i++) {
		/* Once before, so that no page is missing and the way begins in the view. */
		wh_delegate(&client, H_WAYS + i, 3, 4);
		before = kernel_traps();
		exits = view_exits();
		r = wh_delegate(&client, H_WAYS + i, 3, 4);
		exits = view_exits() - exits;
		snprintf(name, sizeof(name), "%s_in_a_view_ends_at_cpl_3", ways[i].name);
		if (!wh_ok(r.end == WH_END_DONE && (s64)r.rax == ways[i].result && exits &&
			   kernel_traps() == before && call_works(), name))
			wh_diag("end %d rax %lld vector %llu rip 0x%llx, %llu exits", r.end,
				(long long)r.rax, (unsigned long long)r.vector,
				(unsigned long long)r.rip, (unsigned long long)exits);
	}
}

static void sysenter_fails(u64 handler, const char *name)
{
	u64 gs = WH_KVA + 0x700000, before = kernel_traps();
	struct wh_result r = wh_delegate(&client, handler, gs, 0);

	if (!wh_ok(r.end == WH_END_DONE && (s64)r.rax == WH_EFATAL && kernel_traps() == before &&
		   call_works(), name))
		wh_diag("end %d rax %lld vector %llu rip 0x%llx", r.end, (long long)r.rax,
			(unsigned long long)r.vector, (unsigned long long)r.rip);
}

/* The slot is another's, whose call waits in the server: #UD, as at CPL 3. */
static void test_sysenter_of_a_second_thread(void)
{
	struct wh_vcpu *second = wh_thread_create(&client.as);
	struct kvm_sregs sregs;
	struct wh_result r;
	bool waits;

	set_sysenter(second);
	G(&srv.vm, wh_log).busy_va = WH_LAZY_VA;
	G(&srv.vm, wh_log).busy_pte = wh_kva(&srv.vm, wh_pte(&worker.as, WH_LAZY_VA));
	wh_delegate_start(&client, client.vcpu, 0, H_FAULT, WH_LAZY_VA, 0);
	waits = !wh_join(client.vcpu, 1);
	wh_start(second, &client.as, 3, wh_guest_delegate, H_SYSENTER, WH_KVA + 0x700000, 0, 0);
	if (!wh_join(second, 2))
		wh_vcpu_stop(second);
	r = second->res;
	if (ioctl(second->fd, KVM_GET_SREGS, &sregs))
		wh_die("KVM_GET_SREGS");
	if (!wh_ok(waits && r.end == WH_END_TRAP && r.vector == 6 && r.rip < 1ULL << 47 &&
		   sregs.gs.base == second->kernel_gs,
		   "sysenter_of_a_second_thread_in_a_slot_is_a_fault_of_cpl_3"))
		wh_diag("waits %d end %d vector %llu rip 0x%llx GS base 0x%llx", waits, r.end,
			(unsigned long long)r.vector, (unsigned long long)r.rip,
			(unsigned long long)sregs.gs.base);
}

int main(void)
{
	u64 cr3, i;
	u64 spare;

	wh_with_gate = true;
	for (i = 0; i < WH_ARRAY_SIZE(ways); i++)
		handlers[H_WAYS + i] = ways[i].fn;
	wh_require_feature();
	wh_plan(WH_ARRAY_SIZE(ways) + 6);
	wh_watchdog(60);
	wh_server_create(&srv, 1);
	wh_server_register(&srv);
	wh_worker_create(&worker, &srv, 0);
	wh_worker_handlers(&worker, handlers, WH_ARRAY_SIZE(handlers));
	/* A miss in the slot's gigabyte shall not end the worker. */
	spare = wh_page_alloc(&srv.vm);
	for (i = WH_PAGE; i < WH_RAM_SIZE; i += WH_PAGE)
		wh_map(&worker.as, WH_SLOT_VA + i, spare, WH_USER_RW);
	if (wh_worker_register(&worker) || wh_worker_slot(&worker))
		wh_die("worker");
	wh_worker_park(&worker);
	G(&srv.vm, wh_trap_fixup) = (u64)wh_way_fixup;
	wh_client_create(&client, 2, &srv, 0);
	make_gates();
	wh_allow(2, 1, 0, 1);
	wh_eq(wh_attach(&client), WH_OK, "client_attaches");
	cr3 = client.as.cr3;
	i = *(u64 *)wh_gpa(&client.vm, cr3);
	wh_delegate(&client, H_WRITE, WH_SLOT_VA + cr3, 0x1234567000ULL);
	wh_ok(*(u64 *)wh_gpa(&srv.vm, spare) == 0x1234567000ULL &&
	      *(u64 *)wh_gpa(&client.vm, cr3) == i && call_works(),
	      "user_code_does_not_write_the_views_top_level_table");
	test_ways();
	wh_eq(wh_delegate(&client, H_SYSENTER, 0, 0).rax, WH_AFTER_GP,
	      "sysenter_without_a_segment_is_a_general_protection_fault");
	set_sysenter(client.vcpu);
	sysenter_fails(H_SYSENTER, "sysenter_in_a_view_fails_the_call");
	sysenter_fails(H_SYSENTER_TF, "sysenter_with_a_trap_flag_fails_the_call");
	test_sysenter_of_a_second_thread();
	return wh_exit();
}
