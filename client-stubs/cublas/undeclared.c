// SPDX-License-Identifier: Apache-2.0
/*
 * Exports of the genuine library that no header declares, but that other libraries of NVIDIA
 * are linked with. Those libraries load, and are refused when they call one. The parameters are
 * not known.
 */
#include "cublas_stub.h"

#define UNDECLARED(name)			\
cublasStatus_t name(void);			\
cublasStatus_t name(void)			\
{						\
	return wh_cublas_refuse(#name);		\
}

UNDECLARED(cublasSetEnvironmentMode)
UNDECLARED(cublasGetEnvironmentMode)
UNDECLARED(cublasSetBackdoor)
UNDECLARED(cublasSetBackdoorEx)
UNDECLARED(cublasGetBackdoor)
