/*
 * A plan as bytes (for a memfd), and as JSON (for people). The bytes are one msgpack array in the
 * order of the struct; both ends are of the same build, so there is no version.
 */
#include "sandbox/plan.h"

#include <errno.h>
#include <string.h>

#include "base/mp.h"

#define FIELDS    10
#define PLAN_SIZE ((size_t)1 << 20)

static void write_ports(struct buf *out, const uint16_t *ports, size_t n)
{
	mp_write_array(out, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		mp_write_uint(out, ports[i]);
}

int plan_encode(const struct il_sandbox_plan *p, struct buf *out)
{
	mp_write_array(out, FIELDS);
	mp_write_uint(out, p->profile);
	mp_write_uint(out, p->filter);
	mp_write_array(out, (uint32_t)p->n_places);
	for (size_t i = 0; i < p->n_places; i++) {
		mp_write_array(out, 3);
		mp_write_text(out, p->places[i].path);
		mp_write_uint(out, p->places[i].rights);
		mp_write_bool(out, p->places[i].optional);
	}
	write_ports(out, p->connect_ports, p->n_connect_ports);
	write_ports(out, p->bind_ports, p->n_bind_ports);
	mp_write_array(out, (uint32_t)p->n_keep_fds);
	for (size_t i = 0; i < p->n_keep_fds; i++)
		mp_write_uint(out, (uint64_t)p->keep_fds[i]);
	mp_write_array(out, (uint32_t)p->n_pass_env);
	for (size_t i = 0; i < p->n_pass_env; i++)
		mp_write_text(out, p->pass_env[i]);
	mp_write_bool(out, p->ports_only);
	mp_write_bool(out, p->keep_session);
	mp_write_nil(out);
	return buf_error(out);
}

static int read_places(struct mp_reader *r, struct il_sandbox_plan *p)
{
	uint32_t n, fields;

	if (mp_read_array(r, PLAN_PLACES_MAX, &n) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		const char *path;
		char *copy;
		size_t n_path;
		uint64_t rights;
		bool optional;
		int e;

		if (mp_read_array(r, 3, &fields) != 0 || fields != 3 ||
			mp_read_str(r, 4095, &path, &n_path) != 0 ||
			mp_read_uint(r, UINT32_MAX, &rights) != 0 ||
			mp_read_bool(r, &optional) != 0)
			return -EBADMSG;
		copy = arena_text(&p->memory, path, n_path);
		e = copy ? plan_add_place(p, copy, (uint32_t)rights, optional) : -ENOMEM;
		if (e != 0)
			return e == -EINVAL ? -EBADMSG : e;
	}
	return 0;
}

static int read_ports(struct mp_reader *r, uint16_t *ports, size_t *ret_n)
{
	uint32_t n;

	if (mp_read_array(r, PLAN_PORTS_MAX, &n) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t port;

		if (mp_read_uint(r, UINT16_MAX, &port) != 0)
			return -EBADMSG;
		ports[i] = (uint16_t)port;
	}
	*ret_n = n;
	return 0;
}

static int read_fds(struct mp_reader *r, struct il_sandbox_plan *p)
{
	uint32_t n;

	if (mp_read_array(r, PLAN_FDS_MAX, &n) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t fd;

		if (mp_read_uint(r, INT32_MAX, &fd) != 0)
			return -EBADMSG;
		p->keep_fds[p->n_keep_fds++] = (int)fd;
	}
	return 0;
}

static int read_env(struct mp_reader *r, struct il_sandbox_plan *p)
{
	uint32_t n;

	if (mp_read_array(r, PLAN_ENV_MAX, &n) != 0)
		return -EBADMSG;
	for (uint32_t i = 0; i < n; i++) {
		const char *name;
		size_t n_name;

		if (mp_read_str(r, 255, &name, &n_name) != 0)
			return -EBADMSG;
		p->pass_env[p->n_pass_env] = arena_text(&p->memory, name, n_name);
		if (!p->pass_env[p->n_pass_env++])
			return -ENOMEM;
	}
	return 0;
}

static int read_plan(struct mp_reader *r, struct il_sandbox_plan *p)
{
	int e;

	if ((e = read_places(r, p)) != 0 ||
		(e = read_ports(r, p->connect_ports, &p->n_connect_ports)) != 0 ||
		(e = read_ports(r, p->bind_ports, &p->n_bind_ports)) != 0 ||
		(e = read_fds(r, p)) != 0 || (e = read_env(r, p)) != 0 ||
		(e = mp_read_bool(r, &p->ports_only)) != 0 ||
		(e = mp_read_bool(r, &p->keep_session)) != 0 || (e = mp_read_nil(r)) != 0)
		return e;
	return mp_reader_end(r);
}

int plan_decode(const uint8_t *bytes, size_t n, struct il_sandbox_plan **ret_plan)
{
	struct il_sandbox_plan *p;
	struct mp_reader r;
	uint64_t profile, filter;
	uint32_t fields;
	int e;

	if (n > PLAN_SIZE)
		return -EBADMSG;
	mp_reader_init(&r, bytes, n);
	if (mp_read_array(&r, FIELDS, &fields) != 0 || fields != FIELDS ||
		mp_read_uint(&r, IL_PROFILE_N_ - 1, &profile) != 0 ||
		mp_read_uint(&r, FILTER_N_ - 1, &filter) != 0)
		return -EBADMSG;
	p = plan_new((enum il_sandbox_profile)profile);
	if (!p)
		return -ENOMEM;
	p->filter = (enum filter_variant)filter;
	e = read_plan(&r, p);
	if (e != 0) {
		(void)il_sandbox_plan_free(p);
		return e;
	}
	*ret_plan = p;
	return 0;
}

/* ---- for people ---- */

static void json_text(struct buf *out, const char *text)
{
	struct value v = { .kind = VALUE_TEXT, .text = text, .size = strlen(text) };

	value_to_json(out, &v);
}

static void json_ports(struct buf *out, const char *key, const uint16_t *ports, size_t n)
{
	buf_printf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s%u", i > 0 ? "," : "", (unsigned)ports[i]);
	buf_byte(out, ']');
}

static void json_rights(struct buf *out, uint32_t rights)
{
	static const char *const names[] = { "read", "write", "create", "delete", "exec",
		"device" };
	bool any = false;

	buf_byte(out, '[');
	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		if (!(rights >> i & 1))
			continue;
		buf_printf(out, "%s\"%s\"", any ? "," : "", names[i]);
		any = true;
	}
	buf_byte(out, ']');
}

