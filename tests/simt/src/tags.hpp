// The last accesses of a word: the part of the checks that every access runs.
#pragma once

#include "access.hpp"
#include "kernel.hpp"
#include "state.hpp"

namespace simt {

inline DeviceMemory &device_memory(DeviceMemory &memory) { return memory; }
inline DeviceMemory &device_memory(Running &now) { return now.device->memory; }

inline bool in_question(Tag tag, unsigned mask) { return (tag >> 4) != running.mine && (tag >> 4) >= running.floor && (tag & mask) != 0; }

template <class Memory>  // DeviceMemory, or Running for that of the kernel's device
inline void note_read(Memory &memory, std::size_t word, unsigned mask) {
    const Tag writer = memory.writer[word];
    if (in_question(writer, mask)) [[unlikely]]
        check_order(device_memory(memory), word, writer >> 4, true, Access::read);
    Tag &reader = memory.reader[word];
    const Tag id = reader >> 4;
    if (id == running.mine) {
        reader |= mask;
    } else if (id == running.first) {
        // Several blocks already: it stays so for the bytes that they share.
        if ((reader & mask) == 0) reader = running.mine << 4 | mask;
    } else if (id > running.first && (reader & mask) != 0) {
        reader = running.first << 4 | (reader & mask);
    } else {
        reader = running.mine << 4 | mask;
    }
}

template <class Memory>
inline void note_write(Memory &memory, std::size_t word, unsigned mask, Access access) {
    Tag &writer = memory.writer[word];
    if (in_question(writer, mask)) [[unlikely]]
        check_order(device_memory(memory), word, writer >> 4, true, access);
    const Tag reader = memory.reader[word];
    if (in_question(reader, mask)) [[unlikely]]
        check_order(device_memory(memory), word, reader >> 4, false, access);
    if ((writer >> 4) == running.mine) {
        writer |= mask;  // also by an atomic operation: other blocks' must then not meet it
    } else {
        writer = (access == Access::atomic ? running.first + 1 : running.mine) << 4 | mask;
    }
}

template <class F>
inline void for_words(std::size_t offset, std::size_t n, F f) {
    for (std::size_t word = offset / 4; word <= (offset + n - 1) / 4; word++) {
        unsigned mask = 15;
        if (word * 4 < offset) mask &= 15u << (offset - word * 4);
        if (word * 4 + 4 > offset + n) mask &= 15u >> (word * 4 + 4 - offset - n);
        f(word, mask);
    }
}

}  // namespace simt
