; SPDX-License-Identifier: Apache-2.0
; An option ROM that boots the VMX host. Kernel and initramfs are in memory already (machine.py).
; The ROM makes Bochs see them and enters the kernel's real-mode setup code by the x86 boot
; protocol. As a ROM it runs before the BIOS looks for disks and waits for a key.
;
; Bochs gives a block of the machine (128 KiB) its storage when it is first touched, in the order
; of the touches, but reads an image into storage in one piece. So every block of the image must
; be touched in order. The blocks that the BIOS touched first took storage from the image's start:
; that is padding, whose blocks hold their own number. A fresh block tells how much of it the BIOS
; used.

bits 16
org 0

	db	0x55, 0xaa, 1		; one block of 512 bytes
start:
	cli
	cld
	mov	ax, cs
	mov	ds, ax
	in	al, 0x92		; address line 20 on
	or	al, 2
	out	0x92, al
	lgdt	[gdt_ptr]
	mov	eax, cr0
	or	al, 1
	mov	cr0, eax
	mov	ax, 8
	mov	ds, ax			; here: flat 4 GiB data segment
	mov	eax, [dword FRESH]		; number of the padding block used up
	cmp	eax, PADDING - 2
	ja	.lost
.touch:
	inc	eax
	mov	esi, eax
	shl	esi, BLOCK_SHIFT
	add	esi, IMAGE_START	; here: next storage = next block
	mov	edx, [esi]
	cmp	eax, PADDING
	jae	.next
	cmp	edx, eax		; padding must prove itself
	jne	.lost
.next:
	cmp	esi, IMAGE_END
	jb	.touch
	mov	eax, cr0
	and	al, 0xfe
	mov	cr0, eax
	mov	ax, SETUP_SEG
	mov	ds, ax
	mov	es, ax
	mov	fs, ax
	mov	gs, ax
	mov	ss, ax
	mov	sp, SETUP_STACK
	jmp	SETUP_SEG + 0x20:0	; the setup code's entry

; The storage is not laid out as expected: the ROM says so on the first serial port.
.lost:
	mov	dx, 0x3f8
	mov	al, '?'
	out	dx, al
	mov	al, 10
	out	dx, al
	hlt
	jmp	.lost

align 8
gdt:	dq	0, 0x00cf92000000ffff
gdt_ptr:
	dw	$ - gdt - 1
	dd	ROM_BASE + gdt

	times 511 - ($ - $$) db 0
	db	0			; machine.py puts the checksum here
