/*
 * Compiler attributes used by every module, and the export mark of the
 * installed libraries.
 */
#pragma once

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(a, b) __attribute__((format(printf, a, b)))

/* A function or object that an installed library offers to other programs. */
#define IL_API __attribute__((visibility("default")))

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
