// SPDX-License-Identifier: Apache-2.0
/* Prints what cublasCreate returns. */
#include <cublas_v2.h>
#include <stdio.h>

int main(void)
{
	cublasHandle_t handle;

	printf("%d\n", cublasCreate_v2(&handle));
	return 0;
}
