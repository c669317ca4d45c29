/*
 * sd_notify(3) without libsystemd: one datagram to $NOTIFY_SOCKET. Nothing happens
 * when the variable is not set.
 */
#pragma once

#include <stdint.h>

/* `state` as systemd documents it: "READY=1", "STATUS=...", "STOPPING=1", "WATCHDOG=1". Failures
 * are not reported: nobody could act on them. */
void notify_service_manager(const char *state);
/* Half of $WATCHDOG_USEC in milliseconds, or 0 when no watchdog is asked of this process. */
uint64_t notify_watchdog_ms(void);
