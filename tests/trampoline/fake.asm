;; SPDX-License-Identifier: Apache-2.0
;; Stand-ins for what only hardware can do, and probes: a switch that records
;; every register and changes the world word, a handler that records what it
;; got and dirties what it may, and a caller that checks what it kept.
        bits    64
        default rel

;; struct regs of fake.h
struc regs
.gpr:           resq    16      ; rax rbx rcx rdx rsi rdi rbp rsp r8-r15
.rflags:        resq    1
.fs:            resq    1
.gs:            resq    1
.mxcsr:         resd    1
.fcw:           resw    1
.fsw:           resw    1
endstruc

%define regs_room       ((regs_size + 15) & ~15)
%define RFLAGS_AC       (1 << 18)
%define RFLAGS_DF       (1 << 10)

extern fake_switch_c, fake_continue_c
extern fake_at_handler, fake_handler_result, fake_handler_runs

section .text

;; Records all registers. Keeps all but rflags' order of push: nothing.
;; %1 ; [in] address of a struct regs: RIP-relative or rsp
;; %2 ; [in] bytes between rsp and the rsp to record
%macro record 2
        mov     [%1 + regs.gpr + 0], rax
        mov     [%1 + regs.gpr + 8], rbx
        mov     [%1 + regs.gpr + 16], rcx
        mov     [%1 + regs.gpr + 24], rdx
        mov     [%1 + regs.gpr + 32], rsi
        mov     [%1 + regs.gpr + 40], rdi
        mov     [%1 + regs.gpr + 48], rbp
        mov     [%1 + regs.gpr + 56], rsp
        add     qword [%1 + regs.gpr + 56], %2
        mov     [%1 + regs.gpr + 64], r8
        mov     [%1 + regs.gpr + 72], r9
        mov     [%1 + regs.gpr + 80], r10
        mov     [%1 + regs.gpr + 88], r11
        mov     [%1 + regs.gpr + 96], r12
        mov     [%1 + regs.gpr + 104], r13
        mov     [%1 + regs.gpr + 112], r14
        mov     [%1 + regs.gpr + 120], r15
        stmxcsr [%1 + regs.mxcsr]
        fnstcw  [%1 + regs.fcw]
        rdfsbase rax
        mov     [%1 + regs.fs], rax
        rdgsbase rax
        mov     [%1 + regs.gs], rax
        mov     rax, [%1 + regs.gpr + 0]
%endmacro

;; A hook is a call from the page, so it keeps all registers but rax. It saves them on the stack,
;; because threads meet here.
;; %1 ; [in] C function: int64_t f(struct regs *), returns the new rax
%macro hook 1
        pushfq
        lea     rsp, [rsp - regs_room]
        record  rsp, regs_room + 16
        mov     rax, [rsp + regs_room]
        mov     [rsp + regs.rflags], rax
        push    rcx
        push    rdx
        push    rsi
        push    rdi
        push    r8
        push    r9
        push    r10
        push    r11
        push    rbp
        mov     rbp, rsp
        and     rsp, -16
        pushfq
        and     qword [rsp], ~(RFLAGS_AC | RFLAGS_DF)
        popfq
        lea     rdi, [rbp + 9 * 8]      ; behind what was pushed
        call    %1
        mov     rsp, rbp
        pop     rbp
        pop     r11
        pop     r10
        pop     r9
        pop     r8
        pop     rdi
        pop     rsi
        pop     rdx
        pop     rcx
        lea     rsp, [rsp + regs_room]
        popfq
        ret
%endmacro

global fake_switch
fake_switch:
        hook    fake_switch_c

;; Does what KVM does to suspend a call: the client's rsp and bases, rdi = index, rsi = slot,
;; nothing else that anyone could rely on. Called by fake_switch_c() and does
;; not return to it.
;; void fake_suspend(void *pending, u64 index, u64 slot, u64 rsp)
global fake_suspend
fake_suspend:
        mov     rax, rdi
        mov     rdi, rsi
        mov     rsi, rdx
        mov     rsp, rcx
        ldmxcsr [rel dirty_mxcsr]
        fldcw   [rel dirty_fcw]
        mov     rbx, -1
        mov     rcx, rbx
        mov     rdx, rbx
        mov     rbp, rbx
        mov     r8, rbx
        mov     r9, rbx
        mov     r10, rbx
        mov     r11, rbx
        mov     r12, rbx
        mov     r13, rbx
        mov     r14, rbx
        mov     r15, rbx
        jmp     rax

