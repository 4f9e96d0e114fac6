;; SPDX-License-Identifier: Apache-2.0
;; In the view: prove the arrival, load the worker's bases, stack and modes, run the handler,
;;          restore the bases and the stack, and leave. KVM may suspend the call between any
;;          two instructions. Then it saves the current registers, and loads the client's
;;          from the slot, which the client filled in before the switch and which nobody
;;          changes.

;; Only the switch leads here.
;; In       rdi = slot, esi = handler, rdx = arg0, r8 = arg1; all else is unknown, including
;;          DF: any code that can execute VMFUNC can come here
;; Runs in  the view; or in the client's EPT if KVM refused, and STATUS has the reason
wh_land_entry:
        is_view
        jne     wh_client_refused

        ;; here: the view, client stack (not mapped), client bases. KVM's page names the
        ;; slot, and the worker has registered all that this slot needs. The handler's number
        ;; comes from the client, so the worker's own page bounds it.
        mov     HANDLER_D, HANDLER_IN
        mov     SLOTNO_D, [VIEW + wh_slot_view.slot]
        lea     WORLDP, [WORLD]
        cmp     HANDLER_D, [WORLDP + wh_world.nhandlers]
        jae     wh_land_no_handler
        mov     TARGET, [WORLDP + wh_world.handlers + HANDLER * 8]
        test    TARGET, TARGET
        jz      wh_land_no_handler
        imul    WSLOT, SLOTNO, wh_world_slot_size

        ;; Nothing can fail after this point.
        mov     rsp, [wslot(wh_world_slot.stack_top)]
        mov     rcx, [wslot(wh_world_slot.fs_base)]
        wrfsbase rcx
        mov     rcx, [wslot(wh_world_slot.gs_base)]
        wrgsbase rcx
        cld
        ldmxcsr [wslot(wh_world_slot.mxcsr)]
        fnstcw  [rsp - 8]               ; the stack is still empty
        movzx   ecx, word [rsp - 8]
        cmp     cx, [wslot(wh_world_slot.fcw)]
        jne     wh_land_set_fcw
.fcw_is_set:
        inc     qword [SLOT + wh_slot.calls]

        ;; s64 handler(void *session, u64 slot, u64 arg0, u64 arg1); SLOTNO and ARG0 are in
        ;; their registers already.
        mov     KEPT_SLOT, SLOT
        mov     rdi, [WORLDP + wh_world.session]
        mov     rcx, ARG1
        clear   ebp, r12d, r13d, r14d, r15d
        ;; here: the view, worker's stack, bases and modes. No register holds a value of the
        ;; client except the arguments and KEPT_SLOT.
.call:
        call    TARGET
.return:
        mov     RESULT, rax
        mov     rax, [KEPT_SLOT + wh_slot.client.fs]
        mov     rcx, [KEPT_SLOT + wh_slot.client.gs]
        mov     rsp, [KEPT_SLOT + wh_slot.client.rsp]
        mov     SLOTNO_D, [KEPT_SLOT + wh_slot.slot]    ; for KVM, after a handoff
        wrfsbase rax
        wrgsbase rcx

        ;; here: the view, client stack (not mapped), client bases. No more memory is
        ;; touched. All registers but RESULT and SLOTNO are cleared here; rbp and r12 to r15
        ;; were cleared before the handler, which has kept them.
.scrub:
        clear   ebx, edi, r8d, r9d, r10d, r11d
        clear   ENTRY, LEAF             ; entry 0 is the client's own EPT
.leave:
        switch
