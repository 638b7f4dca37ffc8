// A tensor: a leaf with data of its own, or a node that an operation makes. Lives in its context's arena and is
// never destroyed by itself, so all members are trivially destructible.
#pragma once

#include "graph/op.hpp"
#include "graph/shape.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace tensorlib::core {

class Context;
class DeviceMemory;
class StandIn;

// What a leaf's bytes lie in.
enum class Home : std::uint8_t { context, file_in_memory, mapped_file };

struct Tensor {
    // Shape, type and everything up to `root_offset` are set once, before anyone else sees the tensor.
    Layout layout;
    Op op = Op::leaf;
    std::uint16_t n_src = 0;
    bool is_view = false;
    std::uint16_t written = 0;  // the operands, a bit each, that computing it writes into; it is a view of the first of them
    Context *context = nullptr;
    // The context's tensors in the order of their making, under its build lock; null at the ends, and of a tensor that is a graph's.
    Tensor *previous = nullptr, *next = nullptr;
    // As many as its operation has operands; null where one is left out.
    Tensor **src = nullptr;
    // Of a node: its operation's attributes, in a struct of its own (ops/gen/op_facts.hpp), behind `src`; null where it has none.
    const void *attrs = nullptr;
    std::uint16_t attr_bytes = 0;

    // Whose memory this is: the tensor itself, or for views the tensor at the bottom; never a view.
    Tensor *root = nullptr;
    std::size_t root_offset = 0;  // bytes from the root's data to the first element

    // Valid for roots only. data: on the device, null until there is some; written under the context's exclusive run
    // lock (leafs: before the tensor is handed out). Atomic, as tl_tensor_data() looks without a lock.
    std::atomic<std::byte *> data{nullptr};
    // Of a node's root: data holds a computed result. Same rule.
    std::atomic<bool> computed{false};
    // Of a leaf: promised constant, and then a number that no other constant of the process has, nor had; else 0. Leafs of a file are
    // from the start.
    std::atomic<std::uint64_t> constant{0};
    // Of a leaf, set once, before anyone else sees it. in_file: it is a file's, read-only; its bytes may be a copy in the context.
    bool in_file = false;
    Home home = Home::context;
    // Of a leaf whose original was dropped (graph/stand_in.hpp): what its bytes are rebuilt from, which its context keeps; data is null
    // then. Written under the context's exclusive run lock.
    std::atomic<const StandIn *> stand_in{nullptr};

    // Of a node that writes: its number among all that do, in the order of their making (graph/write_order.hpp). Of any node: one more than
    // how many of those had been made when it was differentiated first; 0 where it was not.
    std::uint64_t write_number = 0;
    std::atomic<std::uint64_t> seen_writes{0};

    // Of a node that a rule of gradients made: the number of the call that it was made by, of all calls of the process, and its own among
    // that call's nodes. Of another node the largest of its sources', 0 where there is none. So gradients come behind what they are
    // gradients of, and a call's nodes in the order in which one after the other frees what it reads (runtime/recomputation.hpp).
    std::uint64_t gradient_number = 0;
    std::uint32_t gradient_call() const noexcept { return static_cast<std::uint32_t>(gradient_number >> 32); }
    // Of a node: whether graphs made from now on compute it again for gradients, in place of keeping it.
    std::atomic<bool> recompute{false};
    // Of a node that computes another one again, which is no context's but a graph's: that one. Else null.
    const Tensor *original = nullptr;

    // What callers know it by: itself, or the node that it computes again.
    Tensor *known() const noexcept { return const_cast<Tensor *>(original ? original : this); }

    // Of a node that computes something: the device that is to do it, by its memory; null where that is open.
    std::atomic<const DeviceMemory *> placed_on{nullptr};

    // Never null; its bytes are the context's, which gives them back when the name is set anew: Context::name_of() copies them.
    std::atomic<const char *> name{""};

    bool is_leaf() const noexcept { return op == Op::leaf; }
    bool writes() const noexcept { return written != 0; }
    bool writes(std::size_t operand) const noexcept { return written >> operand & 1; }
    // A node that only describes memory: nothing is to be computed.
    bool is_pure_view() const noexcept { return is_view && !writes(); }
    // The operands that are there.
    class Sources;
    Sources sources() const noexcept;
    // The first element's address on the device, or null where the root has no data, or none any more.
    std::byte *address() const noexcept {
        std::byte *base = root->data.load(std::memory_order_acquire);
        return base ? base + root_offset : nullptr;
    }
};

static_assert(std::is_trivially_destructible_v<Tensor>);

class Tensor::Sources {
public:
    class Iterator {
    public:
        Iterator(Tensor *const *at, Tensor *const *end) noexcept : at_(at), end_(end) { skip(); }
        Tensor *operator*() const noexcept { return *at_; }
        Iterator &operator++() noexcept {
            ++at_;
            skip();
            return *this;
        }
        bool operator!=(const Iterator &other) const noexcept { return at_ != other.at_; }

    private:
        void skip() noexcept {
            while (at_ != end_ && !*at_) ++at_;
        }
        Tensor *const *at_, *const *end_;
    };
    explicit Sources(const Tensor &node) noexcept : begin_(node.src), end_(node.src + node.n_src) {}
    Iterator begin() const noexcept { return {begin_, end_}; }
    Iterator end() const noexcept { return {end_, end_}; }

private:
    Tensor *const *begin_, *const *end_;
};

inline Tensor::Sources Tensor::sources() const noexcept { return Sources(*this); }

// What stands for an operand that is left out, where nodes are built: one object for the process, which is no context's tensor. Null
// would not do, as it is what a constructor that failed has given.
Tensor *left_out() noexcept;

// "'weights' [2, 4] f32", for messages.
std::string tensor_text(const Tensor &t);
// "... with strides 4, 8, 32, 32"
std::string strided_text(const Tensor &t);

// The same of all that a node is made of: "[2, 4] f32, [2, 3] f32"; "nothing" where it has no operands.
std::string sources_text(const Tensor &node);

// Of a constant leaf, how it came to be one, for messages.
const char *constant_text(const Tensor &root) noexcept;

}  // namespace tensorlib::core
