// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs inside the guests of the Wormhole tests: a test trampoline page,
 * trap and SYSCALL entries, and a kernel of one screen that plays the client's
 * kernel or the server's. Nothing here may use SSE: the tests watch XMM/YMM
 * across it. Nothing here may call libc: it is not initialised in a guest.
 */
#pragma GCC target("general-regs-only")
#include "wormhole.h"

struct wh_guest_log wh_log;
u64 wh_trap_is_server;
u64 wh_asks_for_news;
u64 wh_trap_fixup;

/*
 * The trampoline of the tests: s64 delegate(slot, index, handler, a0, a1).
 * Assembled inside a function that is never called, so that offsets come from
 * the ABI header. `pending` finds the slot's address on the client's stack.
 */
void wh_tramp_page_asm(void)
{
	asm volatile(".pushsection .text.wh_tramp, \"ax\", @progbits\n"
	".balign 4096\n"
	".globl wh_tramp_page\n"
	"wh_tramp_page:\n"
	"	.long %c[magic_lo], %c[magic_hi]\n"
	"	.long %c[version]\n"
	"	.long tr_delegate - wh_tramp_page\n"
	"	.long tr_pending - wh_tramp_page\n"
	"	.long tr_landing - wh_tramp_page\n"
	"	.long tr_leave - wh_tramp_page\n"
	"	.long tr_end - wh_tramp_page\n"
	"	.quad 0\n"
	"	.long tr_service - wh_tramp_page, 0\n"
	"	.quad 0, 0\n"
	"tr_world_va:\n"
	"	.long %c[world_va_lo], %c[world_va_hi]\n"
	"tr_world_server:\n"
	"	.long %c[server_lo], %c[server_hi]\n"

	"tr_delegate:\n"
	"	push %%rbp\n"
	"	push %%rbx\n"
	"	push %%r12\n"
	"	push %%r13\n"
	"	push %%r14\n"
	"	push %%r15\n"
	"	push %%rdi\n"
	"	mov %%rsp, %c[s_rsp](%%rdi)\n"
	"	rdfsbase %%rax\n"
	"	mov %%rax, %c[s_fs](%%rdi)\n"
	"	rdgsbase %%rax\n"
	"	mov %%rax, %c[s_gs](%%rdi)\n"
	"	stmxcsr %c[s_mxcsr](%%rdi)\n"
	"	fnstcw %c[s_fcw](%%rdi)\n"
	"	mov %%rcx, %%r9\n"
	"	mov %%esi, %%ecx\n"
	"	xor %%eax, %%eax\n"
	"	.byte 0x0f, 0x01, 0xd4\n"		/* vmfunc: to the view */
	"tr_landing:\n"
	"	mov tr_world_va(%%rip), %%r10\n"
	"	mov tr_world_server(%%rip), %%r11\n"
	"	cmp %%r11, %c[w_world](%%r10)\n"
	"	jne tr_refused\n"
	/* Here: the worker's memory, the client's stack and bases. */
	"	mov %c[v_slot](%%r10), %%eax\n"
	"	mov %%eax, %%esi\n"
	"	imul $%c[w_slot_size], %%rax, %%rax\n"
	"	lea %c[w_slots](%%r10, %%rax), %%r11\n"
	"	mov %c[ws_stack](%%r11), %%rsp\n"
	"	mov %c[ws_fs](%%r11), %%rax\n"
	"	wrfsbase %%rax\n"
	"	mov %c[ws_gs](%%r11), %%rax\n"
	"	wrgsbase %%rax\n"
	"	ldmxcsr %c[ws_mxcsr](%%r11)\n"
	"	fldcw %c[ws_fcw](%%r11)\n"
	"	cld\n"
	"	mov %%rdi, %%r12\n"
	"	mov %c[w_nhandlers](%%r10), %%eax\n"
	"	cmp %%rax, %%rdx\n"
	"	mov $%c[enosys], %%rax\n"
	"	jae 1f\n"
	"	mov %c[w_handlers](%%r10, %%rdx, 8), %%rax\n"
	"	mov %c[w_session](%%r10), %%rdi\n"
	"	mov %%r9, %%rdx\n"
	"	mov %%r8, %%rcx\n"
	"	call *%%rax\n"
	"1:	mov %%rax, %%rdx\n"
	"	mov %c[s_fs](%%r12), %%rax\n"
	"	wrfsbase %%rax\n"
	"	mov %c[s_gs](%%r12), %%rax\n"
	"	wrgsbase %%rax\n"
	"	ldmxcsr %c[s_mxcsr](%%r12)\n"
	"	fldcw %c[s_fcw](%%r12)\n"
	"	mov %c[s_rsp](%%r12), %%rsp\n"
	"	mov %c[s_slot](%%r12), %%esi\n"
	"	xor %%ecx, %%ecx\n"
	"	xor %%eax, %%eax\n"
	"tr_leave:\n"
	"	.byte 0x0f, 0x01, 0xd4\n"		/* vmfunc: back */
	/* Here: the client's memory again, result in RDX. */
	"	mov %%rdx, %%rax\n"
	"tr_out:\n"
	"	pop %%rdi\n"
	"	pop %%r15\n"
	"	pop %%r14\n"
	"	pop %%r13\n"
	"	pop %%r12\n"
	"	pop %%rbx\n"
	"	pop %%rbp\n"
	"	ret\n"
	"tr_refused:\n"
	"	test %%rax, %%rax\n"
	"	js tr_out\n"
	"	mov $%c[efatal], %%rax\n"
	"	jmp tr_out\n"

	/* RDI = EPTP index of the slot, RSP = slot.client.rsp, client's bases. */
	"tr_pending:\n"
	"	mov $%c[leaf_continue], %%eax\n"
	"	xor %%ecx, %%ecx\n"
	"	cpuid\n"
	"	mov (%%rsp), %%rdi\n"
	"	ldmxcsr %c[s_mxcsr](%%rdi)\n"
	"	fldcw %c[s_fcw](%%rdi)\n"
	"	jmp tr_out\n"

	/*
	 * A SYSCALL in the view: return address in the GS base, no stack, and no
	 * instruction that changes flags.
	 */
	".balign 16\n"
	"tr_service:\n"
	"	rdgsbase %%r11\n"
	"	lea -%c[sys_here](%%rax), %%rcx\n"
	"	jrcxz 1f\n"
	"	mov %%rax, %%r11\n"
	"	mov $%c[leaf_syscall], %%eax\n"
	"	cpuid\n"
	"	mov %%r11, %%rax\n"
	"	syscall\n"
	"	rdgsbase %%r11\n"
	"	jmp 2f\n"
	"1:	lea (%%rdi, %%rsi), %%rax\n"
	"2:	mov $0, %%ecx\n"
	"	wrgsbase %%rcx\n"
	"	jmp *%%r11\n"
	"tr_end:\n"
	".balign 4096, 0xcc\n"
	".popsection\n"
	:: [magic_lo] "i" ((u32)WH_TRAMP_MAGIC),
	   [magic_hi] "i" ((u32)(WH_TRAMP_MAGIC >> 32)),
	   [version] "i" (WH_ABI_VERSION),
	   [s_rsp] "i" (offsetof(struct wh_slot, client.rsp)),
	   [s_fs] "i" (offsetof(struct wh_slot, client.fs)),
	   [s_gs] "i" (offsetof(struct wh_slot, client.gs)),
	   [s_mxcsr] "i" (offsetof(struct wh_slot, client_mxcsr)),
	   [s_fcw] "i" (offsetof(struct wh_slot, client_fcw)),
	   [s_slot] "i" (offsetof(struct wh_slot, slot)),
	   [world_va_lo] "i" ((u32)WH_WORLD_VA),
	   [world_va_hi] "i" ((u32)(WH_WORLD_VA >> 32)),
	   [v_slot] "i" (WH_SLOT_VA - WH_WORLD_VA + offsetof(struct wh_slot_view, slot)),
	   [server_lo] "i" ((u32)WH_WORLD_SERVER),
	   [server_hi] "i" ((u32)(WH_WORLD_SERVER >> 32)),
	   [w_world] "i" (offsetof(struct wh_world, world)),
	   [w_nhandlers] "i" (offsetof(struct wh_world, nhandlers)),
	   [w_session] "i" (offsetof(struct wh_world, session)),
	   [w_handlers] "i" (offsetof(struct wh_world, handlers)),
	   [w_slots] "i" (offsetof(struct wh_world, slots)),
	   [w_slot_size] "i" (sizeof(struct wh_world_slot)),
	   [ws_stack] "i" (offsetof(struct wh_world_slot, stack_top)),
	   [ws_fs] "i" (offsetof(struct wh_world_slot, fs_base)),
	   [ws_gs] "i" (offsetof(struct wh_world_slot, gs_base)),
	   [ws_mxcsr] "i" (offsetof(struct wh_world_slot, mxcsr)),
	   [ws_fcw] "i" (offsetof(struct wh_world_slot, fcw)),
	   [enosys] "i" (WH_ENOSYS), [efatal] "i" (WH_EFATAL),
	   [leaf_continue] "i" (WH_LEAF_CONTINUE),
	   [leaf_syscall] "i" (WH_LEAF_SYSCALL), [sys_here] "i" (WH_SYS_HERE));
}

