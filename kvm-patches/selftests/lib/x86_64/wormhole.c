// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small VMs for the Wormhole tests: memory, page tables, vCPUs, TAP. Page
 * tables, descriptor tables and the program's image are laid out from the host
 * side, so that a guest starts at once in 64-bit mode. Any failure of a plain
 * KVM ioctl ends the test: only the feature's own answers are judged.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "wormhole.h"

extern u8 __executable_start[], etext[], _end[];

/* --- TAP ------------------------------------------------------------------ */

static int tap_run, tap_failed, tap_planned;

void wh_plan(int n)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_planned = n;
	printf("TAP version 13\n1..%d\n", n);
}

void wh_diag(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
}

bool wh_ok(bool cond, const char *name)
{
	tap_failed += !cond;
	printf("%s %d %s\n", cond ? "ok" : "not ok", ++tap_run, name);
	return cond;
}

bool wh_eq(s64 got, s64 want, const char *name)
{
	bool same = wh_ok(got == want, name);

	if (!same)
		wh_diag("expected %lld (0x%llx), got %lld (0x%llx)",
			(long long)want, (long long)want, (long long)got,
			(long long)got);
	return same;
}

bool wh_skip(const char *name, const char *why)
{
	printf("ok %d %s # SKIP %s\n", ++tap_run, name, why);
	return true;
}

int wh_exit(void)
{
	if (tap_run != tap_planned)
		wh_diag("planned %d points, ran %d", tap_planned, tap_run);
	return tap_failed || tap_run != tap_planned;
}

void wh_die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

static int kvm_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	return fd;
}

void wh_skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(4);
}

void wh_require_feature(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (kvm_fd() < 0)
		wh_skip_all("no /dev/kvm");
	if (ioctl(kvm_fd(), KVM_CHECK_EXTENSION, KVM_CAP_X86_WORMHOLE) <= 0)
		wh_skip_all("KVM_CAP_X86_WORMHOLE not offered");
}

static void watchdog_expired(int sig)
{
	static const char msg[] = "Bail out! watchdog expired\n";

	(void)sig;
	if (write(1, msg, sizeof(msg) - 1) < 0)
		_exit(2);
	_exit(1);
}

int wh_patience(void)
{
	const char *patience = getenv("WH_PATIENCE");

	return patience ? atoi(patience) : 1;
}

void wh_watchdog(int seconds)
{
	signal(SIGALRM, watchdog_expired);
	alarm(seconds * wh_patience());
}

void wh_one_cpu(void)
{
	wh_pin(0, 0);
}

void wh_ms_pause(void)
{
	struct timespec ts = { .tv_nsec = 1000000 };

	nanosleep(&ts, NULL);
}

static int must(int ret, const char *what)
{
	if (ret < 0)
		wh_die(what);
	return ret;
}

/* --- Memory --------------------------------------------------------------- */

void *wh_gpa(struct wh_vm *vm, u64 gpa)
{
	if (gpa >= WH_WINDOW_GPA)
		return vm->window + (gpa - WH_WINDOW_GPA);
	if (gpa >= WH_RAM_SIZE) {
		errno = EFAULT;
		wh_die("wh_gpa");
	}
	return vm->mem + gpa;
}

u64 wh_kva(struct wh_vm *vm, const void *host)
{
	return WH_KVA + ((const u8 *)host - vm->mem);
}

u64 wh_page_alloc(struct wh_vm *vm)
{
	u64 gpa = vm->next_page;

	vm->next_page += WH_PAGE;
	memset(wh_gpa(vm, gpa), 0, WH_PAGE);
	return gpa;
}

