;; SPDX-License-Identifier: Apache-2.0
;; System calls in the view. A SYSCALL there leads, by KVM's page at the client's
;; LSTAR, to wh_service, without an exit. What user space knows is answered here;
;; all else is handed on to the worker's thread, which executes the SYSCALL
;; below, and stays there with its call, as after any handoff.
;;
;; Nothing here touches the stack (which a system call does not need, and below
;; which is the caller's red zone) or a flag: comparisons are LEA and JRCXZ.

%define NR_SCHED_YIELD  24
%define NR_GETPID       39
%define NR_GETUID       102
%define NR_GETGID       104
%define NR_GETEUID      107
%define NR_GETEGID      108
%define NR_GETPPID      110
%define NR_GETTID       186

;; Is this the call? Clobbers rcx.
;; %1 ; [in] number ; %2 ; [in] where to go then
%macro on_call 2
        lea     rcx, [rax - %1]
        jrcxz   %2
%endmacro

;; Answer with a word of struct wh_world_self.
;; %1 ; [in] member
%macro answer_self 1
        mov     ecx, [WORLD + wh_world.self + wh_world_self.%1]
        jmp     short wh_service.known
%endmacro

        align   16, int3

;; In       rax = number, rdi, rsi, rdx, r10, r8, r9 = arguments, GS base = where
;;          to return; flags as the caller's
;; Out      rax; GS base = 0
;; Clobbers rcx, r11, as SYSCALL does
;; Stack    none
;; Runs in  the view, or in the worker's thread if it left the view meanwhile
wh_service:
        rdgsbase r11
        on_call NR_SCHED_YIELD, .yield
        on_call NR_GETPPID, .ppid
        on_call NR_GETPID, .pid
        on_call NR_GETTID, .tid
        on_call NR_GETUID, .uid
        on_call NR_GETEUID, .euid
        on_call NR_GETGID, .gid
        on_call NR_GETEGID, .egid
        jmp     short .hand_on

;; Nobody waits for a CPU of the view.
.yield:
        pause
        mov     eax, 0
        jmp     short .return
.ppid:
        answer_self ppid
.pid:
        answer_self pid
.tid:
        answer_self tid
.uid:
        answer_self uid
.euid:
        answer_self euid
.gid:
        answer_self gid
.egid:
        answer_self egid
.known:
        jrcxz   .hand_on                ; not known: the kernel says
        mov     eax, ecx
        jmp     short .return

;; The GS base keeps the way back over the system call: r11 is the kernel's, and
;; a new thread (clone) has another stack, but this GS base.
.hand_on:
        mov     r11, rax
        mov     eax, WH_LEAF_SYSCALL
        syscall_leaf
        mov     rax, r11
        syscall
.handed_on:
        rdgsbase r11
.return:
        mov     ecx, 0
        wrgsbase rcx
        jmp     r11