/* Entered from the host: RAX = function. What it returns goes out in RAX. */
asm("	.globl wh_guest_call, wh_guest_leaf\n"
"wh_guest_call:\n"
"	call *%rax\n"
"0:	out %al, $0xe0\n"			/* WH_PORT_DONE */
"	jmp 0b\n"
"wh_guest_leaf:\n"
"	cpuid\n"
"0:	out %al, $0xe0\n"
"	jmp 0b\n"

/* 256 stubs of 16 bytes; vectors with an error code push no dummy. */
"	.globl wh_trap_stubs, wh_syscall_entry\n"
"	.balign 16\n"
"wh_trap_stubs:\n"
"	.set vec, 0\n"
"	.rept 256\n"
"	.balign 16\n"
"	.if (vec != 8) && (vec != 17) && (vec != 21) && ((vec < 10) || (vec > 14))\n"
"	push $0\n"
"	.endif\n"
"	.byte 0x68\n"				/* push imm32 */
"	.long vec\n"
"	jmp trap_common\n"
"	.set vec, vec + 1\n"
"	.endr\n"

/* GS: [0] kernel stack, [8] scratch. Frame as if by an interrupt. */
"wh_syscall_entry:\n"
"	swapgs\n"
"	mov %rsp, %gs:8\n"
"	mov %gs:0, %rsp\n"
"	push $0x2b\n"				/* WH_USER_DS */
"	push %gs:8\n"
"	push %r11\n"
"	push $0x33\n"				/* WH_USER_CS */
"	push %rcx\n"
"	push $0\n"
"	push $256\n"				/* WH_VECTOR_SYSCALL */
"	jmp 1f\n"

"trap_common:\n"
"	testb $3, 24(%rsp)\n"			/* CS below vector, error, RIP */
"	jz 1f\n"
"	swapgs\n"
"1:	push %rax\n"
"	push %rbx\n"
"	push %rcx\n"
"	push %rdx\n"
"	push %rsi\n"
"	push %rdi\n"
"	push %rbp\n"
"	push %r8\n"
"	push %r9\n"
"	push %r10\n"
"	push %r11\n"
"	push %r12\n"
"	push %r13\n"
"	push %r14\n"
"	push %r15\n"
"	mov %rsp, %rdi\n"
"	mov %rsp, %rbp\n"
"	and $-16, %rsp\n"
"	cld\n"
"	call wh_guest_trap\n"
"	mov %rbp, %rsp\n"
"	pop %r15\n"
"	pop %r14\n"
"	pop %r13\n"
"	pop %r12\n"
"	pop %r11\n"
"	pop %r10\n"
"	pop %r9\n"
"	pop %r8\n"
"	pop %rbp\n"
"	pop %rdi\n"
"	pop %rsi\n"
"	pop %rdx\n"
"	pop %rcx\n"
"	pop %rbx\n"
"	pop %rax\n"
"	testb $3, 24(%rsp)\n"
"	jz 1f\n"
"	swapgs\n"
"1:	add $16, %rsp\n"
"	iretq\n"
);

