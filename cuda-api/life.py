# SPDX-License-Identifier: Apache-2.0
"""Code for handles that are the same in each library (lines `life`, `stream` and `setting`), at both ends. The client
keeps a handle's stream and settings and sends them with each call. The worker tells the library what has changed."""

VERB, SETTING = 'life', 'setting'


class Life:
    """The handle of one type: the functions that make and end it, its stream, its settings."""

    def __init__(self, name, make, end, *more):
        self.name, self.make, self.end = name, make, end
        # The client calls these before the handle ends.
        self.before = [m.removeprefix('before=') for m in more if m.startswith('before=')]
        self.null = 'null' in more                      # it may end NULL
        self.stream = None                              # its functions (set, get)
        self.settings = []                              # (field, set, get, first value, last value)

    def sets(self):
        """Returns the functions by which the worker tells the library what has changed."""
        return ([self.stream[0]] if self.stream else []) + [s[1] for s in self.settings]


def head_line(lives, word, rest):
    """Reads one of the three lines into a dictionary by type. False: it is another line, or a wrong one."""
    if word == 'life' and len(rest) >= 3 and all(m == 'null' or m.startswith('before=') for m in rest[3:]):
        lives[rest[0]] = Life(*rest)
    elif word == 'stream' and len(rest) == 3 and rest[0] in lives:
        lives[rest[0]].stream = rest[1:]
    elif word == 'setting' and len(rest) == 6 and rest[0] in lives:
        lives[rest[0]].settings.append(rest[1:])
    else:
        return False
    return True


def verbs(lives):
    """Returns the verb of each function that the lines name, with the reason for the table."""
    out = {}
    for x in lives.values():
        out.update({x.make: (VERB, 'the client has a handle of its own'), x.end: (VERB, 'it ends at both ends')})
        for put, get in ([x.stream] if x.stream else []) + [s[1:3] for s in x.settings]:
            out.update({put: (SETTING, 'travels with the next call'), get: (SETTING, 'kept by the client')})
    return out


def check(path, lives, objects, functions):
    """Checks the lines, once all are read."""
    for x in lives.values():
        if x.name not in objects:
            raise SystemExit(f'{path}: life {x.name}: needs a line "object {x.name}"')
    unknown = sorted(n for n in verbs(lives) if n not in functions)
    if unknown:
        raise SystemExit(f'{path}: life, stream or setting: the header has no {unknown[0]}')


def worker(d):
    """Returns the functions that the worker calls besides those of calls."""
    return [f for x in d.lists['life'].values() for f in x.sets()]


# --- Both ends -------------------------------------------------------------------------

def messages(d):
    """Returns the form in which handles are sent, and the messages of their lives."""
    text = ''
    for x in d.lists['life'].values():
        fields = '\tuint64_t id;\t\t/* in the worker\'s handle table */\n'
        fields += '\tuint64_t stream;\n' if x.stream else ''
        fields += ''.join(f'\tuint32_t {s[0]};\n' for s in x.settings)
        fields += '\tuint32_t resv;\n' if len(x.settings) % 2 else ''
        text += f'/* A handle with what the client keeps of its state. */\nstruct wh_obj_{x.name} {{\n{fields}}};\n'
        for s in x.settings:
            if s[0] == 'pointer_mode':
                text += (f'\nstatic inline bool wh_device_mode_{x.name}(const struct wh_obj_{x.name} *o)\n'
                         f'{{\n\treturn o->pointer_mode != {s[3]};\n}}\n\n')
        text += (f'struct wh_req_{x.make} {{\n\tstruct wh_req hdr;\n}};\n'
                 f'struct wh_rsp_{x.make} {{\n\tstruct wh_rsp hdr;\n\tuint64_t handle;\n}};\n'
                 f'struct wh_req_{x.end} {{\n\tstruct wh_req hdr;\n\tuint64_t handle;\n}};\n\n')
    return text


# --- Client ----------------------------------------------------------------------------

