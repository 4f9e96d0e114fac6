;; SPDX-License-Identifier: Apache-2.0
;; System calls in the view that need a kernel, but neither block nor depend on their thread.
;; The slot's companion, a thread of the worker in the server, makes them, and the call polls
;; for the answer in memory of the worker (struct wh_ring). So a call needs no handoff for
;; them, and no exit if the companion is awake. The companion decides which system calls it
;; makes: to all others it answers WH_RING_SELF.
;;
;; As in the service nothing touches the stack. Registers that the caller wants kept are
;; saved in the ring, so only r11 must be remembered.

%define NR_READ         0
%define NR_WRITE        1
%define NR_MMAP         9
%define NR_MPROTECT     10
%define NR_MUNMAP       11
%define NR_BRK          12
%define NR_IOCTL        16
%define NR_PREAD64      17
%define NR_PWRITE64     18
%define NR_MREMAP       25
%define NR_MADVISE      28

;; How often to look for the answer, with a PAUSE each time, between two looks at the TSC. A
;; PAUSE takes 3 ticks of the TSC on some processors and 140 on others.
%define RING_LOOKS      64

;; Out      rax = TSC; clobbers rdx
%macro now 0
        rdtsc
        shl     rdx, 32
        or      rax, rdx
%endmacro

%define RING_SHIFT      7
%if wh_ring_size != 1 << RING_SHIFT
  %error "the size of struct wh_ring"
%endif

;; In       as wh_service, which jumps here with system calls that it does not know
;; Out      as wh_service
wh_companion:
        on_call NR_IOCTL, .ring
        on_call NR_MMAP, .ring
        on_call NR_MUNMAP, .ring
        on_call NR_MPROTECT, .ring
        on_call NR_MADVISE, .ring
        on_call NR_WRITE, .ring
        on_call NR_READ, .ring
        on_call NR_PWRITE64, .ring
        on_call NR_PREAD64, .ring
        on_call NR_MREMAP, .ring
        on_call NR_BRK, .ring
.not_mine:
        jmp     wh_service.hand_on

;; The slot is the view's. Its number is read before the code checks that this is the view: a
;; call that leaves the view between the two does not come back to it. The flags are still
;; the caller's.
.ring:
        mov     r11d, [VIEW + wh_slot_view.slot]
        mov     ecx, [VIEW + wh_slot_view.view]
        lea     rcx, [rcx - (WH_SLOT_VIEW & 0xffffffff)]
        jrcxz   .in_view
        jmp     .not_mine
.in_view:
        mov     rcx, [WORLD + wh_world.rings]
        jrcxz   .not_mine
        lea     r11, [r11 * 8]
        lea     r11, [r11 * 8]
        lea     r11, [rcx + r11 * 2]
        mov     ecx, [r11 + wh_ring.call]
        jrcxz   .ask
        jmp     .not_mine
.ask:
        mov     [r11 + wh_ring.nr], rax
        mov     [r11 + wh_ring.arg], rdi
        mov     [r11 + wh_ring.arg + 8], rsi
        mov     [r11 + wh_ring.arg + 16], rdx
        mov     [r11 + wh_ring.arg + 24], r10
        mov     [r11 + wh_ring.arg + 32], r8
        mov     [r11 + wh_ring.arg + 40], r9
        rdgsbase rcx
        mov     [r11 + wh_ring.back], rcx
        lahf
        seto    al
        mov     [r11 + wh_ring.flags], ax
        ;; Ask first, and then look whether the companion sleeps. The companion does this in
        ;; the opposite order.
        mov     ecx, WH_RING_ASKED
        xchg    [r11 + wh_ring.call], ecx
        cmp     dword [r11 + wh_ring.sleeps], 0
        je      .await
        now
        mov     [r11 + wh_ring.woken], rax
        mov     eax, WH_LEAF_WAKE
        wake_leaf
;; A call that takes longer than the patience waits in the server, where it takes no CPU
;; time.
.await:
        now
        add     rax, [WORLD + wh_world.patience]
        mov     rdi, rax
.look_often:
        mov     ecx, RING_LOOKS
