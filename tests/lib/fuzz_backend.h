/* SPDX-License-Identifier: Apache-2.0 */
/* The part of stand_ins.h for cuDNN's backend API: a library that touches all that it is given. */
/* Touches an attribute from end to end. */
static cudnnStatus_t set_attribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name,
				   cudnnBackendAttributeType_t type, int64_t n, const void *p)
{
	(void)d; (void)name;
	touch(p, n * wh_cudnn_attribute_size(type));
	return any();
}

static cudnnStatus_t get_attribute(cudnnBackendDescriptor_t const d,
				   cudnnBackendAttributeName_t name,
				   cudnnBackendAttributeType_t type, int64_t n, int64_t *count,
				   void *p)
{
	(void)d; (void)name;
	if (p && n)
		memset(p, 0, n * wh_cudnn_attribute_size(type));
	*count = next() % 4 ? n : (int64_t)next();
	return any();
}

static cudnnStatus_t create_pack(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *d)
{
	(void)type;
	stand_ins_calls++;
	if (d)
		*d = (void *)0x7770;
	return CUDNN_STATUS_SUCCESS;
}

/* Half of the executions bring a pack that is as long as it says. */
static void packs(struct wh_session *s, uint32_t call)
{
	struct wh_req_cudnnBackendExecute *q = msg(s);
	uint64_t *w = (uint64_t *)((uint8_t *)q + WH_WIRE_FIXED(*q));
	uint32_t i;

	if (call != WH_CALL_cudnnBackendExecute || next() % 2)
		return;
	q->pack = q->plan = q->workspace = 0;
	q->pointers = next() % 2 ? next() % 16 : next() % (WH_CUDNN_POINTERS + 2);
	q->values = next() % 2 ? 0 : next() % (q->pointers + 2);
	for (i = 0; i < (q->pointers + 1) / 2 * 4; i++)
		w[i] = 0;
	for (i = 0; i < q->values; i++)
		w[(q->pointers + 1) / 2 * 4 + i * 4] = next() % (q->pointers + 1);
}
