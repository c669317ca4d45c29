/*
 * Sized big-endian integers in byte buffers: the only way numbers enter or
 * leave a frame, a canonical form or a file of ours.
 */
#pragma once

#include <stdint.h>

static inline uint16_t be_load16(const uint8_t b[static 2])
{
	return (uint16_t)((uint16_t)(b[0] << 8) | b[1]);
}

static inline uint32_t be_load32(const uint8_t b[static 4])
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | (uint32_t)b[3];
}

static inline uint64_t be_load64(const uint8_t b[static 8])
{
	return (uint64_t)be_load32(b) << 32 | be_load32(b + 4);
}

static inline void be_store16(uint8_t b[static 2], uint16_t v)
{
	b[0] = (uint8_t)(v >> 8);
	b[1] = (uint8_t)v;
}

static inline void be_store32(uint8_t b[static 4], uint32_t v)
{
	b[0] = (uint8_t)(v >> 24);
	b[1] = (uint8_t)(v >> 16);
	b[2] = (uint8_t)(v >> 8);
	b[3] = (uint8_t)v;
}

static inline void be_store64(uint8_t b[static 8], uint64_t v)
{
	be_store32(b, (uint32_t)(v >> 32));
	be_store32(b + 4, (uint32_t)v);
}
