// Packed copies of constant weights, one for each constant that products of this backend read, whatever graph they are in.
//
// A copy is made when a plan asks for it, by all threads, and is there until the backend or the constant's context goes. Plans keep its
// address alone: they run only on the backend that they were made for, and their graph keeps the constant's context.
#pragma once

#include "base/thread_pool.hpp"
#include "cpu/leaf/leaf_table.hpp"
#include "graph/context.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tensorlib::core {

class PackedConstants final : public TensorWatcher {
public:
    // What a plan is told: the panels of a's slices, panel after panel, or why there are none; a static text.
    struct Copy {
        const std::byte *panels = nullptr;
        std::size_t bytes = 0;
        const char *why;
    };

    // Of the first operand of a product. Needs the backend's turn, which the pool belongs to. A copy that there is no memory for is none:
    // it may take half of what the machine has left.
    Copy find_or_make(const Tensor &a, const leaf::LeafTable &leaf, ThreadPool &pool) noexcept;

    // Of all copies.
    std::size_t bytes() const noexcept;

    void clear() noexcept;
    void tensors_gone(const Context &context) noexcept override;

private:
    struct Pages {
        std::byte *data;
        std::size_t size;
        explicit Pages(std::size_t n) noexcept;
        ~Pages();
        Pages(const Pages &) = delete;
        Pages &operator=(const Pages &) = delete;
    };
    // A view of a constant has a copy of its own.
    struct Entry {
        const Context *context;
        const Tensor *root;
        std::size_t root_offset;
        Layout layout;
        std::unique_ptr<Pages> pages;
    };

    Copy find(const Tensor &a) const noexcept;
    ~PackedConstants() override = default;

    mutable std::mutex lock_;  // contexts go at any time
    std::vector<Entry> entries_;
    std::size_t bytes_ = 0;
};

}  // namespace tensorlib::core
