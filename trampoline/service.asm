;; SPDX-License-Identifier: Apache-2.0
;; System calls in the view. KVM's page at the client's LSTAR leads a SYSCALL in the view to
;; wh_service, without an exit. What user space knows is answered here. System calls that
;; need a kernel, but not this thread, are made by its companion (companion.asm). All others
;; are handed on to the worker's thread, which executes the SYSCALL below, and stays there
;; with its call, as after any handoff.
;;
;; A system call needs no stack, keeps all flags, and may be above its caller's red zone. So
;; most of this code touches neither stack nor flags: comparisons are LEA and JRCXZ, and
;; where real comparisons are needed, ax holds the flags. Only clocks use the stack, below
;; the red zone, and only the stack that the worker gave its calls.

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

;; Numbers of the clocks that the vDSO reads by itself: REALTIME, MONOTONIC, MONOTONIC_RAW,
;; REALTIME_COARSE, MONOTONIC_COARSE, BOOTTIME, TAI. Clocks of a thread or a process are not
;; among them.
%define CLOCKS          (1 << 0 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11)
%define LAST_CLOCK      11

%define FUTEX_WAKE              1       ; FUTEX_WAIT is 0
%define FUTEX_WAIT_BITSET       9
%define FUTEX_PRIVATE           128
%define FUTEX_CLOCK_REALTIME    256
;; The looks, with their PAUSEs, take about as long as a handoff and the way back.
%define FUTEX_LOOKS             1000

;; Jumps if this is the call. Clobbers rcx.
;; %1 ; [in] number ; %2 ; [in] where to jump
%macro on_call 2
        lea     rcx, [rax - %1]
        jrcxz   %2
%endmacro

;; Answers with a word of struct wh_world_self.
;; %1 ; [in] member
%macro answer_self 1
        mov     ecx, [WORLD + wh_world.self + wh_world_self.%1]
        jmp     short wh_service.known
%endmacro

;; Saves the flags, which may change after this. The system call's number is known here, so
;; rax is free.
;; %1 ; [in] number
%macro put_flags_aside 1
        mov     eax, %1 << 16
        lahf
        seto    al
%endmacro

;; Restores the flags. Clobbers al; the bits of eax above ax hold the number.
%macro take_flags_back 0
        add     al, 0x7f                ; OF
        sahf
%endmacro

;; Hands on unless the stack is the calls' own, and the 16 bytes at this address are in its
;; used part. Then both exist, and no fault happens where the kernel would return -EFAULT.
;; Clobbers flags.
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

;; In       rax = number, rdi, rsi, rdx, r10, r8, r9 = arguments, GS base = return address;
;;          flags of the caller
;; Out      rax; GS base = 0
;; Clobbers rcx, r11, as SYSCALL does
;; Stack    none; clocks use the stack below the red zone
;; Runs in  the view, or in the worker's thread if it has left the view meanwhile
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

;; Nobody waits for a CPU of the view, so there is nothing to yield to.
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
        jrcxz   .hand_on                ; not known: the kernel must answer
        mov     eax, ecx
        jmp     short .return

;; The GS base keeps the return address during the system call: the kernel overwrites r11,
;; and a new thread (clone) has another stack, but this GS base.
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

;; Clocks: the vDSO of the worker's kernel reads them in user space, and can do so in a view:
;; its pages are the worker's, and the TSC of all VMs with a role is the host's. It is C code
;; that the kernel builds for general registers only, so the caller's vector registers, x87
;; and MXCSR stay. If it cannot read a clock, for example with a clock source other than the
;; TSC, it asks the kernel by a SYSCALL. That leads to wh_service once more, and is handed on
;; because it comes from the vDSO.
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
        test    rsi, rsi                ; a time zone is requested
        jnz     .cannot
        mov     rcx, rdi
        lea     r11, [WORLD + wh_world.vdso + wh_world_vdso.gettimeofday]
        jmp     short .vdso
.time:
        put_flags_aside NR_TIME
        mov     rcx, rdi
        test    rdi, rdi                ; may be NULL
        cmovz   rcx, rsp
        lea     r11, [WORLD + wh_world.vdso + wh_world_vdso.time]

        ;; here: r11 = address of the pointer to the function, rcx = where it writes
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
        rdgsbase rcx                    ; a SYSCALL of the vDSO does not keep the GS base
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

;; FUTEX_WAIT and FUTEX_WAIT_BITSET: if the word differs, the answer is -EAGAIN at once, as
;; the kernel would answer. It is the same if the word differs a little later: the kernel may
;; look as late, so the caller cannot tell the difference, and a thread that changed the word
;; and woke nobody was too early for a sleeper. Only a word that stays the same is handed on,
;; to sleep. What the kernel refuses before it looks (an odd address, no bits, an invalid
;; timeout) is left to the kernel. The caller has just read the word. If it is not mapped
;; nevertheless, the result is a fault of its thread instead of -EFAULT. FUTEX_WAKE goes to
;; the companion: only the kernel knows the sleepers.
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
        pause                           ; PAUSE exits only at CPL 0, however many there are
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
