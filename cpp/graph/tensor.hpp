// A tensor: a leaf with its own data, or a node that an operation computes. It lives in its context's arena and is never
// destroyed alone, so all members are trivially destructible.
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
struct Tensor;

// The memory that holds a leaf's bytes.
enum class Home : std::uint8_t { context, file_in_memory, mapped_file, foreign };

// The memory of a root: of a leaf, or of a node that is not a view.
struct Storage {
    // The address on the device, null before there is memory. It is written under the context's exclusive run lock, and for
    // leafs before the tensor is handed out. It is atomic because tl_tensor_data() reads it without a lock.
    std::atomic<std::byte *> data{nullptr};
    // Whether data holds a node's computed result. Locked as data is.
    std::atomic<bool> computed{false};
    // Set once, before another thread sees the tensor. in_file: the leaf is a file's and read-only, even if its bytes are a
    // copy in the context.
    bool in_file = false;
    Home home = Home::context;
    // Set once, before another thread sees the tensor. The leaf lies in memory of another library, which forbids writing. Its
    // values may still change, so it is not a constant.
    bool read_only = false;
    // How many exported tensors show this memory (api/dlpack.hpp). A call that would free it checks this under the exclusive run
    // lock; an export counts itself under the shared one.
    std::atomic<std::uint32_t> exports{0};
    // For a leaf that was promised constant, a number that no other constant of the process has or had; 0 for all others.
    // Leafs of a file are constant from the start.
    std::atomic<std::uint64_t> constant{0};
    // For a leaf whose original was dropped (graph/stand_in.hpp), the context's object that rebuilds its bytes; data is null
    // then. Written under the context's exclusive run lock.
    std::atomic<const StandIn *> stand_in{nullptr};
};

// What graphs and gradients keep about a node. A leaf never changes it.
struct NodeState {
    // Nodes that write, and those of groups: their number among all of these, in order of creation (graph/write_order.hpp).
    std::uint64_t write_number = 0;
    // One more than the number of writing nodes when the node was first differentiated; 0 if it was not.
    std::atomic<std::uint64_t> seen_writes{0};

    // Nodes made by a gradient rule: in the high half the number of the call to gradients() in this process, in the low
    // half the node's number within the call. Other nodes have the largest number of their sources, or 0. Sorting by this
    // number puts gradients after the nodes that they differentiate, and a call's nodes in an order that frees memory
    // early (runtime/recomputation.hpp).
    std::uint64_t gradient_number = 0;
    std::uint32_t gradient_call() const noexcept { return static_cast<std::uint32_t>(gradient_number >> 32); }

    // Whether graphs created later recompute the node for gradients instead of keeping its result.
    std::atomic<bool> recompute{false};
    // A graph's own node that recomputes another node: the other node. Null for all others.
    const Tensor *original = nullptr;
    // The memory of the device that must compute the node, or null if the planner chooses.
    std::atomic<const DeviceMemory *> placed_on{nullptr};
};

struct Tensor {
    // These members are set once, before another thread sees the tensor.
    Layout layout;
    Op op = Op::leaf;
    std::uint16_t n_src = 0;
    bool is_view = false;
    bool is_collective = false;  // computed together with the other ranks of a group
    std::uint16_t written = 0;   // bit per operand that computing the node writes into; the node is a view of the first one
    std::uint16_t attr_bytes = 0;
    // One per operand of the operation; null for an operand that is left out.
    Tensor **src = nullptr;
    // The operation's struct of attributes (ops/gen/op_facts.hpp), stored after `src`; null if it has none.
    const void *attrs = nullptr;
    // The tensor that owns the memory: this one, or the end of a chain of views. It is never a view.
    Tensor *root = nullptr;
    std::size_t root_offset = 0;  // bytes from the root's data to the first element
    Context *context = nullptr;

    // Links of the context's list of tensors, oldest first, guarded by its build lock; null at the ends. A graph's own
    // tensors are in no list.
    Tensor *previous = nullptr, *next = nullptr;
    // Never null. The context owns the bytes and frees them when the name changes, so Context::name_of() copies them.
    std::atomic<const char *> name{""};

    Storage storage;  // used if the tensor is its own root
    NodeState state;  // used if the tensor is a node

    // The tensor that callers know: this one, or the node that it recomputes.
    Tensor *known() const noexcept { return const_cast<Tensor *>(state.original ? state.original : this); }
    bool is_leaf() const noexcept { return op == Op::leaf; }
    bool writes() const noexcept { return written != 0; }
    bool writes(std::size_t operand) const noexcept { return written >> operand & 1; }
    // Whether the node only describes memory, so that nothing is computed.
    bool is_pure_view() const noexcept { return is_view && !writes(); }
    // The operands, without those that are left out.
    class Sources;
    Sources sources() const noexcept;
    // The first element's address on the device, or null if the root has no data or has lost it.
    std::byte *address() const noexcept {
        std::byte *base = root->storage.data.load(std::memory_order_acquire);
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

// Stands for an operand that is left out, while nodes are built: one object per process, which belongs to no context. Null
// cannot stand for it, because a constructor that failed returns null.
Tensor *left_out() noexcept;

// "'weights' [2, 4] f32", for messages.
std::string tensor_text(const Tensor &t);
// "... with strides 4, 8, 32, 32"
std::string strided_text(const Tensor &t);

// The texts of a node's sources: "[2, 4] f32, [2, 3] f32", or "nothing" if it has none.
std::string sources_text(const Tensor &node);

// Why nobody may write into a leaf's memory, for messages: it "is promised constant". Null if it may be written.
const char *read_only_text(const Tensor &root) noexcept;

}  // namespace tensorlib::core