int il_sandbox_plan_to_json(const struct il_sandbox_plan *p, char **ret_json)
{
	auto_buf struct buf out = BUF_INIT(PLAN_SIZE);

	buf_printf(&out, "{\"profile\":\"%s\",\"filter\":\"%s\",\"places\":[",
		il_sandbox_profile_name(p->profile), filter_name(p->filter));
	for (size_t i = 0; i < p->n_places; i++) {
		buf_text(&out, i > 0 ? ",{\"path\":" : "{\"path\":");
		json_text(&out, p->places[i].path);
		buf_text(&out, ",\"rights\":");
		json_rights(&out, p->places[i].rights);
		buf_printf(&out, ",\"optional\":%s}", p->places[i].optional ? "true" : "false");
	}
	buf_byte(&out, ']');
	json_ports(&out, "connect_ports", p->connect_ports, p->n_connect_ports);
	json_ports(&out, "bind_ports", p->bind_ports, p->n_bind_ports);
	buf_printf(&out, ",\"ports_only\":%s,\"pass_env\":[", p->ports_only ? "true" : "false");
	for (size_t i = 0; i < p->n_pass_env; i++) {
		buf_text(&out, i > 0 ? "," : "");
		json_text(&out, p->pass_env[i]);
	}
	buf_text(&out, "],\"keep_fds\":[");
	for (size_t i = 0; i < p->n_keep_fds; i++)
		buf_printf(&out, "%s%d", i > 0 ? "," : "", p->keep_fds[i]);
	buf_text(&out, "]}");
	return buf_take_text(&out, ret_json);
}
