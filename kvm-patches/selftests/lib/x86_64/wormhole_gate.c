// SPDX-License-Identifier: GPL-2.0-only
/* Tests of system calls in a view: handlers that make them, what their vCPUs are set to. */
#include <sys/ioctl.h>
#include "wormhole.h"

u64 wh_syscall(u64 nr, u64 a, u64 b)
{
	u64 ret;

	asm volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b)
		     : "rcx", "r11", "memory");
	return ret;
}

s64 wh_syscall_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return wh_syscall(a0, a1, 1);
}

s64 wh_sys_add_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	return wh_syscall(WH_SYS_ADD, a0, a1);
}

s64 wh_syscalls_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	u64 i, sum = 0;

	for (i = 0; i < a0; i++)
		sum += wh_syscall(a1, i, 1);
	return sum;
}

s64 wh_jump_handler(void *session, u64 slot, u64 a0, u64 a1)
{
	((void (*)(void))a0)();
	return 0;
}

u64 wh_gates(u64 vm)
{
	struct wh_host_stat st;

	wh_stat(vm, &st);
	return st.gates;
}

bool wh_pair_anew(struct wh_worker *w, struct wh_client *c)
{
	wh_release(w);
	if (c->vcpu->started && !wh_join(c->vcpu, 1))
		wh_vcpu_stop(c->vcpu);
	wh_worker_again(w);
	return !wh_attach(c);
}

void wh_watch(struct wh_vcpu *vcpu, u64 va, u64 dr7)
{
	struct kvm_debugregs regs = { .db[0] = va, .dr6 = 0xffff0ff0, .dr7 = va ? dr7 : 0x400 };

	if (ioctl(vcpu->fd, KVM_SET_DEBUGREGS, &regs))
		wh_die("KVM_SET_DEBUGREGS");
}

static u64 one_msr(struct wh_vcpu *vcpu, unsigned long request, u32 index, u64 value)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} msrs = { .head.nmsrs = 1, .entry = { .index = index, .data = value } };

	if (ioctl(vcpu->fd, request, &msrs) != 1)
		wh_die("KVM_GET_MSRS or KVM_SET_MSRS");
	return msrs.entry.data;
}

u64 wh_get_msr(struct wh_vcpu *vcpu, u32 index)
{
	return one_msr(vcpu, KVM_GET_MSRS, index, 0);
}

void wh_set_msr(struct wh_vcpu *vcpu, u32 index, u64 value)
{
	one_msr(vcpu, KVM_SET_MSRS, index, value);
}
