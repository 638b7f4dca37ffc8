// A context: the arena that owns tensors and graphs, its locks, its first error, and its references to other contexts.
//
// A context has two locks. The build lock is held briefly, and callers wait for it: constructors, graph building,
// plans' memory. Computing and writing take the run lock exclusively; reading and mapping share it. A call waits for
// the run lock no longer than the busy timeout of the context that the call is about, and without a timeout fails at
// once with Error(busy). A thread never holds two build locks, takes no run lock while it holds a build lock, and holds
// no run lock while it waits for one. Therefore nothing can deadlock.
#pragma once

#include "base/patience.hpp"
#include "base/ref.hpp"
#include "base/run_lock.hpp"
#include "graph/arena.hpp"
#include "graph/context_links.hpp"
#include "graph/plan_store.hpp"
#include "graph/stand_in.hpp"

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <tensorlib/error.hpp>
#include <type_traits>
#include <vector>

namespace tensorlib::core {

struct ContextParams {
    std::size_t mem_limit = 0;
    void *mem_buffer = nullptr;
    std::size_t mem_buffer_size = 0;
    bool no_alloc = false;
    DeviceMemory *memory = nullptr;          // null: host memory
    const RefCounted *keep_alive = nullptr;  // the backend that owns the memory
};

// Describes the node that an operation makes.
struct NodeSpec {
    Op op = Op::leaf;
    Layout layout;
    std::span<Tensor *const> src;
    Tensor *view_of = nullptr;    // if set, the result is a view of this tensor's memory ...
    std::size_t view_offset = 0;  // ... at this offset in bytes
    std::uint16_t written = 0;    // Tensor::written
    bool is_collective = false;   // Tensor::is_collective
    // What the node needs: the context keeps it until it is reset or freed.
    Ref<const RefCounted> kept{};

    // Stores a copy of the operation's attributes, A(given), for the node. The buffer is zeroed first, so equal
    // attributes have equal bytes, including the padding between members: the plan cache compares these bytes. If a
    // compiler writes to padding, a plan is only made once more.
    static constexpr std::size_t most_attr_bytes = 192;
    template <class A, class Given>
    const A &make_attrs(const Given &given) {
        static_assert(std::is_trivially_copyable_v<A> && sizeof(A) <= most_attr_bytes && alignof(A) <= alignof(void *));
        attr_bytes = sizeof(A);
        std::memset(attr_storage.data(), 0, sizeof(A));
        return *new (attr_storage.data()) A(given);
    }
    std::size_t attr_bytes = 0;
    alignas(void *) std::array<std::byte, most_attr_bytes> attr_storage;
};

// A leaf that lies in a file.
struct FileLeaf {
    Layout layout;
    const char *name;
    const std::byte *data;    // as many bytes as the layout needs
    const RefCounted *owner;  // keeps the data alive
    bool mapped = false;      // whether the data are pages of the file, which the system can load again
};

// A contiguous leaf that lies in another library's memory.
struct ForeignLeaf {
    Layout layout;
    std::byte *data;  // as many bytes as the layout needs, aligned for its elements (aligned_for); anything if it needs none
    bool read_only;
    const RefCounted *owner;  // keeps the data alive
    Context *context;         // the context whose memory this is, or null if that is unknown
};

// Whether kernels may read elements of this layout at this address.
bool aligned_for(const Layout &layout, const std::byte *data) noexcept;

// Keeps something derived from a context's tensors elsewhere, and is told before they are freed by a reset or with the
// context.
class TensorWatcher : public RefCounted {
public:
    // Whether it keeps nothing any more, and never will.
    virtual bool ended() const noexcept = 0;
    virtual void tensors_gone(const Context &context) noexcept = 0;

    // A copy of the whole leaf that it keeps, or null; preferably one that the leaf can be rebuilt from.
    virtual Ref<const StandIn> copy_of(const Tensor &leaf) noexcept = 0;
    // From now on the leaf's context keeps this copy, for all watchers.
    virtual void stands_in(const Tensor &leaf, const StandIn &stand_in) noexcept = 0;
};

class Context final : public RefCounted {
public:
    static Ref<Context> create(const ContextParams &params);

