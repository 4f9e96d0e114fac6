;; SPDX-License-Identifier: Apache-2.0
;; The way out of the client world, up to and including the switch.

        align   16, int3

;; int64_t delegate_to_server(struct wh_slot *slot, uint32_t handler, uint64_t arg0,
;;                            uint32_t index, uint64_t arg1)
;;
;; Runs a handler of the worker behind `index`. Returns the handler's result, or a negative
;; WH_*.
;; In       rdi, esi, rdx, ecx, r8 as above; the slot belongs to this thread
;; Out      rax
;; Clobbers what any C function may: it keeps rbx, rbp, r12-r15, rsp, MXCSR, x87 control
;;          word, AC, FS and GS bases. The handler may change vector registers.
;; Stack    frame_size bytes, and nothing below it that a signal may overwrite
;; Runs in  the client's EPT
global delegate_to_server:function hidden
delegate_to_server:
        endbr64
        push    rbp
        push    rbx
        push    r12
        push    r13
        push    r14
        push    r15
        pushfq
        test    dword [rsp], RFLAGS_AC
        jnz     wh_client_without_ac
        ;; Save the modes for the way home where the flags were. Save in the slot what the
        ;; landing restores, and what KVM loads when it suspends the call.
        stmxcsr [rsp + frame.mxcsr]
        fnstcw  [rsp + frame.fcw]
        rdfsbase rax
        mov     [SLOT + wh_slot.client.fs], rax
        rdgsbase rax
        mov     [SLOT + wh_slot.client.gs], rax
        mov     [SLOT + wh_slot.client.rsp], rsp
        clear   LEAF
        ;; here: client EPT, client stack and bases; the slot is complete. A signal may still
        ;; run its handler, which finds its own FS base.
.switch:
        switch
