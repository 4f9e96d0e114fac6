// SPDX-License-Identifier: Apache-2.0
/*
 * A library that needs a C library which does not exist yet (LIBC makes a stand-in for
 * that one).
 */
int wh_of_a_newer_libc(void);

#ifdef LIBC
int wh_of_a_newer_libc(void)
{
	return 0;
}
#else
int wh_calls_it(void);

int wh_calls_it(void)
{
	return wh_of_a_newer_libc();
}
#endif