global fake_continue
fake_continue:
        hook    fake_continue_c

;; s64 handler(void *session, u64 slot, u64 arg0, u64 arg1)
;; Runs with the worker's bases: touches no thread-local storage.
global fake_handler
fake_handler:
        pushfq
        record  rel fake_at_handler, 8
        pop     qword [rel fake_at_handler + regs.rflags]
        inc     qword [rel fake_handler_runs]
        mov     rcx, -1
        mov     rdx, rcx
        mov     rsi, rcx
        mov     rdi, rcx
        mov     r8, rcx
        mov     r9, rcx
        mov     r10, rcx
        mov     r11, rcx
        ldmxcsr [rel dirty_mxcsr]
        fldcw   [rel dirty_fcw]
        fld1                            ; masked division by zero: leaves its flag
        fldz
        fdivp   st1
        fstp    st0
        mov     rax, [rel fake_handler_result]
        ret

section .rodata
dirty_mxcsr: dd 0xffc0          ; flush to zero, round to zero, all masked, DAZ
dirty_fcw:   dw 0x0c7f          ; round to zero, single precision
section .text

;; int64_t fake_call(struct keep *k, fn, slot, index, handler, const u64 arg[2])
;; Loads what a callee must keep from k->in, calls, stores to k->out.
struc keep
.in:            resb    regs_size
.out:           resb    regs_size
endstruc

%define OWN     8 * 8 + 16              ; what fake_call keeps for its own caller

global fake_call
fake_call:
        push    rbp
        push    rbx
        push    r12
        push    r13
        push    r14
        push    r15
        pushfq
        push    rdi
        sub     rsp, 8
        stmxcsr [rsp]
        fnstcw  [rsp + 4]
        mov     rax, rdi                ; keep
        mov     r10, rsi                ; function
        mov     rdi, rdx                ; slot
        mov     rsi, r8                 ; handler
        mov     rdx, [r9]               ; arg0, and the index is in rcx
        mov     r8, [r9 + 8]            ; arg1
        mov     rbx, [rax + keep.in + regs.gpr + 8]
        mov     rbp, [rax + keep.in + regs.gpr + 48]
        mov     r12, [rax + keep.in + regs.gpr + 96]
        mov     r13, [rax + keep.in + regs.gpr + 104]
        mov     r14, [rax + keep.in + regs.gpr + 112]
        mov     r15, [rax + keep.in + regs.gpr + 120]
        ldmxcsr [rax + keep.in + regs.mxcsr]
        fldcw   [rax + keep.in + regs.fcw]
        mov     [rax + keep.in + regs.gpr + 56], rsp
        mov     r9, [rax + keep.in + regs.rflags]
        push    r9
        popfq
        mov     r9, -1
        mov     r11, -1
        call    r10
        pushfq
        push    rax
        mov     rax, [rsp + 16 + 8]     ; keep
        mov     [rax + keep.out + regs.gpr + 8], rbx
        mov     [rax + keep.out + regs.gpr + 48], rbp
        mov     [rax + keep.out + regs.gpr + 96], r12
        mov     [rax + keep.out + regs.gpr + 104], r13
        mov     [rax + keep.out + regs.gpr + 112], r14
        mov     [rax + keep.out + regs.gpr + 120], r15
        stmxcsr [rax + keep.out + regs.mxcsr]
        fnstcw  [rax + keep.out + regs.fcw]
        fnstsw  [rax + keep.out + regs.fsw]
        pop     qword [rax + keep.out + regs.gpr]
        pop     qword [rax + keep.out + regs.rflags]
        mov     [rax + keep.out + regs.gpr + 56], rsp
        rdfsbase rcx
        mov     [rax + keep.out + regs.fs], rcx
        rdgsbase rcx
        mov     [rax + keep.out + regs.gs], rcx
        mov     rax, [rax + keep.out + regs.gpr]
        fnclex
        ldmxcsr [rsp]
        fldcw   [rsp + 4]
        add     rsp, 16
        popfq
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbx
        pop     rbp
        ret

section .note.GNU-stack noalloc noexec nowrite progbits