    // A leaf, filled with zeros. In a no_alloc context it has no data.
    Tensor *new_leaf(const Layout &layout);

    // A read-only leaf over a file's bytes, which the context keeps until it is reset or freed. The leaf uses a copy if
    // the device cannot see the bytes or if they are not aligned for kernels. It has data in a no_alloc context too.
    Tensor *new_file_leaf(const FileLeaf &leaf);

    // A leaf over another library's bytes, without a copy; it has data in a no_alloc context too. The context keeps the owner
    // until it is reset or freed, and drops it without holding a lock. Throws Error(unavailable) if the device cannot see
    // host memory, and Error(context_mismatch) if the memory belongs to a context that refers to this one.
    Tensor *new_foreign_leaf(const ForeignLeaf &leaf);
    // Undoes new_foreign_leaf(), for a leaf that only its maker has seen.
    void take_back(Tensor &t, const ForeignLeaf &leaf) noexcept;

    // A node. Links this context to those of the operands, which may live on other devices. Throws
    // Error(context_mismatch) if one of them refers back to this context.
    Tensor *new_node(const NodeSpec &spec);
    // Frees the memory of a node that only its maker has seen. No other node or graph may have it as an operand any
    // more.
    void take_back(Tensor &node) noexcept;

    // Throws Error(context_mismatch), as new_node() would for `op`, if nodes of this context must not refer to tensors
    // of the other.
    void check_reference(const char *op, const Context &other) const;

    // Lists leafs and nodes in the order of their creation, as many as fit. Returns how many there are.
    std::size_t list(std::span<Tensor *> tensors) const noexcept;
    // The first tensor of that name, or null.
    Tensor *find(const char *name) const noexcept;

    // Names are UTF-8; null or "" removes the name. Throws Error(invalid_argument).
    void set_name(Tensor &t, const char *name);
    std::string name_of(const Tensor &t) const;

    // The name of the context, for messages.
    void set_name(const char *name);
    std::string name() const;
    // "context 3 'weights'", for messages.
    std::string text() const;

    // From now on, until reset(), making leafs and nodes is an error that says where to build instead.
    void freeze();

    // Allocates data for all leafs of a no_alloc context that have none. Changes nothing if memory does not suffice.
    void allocate();

    // Empties the context. Throws Error(busy) if another owner holds a reference or the run lock.
    void reset();

    // Memory for graphs on the host, and for nodes' data on the context's device. Call under the build lock.
    void *allocate_object(std::size_t size);
    void release_object(void *block, std::size_t size) noexcept;
    void *allocate_data(std::size_t size);

    // The plans of this context's graphs, null until there are some. make() is called once; the store lives as long as
    // the context.
    PlanStore *plans() const noexcept { return plans_.load(std::memory_order_acquire); }
    PlanStore &plans(std::unique_ptr<PlanStore> (*make)(Context &context));
    // Memory for plans on the context's device, which survives a reset, and bytes that plans use elsewhere and that
    // count against mem_limit.
    void *allocate_plan_data(std::size_t size);
    void release_plan_data(void *block, std::size_t size) noexcept;
    void count_plan(std::size_t bytes);
    void uncount_plan(std::size_t bytes) noexcept;
    // Takes the build lock, or the plan store's lock, to free something. A forked child gets no lock if it is taken,
    // because the holder may be a thread that the child does not have.
    std::unique_lock<std::mutex> lock_to_release(std::mutex &mutex) const noexcept;

    void watch(TensorWatcher &watcher);

