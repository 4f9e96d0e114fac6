;; SPDX-License-Identifier: Apache-2.0
;; The trampoline page: a header, and then the code of a call in the order in which it runs.
;; Both worlds map the same bytes at WH_TRAMPOLINE_VA. seal.py fills in the checksum and
;; writes the files for C, the guest module and gdb.
%include "wormhole_abi.inc"
%include "regs.inc"
%include "page.inc"

        bits    64
        default rel

section .wh_page progbits alloc exec nowrite align=4096

;; struct wh_tramp_hdr
wh_page:
        dq      WH_TRAMP_MAGIC
        dd      WH_ABI_VERSION
        dd      delegate_to_server - wh_page
        dd      wh_client_pending - wh_page
        dd      wh_land_entry - wh_page
        dd      wh_land_entry.leave - wh_page
        dd      wh_page_code_end - wh_page
        dq      0                       ; checksum
        dd      wh_service - wh_page
        times wh_tramp_hdr_size - ($ - wh_page) db 0

%include "delegate.asm"
%include "landing.asm"
%include "home.asm"
%include "service.asm"
%include "companion.asm"

wh_page_code_end:
        page_end

section .note.GNU-stack noalloc noexec nowrite progbits
