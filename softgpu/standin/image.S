/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the library's PTX as read-only data. IMAGE is the name of the file. */
	.section .rodata
	.globl	standin_image
	.hidden	standin_image
	.type	standin_image, @object
	.balign	16
standin_image:
	.incbin	IMAGE
	.byte	0
	.size	standin_image, . - standin_image
	.section .note.GNU-stack, "", @progbits
