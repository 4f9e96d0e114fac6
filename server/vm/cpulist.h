/* SPDX-License-Identifier: Apache-2.0 */
/* CPU lists as the kernel writes them: "1-3,5". */
#ifndef WORMHOLE_CPULIST_H
#define WORMHOLE_CPULIST_H

/* Reads the CPUs of a list, at most max. Returns their number, or 0 if it is no list. */
unsigned int wh_cpulist_parse(const char *list, unsigned int *cpus, unsigned int max);
/* Reads the CPUs that the kernel keeps free of other work (isolcpus=). */
unsigned int wh_cpulist_isolated(unsigned int *cpus, unsigned int max);

#endif
