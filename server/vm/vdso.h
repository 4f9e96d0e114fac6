/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel's own code in this process reads clocks, for the world page. */
#ifndef WORMHOLE_VM_VDSO_H
#define WORMHOLE_VM_VDSO_H

#include "window.h"

/* All 0 if the kernel has none. */
void wh_vdso_find(struct wh_world_vdso *v);

#endif
