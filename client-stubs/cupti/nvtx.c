// SPDX-License-Identifier: Apache-2.0
/*
 * The program's marks and ranges: NVTX's header calls InitializeInjectionNvtx2() of the library
 * that NVTX_INJECTION64_PATH names, and from then on the functions here. They make records of
 * markers (markers.c), and call back who subscribes to CUPTI_CB_DOMAIN_NVTX. The interface is that
 * of nvtx3/nvtxDetail/nvtxTypes.h.
 */
#include "cupti_stub.h"

#include <generated_nvtx_meta.h>
#include <stdlib.h>
#include <wchar.h>

/* What programs have as handles: they stay, because a program may use one that it has ended. */
struct nvtxDomainRegistration_st {
	const char *name;
};
struct nvtxStringRegistration_st {
	const char *text;
};

/* Calls the subscriber back with the arguments that follow. */
#define TELL(function, result, ...) do {						\
	if (cu_wants(CUPTI_CB_DOMAIN_NVTX, CUPTI_CBID_NVTX_##function)) {		\
		const function##_params params_ = { __VA_ARGS__ };			\
		tell(CUPTI_CBID_NVTX_##function, #function, &params_, result);		\
	}										\
} while (0)

static void tell(CUpti_CallbackId cbid, const char *name, const void *params, const void *result)
{
	const CUpti_NvtxData d = {
		.functionName = name, .functionParams = params, .functionReturnValue = result,
	};

	cu_call_back(CUPTI_CB_DOMAIN_NVTX, cbid, &d);
}

/* --- Texts -------------------------------------------------------------------------- */

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = 0xc0 | c >> 6;
		to[1] = 0x80 | (c & 0x3f);
		return 2;
	}
	if (c < 0x10000) {
		to[0] = 0xe0 | c >> 12;
		to[1] = 0x80 | (c >> 6 & 0x3f);
		to[2] = 0x80 | (c & 0x3f);
		return 3;
	}
	to[0] = 0xf0 | (c >> 18 & 7);
	to[1] = 0x80 | (c >> 12 & 0x3f);
	to[2] = 0x80 | (c >> 6 & 0x3f);
	to[3] = 0x80 | (c & 0x3f);
	return 4;
}

/* Returns an equal text in UTF-8 that stays for the process. */
static const char *of_wide(const wchar_t *wide)
{
	char *text = wide ? malloc(4 * wcslen(wide) + 1) : NULL;
	const char *kept = "";
	size_t n = 0;

	if (!text)
		return kept;
	while (*wide)
		n += put_utf8(text + n, *wide++);
	text[n] = 0;
	kept = cu_keep_text(text);
	free(text);
	return kept;
}

static const char *of_message(const nvtxEventAttributes_t *a)
{
	switch (a->messageType) {
	case NVTX_MESSAGE_TYPE_ASCII:
		return a->message.ascii ? a->message.ascii : "";
	case NVTX_MESSAGE_TYPE_UNICODE:
		return of_wide(a->message.unicode);
	case NVTX_MESSAGE_TYPE_REGISTERED:
		return a->message.registered ? a->message.registered->text : "";
	default:
		return "";
	}
}

/* --- What a mark says ---------------------------------------------------------------- */

static void put_payload(struct cu_mark *m, const nvtxEventAttributes_t *a)
{
	switch (a->payloadType) {
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
	case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
		m->payload_kind = CUPTI_METRIC_VALUE_KIND_UINT64;
		m->payload.metricValueUint64 = a->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 ?
					       a->payload.ullValue : a->payload.uiValue;
		break;
	case NVTX_PAYLOAD_TYPE_INT64:
	case NVTX_PAYLOAD_TYPE_INT32:
		m->payload_kind = CUPTI_METRIC_VALUE_KIND_INT64;
		m->payload.metricValueInt64 = a->payloadType == NVTX_PAYLOAD_TYPE_INT64 ?
					      a->payload.llValue : a->payload.iValue;
		break;
	case NVTX_PAYLOAD_TYPE_DOUBLE:
	case NVTX_PAYLOAD_TYPE_FLOAT:
		m->payload_kind = CUPTI_METRIC_VALUE_KIND_DOUBLE;
		m->payload.metricValueDouble = a->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE ?
					       a->payload.dValue : (double)a->payload.fValue;
		break;
	}
}

/* A header of another version may have a shorter struct: its mark has no name. */
static struct cu_mark of_attributes(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	struct cu_mark m = { .domain = domain ? domain->name : NULL, .text = "" };

	if (!a || a->size < sizeof(*a))
		return m;
	m.text = of_message(a);
	m.category = a->category;
	m.has_color = a->colorType == NVTX_COLOR_ARGB;
	m.color = m.has_color ? a->color : 0;
	put_payload(&m, a);
	return m;
}

static struct cu_mark of_text(const char *text)
{
	return (struct cu_mark) { .text = text ? text : "" };
}

/* --- Ranges --------------------------------------------------------------------------- */

