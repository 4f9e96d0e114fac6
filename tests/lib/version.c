// SPDX-License-Identifier: Apache-2.0
/* Prints what cudnnGetVersion says. */
#include <cudnn.h>
#include <stdio.h>

int main(void)
{
	printf("%zu\n", cudnnGetVersion());
	return 0;
}
