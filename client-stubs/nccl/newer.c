// SPDX-License-Identifier: Apache-2.0
/*
 * Functions of NCCL 2.29 and 2.30, which the header of 2.28 does not declare, but that PyTorch 2.15
 * is linked with. PyTorch loads, and is refused when it calls one. The parameters are not known.
 */
#include "nccl_stub.h"

/* The C name is another one, since a newer header declares the function with its parameters. */
#define NEWER(name)						\
ncclResult_t wh_newer_##name(void) __asm__(#name);		\
ncclResult_t wh_newer_##name(void)				\
{								\
	return wh_nccl_refuse(#name);				\
}

NEWER(ncclCommGetUniqueId)
NEWER(ncclCommGrow)
NEWER(ncclCommMemStats)
NEWER(ncclCommResume)
NEWER(ncclCommSuspend)
NEWER(ncclGetLsaMultimemDevicePointer)
NEWER(ncclGetPeerDevicePointer)
NEWER(ncclPutSignal)
NEWER(ncclSignal)
NEWER(ncclWaitSignal)
NEWER(ncclWinGetUserPtr)