#define X2APIC_EOI		0x80b
#define X2APIC_SVR		0x80f
#define X2APIC_LVT_TIMER	0x832
#define TSC_DEADLINE		0x6e0

static void out8(u16 port)
{
	asm volatile("out %%al, %0" :: "Nd"(port), "a"(0) : "memory");
}

static u64 read_cr2(void)
{
	u64 val;

	asm volatile("mov %%cr2, %0" : "=r"(val));
	return val;
}

void wh_guest_timer(u64 tsc)
{
	wh_wrmsr(X2APIC_SVR, 0x1ff);
	wh_wrmsr(X2APIC_LVT_TIMER, WH_TIMER_VECTOR | 2 << 17);
	asm volatile("mfence" ::: "memory");
	wh_log.timer_deadline = wh_rdtsc() + tsc;
	wh_wrmsr(TSC_DEADLINE, wh_log.timer_deadline);
}

u64 wh_guest_idle(void)
{
	for (;;)
		asm volatile("sti; hlt; cli" ::: "memory");
	return 0;
}

static u8 *news(u64 pair, u64 slot, u64 what)
{
	return pair == WH_ANY_PAIR ? &wh_log.any_news :
				     &wh_log.news[wh_news_at(pair, slot, what)];
}

static u64 next_news(u64 *pair, u64 *slot, u64 *what)
{
	u64 rax = WH_LEAF_NEXT, rcx = 0;

	asm volatile("cpuid" : "+a"(rax), "=b"(*pair), "+c"(rcx), "=d"(*what) :: "memory");
	*slot = rcx;
	return rax;
}