CLIENT = '''
/* What the program has for a {name}. */
struct wh_handle_{name} {{
	struct wh_handle h;
{fields}	struct wh_obj_{name} o;
}};

static struct wh_handle_{name} *alive_{name}({name} handle)
{{
	struct wh_handle_{name} *h = (struct wh_handle_{name} *)handle;

	return h && h->h.alive == {word:#x}ULL ? h : NULL;
}}

bool wh_pack_{name}({name} object, struct wh_obj_{name} *out)
{{
	const struct wh_handle_{name} *h = alive_{name}(object);

	if (!h)
		return false;
	*out = h->o;
{pack}	return true;
}}

{name} wh_find_{name}(uint64_t id)
{{
	struct wh_handle *h;
	{name} found = NULL;

	pthread_mutex_lock(&handles_{name}.lock);
	for (h = handles_{name}.all; h && !found; h = h->next)
		if (alive_{name}(({name})h) && alive_{name}(({name})h)->o.id == id)
			found = ({name})h;
	pthread_mutex_unlock(&handles_{name}.lock);
	return found;
}}

static {status} make_{name}(struct wh_obj_{name} *o)
{{
	const struct wh_rsp_{make} *r;
	struct wh_call c;
	{status} res;

	if (!wh_{lib}_begin(&c, WH_CALL_{make}, sizeof(struct wh_req_{make})))
		return wh_{lib}_lost(c.result);
	res = wh_{lib}_run(&c, sizeof(*r));
	r = c.rsp;
	if (res == {success})
		o->id = r->handle;
	wh_end(&c);
	return res;
}}

{status} {make}({name} *handle)
{{
	struct wh_handle_{name} *h;
	{status} res;

	if (!handle)
		return {value};
	h = wh_handle_take(&handles_{name});
	if (!h)
		return {memory};
	res = make_{name}(&h->o);
	if (res != {success}) {{
		wh_handle_put(&handles_{name}, &h->h);
		return res;
	}}
{first}	h->h.alive = {word:#x}ULL;
	*handle = ({name})h;
	return {success};
}}

{status} {end}({name} handle)
{{
	struct wh_handle_{name} *h = alive_{name}(handle);
	struct wh_req_{end} *q;
	{status} res;
	struct wh_call c;

{null}	if (!h)
		return {bad};
{before}	q = wh_{lib}_begin(&c, WH_CALL_{end}, sizeof(*q));
	if (!q)
		return wh_{lib}_lost_end(c.result);
	q->handle = h->o.id;
	res = wh_{lib}_run(&c, sizeof(struct wh_rsp));
	wh_end(&c);
	if (res == {success})
		wh_handle_put(&handles_{name}, &h->h);
	return res;
}}

'''

KEPT = '''{status} {put}({name} handle, {type} to)
{{
	struct wh_handle_{name} *h = alive_{name}(handle);

	if (!h)
		return {bad};
{check}	h->{field} = to;
	return {success};
}}

{status} {get}({name} handle, {type} *out)
{{
	struct wh_handle_{name} *h = alive_{name}(handle);

	if (!h)
		return {bad};
	if (!out)
		return {value};
	*out = ({type})h->{field};
	return {success};
}}

'''

STREAM = '\tcudaStream_t stream;\t/* as the program names it */\n'

PACK = '''	/* The per-thread default stream differs from thread to thread. */
	if (h->stream)
		out->stream = wh_library_stream(h->stream);
'''


def _words(d, x):
    pro = d.profile
    return {'name': x.name, 'make': x.make, 'end': x.end, 'lib': pro.name, 'status': pro.status, 'success': pro.success,
            'bad': pro.errors['handle'], 'value': pro.errors['value'], 'memory': pro.errors['memory'],
            'missing': pro.errors['missing'], 'no_stream': pro.errors.get('stream', pro.errors['value'])}


def declarations(d):
    text = ''.join(f"/* Returns the program's handle with this number of the worker, or NULL. */\n"
                   f'{name} wh_find_{name}(uint64_t id);\n' for name in d.lists['life'])
    return '#include "../handle.h"\n' + text if text else ''


def lists(d):
    """Returns the client's lists of handles."""
    return ''.join(f'static struct wh_handles handles_{name};\n' for name in d.lists['life'])


def in_child(d):
    """Returns what a fork's child does with the lists."""
    return ''.join(f'; pthread_mutex_init(&handles_{name}.lock, NULL)' for name in d.lists['life'])


def client(d, api, word_of):
    text = ''
    for x in d.lists['life'].values():
        w = _words(d, x)
        text += CLIENT.format(word=word_of('handle ' + x.name) | 2, pack=PACK if x.stream else '',
                              fields=STREAM if x.stream else '',
                              first=''.join(f'\th->o.{s[0]} = {s[3]};\n' for s in x.settings),
                              before=''.join(f'\t{f}();\n' for f in x.before),
                              null=f"\tif (!handle)\n\t\treturn {w['success']};\n" if x.null else '', **w)
        text += f'static struct wh_handles handles_{x.name} = WH_HANDLES(struct wh_handle_{x.name});\n\n'
        if x.stream:
            text += KEPT.format(put=x.stream[0], get=x.stream[1], field='stream', check='', type='cudaStream_t', **w)
        for field, put, get, first, last in x.settings:
            kind = api.calls[put].func.params[1].type.spelling
            test = f"\tif ((uint32_t)to - {first} > {last} - {first})\n\t\treturn {w['value']};\n"
            text += KEPT.format(put=put, get=get, field=f'o.{field}', check=test, type=kind, **w)
    return text


