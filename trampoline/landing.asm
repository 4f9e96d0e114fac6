;; SPDX-License-Identifier: Apache-2.0
;; In the view: prove the arrival, take the worker's bases, stack and modes,
;; run the handler, give the bases and the stack back, leave. KVM may suspend the call between any
;; two instructions: it saves the registers of here, and loads the client's
;; from the slot, which the client filled before it came and nobody changes.

;; Reached by the switch only.
;; In       rdi = slot, rdx = handler, r9 = arg0, r8 = arg1; all else unknown,
;;          AC and DF too: whoever can execute VMFUNC can come here
;; Runs in  the view; or in the client's EPT if KVM refused, STATUS says why
wh_land_entry:
        mov     WSLOT, WH_WORLD_SERVER
        cmp     [WORLD(wh_world.world)], WSLOT
        jne     wh_gate_refused

        ;; here: the view, client stack (not mapped), client bases. Slot number
        ;; and handler come from outside: bound both by the worker's own page.
        mov     SLOTNO_D, [SLOT + wh_slot.slot]
        cmp     SLOTNO_D, [WORLD(wh_world.nslots)]
        jae     .no_slot
        mov     eax, [WORLD(wh_world.nhandlers)]
        cmp     HANDLER, rax
        jae     .no_handler
        lea     TARGET, [WORLD(wh_world.handlers)]
        mov     TARGET, [TARGET + HANDLER * 8]
        test    TARGET, TARGET
        jz      .no_handler
        imul    WSLOT, SLOTNO, wh_world_slot_size
        lea     rcx, [WORLD(wh_world.slots)]
        add     WSLOT, rcx
        mov     rcx, [WSLOT + wh_world_slot.stack_top]
        test    rcx, rcx
        jz      .no_slot

        ;; Nothing can fail from here on.
        mov     rsp, rcx
        mov     rsi, [WSLOT + wh_world_slot.fs_base]
        wrfsbase rsi
        mov     rsi, [WSLOT + wh_world_slot.gs_base]
        wrgsbase rsi
        cld
        ldmxcsr [WSLOT + wh_world_slot.mxcsr]
        movzx   ecx, word [WSLOT + wh_world_slot.fcw]
        cmp     cx, [SLOT + wh_slot.client_fcw]
        jne     .set_fcw
.fcw_is_set:
        pushfq
        pop     rcx
        test    ecx, RFLAGS_AC
        jnz     .clear_ac
.ac_is_clear:
        inc     qword [SLOT + wh_slot.calls]

        ;; s64 handler(void *session, u64 slot, u64 arg0, u64 arg1)
        mov     KEPT_SLOT, SLOT
        mov     rdi, [WORLD(wh_world.session)]
        mov     rsi, SLOTNO
        mov     rdx, ARG0
        mov     rcx, ARG1
        clear   r8d, r9d, r10d, r11d, ebp, r12d, r13d, r14d, r15d
        ;; here: the view, worker's stack, bases and modes; nothing of the
        ;; client in any register but the arguments and KEPT_SLOT
.call:
        call    TARGET
.return:
        mov     RESULT, rax
        mov     rax, [KEPT_SLOT + wh_slot.client.fs]
        mov     rcx, [KEPT_SLOT + wh_slot.client.gs]
        mov     rsp, [KEPT_SLOT + wh_slot.client.rsp]
        wrfsbase rax
        wrgsbase rcx

        ;; here: the view, client stack (not mapped), client bases. No
        ;; memory is touched any more. All but RESULT is scrubbed.
.scrub:
        clear   ebx, esi, edi, ebp, r8d, r9d, r10d, r11d, r12d, r13d, r14d, r15d
        clear   ENTRY, LEAF             ; entry 0: the client's own EPT
.leave:
        switch
        jmp     wh_gate_home

;; Not worth a place on the straight path.
.no_slot:
        mov     RESULT, WH_ENOENT
        jmp     .scrub
.no_handler:
        mov     RESULT, WH_ENOSYS
        jmp     .scrub

.set_fcw:
        fnclex                          ; fldcw reports a pending exception
        fldcw   [WSLOT + wh_world_slot.fcw]
        jmp     .fcw_is_set

.clear_ac:
        and     ecx, ~RFLAGS_AC
        push    rcx
        popfq
        jmp     .ac_is_clear