.look:
        cmp     dword [r11 + wh_ring.call], WH_RING_FREE
        je      .answered
        pause
        dec     ecx
        jnz     .look
        now
        cmp     rax, rdi
        jb      .look_often

        ;; Nobody has begun the request, so no companion runs, and the thread makes the
        ;; system call itself.
        mov     eax, WH_RING_ASKED
        xor     ecx, ecx
        mov     [r11 + wh_ring.woken], rcx
        lock cmpxchg [r11 + wh_ring.call], ecx
        je      .myself

        ;; The companion has begun, and the request must not be repeated: the thread waits in
        ;; the server.
        mov     eax, WH_LEAF_SYSCALL
        syscall_leaf
.sleep:
        mov     eax, WH_RING_TAKEN
        mov     ecx, WH_RING_AWAITED
        lock cmpxchg [r11 + wh_ring.call], ecx
        test    eax, eax                ; WH_RING_FREE
        jz      .answered
        lea     rdi, [r11 + wh_ring.call]
        mov     esi, FUTEX_PRIVATE      ; FUTEX_WAIT
        mov     edx, WH_RING_AWAITED
        xor     r10d, r10d
        mov     eax, NR_FUTEX
        syscall
        lea     r11, [rdi - wh_ring.call]
        jmp     .sleep

;; Restores the registers that were used meanwhile.
%macro take_back 0
        mov     rdi, [r11 + wh_ring.arg]
        mov     rsi, [r11 + wh_ring.arg + 8]
        mov     rdx, [r11 + wh_ring.arg + 16]
        mov     r10, [r11 + wh_ring.arg + 24]
%endmacro

;; The time that the wake-up took tells the companion how long to poll before it sleeps
;; again.
.answered:
        mov     rcx, [r11 + wh_ring.woken]
        jrcxz   .was_awake
        now
        sub     rax, rcx
        mov     [r11 + wh_ring.wake_ticks], rax
        mov     qword [r11 + wh_ring.woken], 0
.was_awake:
        cmp     qword [r11 + wh_ring.result], WH_RING_SELF
        je      .myself
        take_back
        mov     ax, [r11 + wh_ring.flags]
        take_flags_back
        mov     rax, [r11 + wh_ring.result]
        mov     r11, [r11 + wh_ring.back]
        jmp     wh_service.return
.myself:
        take_back
        mov     ax, [r11 + wh_ring.flags]
        take_flags_back
        mov     rax, [r11 + wh_ring.nr]
        mov     rcx, [r11 + wh_ring.back]
        wrgsbase rcx
        jmp     wh_service.hand_on

;; FUTEX_WAKE of private memory is only posted: the sleeper is the driver's own thread in the
;; server, or a call there. The number of woken threads is not known here. The answer is 0,
;; since a sleeper may always come too late for a wake-up, and must expect one wake-up too
;; many.
;; In       as wh_service, flags in ax, rdi a multiple of 4, rsi, rdx
.post:
        mov     rcx, rdi
        shr     rcx, 47                 ; the kernel refuses such addresses
        jnz     wh_service.cannot
        mov     r11d, [VIEW + wh_slot_view.slot]
        is_view
        jne     wh_service.cannot
        mov     rcx, [WORLD + wh_world.rings]
        test    rcx, rcx
        jz      wh_service.cannot
        shl     r11, RING_SHIFT
        add     r11, rcx
        cmp     dword [r11 + wh_ring.post], WH_RING_FREE
        jne     .post_waits
        mov     [r11 + wh_ring.post_address], rdi
        mov     [r11 + wh_ring.post_count], rdx
        mov     ecx, WH_RING_ASKED
        xchg    [r11 + wh_ring.post], ecx
        cmp     dword [r11 + wh_ring.sleeps], 0
        je      .posted
        mov     r11d, eax
        mov     eax, WH_LEAF_WAKE
        wake_leaf
        mov     eax, r11d
.posted:
        take_flags_back
        mov     eax, 0
        rdgsbase r11
        jmp     wh_service.return
;; The previous request has not been carried out yet, so this one waits for its turn.
.post_waits:
        take_flags_back
        mov     eax, NR_FUTEX
        jmp     .ring
