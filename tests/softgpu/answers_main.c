// SPDX-License-Identifier: Apache-2.0
/* Runs all sections, each in a child; answers.h describes them. */
#include <sys/wait.h>
#include <unistd.h>

#include "answers.h"

const char answer_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .u32 counter = 5;\n"
	".visible .const .align 8 .b8 table[24];\n"
	".visible .global .align 8 .b8 room[4000];\n"
	".visible .entry add1(.param .u64 p, .param .u32 n)\n"
	".maxntid 256, 1, 1\n{\n"
	".reg .u64 %a; .reg .u32 %v, %n;\n"
	"ld.param.u64 %a, [p]; ld.param.u32 %n, [n];\n"
	"ld.global.u32 %v, [%a]; add.u32 %v, %v, %n;\n"
	"st.global.u32 [%a], %v; ret;\n}\n"
	".visible .entry mixed(.param .u8 a, .param .u64 b, .param .u16 c,"
	" .param .f32 d, .param .align 16 .b8 e[20], .param .u8 f)\n{ ret; }\n"
	".visible .entry none()\n{ ret; }\n"
	".visible .entry shared4k()\n{\n.shared .align 4 .b8 s[4096];\n"
	".reg .u32 %v; mov.u32 %v, 1; st.shared.u32 [s], %v; ret;\n}\n"
	".visible .entry exact()\n.reqntid 32, 2, 1\n{ ret; }\n"
	".visible .entry store(.param .u64 p)\n{\n"
	".reg .u64 %a; .reg .u32 %v; ld.param.u64 %a, [p]; mov.u32 %v, 7;\n"
	"st.global.u32 [%a], %v; ret;\n}\n"
	".visible .entry dies()\n{ trap; ret; }\n";

const char *answer_name(CUresult rc)
{
	static char unknown[16];
	const char *name;

	if (!cuGetErrorName(rc, &name) && name)
		return name;
	snprintf(unknown, sizeof(unknown), "%d", rc);
	return unknown;
}

static void must(CUresult rc, const char *what)
{
	if (!rc)
		return;
	printf("%s failed: %s\n", what, answer_name(rc));
	exit(1);
}

CUcontext answer_ctx(void)
{
	CUcontext ctx;

	must(cuInit(0), "cuInit");
	must(cuDevicePrimaryCtxRetain(&ctx, 0), "cuDevicePrimaryCtxRetain");
	must(cuCtxSetCurrent(ctx), "cuCtxSetCurrent");
	return ctx;
}

CUmodule answer_module(void)
{
	CUmodule mod;

	answer_ctx();
	must(cuModuleLoadData(&mod, answer_ptx), "cuModuleLoadData");
	return mod;
}

CUfunction answer_func(const char *name)
{
	CUfunction f;

	must(cuModuleGetFunction(&f, answer_module(), name),
	     "cuModuleGetFunction");
	return f;
}

static void run(const struct section *s)
{
	int status;
	pid_t pid;

	printf("[%s]\n", s->name);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		alarm(120);
		s->run();
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("ends by signal %d\n", WTERMSIG(status));
}

int main(int argc, char **argv)
{
	const struct section *all[] = { device_sections, memory_sections,
					stream_sections, code_sections };

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* With this, errors of an image come from its load, not from later calls. */
	setenv("CUDA_MODULE_LOADING", "EAGER", 1);
	for (unsigned int i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		for (const struct section *s = all[i]; s->name; s++)
			if (argc < 2 || !strcmp(argv[1], s->name))
				run(s);
	return 0;
}
