/* SPDX-License-Identifier: Apache-2.0 */
/* Says what an administrator can do if ranks of NCCL cannot meet. */
#ifndef WORMHOLE_NCCL_HINT_H
#define WORMHOLE_NCCL_HINT_H

/* The text for a client whose call fails; NULL: none. */
extern const char *wh_nccl_hint;

#endif
