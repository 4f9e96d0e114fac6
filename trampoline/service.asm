;; SPDX-License-Identifier: Apache-2.0
;; System calls in the view. A SYSCALL there leads, by KVM's page at the client's
;; LSTAR, to wh_service, without an exit. What user space knows is answered here; what
;; takes a kernel, but not this thread, its companion makes (companion.asm);
;; all else is handed on to the worker's thread, which executes the SYSCALL
;; below, and stays there with its call, as after any handoff.
;;
;; A system call needs no stack, and may stand above its caller's red zone; it keeps
;; all flags. So most of this touches neither: comparisons are LEA and JRCXZ, and
;; where real ones are needed the flags wait in ax. Only clocks take stack, below the
;; red zone, and only of the stack that the worker gave its calls.

%define NR_SCHED_YIELD  24
%define NR_GETPID       39
%define NR_GETUID       102
%define NR_GETGID       104
%define NR_GETEUID      107
%define NR_GETEGID      108
%define NR_GETTIMEOFDAY 96
%define NR_GETPPID      110
%define NR_GETTID       186
%define NR_TIME         201
%define NR_FUTEX        202
%define NR_CLOCK_GETTIME 228

%define EAGAIN          11
%define RED_ZONE        128

;; Clocks that the vDSO reads by itself, by number: REALTIME, MONOTONIC, MONOTONIC_RAW,
;; REALTIME_COARSE, MONOTONIC_COARSE, BOOTTIME, TAI. A thread's or process's are not.
%define CLOCKS          (1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11)
%define LAST_CLOCK      11

%define FUTEX_WAKE              1       ; FUTEX_WAIT is 0
%define FUTEX_WAIT_BITSET       9
%define FUTEX_PRIVATE           128
%define FUTEX_CLOCK_REALTIME    256
;; About as long, with their PAUSEs, as a handoff and the way back take.
%define FUTEX_LOOKS             1000

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

;; From here on flags may change. rax is known where this stands.
;; %1 ; [in] number
%macro put_flags_aside 1
        mov     eax, %1 << 16
        lahf
        seto    al
%endmacro

;; Clobbers al; rax above ax is the number.
%macro take_flags_back 0
        add     al, 0x7f                ; OF
        sahf
%endmacro

;; Hand on unless the stack is the calls' own, and 16 bytes at this address are in
;; what is used of it: so both are there, and no fault comes where the kernel would
;; say -EFAULT. Clobbers flags.
;; %1 ; [clobbered] address
%macro only_on_stack 1
        cmp     rsp, [WORLD + wh_world.stack + wh_world_stack.low]
        jb      .cannot
        cmp     rsp, [WORLD + wh_world.stack + wh_world_stack.high]
        ja      .cannot
        add     %1, RED_ZONE
        cmp     %1, rsp
        jb      .cannot
        add     %1, 16 - RED_ZONE
        cmp     %1, [WORLD + wh_world.stack + wh_world_stack.high]
        ja      .cannot
%endmacro

        align   16, int3

;; In       rax = number, rdi, rsi, rdx, r10, r8, r9 = arguments, GS base = where
;;          to return; flags as the caller's
;; Out      rax; GS base = 0
;; Clobbers rcx, r11, as SYSCALL does
;; Stack    none; clocks: what is below the red zone
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
        on_call NR_FUTEX, .to_futex
        on_call NR_CLOCK_GETTIME, .to_clock_gettime
        on_call NR_GETTIMEOFDAY, .to_gettimeofday
        on_call NR_TIME, .to_time
        jmp     wh_companion
.to_futex:
        jmp     .futex
.to_clock_gettime:
        jmp     .clock_gettime
.to_gettimeofday:
        jmp     .gettimeofday
.to_time:
        jmp     .time

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

