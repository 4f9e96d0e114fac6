;; SPDX-License-Identifier: Apache-2.0
;; Back in the client world: prove it, restore the caller's registers and modes, and return.

;; Runs after the switch back, and after every other way to return.
;; In       RESULT; all else unknown except rsp, which has a frame if this is home
;; Runs in  the client's EPT, with the client's FS and GS bases
wh_client_home:
        is_world WORLD, WH_WORLD_CLIENT
        jne     .lost
        ;; here: home. The stack can be trusted again. MXCSR and x87 control word are the
        ;; worker's, or what KVM loaded when it suspended the call.
        mov     rax, RESULT
        ldmxcsr [rsp + frame.mxcsr]
        fnstcw  [rsp + frame.fcw_now]
        movzx   ecx, word [rsp + frame.fcw_now]
        cmp     cx, [rsp + frame.fcw]
        jne     .restore_fcw
.fcw_is_restored:
        add     rsp, frame.r15
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbx
        pop     rbp
        ret

.restore_fcw:
        fnclex                          ; fldcw may unmask a pending exception
        fldcw   [rsp + frame.fcw]
        jmp     .fcw_is_restored

;; This is neither world, so there is no stack and no caller. #UD ends the thread that runs
;; here.
.lost:
        ud2

;; The switch has not happened, or the suspended call has failed.
;; In       STATUS: negative WH_* from KVM
;; Runs in  the client's EPT, which wh_client_home checks
wh_client_refused:
        mov     RESULT, STATUS
        test    STATUS, STATUS
        js      wh_client_home
        mov     RESULT, WH_EFATAL
        jmp     wh_client_home

;; KVM puts a client here when it suspends a call, so that an interrupt, a signal or a
;; scheduler finds an ordinary thread. CONTINUE resumes the call, in the view or after
;; wh_land_entry.leave. It returns only if the call has failed.
;; In       rdi = EPTP index of the slot, rsp = wh_slot.client.rsp,
;;          client FS and GS bases; all else unknown
;; Runs in  the client's EPT
wh_client_pending:
        endbr64
        mov     eax, WH_LEAF_CONTINUE
        clear   ecx
        continue_leaf
        jmp     wh_client_refused

;; Belongs to delegate.asm: a caller with alignment checks calls once more without them, and gets
;; them again afterwards. So no call has them, and the way home need not check.
;; In       the caller's registers; above them on the stack what delegate_to_server has pushed
;; Runs in  the client's EPT
wh_client_without_ac:
        and     dword [rsp], ~RFLAGS_AC
        popfq
        ; One of the six stays, so that the stack is aligned for a call.
        add     rsp, 5 * 8
        call    delegate_to_server
        pushfq
        or      dword [rsp], RFLAGS_AC
        popfq
        add     rsp, 8
        ret

;; Belongs to the landing: code that is too rare for its straight path. The caller of a
;; refused call gets its own rbp and r12 to r15 back.
;; Runs in  the view
wh_land_no_handler:
        mov     RESULT, WH_ENOSYS
        jmp     wh_land_entry.scrub

wh_land_set_fcw:
        fnclex                          ; fldcw reports a pending exception
        fldcw   [wslot(wh_world_slot.fcw)]
        jmp     wh_land_entry.fcw_is_set
