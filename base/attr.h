/*
 * Compiler attributes used by every module, and the export mark of the
 * installed libraries.
 */
#pragma once

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(a, b) __attribute__((format(printf, a, b)))

/* A function or object that an installed library offers to other programs. */
#define IL_API __attribute__((visibility("default")))

/*
 * Around the functions of a header of base/ that the installed libraries' own headers need: each
 * library carries them, so that it can be used alone.
 */
#define IL_API_BEGIN _Pragma("GCC visibility push(default)")
#define IL_API_END   _Pragma("GCC visibility pop")

#define N_ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))
