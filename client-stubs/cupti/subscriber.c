// SPDX-License-Identifier: Apache-2.0
/*
 * The one subscriber of the process, and which callbacks it wants. A callback of a call carries the
 * call's arguments, which this library does not have: so none is called, and the calls are in the
 * records of activities alone.
 */
#include "cupti_stub.h"

#define CBIDS	1024u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool subscribed;
static uint8_t wanted[CUPTI_CB_DOMAIN_SIZE][CBIDS / 8];
static CUpti_SubscriberHandle const handle = (CUpti_SubscriberHandle)wanted;

static CUptiResult check(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	if (!subscribed || subscriber != handle || domain <= CUPTI_CB_DOMAIN_INVALID ||
	    domain >= CUPTI_CB_DOMAIN_SIZE)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata)
{
	CUptiResult res = CUPTI_SUCCESS;

	(void)callback, (void)userdata;
	if (!subscriber)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	if (subscribed)
		res = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	subscribed = true;
	pthread_mutex_unlock(&lock);
	if (res == CUPTI_SUCCESS)
		*subscriber = handle;
	return cu_ret(res);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *userdata, CUpti_SubscriberParams *pParams)
{
	(void)pParams;
	return cuptiSubscribe(subscriber, callback, userdata);
}

void cu_subscriber_forget(void)
{
	pthread_mutex_lock(&lock);
	subscribed = false;
	memset(wanted, 0, sizeof(wanted));
	pthread_mutex_unlock(&lock);
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	if (!subscribed || subscriber != handle)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	cu_subscriber_forget();
	return CUPTI_SUCCESS;
}

static void want(CUpti_CallbackDomain domain, uint32_t cbid, bool on)
{
	uint8_t bit = 1u << cbid % 8, *w = &wanted[domain][cbid / 8];

	*w = on ? *w | bit : *w & ~bit;
}

static void say(CUpti_CallbackDomain domain, bool on)
{
	if (on && domain != CUPTI_CB_DOMAIN_RESOURCE)
		wh_log("cuptiEnableCallback: no callback of domain %d comes; calls are in records of activities",
		       (int)domain);
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	CUptiResult res = check(subscriber, domain);

	if (res != CUPTI_SUCCESS)
		return res;
	if (cbid >= CBIDS)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&lock);
	want(domain, cbid, enable);
	pthread_mutex_unlock(&lock);
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
	pthread_mutex_unlock(&lock);
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
	*enable = wanted[domain][cbid / 8] >> cbid % 8 & 1;
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

	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API)
		found = cu_cbid_name(domain, cbid);
	if (!name || !found)
		return cu_ret(CUPTI_ERROR_INVALID_PARAMETER);
	*name = found;
	return CUPTI_SUCCESS;
}
