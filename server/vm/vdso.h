/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernel's code in this process that reads clocks, for the world page. */
#ifndef WORMHOLE_VM_VDSO_H
#define WORMHOLE_VM_VDSO_H

#include "window.h"

/* Sets all fields to 0 if the kernel has none. */
void wh_vdso_find(struct wh_world_vdso *v);

#endif