extern const u8 wh_wait_begin[], wh_wait_end[];

/* An NMI between the look and HLT has been served when HLT waits for the next. */
static void wait_for_news(u8 *mine)
{
	asm volatile(".globl wh_wait_begin, wh_wait_end\n"
	"wh_wait_begin:\n"
	"	cmpb $0, (%0)\n"
	"	jne wh_wait_end\n"
	"	sti\n"
	"	hlt\n"
	"	cli\n"
	"	jmp wh_wait_begin\n"
	"wh_wait_end:\n" :: "r"(mine) : "memory", "cc");
	*mine = 0;
}

/*
 * Hence it looks again. What is for a thread of another vCPU is noted before that
 * vCPU's own NMI looks, so that nobody has to wake it once more.
 */
static void take_news(struct wh_trap *t)
{
	static u64 lock;
	u64 pair, slot, what;

	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
		asm volatile("pause");
	while (!next_news(&pair, &slot, &what)) {
		*news(pair, slot, what) = 1;
		wh_log.any_news = 1;
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
	if (t->rip > (u64)wh_wait_begin && t->rip < (u64)wh_wait_end)
		t->rip = (u64)wh_wait_begin;
}

/* Serve an exception of the worker; what is done is visible to it. */
static bool server_trap(struct wh_trap *t)
{
	u64 page = (read_cr2() - WH_LAZY_VA) / WH_PAGE;
	u64 busy = (read_cr2() - wh_log.busy_va) / WH_PAGE;

	switch (t->vector) {
	case 0:					/* div %ecx */
		wh_log.des++;
		t->rax = WH_AFTER_DE;
		t->rip += 2;
		return true;
	case 3:
		wh_log.bps++;
		return true;
	case 6:
		if (*(u16 *)t->rip != 0x0b0f)	/* ud2 */
			return false;
		wh_log.uds++;
		t->rax = WH_AFTER_UD;
		t->rip += 2;
		return true;
	case 13:				/* out %al, $port; int $n */
		wh_log.gps++;
		t->rax = WH_AFTER_GP;
		t->rip += 2;
		return true;
	case 14:
		if (wh_log.busy_va && read_cr2() >= wh_log.busy_va &&
		    busy < (wh_log.busy_pages ?: 1)) {
			while (!(READ_ONCE(((u64 *)wh_log.busy_pte)[busy]) & WH_PTE_P))
				asm volatile("sti; pause; cli" ::: "memory");
			return true;
		}
		if (page >= WH_LAZY_PAGES)
			return false;
		wh_log.faults++;
		WRITE_ONCE(((u64 *)wh_log.lazy_ptes)[page],
			   (wh_log.lazy_gpa + page * WH_PAGE) | WH_USER_RW);
		return true;
	case WH_VECTOR_SYSCALL:
		wh_log.syscalls++;
		if (t->rax == WH_SYS_BLOCK) {
			u64 before = wh_log.timer_irqs;

			wh_guest_timer(1000000);
			while (READ_ONCE(wh_log.timer_irqs) == before)
				asm volatile("sti; hlt; cli" ::: "memory");
			t->rax = 0;
		} else if (t->rax == WH_SYS_ADD) {
			t->rax = t->rdi + t->rsi;
		} else {
			t->rax = -38;
		}
		return true;
	}
	return false;
}

static void timer_interrupt(struct wh_trap *t)
{
	u64 now = wh_rdtsc();

	wh_log.timer_last = now;
	if (now - wh_log.timer_deadline > wh_log.timer_late)
		wh_log.timer_late = now - wh_log.timer_deadline;
	wh_log.timer_rip = t->rip;
	wh_log.timer_rsp = t->rsp;
	wh_log.timer_cs = t->cs;
	asm volatile("rdfsbase %0" : "=r"(wh_log.timer_fs));
	if (t->rip != wh_log.timer_expect_rip)
		wh_log.timer_stray++;
	wh_log.timer_irqs++;
	wh_wrmsr(X2APIC_EOI, 0);
	if (wh_log.timer_irqs < wh_log.timer_max)
		wh_guest_timer(wh_log.timer_period);
}

static void flush_tlb(void)
{
	u64 cr3;

	asm volatile("mov %%cr3, %0; mov %0, %%cr3" : "=r"(cr3) :: "memory");
}

/* Called by trap_common for everything that enters this kernel. */
void wh_guest_trap(struct wh_trap *t)
{
	if (t->vector == WH_TIMER_VECTOR) {
		timer_interrupt(t);
		return;
	}
	if (t->vector == WH_TLB_VECTOR) {
		flush_tlb();
		wh_log.tlb_flushes++;
		wh_wrmsr(X2APIC_EOI, 0);
		return;
	}
	if (t->vector == 2) {
		wh_log.nmi_rip = t->rip;
		wh_log.nmis++;
		if (wh_asks_for_news)
			take_news(t);
		return;
	}
	/* A worker's thread between two calls: nothing to note. */
	if (wh_trap_is_server && t->vector == WH_VECTOR_SYSCALL && t->rax == WH_SYS_WAIT) {
		wait_for_news(news(t->rdi, t->rsi, WH_NEWS_CALL));
		t->rax = 0;
		return;
	}
	wh_log.last_rip = t->rip;
	wh_log.last_error = t->error;
	wh_log.last_rflags = t->rflags;
	wh_log.last_cr2 = read_cr2();
	if (wh_trap_is_server && server_trap(t))
		return;
	wh_log.others++;
	if (wh_trap_fixup) {
		t->rip = wh_trap_fixup;
		t->rax = -t->vector;
		return;
	}
	wh_log.vector = t->vector;
	wh_log.error = t->error;
	wh_log.rip = t->rip;
	wh_log.cr2 = read_cr2();
	for (;;)
		out8(WH_PORT_TRAP);
}

s64 wh_null_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return 0x600d + a0;
}