    // The copy of a whole leaf that a watcher keeps: one that the leaf can be rebuilt from if there is one, else any,
    // else null.
    Ref<const StandIn> copy_of(const Tensor &leaf) const;
    // Frees a leaf's data, in the arena and in the system. This context owns the stand-in from now on, and counts it.
    // Needs the exclusive run lock. Throws, with nothing changed, Error(out_of_memory) if mem_limit leaves no room for
    // the difference, and Error(unsupported) if the data are in a caller's buffer.
    void replace_data(Tensor &leaf, const Ref<const StandIn> &stand_in);
    // Something that cannot be stopped may use the memory, so the context lives for ever, and calls that would free or reuse
    // its memory are refused. Building, reading and computing go on.
    void retire() noexcept;

    // Keeps only the first error. Without memory for its message, it keeps that fact instead.
    void keep_error(Status code, const char *message) noexcept;
    std::optional<Error> take_error();

    std::size_t used_memory() const;
    std::size_t peak_memory() const;
    DeviceMemory &memory() const noexcept { return memory_; }
    RunLock &run_lock() noexcept { return run_lock_; }

    // How long a call about this context, or a tensor or graph of it, waits for a run lock before it throws
    // Error(busy).
    void set_busy_timeout(std::uint64_t ns) noexcept { busy_timeout_.store(ns, std::memory_order_relaxed); }
    std::uint64_t busy_timeout() const noexcept { return busy_timeout_.load(std::memory_order_relaxed); }

    // How many nodes have been given their own data. Plans use it to notice that one of their nodes was.
    std::uint64_t placed_nodes() const noexcept { return placed_nodes_.load(std::memory_order_acquire); }
    void count_placed_node() noexcept { placed_nodes_.fetch_add(1, std::memory_order_acq_rel); }
    // How many leafs were promised constant, or had their original dropped.
    std::uint64_t changed_leafs() const noexcept { return changed_leafs_.load(std::memory_order_acquire); }
    void count_changed_leaf() noexcept { changed_leafs_.fetch_add(1, std::memory_order_acq_rel); }
    std::uint64_t id() const noexcept { return id_; }

    // Whether this copy of the library made the context. A process may have loaded two copies, which number constants
    // independently.
    bool is_of_this_library() const noexcept { return library_ == &library_mark; }

private:
    friend class TensorUse;
    explicit Context(const ContextParams &params);
    ~Context() override;

    void check_open(const char *what) const;
    bool keeps(const RefCounted &object) const noexcept;
    Tensor *make_tensor(const Layout &layout, std::size_t n_src, std::size_t attr_bytes = 0);
    void enlist(Tensor &t) noexcept;
    void release_tensor(Tensor *t) noexcept;
    // Calls f(context) for each reference that a node holds to another context: those of its operands, and those of the
    // roots that it views or writes into. A view of a view may reach a root in a third context.
    template <class F>
    void for_each_reference(std::span<Tensor *const> src, const Tensor *view_of, std::uint16_t written, F f) const {
        const auto call = [&](Context &other) {
            if (&other != this) f(other);
        };
        for (const Tensor *source : src) {
            if (source) call(*source->context);
        }
        if (view_of) call(*view_of->root->context);
        for (std::size_t s = 0; s < src.size(); s++) {
            if (written >> s & 1) call(*src[s]->root->context);
        }
    }
    // Returns false if a view is in use (TensorUse).
    bool try_reset(const Patience &patience);
    void link_operands(const NodeSpec &spec);
    ContextLinks::List unlink_operands(const Tensor &node) noexcept;
    [[noreturn]] void refuse_circle(const char *op, const Context &other) const;
    std::byte *copy_data(const FileLeaf &leaf);
    const char *copy_name(const char *name);
    void check_not_retired(const char *what) const;
    Arena &data_arena() noexcept { return data_ ? *data_ : objects_; }
    Arena &plan_arena() noexcept { return objects_.fixed() ? data_arena() : plan_data_; }
    void *take(Arena &arena, std::size_t size, bool zeroed = false);
    bool give_back_idle_plans() noexcept;

    static const char library_mark;
    const char *const library_ = &library_mark;
    const std::uint64_t id_;
    const std::int64_t process_;  // that created it
    const bool no_alloc_;
    DeviceMemory &memory_;
    Ref<const RefCounted> keep_alive_;