/* The entry for @va in the table whose entries map 1 << @last bytes. */
static u64 *entry_of(struct wh_as *as, u64 va, int last)
{
	u64 *table = wh_gpa(as->vm, as->cr3);
	int shift;

	for (shift = 39; shift > last; shift -= 9) {
		u64 *entry = &table[(va >> shift) & 511];

		if (!*entry)
			*entry = wh_page_alloc(as->vm) | WH_PTE_P | WH_PTE_W |
				 WH_PTE_U | WH_PTE_A;
		table = wh_gpa(as->vm, *entry & WH_PTE_ADDR);
	}
	return &table[(va >> last) & 511];
}

u64 *wh_pte(struct wh_as *as, u64 va)
{
	return entry_of(as, va, 12);
}

void wh_map_2m(struct wh_as *as, u64 va, u64 gpa, u64 flags)
{
	*entry_of(as, va, 21) = gpa | flags | WH_PTE_PS;
}

void wh_map(struct wh_as *as, u64 va, u64 gpa, u64 flags)
{
	*wh_pte(as, va) = gpa | flags;
}

/* All RAM at WH_KVA by 2 MiB supervisor pages; shared by every wh_as. */
static void make_kernel_half(struct wh_vm *vm)
{
	u64 *pdpt, *pd, pd_gpa, gpa;

	vm->kernel_pdpt = wh_page_alloc(vm);
	pdpt = wh_gpa(vm, vm->kernel_pdpt);
	pd_gpa = wh_page_alloc(vm);
	pd = wh_gpa(vm, pd_gpa);
	pdpt[(WH_KVA >> 30) & 511] = pd_gpa | WH_PTE_P | WH_PTE_W | WH_PTE_A;
	for (gpa = 0; gpa < WH_RAM_SIZE; gpa += 0x200000)
		pd[gpa >> 21] = gpa | WH_PTE_P | WH_PTE_W | WH_PTE_A |
				WH_PTE_D | WH_PTE_PS;
}

/* The image at its link address: text executable, the rest data. */
static void map_image(struct wh_as *as)
{
	u64 va = (u64)__executable_start & ~(WH_PAGE - 1);
	u64 text_end = ((u64)etext + WH_PAGE - 1) & ~(WH_PAGE - 1);

	for (; va < (u64)_end; va += WH_PAGE)
		wh_map(as, va, va, va < text_end ? WH_USER_RX : WH_USER_RW);
}

static void map_stack(struct wh_as *as, u64 top)
{
	int i;

	for (i = 1; i <= 4; i++)
		wh_map(as, top - i * WH_PAGE, wh_page_alloc(as->vm), WH_USER_RW);
}

void wh_as_create(struct wh_as *as, struct wh_vm *vm)
{
	u64 *top;

	as->vm = vm;
	as->cr3 = wh_page_alloc(vm);
	top = wh_gpa(vm, as->cr3);
	top[(WH_KVA >> 39) & 511] = vm->kernel_pdpt | WH_PTE_P | WH_PTE_W |
				    WH_PTE_A;
	map_image(as);
	map_stack(as, WH_STACK_VA);
}

void wh_window_create(struct wh_window *w, u64 size)
{
	w->size = size;
	w->fd = must(memfd_create("window", MFD_CLOEXEC), "memfd_create");
	must(ftruncate(w->fd, size), "ftruncate");
}

void wh_set_memslot(struct wh_vm *vm, u32 slot, u32 flags, u64 gpa, u64 size, void *mem)
{
	struct kvm_userspace_memory_region region = {
		.slot = slot,
		.flags = flags,
		.guest_phys_addr = gpa,
		.memory_size = size,
		.userspace_addr = (u64)mem,
	};

	must(ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region), "memslot");
}

void wh_vm_set_window(struct wh_vm *vm, const struct wh_window *w)
{
	vm->window = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED,
			  w->fd, 0);
	if (vm->window == MAP_FAILED)
		wh_die("mmap window");
	vm->window_size = w->size;
	wh_set_memslot(vm, 1, 0, WH_WINDOW_GPA, w->size, vm->window);
}

