// SPDX-License-Identifier: Apache-2.0
/*
 * Exports of the genuine library that no header declares and that others of NVIDIA's are
 * linked with: those load, and are refused when they call one. What each takes is not known.
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