# --- Worker ----------------------------------------------------------------------------

SERVER = '''/* What the library was last told about a {name}. */
struct told_{name} {{
	{name} real;
{fields}}};

{status} wh_enter_{name}(struct wh_session *s, const struct wh_{lib}_functions *l,
		const struct wh_obj_{name} *o, {name} *real, CUstream *stream)
{{
	struct told_{name} *h = wh_handles_get(&s->handles, o->id, WH_H_{name});
	{status} res = {success};

	if (!h)
		return {bad};
{look}	*real = h->real;
{tell}	(void)l;
	return res;
}}

int32_t wh_do_{make}(struct wh_session *s, struct wh_frame *f)
{{
	const struct wh_{lib}_functions *l = wh_library_functions(s, WH_LIB_{lib});
	struct wh_rsp_{make} *r = wh_reply(f, sizeof(*r));
	const struct wh_req *q = f->req;
	struct told_{name} *h;
	struct wh_charge charge;
	{status} res;

	if ({lacks})
		return wh_library_missing(s, "{make} or what belongs to it", {missing});
	h = calloc(1, sizeof(*h));
	if (!h)
		return {memory};
{first}	/* The library's workspace is the tenant's memory. */
	wh_reconcile_begin(s, &charge);
	res = l->{make}(&h->real);
	if (res == {success}) {{
		if (wh_reconciled(s, &charge))
			r->handle = wh_new(s, WH_H_{name}, h, q->ctx);
		if (r->handle)
			return {success};
		l->{end}(h->real);
		wh_reconciled(s, &charge);
		res = {memory};
	}}
	free(h);
	return res;
}}

int32_t wh_do_{end}(struct wh_session *s, struct wh_frame *f)
{{
	const struct wh_{lib}_functions *l = wh_library_functions(s, WH_LIB_{lib});
	const struct wh_req_{end} *q = f->req;
	struct told_{name} *h;
	{status} res;

	if (f->req_size < sizeof(*q))
		return {value};
	h = wh_handles_get(&s->handles, q->handle, WH_H_{name});
	if (!h)
		return {bad};
	res = l->{end}(h->real);
	if (res != {success})
		return res;
	wh_drop(s, q->handle);
	free(h);
	return {success};
}}

'''

TELL = '''	if (o->{field} != h->{field}) {{
		res = l->{put}(h->real, {what});
		if (res != {success})
			return res;
		h->{field} = o->{field};
	}}
'''


def _look(x, w):
    """Returns the checks of what a client sent with its handle."""
    text = ''.join(f"\tif (o->{s[0]} - {s[3]} > {s[4]} - {s[3]})\n\t\treturn {w['value']};\n"
                   for s in x.settings)
    if not x.stream:
        return text + '\t*stream = NULL;\t/* this kind of handle has none of its own */\n'
    return text + ('\t/* This happens each time: a stream that was destroyed must not reach the library. */\n'
                   '\tif (!wh_get(s, WH_H_CUstream, o->stream, (void **)stream))\n'
                   f"\t\treturn {w['no_stream']};\n")


def server(d, api):
    text = '#include <stdlib.h>\n\n' if d.lists['life'] else ''
    for x in d.lists['life'].values():
        w = _words(d, x)
        tell = TELL.format(field='stream', put=x.stream[0], what='*stream', **w) if x.stream else ''
        for field, put, _, _, _ in x.settings:
            kind = api.calls[put].func.params[1].type.spelling
            tell += TELL.format(field=field, put=put, what=f'({kind})o->{field}', **w)
        fields = '\tuint64_t stream;\n' * bool(x.stream) + ''.join(f'\tuint32_t {s[0]};\n' for s in x.settings)
        text += SERVER.format(fields=fields, look=_look(x, w), tell=tell,
                              first=''.join(f'\th->{s[0]} = {s[3]};\n' for s in x.settings),
                              lacks=' || '.join(f'!l->{n}' for n in [x.make, x.end] + x.sets()),
                              **w)
    return text
