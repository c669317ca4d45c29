/*
 * How interlock-egress asks whoever started it for connections: one fixed record a packet
 * on a SOCK_SEQPACKET pair; a connected descriptor comes with a good answer. Both ends are
 * of the same build, but the asking one is not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "net/host.h"

/* The one port of the proxy, on the loopback of the command's own network namespace. */
#define BROKER_PROXY_PORT 3128

struct broker_request {
	uint32_t id;
	uint16_t port;
	char host[HOST_SIZE];
};

struct broker_reply {
	uint32_t id;
	int32_t error; /* 0: a descriptor follows; EACCES: refused */
};

/* 0; -EAGAIN when there is none; -ECONNRESET at the end; -EBADMSG. */
int broker_receive_request(int fd, struct broker_request *ret_request) MUST_CHECK;
int broker_send_reply(int fd, const struct broker_reply *reply, int descriptor) MUST_CHECK;
int broker_send_request(int fd, const struct broker_request *request) MUST_CHECK;
/* *ret_descriptor is -1 with an error in the reply. */
int broker_receive_reply(int fd, struct broker_reply *ret_reply, int *ret_descriptor) MUST_CHECK;
