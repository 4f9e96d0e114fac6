// SPDX-License-Identifier: Apache-2.0
/*
 * The one subscriber of the process, which callbacks it wants, and the way of a callback. A
 * callback may call anything: a call of CUDA in it calls nobody back. It may unsubscribe.
 */
#include "cupti_stub.h"

#include <stdio.h>
#include <stdlib.h>

#define CBIDS	1024u

/* It never ends: a callback may run in another thread while the subscriber leaves. */
struct subscriber {
	CUpti_CallbackFunc callback;
	void *userdata;
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct subscriber *current;
static uint8_t wanted[CUPTI_CB_DOMAIN_SIZE][CBIDS / 8];
static bool wanted_any[CUPTI_CB_DOMAIN_SIZE];
static __thread bool in_callback __attribute__((tls_model("initial-exec")));
static __thread bool own_call __attribute__((tls_model("initial-exec")));

/* --- Callbacks ------------------------------------------------------------------------ */

bool cu_in_callback(void)
{
	return in_callback;
}

bool cu_in_own_call(void)
{
	return own_call;
}

bool cu_own_call(bool on)
{
	bool before = own_call;

	own_call = on;
	return before;
}

bool cu_wants_any(CUpti_CallbackDomain domain)
{
	return __atomic_load_n(&wanted_any[domain], __ATOMIC_RELAXED);
}

bool cu_wants(CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	return cbid < CBIDS && cu_wants_any(domain) &&
	       __atomic_load_n(&wanted[domain][cbid / 8], __ATOMIC_RELAXED) >> cbid % 8 & 1;
}

void cu_call_back(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data)
{
	struct subscriber *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	if (!s || !s->callback || in_callback || !cu_wants(domain, cbid))
		return;
	in_callback = true;
	s->callback(s->userdata, domain, cbid, data);
	in_callback = false;
}

/* --- Coming and leaving --------------------------------------------------------------- */

/* The lock is held, except in a fork's child. */
static void forget(void)
{
	__atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
	memset(wanted, 0, sizeof(wanted));
	memset(wanted_any, 0, sizeof(wanted_any));
}

/* Who subscribes is a tool of the parent: its locks may be held by threads that are not here. */
static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	forget();
}
WH_IN_CHILD(in_child())

static CUptiResult check(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	const struct subscriber *s = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	if (!s || (const void *)subscriber != s || domain <= CUPTI_CB_DOMAIN_INVALID ||
	    domain >= CUPTI_CB_DOMAIN_SIZE)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	return CUPTI_SUCCESS;
}

/* Writes the name of the subscriber that is there, as far as there is room. */
static void tell_name(const struct subscriber *s, const CUpti_SubscriberParams *p)
{
	if (p && p->oldSubscriberName && p->oldSubscriberSize)
		snprintf(p->oldSubscriberName, p->oldSubscriberSize, "%s", s->name);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata, const CUpti_SubscriberParams *p)
{
	const char *name = p && p->subscriberName ? p->subscriberName : "";
	struct subscriber *s;

	if (!subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	s = calloc(1, sizeof(*s));
	if (!s)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	s->callback = callback;
	s->userdata = userdata;
	snprintf(s->name, sizeof(s->name), "CUPTI for %.*s", CUPTI_SUBSCRIBER_NAME_MAX_LEN, name);
	pthread_mutex_lock(&lock);
	if (current) {
		tell_name(current, p);
		pthread_mutex_unlock(&lock);
		free(s);
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	}
	__atomic_store_n(&current, s, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	*subscriber = (CUpti_SubscriberHandle)s;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata)
{
	return cu_ret(subscribe(subscriber, callback, userdata, NULL));
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *pParams)
{
	if (pParams && pParams->structSize < CUpti_SubscriberParams_STRUCT_SIZE)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	return cu_ret(subscribe(subscriber, callback, userdata, pParams));
}

void cu_subscriber_forget(void)
{
	pthread_mutex_lock(&lock);
	forget();
	pthread_mutex_unlock(&lock);
	cu_watch();
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	CUptiResult res = check(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);

	if (res == CUPTI_SUCCESS)
		cu_subscriber_forget();
	return res;
}

/* --- What it wants -------------------------------------------------------------------- */

/* The lock is held. */
static void note_any(CUpti_CallbackDomain domain)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < CBIDS / 8; i++)
		any = any || wanted[domain][i];
	__atomic_store_n(&wanted_any[domain], any, __ATOMIC_RELAXED);
}

static void say(CUpti_CallbackDomain domain, bool on)
{
	if (on && domain == CUPTI_CB_DOMAIN_STATE)
		wh_log("cuptiEnableCallback: no callback of CUPTI_CB_DOMAIN_STATE comes");
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult res = check(subscriber, domain);
	uint8_t bit = 1u << cbid % 8, *w;

	if (res != CUPTI_SUCCESS)
		return res;
	if (cbid >= CBIDS)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	w = &wanted[domain][cbid / 8];
	__atomic_store_n(w, enable ? *w | bit : *w & ~bit, __ATOMIC_RELAXED);
	note_any(domain);
	pthread_mutex_unlock(&lock);
	cu_watch();
	say(domain, enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
			      CUpti_CallbackDomain domain)
{
	CUptiResult res = check(subscriber, domain);

	if (res != CUPTI_SUCCESS)
		return res;
	pthread_mutex_lock(&lock);
	memset(wanted[domain], enable ? 0xff : 0, sizeof(wanted[domain]));
	note_any(domain);
	pthread_mutex_unlock(&lock);
	cu_watch();
	say(domain, enable);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult res = CUPTI_SUCCESS;
	int d;

	for (d = CUPTI_CB_DOMAIN_INVALID + 1; d < CUPTI_CB_DOMAIN_SIZE && res == CUPTI_SUCCESS; d++)
		res = cuptiEnableDomain(enable, subscriber, d);
	return res;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult res = check(subscriber, domain);

	if (res != CUPTI_SUCCESS)
		return res;
	if (!enable || cbid >= CBIDS)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*enable = cu_wants(domain, cbid);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSupportedDomains(size_t *domainCount, CUpti_DomainTable *domainTable)
{
	static CUpti_CallbackDomain all[CUPTI_CB_DOMAIN_SIZE - 1];
	int d;

	if (!domainCount || !domainTable)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	for (d = 1; d < CUPTI_CB_DOMAIN_SIZE; d++)
		all[d - 1] = d;
	*domainTable = all;
	*domainCount = CUPTI_CB_DOMAIN_SIZE - 1;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	const char *found = NULL;

	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API ||
	    domain == CUPTI_CB_DOMAIN_NVTX)
		found = cu_cbid_name(domain, cbid);
	if (!name || !found)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*name = found;
	return CUPTI_SUCCESS;
}