/* Of a range: its number, and in the lowest bit whether its start has a record. */
static uint64_t last_range;

static uint64_t new_range(void)
{
	return __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED) << 1;
}

/* What a thread has pushed: of all domains, in order. */
struct open {
	nvtxDomainHandle_t domain;
	uint64_t range;
};
struct ranges {
	size_t count, room;
	struct open *open;
};
static __thread struct ranges *ranges __attribute__((tls_model("initial-exec")));
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* What ends with the thread after this may push again. */
static void end_thread(void *p)
{
	struct ranges *r = p;

	ranges = NULL;
	free(r->open);
	free(r);
}

static void make_key(void)
{
	pthread_key_create(&key, end_thread);
}

/* Returns the thread's ranges with room for one more; NULL: there is no memory. */
static struct ranges *own_ranges(void)
{
	struct open *more;

	if (!ranges) {
		pthread_once(&once, make_key);
		ranges = calloc(1, sizeof(*ranges));
		if (!ranges)
			return NULL;
		pthread_setspecific(key, ranges);
	}
	if (ranges->count < ranges->room)
		return ranges;
	more = realloc(ranges->open, (ranges->room + 16) * sizeof(*more));
	if (!more)
		return NULL;
	ranges->open = more;
	ranges->room += 16;
	return ranges;
}

static int level(const struct ranges *r, nvtxDomainHandle_t domain)
{
	size_t i;
	int n = 0;

	for (i = 0; i < r->count; i++)
		n += r->open[i].domain == domain;
	return n;
}

/* Does what follows only if somebody wants the record: a text may have to be translated. */
#define BEGIN(flags, mark)	(cu_marks() ? begin(flags, mark) : new_range())

static uint64_t begin(CUpti_ActivityFlag flags, struct cu_mark mark)
{
	uint64_t range = new_range();

	cu_mark_begin(range >> 1, flags, &mark);
	return range | 1;
}

/* A range whose start has a record has one of its end. */
static void end(uint64_t range, nvtxDomainHandle_t domain)
{
	if (range & 1 && cu_marks())
		cu_mark_end(range >> 1, domain ? domain->name : NULL);
}

/* Returns the level of the range: 0 is the outermost one of the domain in this thread. */
static int push(nvtxDomainHandle_t domain, uint64_t range)
{
	struct ranges *r = own_ranges();
	int n;

	if (!r)
		return -1;
	n = level(r, domain);
	r->open[r->count++] = (struct open) { domain, range };
	return n;
}

/* Returns the level of the range that ends. Ranges of domains may overlap. */
static int pop(nvtxDomainHandle_t domain)
{
	struct ranges *r = ranges;
	size_t i = r ? r->count : 0;

	while (i && r->open[i - 1].domain != domain)
		i--;
	if (!i)
		return -1;
	end(r->open[i - 1].range, domain);
	memmove(&r->open[i - 1], &r->open[i], (r->count - i) * sizeof(*r->open));
	r->count--;
	return level(r, domain);
}

#define START	CUPTI_ACTIVITY_FLAG_MARKER_START
#define INSTANT	CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS

/* --- NVTX's functions: in the order of their table -------------------------------------- */

static void NVTX_API mark_ex(const nvtxEventAttributes_t *a)
{
	BEGIN(INSTANT, of_attributes(NULL, a));
	TELL(nvtxMarkEx, NULL, a);
}

static void NVTX_API mark_a(const char *text)
{
	BEGIN(INSTANT, of_text(text));
	TELL(nvtxMarkA, NULL, text);
}

static void NVTX_API mark_w(const wchar_t *text)
{
	BEGIN(INSTANT, of_text(of_wide(text)));
	TELL(nvtxMarkW, NULL, text);
}

static nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t *a)
{
	nvtxRangeId_t id = BEGIN(START, of_attributes(NULL, a));

	TELL(nvtxRangeStartEx, &id, a);
	return id;
}

static nvtxRangeId_t NVTX_API start_a(const char *text)
{
	nvtxRangeId_t id = BEGIN(START, of_text(text));

	TELL(nvtxRangeStartA, &id, text);
	return id;
}

static nvtxRangeId_t NVTX_API start_w(const wchar_t *text)
{
	nvtxRangeId_t id = BEGIN(START, of_text(of_wide(text)));

	TELL(nvtxRangeStartW, &id, text);
	return id;
}

static void NVTX_API range_end(nvtxRangeId_t id)
{
	end(id, NULL);
	TELL(nvtxRangeEnd, NULL, id);
}

static int NVTX_API push_ex(const nvtxEventAttributes_t *a)
{
	int n = push(NULL, BEGIN(START, of_attributes(NULL, a)));

	TELL(nvtxRangePushEx, &n, a);
	return n;
}

static int NVTX_API push_a(const char *text)
{
	int n = push(NULL, BEGIN(START, of_text(text)));

	TELL(nvtxRangePushA, &n, text);
	return n;
}

