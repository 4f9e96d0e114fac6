/* SPDX-License-Identifier: GPL-2.0-only */
/* In a kernel tree, `make headers_install` puts the ABI here. */
#include <wormhole_abi.h>
