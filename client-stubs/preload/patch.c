// SPDX-License-Identifier: Apache-2.0
/*
 * Writes jumps over the entries of functions. The code pages are writable only meanwhile, and
 * nothing may run in them then. That holds for a program before its constructors, and for a
 * library before dlopen() returns.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload.h"

static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

/* mov $target, %rax; jmp *%rax: %rax carries nothing into a function that is not variadic. */
static const unsigned char jump[] = { 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0 };

static size_t jump_size(uintptr_t from)
{
	bool marked = !memcmp((const void *)from, endbr64, sizeof(endbr64));

	return sizeof(jump) + (marked ? sizeof(endbr64) : 0);
}

/* An endbr64 at the entry stays, so that indirect calls remain valid. */
static void write_jump(uintptr_t from, uintptr_t to)
{
	unsigned char code[sizeof(jump)];
	size_t skip = jump_size(from) - sizeof(jump);

	memcpy(code, jump, sizeof(code));
	memcpy(code + 2, &to, sizeof(to));
	memcpy((void *)(from + skip), code, sizeof(code));
}

static int protect(uintptr_t from, uintptr_t to, int prot)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	from &= ~(page - 1);
	to = (to + page - 1) & ~(page - 1);
	return mprotect((void *)from, to - from, prot);
}

const char *preload_jump(uintptr_t from, size_t room, uintptr_t to)
{
	if (room < jump_size(from))
		return "is too short to redirect";
	if (protect(from, from + room, PROT_READ | PROT_WRITE))
		return "cannot be made writable";
	write_jump(from, to);
	if (protect(from, from + room, PROT_READ | PROT_EXEC))
		return "cannot be made executable again";
	return NULL;
}

/* Two names at one address that lead to different functions cannot both be right. */
const char *preload_check(const struct preload_func *funcs, size_t count, size_t *which)
{
	size_t i;

	for (i = 0; i < count; i++) {
		*which = i;
		if (funcs[i].room < jump_size(funcs[i].addr))
			return "is too short to redirect";
		if (i && funcs[i].addr == funcs[i - 1].addr)
			return "shares its code with another function";
	}
	return NULL;
}

/* The functions are sorted by address. All checks come first, so that all or none is changed. */
enum preload_done preload_redirect(const struct preload_func *funcs, size_t count)
{
	uintptr_t from, to;
	size_t i, which;

	if (!count || preload_check(funcs, count, &which))
		return PRELOAD_LEFT;
	from = funcs[0].addr;
	to = funcs[count - 1].addr + funcs[count - 1].room;
	if (protect(from, to, PROT_READ | PROT_WRITE))
		return PRELOAD_LEFT;
	for (i = 0; i < count; i++)
		write_jump(funcs[i].addr, funcs[i].to ? funcs[i].to :
			   (uintptr_t)preload_stubs[funcs[i].export]);
	return protect(from, to, PROT_READ | PROT_EXEC) ? PRELOAD_BROKEN : PRELOAD_REDIRECTED;
}