void wh_vm_set_smram(struct wh_vm *vm)
{
	wh_set_memslot(vm, 1 << 16, 0, 0, WH_RAM_SIZE, vm->mem);
}

static void enable_role(struct wh_vm *vm, u32 role)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_X86_WORMHOLE,
		.args = { role, vm->id, wh_role_fd(role, vm->id, 0) },
	};

	must(ioctl(vm->fd, KVM_ENABLE_CAP, &cap), "KVM_CAP_X86_WORMHOLE");
	close(cap.args[2]);
}

void wh_vm_create(struct wh_vm *vm, u64 id, u32 role)
{
	u64 start = (u64)__executable_start & ~(WH_PAGE - 1);

	memset(vm, 0, sizeof(*vm));
	vm->id = id;
	vm->fd = must(ioctl(kvm_fd(), KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	if (role != WH_ROLE_NONE)
		enable_role(vm, role);
	must(ioctl(vm->fd, KVM_CREATE_IRQCHIP, 0), "KVM_CREATE_IRQCHIP");
	vm->mem = mmap(NULL, WH_RAM_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (vm->mem == MAP_FAILED)
		wh_die("mmap RAM");
	madvise(vm->mem, WH_RAM_SIZE, MADV_DONTFORK);
	wh_set_memslot(vm, 0, 0, 0, WH_RAM_SIZE, vm->mem);
	vm->next_page = WH_HEAP_GPA;
	make_kernel_half(vm);
	memcpy(vm->mem + start, (void *)start, (u64)_end - start);
}

void wh_vm_destroy(struct wh_vm *vm)
{
	int i;

	for (i = 0; i < vm->nvcpus; i++) {
		struct wh_vcpu *vcpu = vm->vcpus[i];

		if (vcpu->started)
			wh_vcpu_stop(vcpu);
		if (vcpu->thread) {
			vcpu->quit = true;
			sem_post(&vcpu->go);
			pthread_join(vcpu->thread, NULL);
		}
		munmap(vcpu->run, vcpu->run_size);
		close(vcpu->fd);
		free(vcpu);
	}
	close(vm->fd);
	munmap(vm->mem, WH_RAM_SIZE);
	if (vm->window)
		munmap(vm->window, vm->window_size);
	memset(vm, 0, sizeof(*vm));
	vm->fd = -1;
}

/* --- vCPUs ---------------------------------------------------------------- */

struct wh_tss {
	u32 resv0;
	u64 rsp[3];
	u64 resv1;
	u64 ist[7];
	u64 resv2;
	u16 resv3;
	u16 iomap_base;
	u8 iomap[0x100 / 8 + 1];
} __packed;

struct wh_idt_entry {
	u16 offset0, selector;
	u8 ist, type;
	u16 offset1;
	u32 offset2, resv;
};

/* Linux's selectors; the I/O bitmap opens the two report ports to CPL 3. */
static void make_descriptors(struct wh_vcpu *vcpu, u64 tables)
{
	u64 *gdt = wh_gpa(vcpu->vm, tables);
	struct wh_tss *tss = wh_gpa(vcpu->vm, tables + 0x100);
	u64 base = WH_KVA + tables + 0x100;

	gdt[2] = 0x00af9b000000ffffULL;
	gdt[3] = 0x00cf93000000ffffULL;
	gdt[4] = 0x00cffb000000ffffULL;
	gdt[5] = 0x00cff3000000ffffULL;
	gdt[6] = 0x00affb000000ffffULL;
	gdt[8] = (sizeof(*tss) - 1) | (base & 0xffffff) << 16 |
		 0x8bULL << 40 | (base >> 24 & 0xff) << 56;
	gdt[9] = base >> 32;
	tss->rsp[0] = vcpu->kstack;
	tss->ist[0] = vcpu->nmi_stack;
	tss->iomap_base = offsetof(struct wh_tss, iomap);
	memset(tss->iomap, 0xff, sizeof(tss->iomap));
	tss->iomap[WH_PORT_DONE / 8] &= ~(1 << WH_PORT_DONE % 8 |
					  1 << WH_PORT_TRAP % 8);
	vcpu->sregs.gdt.base = WH_KVA + tables;
	vcpu->sregs.gdt.limit = 10 * 8 - 1;
	vcpu->sregs.tr = (struct kvm_segment) {
		.base = base, .limit = sizeof(*tss) - 1, .selector = 0x40,
		.type = 11, .present = 1,
	};
}

static void make_idt(struct wh_vcpu *vcpu, u64 gpa)
{
	struct wh_idt_entry *idt = wh_gpa(vcpu->vm, gpa);
	int i;

	for (i = 0; i < 256; i++) {
		u64 entry = WH_KVA + (u64)wh_trap_stubs + 16 * i;

		idt[i] = (struct wh_idt_entry) {
			.offset0 = entry, .offset1 = entry >> 16,
			.offset2 = entry >> 32, .selector = 0x10,
			/* An NMI comes anywhere, below a stack's red zone, too. */
			.ist = i == 2,
			/* #BP is the only vector that CPL 3 may call. */
			.type = i == 3 ? 0xee : 0x8e,
		};
	}
	vcpu->sregs.idt.base = WH_KVA + gpa;
	vcpu->sregs.idt.limit = 256 * 16 - 1;
}

static void set_cpl(struct kvm_sregs *s, int cpl)
{
	s->cs = (struct kvm_segment) {
		.selector = cpl ? WH_USER_CS : 0x10, .limit = -1, .type = 11,
		.present = 1, .dpl = cpl, .s = 1, .l = 1, .g = 1,
	};
	s->ss = (struct kvm_segment) {
		.selector = cpl ? WH_USER_DS : 0x18, .limit = -1, .type = 3,
		.present = 1, .dpl = cpl, .s = 1, .db = 1, .g = 1,
	};
	s->ds = s->ss;
	s->es = s->ss;
}

/*
 * What KVM supports, the TSC-deadline timer, which it leaves to the VMM, and
 * the VM's identity in the brand string.
 */
static void set_cpuid(struct wh_vcpu *vcpu)
{
	static struct {
		struct kvm_cpuid2 head;
		struct kvm_cpuid_entry2 entries[256];
	} cpuid;
	u32 i;

	cpuid.head.nent = WH_ARRAY_SIZE(cpuid.entries);
	must(ioctl(kvm_fd(), KVM_GET_SUPPORTED_CPUID, &cpuid), "CPUID");
	for (i = 0; i < cpuid.head.nent; i++) {
		if (cpuid.entries[i].function == 1)
			cpuid.entries[i].ecx |= 1 << 24;
		if (cpuid.entries[i].function == WH_CPUID_VM)
			cpuid.entries[i].ebx = vcpu->vm->id;
	}
	must(ioctl(vcpu->fd, KVM_SET_CPUID2, &cpuid), "KVM_SET_CPUID2");
}

static void set_msrs(struct wh_vcpu *vcpu)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entries[4];
	} msrs = {
		.head.nmsrs = 4,
		.entries = {
			{ .index = 0xc0000081,
			  .data = vcpu->star ?: 0x0023001000000000ULL },
			{ .index = 0xc0000082,
			  .data = vcpu->lstar ?: WH_KVA + (u64)wh_syscall_entry },
			/* Interrupts stay on where LSTAR is a test's own. */
			{ .index = 0xc0000084,
			  .data = vcpu->fmask ?: vcpu->lstar ? 0x47500 : 0x47700 },
			{ .index = 0xc0000102, .data = vcpu->kernel_gs },
		},
	};

	if (ioctl(vcpu->fd, KVM_SET_MSRS, &msrs) != 4)
		wh_die("KVM_SET_MSRS");
}

static void set_xcr0(struct wh_vcpu *vcpu, u64 xcr0)
{
	struct kvm_xcrs xcrs = { .nr_xcrs = 1, .xcrs[0].value = xcr0 };

	must(ioctl(vcpu->fd, KVM_SET_XCRS, &xcrs), "KVM_SET_XCRS");
}

struct wh_vcpu *wh_vcpu_create(struct wh_vm *vm)
{
	struct wh_vcpu *vcpu = calloc(1, sizeof(*vcpu));
	u64 tables = wh_page_alloc(vm), cpu_area = wh_page_alloc(vm);

	sem_init(&vcpu->go, 0, 0);
	sem_init(&vcpu->done, 0, 0);
	vcpu->vm = vm;
	vcpu->id = vm->nvcpus;
	vcpu->user_stack = WH_STACK_VA;
	vcpu->fd = must(ioctl(vm->fd, KVM_CREATE_VCPU, vcpu->id), "KVM_CREATE_VCPU");
	vcpu->run_size = must(ioctl(kvm_fd(), KVM_GET_VCPU_MMAP_SIZE, 0), "mmap size");
	vcpu->run = mmap(NULL, vcpu->run_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, vcpu->fd, 0);
	if (vcpu->run == MAP_FAILED)
		wh_die("mmap vCPU");
	wh_page_alloc(vm);
	vcpu->kstack = WH_KVA + wh_page_alloc(vm) + WH_PAGE;
	*(u64 *)wh_gpa(vm, cpu_area) = vcpu->kstack;
	wh_page_alloc(vm);
	vcpu->nmi_stack = WH_KVA + wh_page_alloc(vm) + WH_PAGE;
	set_cpuid(vcpu);
	must(ioctl(vcpu->fd, KVM_GET_SREGS, &vcpu->sregs), "KVM_GET_SREGS");
	make_descriptors(vcpu, tables);
	make_idt(vcpu, wh_page_alloc(vm));
	vcpu->sregs.cr0 = 0x80050033;
	vcpu->sregs.cr4 = 0x20 | 0x200 | 0x400 | 0x10000 | 0x40000;
	vcpu->sregs.efer = 0xd01;
	vcpu->sregs.apic_base |= 0xc00;
	set_cpl(&vcpu->sregs, 0);
	vm->vcpus[vm->nvcpus++] = vcpu;
	vcpu->sregs.cr3 = 0;
	must(ioctl(vcpu->fd, KVM_SET_SREGS, &vcpu->sregs), "KVM_SET_SREGS");
	set_xcr0(vcpu, 7);
	vcpu->kernel_gs = WH_KVA + cpu_area;
	set_msrs(vcpu);
	return vcpu;
}

struct wh_vcpu *wh_thread_create(struct wh_as *as)
{
	struct wh_vcpu *vcpu = wh_vcpu_create(as->vm);

	vcpu->user_stack = WH_STACK_VA - vcpu->id * 16 * WH_PAGE;
	map_stack(as, vcpu->user_stack);
	return vcpu;
}

void wh_vcpu_regs(struct wh_vcpu *vcpu, struct kvm_regs *regs)
{
	must(ioctl(vcpu->fd, KVM_GET_REGS, regs), "KVM_GET_REGS");
}

u64 wh_vcpu_ns(struct wh_vcpu *vcpu)
{
	struct timespec ts;
	clockid_t clock;

	errno = pthread_getcpuclockid(vcpu->thread, &clock);
	if (errno || clock_gettime(clock, &ts))
		wh_die("thread's clock");
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void wh_msi(struct wh_vm *vm, int apic_id, u32 mode, u8 vector)
{
	struct kvm_msi msi = {
		.address_lo = 0xfee00000 | apic_id << 12,
		.data = mode << 8 | vector,
	};

	must(ioctl(vm->fd, KVM_SIGNAL_MSI, &msi), "KVM_SIGNAL_MSI");
}

static void on_kick(int sig)
{
	(void)sig;
}

static void note_exit(struct wh_vcpu *vcpu)
{
	struct wh_guest_log *log = &G(vcpu->vm, wh_log);
	struct wh_result *res = &vcpu->res;
	struct kvm_regs regs;

	wh_vcpu_regs(vcpu, &regs);
	res->exit_reason = vcpu->run->exit_reason;
	res->rax = regs.rax;
	res->rbx = regs.rbx;
	res->rcx = regs.rcx;
	res->rdx = regs.rdx;
	res->rip = regs.rip;
	res->end = WH_END_EXIT;
	if (res->exit_reason != KVM_EXIT_IO)
		return;
	if (vcpu->run->io.port == WH_PORT_DONE) {
		res->end = WH_END_DONE;
	} else if (vcpu->run->io.port == WH_PORT_TRAP) {
		res->end = WH_END_TRAP;
		res->vector = log->vector;
		res->error = log->error;
		res->rip = log->rip;
		res->cr2 = log->cr2;
	}
}

/* KVM_RUN until the guest reports; the start registers are set already. */
static void run_loop(struct wh_vcpu *vcpu)
{
	memset(&vcpu->res, 0, sizeof(vcpu->res));
	while (ioctl(vcpu->fd, KVM_RUN, 0) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			wh_die("KVM_RUN");
		vcpu->res.eintr++;
		if (vcpu->stop) {
			vcpu->res.end = WH_END_STOPPED;
			return;
		}
		vcpu->run->immediate_exit = 0;
		if (vcpu->on_eintr)
			vcpu->on_eintr(vcpu);
	}
	note_exit(vcpu);
}

static void set_context(struct wh_vcpu *vcpu, struct wh_as *as, int cpl)
{
	struct kvm_mp_state runnable = { KVM_MP_STATE_RUNNABLE };
	struct kvm_vcpu_events none = { };
	struct kvm_sregs now;

	/* Else it waits for a start-up IPI, or was stopped in HLT. */
	must(ioctl(vcpu->fd, KVM_SET_MP_STATE, &runnable), "KVM_SET_MP_STATE");
	/* An exception whose delivery failed would come again. */
	must(ioctl(vcpu->fd, KVM_SET_VCPU_EVENTS, &none), "KVM_SET_VCPU_EVENTS");
	must(ioctl(vcpu->fd, KVM_GET_SREGS, &now), "KVM_GET_SREGS");
	set_cpl(&vcpu->sregs, cpl);
	if (cpl == 3 && vcpu->compat) {
		vcpu->sregs.cs.l = 0;
		vcpu->sregs.cs.db = 1;
	}
	vcpu->sregs.cr3 = as->cr3;
	vcpu->sregs.apic_base = now.apic_base;
	must(ioctl(vcpu->fd, KVM_SET_SREGS, &vcpu->sregs), "KVM_SET_SREGS");
	/* A trap that ended the last run left the GS bases swapped. */
	set_msrs(vcpu);
}

static struct kvm_regs start_regs(struct wh_vcpu *vcpu, int cpl)
{
	struct kvm_regs regs = {
		.rflags = cpl ? 0x202 : 0x2,
		.rsp = cpl ? vcpu->user_stack : vcpu->kstack,
	};

	return regs;
}

static void prepare_call(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 const void *fn, u64 a0, u64 a1, u64 a2, u64 a3)
{
	struct kvm_regs regs = start_regs(vcpu, cpl);

	regs.rip = (u64)wh_guest_call;
	regs.rax = (u64)fn;
	regs.rdi = a0;
	regs.rsi = a1;
	regs.rdx = a2;
	regs.rcx = a3;
	set_context(vcpu, as, cpl);
	must(ioctl(vcpu->fd, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

/* Runs every call of its vCPU: KVM_RUN is slow to change threads. */
static void *vcpu_thread(void *arg)
{
	struct wh_vcpu *vcpu = arg;

	vcpu->tid = syscall(SYS_gettid);
	if (vcpu->on_thread)
		vcpu->on_thread(vcpu);
	for (;;) {
		while (sem_wait(&vcpu->go))
			;
		if (vcpu->quit)
			return NULL;
		run_loop(vcpu);
		vcpu->running = false;
		sem_post(&vcpu->done);
	}
}

void wh_resume(struct wh_vcpu *vcpu)
{
	struct sigaction sa = { .sa_handler = on_kick };

	if (!vcpu->thread) {
		sigaction(SIGUSR1, &sa, NULL);
		errno = pthread_create(&vcpu->thread, NULL, vcpu_thread, vcpu);
		if (errno)
			wh_die("pthread_create");
	}
	vcpu->stop = false;
	vcpu->running = true;
	vcpu->started = true;
	sem_post(&vcpu->go);
}

void wh_start(struct wh_vcpu *vcpu, struct wh_as *as, int cpl, const void *fn,
	      u64 a0, u64 a1, u64 a2, u64 a3)
{
	prepare_call(vcpu, as, cpl, fn, a0, a1, a2, a3);
	wh_resume(vcpu);
}

bool wh_join(struct wh_vcpu *vcpu, int seconds)
{
	struct timespec ts;
	int ret;

	if (!vcpu->started)
		return true;
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += seconds;
	do
		ret = sem_timedwait(&vcpu->done, &ts);
	while (ret && errno == EINTR);
	if (!ret)
		vcpu->started = false;
	return !ret;
}

/* The watchdog ends a call that never returns. */
static struct wh_result run_and_wait(struct wh_vcpu *vcpu)
{
	wh_resume(vcpu);
	while (sem_wait(&vcpu->done))
		;
	vcpu->started = false;
	return vcpu->res;
}

struct wh_result wh_call(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 const void *fn, u64 a0, u64 a1, u64 a2, u64 a3)
{
	prepare_call(vcpu, as, cpl, fn, a0, a1, a2, a3);
	return run_and_wait(vcpu);
}

static void prepare_leaf(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 u32 leaf, u64 a0, u64 a1, u64 a2, u64 a3)
{
	struct kvm_regs regs = start_regs(vcpu, cpl);

	regs.rip = (u64)wh_guest_leaf;
	regs.rax = leaf;
	regs.rdi = a0;
	regs.rsi = a1;
	regs.rdx = a2;
	regs.r8 = a3;
	regs.r9 = leaf == WH_LEAF_WORKER_REGISTER ? wh_nslots : 0;
	set_context(vcpu, as, cpl);
	must(ioctl(vcpu->fd, KVM_SET_REGS, &regs), "KVM_SET_REGS");
}

void wh_leaf_start(struct wh_vcpu *vcpu, struct wh_as *as, int cpl, u32 leaf,
		   u64 a0, u64 a1, u64 a2, u64 a3)
{
	prepare_leaf(vcpu, as, cpl, leaf, a0, a1, a2, a3);
	wh_resume(vcpu);
}

struct wh_result wh_leaf(struct wh_vcpu *vcpu, struct wh_as *as, int cpl,
			 u32 leaf, u64 a0, u64 a1, u64 a2, u64 a3)
{
	prepare_leaf(vcpu, as, cpl, leaf, a0, a1, a2, a3);
	return run_and_wait(vcpu);
}

void wh_vcpu_kick(struct wh_vcpu *vcpu)
{
	vcpu->run->immediate_exit = 1;
	pthread_kill(vcpu->thread, SIGUSR1);
}

void wh_vcpu_stop(struct wh_vcpu *vcpu)
{
	vcpu->stop = true;
	wh_vcpu_kick(vcpu);
	if (!wh_join(vcpu, 5)) {
		errno = ETIMEDOUT;
		wh_die("vCPU does not leave KVM_RUN");
	}
	vcpu->run->immediate_exit = 0;
}
