/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks of NCCL's cannot meet, what an administrator can do. */
#ifndef WORMHOLE_NCCL_HINT_H
#define WORMHOLE_NCCL_HINT_H

/* Told to a client whose call fails; NULL: nothing. */
extern const char *wh_nccl_hint;

#endif