;; Clocks: the vDSO of the worker's kernel reads them in user space, and does so in a
;; view: its pages are the worker's, and the TSC of all VMs with a role is the host's.
;; It is C that the kernel builds for general registers alone, so the caller's vector
;; registers, x87 and MXCSR stay. What it cannot read, as under a clock source
;; that is no TSC, it asks the kernel for by a SYSCALL, which leads to wh_service
;; once more, and is handed on since it comes from there.
.clock_gettime:
        put_flags_aside NR_CLOCK_GETTIME
        cmp     edi, LAST_CLOCK
        ja      .cannot
        mov     ecx, CLOCKS
        bt      ecx, edi
        jnc     .cannot
        mov     rcx, rsi
        lea     r11, [WORLD + wh_world.vdso + wh_world_vdso.clock_gettime]
        jmp     short .vdso
.gettimeofday:
        put_flags_aside NR_GETTIMEOFDAY
        test    rsi, rsi                ; a time zone
        jnz     .cannot
        mov     rcx, rdi
        lea     r11, [WORLD + wh_world.vdso + wh_world_vdso.gettimeofday]
        jmp     short .vdso
.time:
        put_flags_aside NR_TIME
        mov     rcx, rdi
        test    rdi, rdi                ; may be none
        cmovz   rcx, rsp
        lea     r11, [WORLD + wh_world.vdso + wh_world_vdso.time]

        ;; here: r11 = where the function's address is, rcx = where it writes
.vdso:
        cmp     qword [r11], 0
        je      .cannot
        only_on_stack rcx
        rdgsbase rcx
        sub     rcx, [WORLD + wh_world.vdso + wh_world_vdso.start]
        cmp     rcx, [WORLD + wh_world.vdso + wh_world_vdso.size]
        jb      .cannot
        take_flags_back
        lea     rsp, [rsp - RED_ZONE]
        pushfq
        push    rdi
        push    rsi
        push    rdx
        push    r8
        push    r9
        push    r10
        push    rbp
        rdgsbase rcx                    ; not kept where the vDSO makes a SYSCALL
        push    rcx
        mov     rbp, rsp
        and     rsp, -16
        cld
        call    [r11]
        mov     rsp, rbp
        pop     r11
        pop     rbp
        pop     r10
        pop     r9
        pop     r8
        pop     rdx
        pop     rsi
        pop     rdi
        popfq
        lea     rsp, [rsp + RED_ZONE]
        jmp     .return

;; FUTEX_WAIT and FUTEX_WAIT_BITSET: a word that differs is -EAGAIN at once, as the
;; kernel would say. One that differs a little later is, too: the kernel may be as
;; late with its own look, so the caller cannot tell, and whoever changed the word and
;; wakes nobody was too early for a sleeper. Only a word that stays is handed on, to
;; sleep. What the kernel refuses before it looks (an odd address, no bits, a timeout
;; that is no time) is its to refuse. The caller has just read the word; if it is not
;; mapped after all, this is a fault of its thread, and no -EFAULT. FUTEX_WAKE is
;; the companion's: who sleeps is known to the kernel alone.
.futex:
        put_flags_aside NR_FUTEX
        test    dil, 3
        jnz     .cannot
        cmp     esi, FUTEX_WAKE | FUTEX_PRIVATE
        je      wh_companion.post
        mov     ecx, esi
        and     ecx, ~FUTEX_PRIVATE
        jz      .timeout
        and     ecx, ~FUTEX_CLOCK_REALTIME
        cmp     ecx, FUTEX_WAIT_BITSET
        jne     .cannot
        test    r9d, r9d
        jz      .cannot
.timeout:
        test    r10, r10
        jz      .look_often
        mov     rcx, r10
        only_on_stack rcx
        cmp     qword [r10], 0          ; struct timespec
        jl      .cannot
        cmp     qword [r10 + 8], 1000000000
        jae     .cannot
.look_often:
        mov     ecx, FUTEX_LOOKS
.look:
        cmp     [rdi], edx
        jne     .differs
        pause                           ; exits at CPL 0 alone, however many there are
        dec     ecx
        jnz     .look

.cannot:
        mov     ecx, eax
        shr     ecx, 16
        take_flags_back
        mov     eax, ecx
        jmp     .hand_on
.differs:
        take_flags_back
        mov     rax, -EAGAIN
        jmp     .return