    mutable std::mutex build_;  // guards everything below except run_lock_; ContextLinks says what it guards of links
    MemoryBudget budget_;
    Arena objects_;
    std::optional<Arena> data_;  // if data are not in host memory
    Arena plan_data_;            // unless everything is in a caller's buffer
    std::unique_ptr<PlanStore> own_plans_;
    std::atomic<PlanStore *> plans_{nullptr};  // likewise
    std::vector<Tensor *> unallocated_;
    // Owners of memory outside the arenas that leafs lie in, such as files, and what nodes need.
    std::vector<Ref<const RefCounted>> kept_;
    std::optional<Error> first_error_;
    bool frozen_ = false;
    bool is_retired_ = false;
    Context *next_retired_ = nullptr;
    std::vector<Ref<TensorWatcher>> watchers_;
    std::vector<Ref<const StandIn>> stand_ins_;  // for leafs whose originals were dropped
    std::size_t stand_ins_bytes_ = 0;            // their share of the budget

    Tensor *first_ = nullptr, *last_ = nullptr;
    std::size_t n_tensors_ = 0;

    ContextLinks links_;  // contexts that this context's nodes refer to

    // Guards the context's name and the bytes of its tensors' names. It is taken last, because messages are made under
    // the other locks.
    mutable std::mutex names_lock_;
    std::string name_;

    RunLock run_lock_;
    std::atomic<std::uint64_t> busy_timeout_{0};  // nanoseconds
    std::atomic<std::uint64_t> placed_nodes_{0}, changed_leafs_{0};
    std::atomic<std::int64_t> uses_{0};    // TensorUse
    std::atomic<bool> error_lost_{false};  // first_error_ could not be kept
};

// Keeps the context of a view, which owns its shape, from being reset while the view is in use and its memory belongs
// to another context, whose run lock is taken for it.
class TensorUse {
public:
    explicit TensorUse(const Tensor &t) noexcept : context_(context_of(t)) {
        if (context_) context_->uses_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~TensorUse() { end(context_); }
    TensorUse(const TensorUse &) = delete;
    TensorUse &operator=(const TensorUse &) = delete;
    // Leaves it in use until end(context_of(t)).
    void keep() noexcept { context_ = nullptr; }
    // The context whose use is counted, or null if the root's lock is enough.
    static Context *context_of(const Tensor &t) noexcept { return t.context != t.root->context ? t.context : nullptr; }
    static void end(Context *context) noexcept {
        if (context) context->uses_.fetch_sub(1, std::memory_order_acq_rel);
    }

private:
    Context *context_;
};

// Holds a context's run lock. Throws Error(busy), naming `what` and the context, if the lock is not free within the
// caller's patience or the context's own busy timeout.
class RunGuard {
public:
    RunGuard(Context &context, bool exclusive, const char *what, Patience patience);
    RunGuard(Context &context, bool exclusive, const char *what) : RunGuard(context, exclusive, what, Patience(context.busy_timeout())) {}
    // For a lock that try_lock() has taken.
    RunGuard(Context &context, bool exclusive, std::adopt_lock_t) noexcept : context_(&context), exclusive_(exclusive) {}
    static bool try_lock(Context &context, bool exclusive) noexcept {
        return exclusive ? context.run_lock().try_exclusive() : context.run_lock().try_shared();
    }
    [[noreturn]] static void refuse(const Context &context, const char *what, const Patience &patience, const char *use = "");
    ~RunGuard() { release(); }
    RunGuard(RunGuard &&other) noexcept : context_(other.context_), exclusive_(other.exclusive_) { other.context_ = nullptr; }
    RunGuard &operator=(RunGuard &&) = delete;
    // Leaves the lock taken; unmapping gives it back.
    void keep() noexcept { context_ = nullptr; }

private:
    void release() noexcept;
    Context *context_;
    bool exclusive_;
};

}  // namespace tensorlib::core