s64 wh_wait_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 *word = (void *)WH_DATA_VA;

	WRITE_ONCE(word[1], 1);
	while (READ_ONCE(word[0]) != a0)
		;
	return a0;
}

s64 wh_add_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return a0 + a1;
}

s64 wh_load_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return READ_ONCE(*(u64 *)a0);
}

u64 wh_guest_touch(void)
{
	static const u64 pages[] = { WH_TRAMPOLINE_VA, WH_WORLD_VA, WH_SLOT_VA, WH_SLOT0_VA };
	u64 sum = 0, i;

	for (i = 0; i < WH_ARRAY_SIZE(pages); i++)
		sum += READ_ONCE(*(u64 *)pages[i]);
	WRITE_ONCE(*(u64 *)WH_SLOT0_VA, 0);
	return sum;
}

s64 wh_guest_delegate_in(u64 nr, u64 handler, u64 a0, u64 a1)
{
	const struct wh_tramp_hdr *hdr = (void *)WH_TRAMPOLINE_VA;
	struct wh_slot *slot = (void *)(WH_SLOT0_VA + nr * WH_PAGE);
	const void *entry = (void *)(WH_TRAMPOLINE_VA + hdr->delegate);

	return ((wh_delegate_fn)entry)(slot, slot->index, handler, a0, a1);
}

s64 wh_guest_delegate(u64 handler, u64 a0, u64 a1)
{
	return wh_guest_delegate_in(0, handler, a0, a1);
}

static u64 take(u64 slot)
{
	u64 rax = WH_LEAF_TAKE, rcx = 0;

	asm volatile("cpuid" : "+a"(rax), "+c"(rcx) : "D"(slot) : "rbx", "rdx", "memory");
	return rax;
}

u64 wh_guest_park(u64 pair, u64 slot)
{
	u64 status, rax;

	for (;;) {
		status = take(slot);
		if (status)
			return status;
		asm volatile("syscall" : "=a"(rax)
			     : "0"(WH_SYS_WAIT), "D"(pair), "S"(slot)
			     : "rcx", "r11", "memory");
	}
}