static int NVTX_API push_w(const wchar_t *text)
{
	int n = push(NULL, BEGIN(START, of_text(of_wide(text))));

	TELL(nvtxRangePushW, &n, text);
	return n;
}

static int NVTX_API range_pop(void)
{
	int n = pop(NULL);

	TELL(nvtxRangePop, &n, NULL);
	return n;
}

static void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	BEGIN(INSTANT, of_attributes(domain, a));
	TELL(nvtxDomainMarkEx, NULL, domain, { a });
}

static nvtxRangeId_t NVTX_API domain_start_ex(nvtxDomainHandle_t domain,
					      const nvtxEventAttributes_t *a)
{
	nvtxRangeId_t id = BEGIN(START, of_attributes(domain, a));

	TELL(nvtxDomainRangeStartEx, &id, domain, { a });
	return id;
}

static void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	end(id, domain);
	TELL(nvtxDomainRangeEnd, NULL, domain, { id });
}

static int NVTX_API domain_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	int n = push(domain, BEGIN(START, of_attributes(domain, a)));

	TELL(nvtxDomainRangePushEx, &n, domain, { a });
	return n;
}

static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
	int n = pop(domain);

	TELL(nvtxDomainRangePop, &n, domain);
	return n;
}

static nvtxStringHandle_t registered(const char *text)
{
	nvtxStringHandle_t s = malloc(sizeof(*s));

	if (s)
		s->text = cu_keep_text(text ? text : "");
	return s;
}

static nvtxStringHandle_t NVTX_API register_a(nvtxDomainHandle_t domain, const char *text)
{
	nvtxStringHandle_t s = registered(text);

	TELL(nvtxDomainRegisterStringA, &s, domain, text);
	return s;
}

static nvtxStringHandle_t NVTX_API register_w(nvtxDomainHandle_t domain, const wchar_t *text)
{
	nvtxStringHandle_t s = registered(of_wide(text));

	TELL(nvtxDomainRegisterStringW, &s, domain, (const char *)text);
	return s;
}

static nvtxDomainHandle_t made_domain(const char *name)
{
	nvtxDomainHandle_t d = malloc(sizeof(*d));

	if (d)
		d->name = cu_keep_text(name ? name : "");
	return d;
}

static nvtxDomainHandle_t NVTX_API create_a(const char *name)
{
	nvtxDomainHandle_t d = made_domain(name);

	TELL(nvtxDomainCreateA, &d, name);
	return d;
}

static nvtxDomainHandle_t NVTX_API create_w(const wchar_t *name)
{
	return made_domain(of_wide(name));
}

static void NVTX_API domain_destroy(nvtxDomainHandle_t domain)
{
	TELL(nvtxDomainDestroy, NULL, domain);
}

/* --- The way in --------------------------------------------------------------------------- */

static const struct {
	NvtxCallbackModule module;
	unsigned int id;
	NvtxFunctionPointer function;
} functions[] = {
#define CORE(id, f)	{ NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_##id, (NvtxFunctionPointer)(f) }
#define CORE2(id, f)	{ NVTX_CB_MODULE_CORE2, NVTX_CBID_CORE2_##id, (NvtxFunctionPointer)(f) }
	CORE(MarkEx, mark_ex), CORE(MarkA, mark_a), CORE(MarkW, mark_w),
	CORE(RangeStartEx, start_ex), CORE(RangeStartA, start_a), CORE(RangeStartW, start_w),
	CORE(RangeEnd, range_end), CORE(RangePushEx, push_ex), CORE(RangePushA, push_a),
	CORE(RangePushW, push_w), CORE(RangePop, range_pop),
	CORE2(DomainMarkEx, domain_mark_ex), CORE2(DomainRangeStartEx, domain_start_ex),
	CORE2(DomainRangeEnd, domain_end), CORE2(DomainRangePushEx, domain_push_ex),
	CORE2(DomainRangePop, domain_pop), CORE2(DomainRegisterStringA, register_a),
	CORE2(DomainRegisterStringW, register_w), CORE2(DomainCreateA, create_a),
	CORE2(DomainCreateW, create_w), CORE2(DomainDestroy, domain_destroy),
};

/* Each library of the program that includes NVTX's header has a table of its own, and calls. */
int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *callbacks = get ? get(NVTX_ETID_CALLBACKS) : NULL;
	const NvtxExportTableVersionInfo *version = get ? get(NVTX_ETID_VERSIONINFO) : NULL;
	NvtxFunctionTable table;
	unsigned int size;
	size_t i;

	if (!callbacks || !callbacks->GetModuleFunctionTable)
		return 0;
	if (version && version->SetInjectionNvtxVersion)
		version->SetInjectionNvtxVersion(NVTX_VERSION);
	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		table = NULL;
		size = 0;
		/* An older header has fewer functions. */
		if (callbacks->GetModuleFunctionTable(functions[i].module, &table, &size) &&
		    table && functions[i].id < size && table[functions[i].id])
			*table[functions[i].id] = functions[i].function;
	}
	return 1;
}
