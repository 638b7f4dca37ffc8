// A set of tensors that stores a number for each. It uses open addressing with linear probing and is at most half full.
// A graph asks it once per edge, which takes one multiplication and usually one cache line.
#pragma once

#include "graph/tensor.hpp"

#include <cstdint>
#include <vector>

namespace tensorlib::core {

class TensorSet {
public:
    TensorSet() : slots_(64) {}

    // The number stored for t. If t is new, that is `number`, and `added` is set.
    std::uint32_t &insert(const Tensor *t, std::uint32_t number, bool &added) {
        if (2 * (size_ + 1) > slots_.size()) grow();
        Slot &slot = find_slot(t);
        added = slot.key == nullptr;
        if (added) {
            slot = {t, number};
            size_++;
        }
        return slot.number;
    }

    // nullptr if t is not in the set.
    const std::uint32_t *find(const Tensor *t) const {
        const Slot &slot = const_cast<TensorSet *>(this)->find_slot(t);
        return slot.key ? &slot.number : nullptr;
    }

private:
    struct Slot {
        const Tensor *key = nullptr;
        std::uint32_t number = 0;
    };

    // Tensors are at least 64 bytes apart, so the low bits carry no information. The upper bits of the product depend
    // on all bits.
    std::size_t hash(const Tensor *t) const noexcept {
        const auto key = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(t)) >> 6;
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & (slots_.size() - 1);
    }
    Slot &find_slot(const Tensor *t) {
        std::size_t i = hash(t);
        while (slots_[i].key && slots_[i].key != t) i = (i + 1) & (slots_.size() - 1);
        return slots_[i];
    }
    void grow() {
        std::vector<Slot> old(slots_.size() * 4);
        old.swap(slots_);
        for (const Slot &slot : old) {
            if (slot.key) find_slot(slot.key) = slot;
        }
    }

    std::vector<Slot> slots_;
    std::size_t size_ = 0;
};

}  // namespace tensorlib::core
