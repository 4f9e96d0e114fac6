// SPDX-License-Identifier: Apache-2.0
// Variables in managed memory, which the host reads and writes directly. Needs
// nvcc and a device whose driver has them.
#include <sys/wait.h>
#include <unistd.h>
#include "common.h"

__managed__ int shared_value = 11;
__managed__ double table[100];

__global__ void update(double *out)
{
	*out = shared_value + table[99];
	shared_value = 99;
}

/* The status of a process that begins with the use of a managed variable. */
static int first_use(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid)
		_exit(shared_value == 11 ? 0 : 2);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

int main()
{
	int used = first_use();		/* before anything of CUDA in this process */
	double *dev, got = 0;
	void *addr;
	cudaFuncAttributes attr;
	size_t size;

	tap_plan(5);
	NEED(cudaMalloc(&dev, sizeof(*dev)));
	/* Not by a use of the variable: that would end the program. */
	if (cudaFuncGetAttributes(&attr, update) == cudaErrorNotSupported) {
		ok_eq(used, EXIT_FAILURE, "refused_variables_end_the_program");
		for (int i = 0; i < 4; i++)
			skip("managed_variables", "the driver below refuses them");
		return tap_exit();
	}
	ok_eq(used, 0, "the_first_use_needs_no_call_before");
	ok_err(cudaGetSymbolAddress(&addr, shared_value), cudaSuccess,
	       "a_managed_variable_has_an_address");
	ok(addr == &shared_value, "device_and_host_see_it_at_one_address");
	table[99] = 0.5;
	update<<<1, 1>>>(dev);
	NEED(cudaMemcpy(&got, dev, sizeof(got), cudaMemcpyDeviceToHost));
	NEED(cudaDeviceSynchronize());
	ok(got == 11.5 && shared_value == 99, "a_managed_variable_is_seen_from_both_sides");
	NEED(cudaGetSymbolSize(&size, table));
	ok_eq(size, 800, "a_managed_variable_has_its_size");
	return tap_exit();
}
