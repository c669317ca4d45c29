/*
 * cmocka needs these four headers before it, which sorted includes would break.
 */
#pragma once

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
