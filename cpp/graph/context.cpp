#include "graph/context.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace tensorlib::core {

namespace {

// Names contexts in messages: 1, 2, ... in the order of their making.
std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> id{0};
    return id.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

std::string tensor_text(const Tensor &t) {
    const char *name = t.name.load(std::memory_order_acquire);
    return *name ? format_text("'%s' %s", name, layout_text(t.layout).c_str()) : layout_text(t.layout);
}

const char *constant_text(const Tensor &root) noexcept {
    return root.in_file ? "lies in a GGUF file and is read-only (copy it into a leaf of your own)" : "is promised constant";
}

std::string sources_text(const Tensor &node) {
    std::string text;
    for (const Tensor *source : node.sources()) text += (text.empty() ? "" : ", ") + tensor_text(*source);
    return text;
}

Ref<Context> Context::create(const ContextParams &params) {
    if (params.mem_buffer && params.mem_buffer_size == 0) {
        fail(Status::invalid_argument, "context: mem_buffer is set, but mem_buffer_size is 0: its size in bytes is valid");
    }
    if (!params.mem_buffer && params.mem_buffer_size != 0) {
        fail(Status::invalid_argument, "context: mem_buffer_size is %zu, but mem_buffer is NULL", params.mem_buffer_size);
    }
    return Ref<Context>::adopt(new Context(params));
}

Context::Context(const ContextParams &params)
    : id_(next_id()),
      no_alloc_(params.no_alloc),
      memory_(params.memory ? *params.memory : host_memory()),
      keep_alive_(params.keep_alive),
      budget_{params.mem_limit, 0, 0},
      objects_(host_memory(), budget_, params.mem_buffer, params.mem_buffer_size) {
    if (!memory_.host_accessible()) data_.emplace(memory_, budget_);
}

Context::~Context() {
    for (const auto &watcher : watchers_) watcher->tensors_gone(*this);
}

void Context::watch(TensorWatcher &watcher) {
    std::lock_guard lock(build_);
    for (const auto &known : watchers_) {
        if (known.get() == &watcher) return;
    }
    watchers_.emplace_back(&watcher);
}

Ref<const StandIn> Context::copy_of(const Tensor &leaf) const {
    std::lock_guard lock(build_);
    Ref<const StandIn> any;
    for (const auto &watcher : watchers_) {
        Ref<const StandIn> copy = watcher->copy_of(leaf);
        if (!copy) continue;
        if (!copy->refusal()) return copy;
        any = std::move(copy);
    }
    return any;
}

void Context::replace_data(Tensor &leaf, const Ref<const StandIn> &stand_in) {
    std::lock_guard lock(build_);
    Arena &arena = data_arena();
    if (arena.fixed()) {
        fail(Status::unsupported, "tensor_drop_original: %s lies in the buffer that its context was made over, which is not the engine's",
             tensor_text(leaf).c_str());
    }
    const std::size_t size = leaf.layout.nbytes(), added = stand_in->bytes(), others = budget_.used - arena.counted(size);
    if (budget_.limit != 0 && (added > budget_.limit || others > budget_.limit - added)) {
        fail(Status::out_of_memory,
             "tensor_drop_original: the packed copy of %s has %zu bytes, the original %zu; %zu are used, mem_limit is %zu",
             tensor_text(leaf).c_str(), added, size, budget_.used, budget_.limit);
    }
    stand_ins_.push_back(stand_in);
    leaf.stand_in.store(stand_in.get(), std::memory_order_release);
    arena.give_back(leaf.data.exchange(nullptr, std::memory_order_acq_rel), size);
    stand_ins_bytes_ += added;
    budget_.used += added;
    budget_.peak = std::max(budget_.peak, budget_.used);
    for (const auto &watcher : watchers_) watcher->stands_in(leaf, *stand_in);
}

Tensor *Context::make_tensor(const Layout &layout, std::size_t n_src) {
    void *block = objects_.allocate(sizeof(Tensor) + n_src * sizeof(Tensor *));
    auto *t = new (block) Tensor;
    t->layout = layout;
    t->context = this;
    t->root = t;
    t->n_src = static_cast<std::uint16_t>(n_src);
    t->src = reinterpret_cast<Tensor **>(t + 1);
    return t;
}

Tensor *Context::new_leaf(const Layout &layout) {
    std::lock_guard lock(build_);
    Tensor *t = make_tensor(layout, 0);
    if (no_alloc_) {
        unallocated_.push_back(t);
    } else {
        t->data.store(static_cast<std::byte *>(data_arena().allocate(layout.nbytes(), true)), std::memory_order_release);
    }
    return t;
}

namespace {

// Whether kernels may read blocks where these bytes lie. A block's size is a multiple of the alignment that its struct
// asks for, and no struct asks for more than 8.
bool aligned_for(const Layout &layout, const std::byte *data) {
    const std::size_t size = traits(layout.type).size;
    const std::size_t unit = std::min<std::size_t>(size & (~size + 1), 8);
    return reinterpret_cast<std::uintptr_t>(data) % unit == 0;
}

}  // namespace

// Under build_. The data of a leaf that nobody has seen yet: written here, as no run lock could guard it.
std::byte *Context::copy_data(const FileLeaf &leaf) {
    const std::size_t size = leaf.layout.nbytes();
    auto *data = static_cast<std::byte *>(data_arena().allocate(size));
    try {
        memory_.write(data, leaf.data, size);
    } catch (...) {
        data_arena().release(data, size);
        throw;
    }
    return data;
}

Tensor *Context::new_file_leaf(const FileLeaf &leaf) {
    std::lock_guard lock(build_);
    const bool in_place = memory_.host_accessible() && aligned_for(leaf.layout, leaf.data);
    const bool known = std::any_of(files_.begin(), files_.end(), [&](const auto &file) { return file.get() == leaf.owner; });
    if (in_place && !known) files_.emplace_back(leaf.owner);
    Tensor *t = make_tensor(leaf.layout, 0);
    const char *name = nullptr;
    try {
        name = copy_name(leaf.name);
        // Bytes that are never written: constant is set before anyone sees the tensor.
        t->data.store(in_place ? const_cast<std::byte *>(leaf.data) : copy_data(leaf), std::memory_order_release);
    } catch (...) {
        if (name && *name) objects_.release(const_cast<char *>(name), std::strlen(name) + 1);
        objects_.release(t, sizeof(Tensor));
        throw;
    }
    t->in_file = true;
    if (in_place) t->home = leaf.mapped ? Home::mapped_file : Home::file_in_memory;
    t->constant.store(true, std::memory_order_release);
    t->name.store(name, std::memory_order_release);
    return t;
}

Tensor *Context::new_node(const NodeSpec &spec) {
    std::lock_guard lock(build_);
    for (Tensor *source : spec.src) {
        if (source->context != this && source->context != last_link_) link(*source->context, op_name(spec.op));
    }
    // A view of a view may reach a root in a third context, which this one must keep alive as well.
    if (spec.view_of) {
        Context &owner = *spec.view_of->root->context;
        if (&owner != this && &owner != last_link_) link(owner, op_name(spec.op));
    }
    Tensor *t = make_tensor(spec.layout, spec.src.size());
    t->op = spec.op;
    t->exact = spec.exact;
    std::copy(spec.src.begin(), spec.src.end(), t->src);
    if (spec.view_of) {
        t->is_view = true;
        t->writes = spec.writes;
        t->root = spec.view_of->root;
        t->root_offset = spec.view_of->root_offset + spec.view_offset;
    }
    return t;
}

void Context::set_name(Tensor &t, const char *name) {
    if (!name || !*name) {
        t.name.store("", std::memory_order_release);
        return;
    }
    std::lock_guard lock(build_);
    t.name.store(copy_name(name), std::memory_order_release);
}

// Under build_.
const char *Context::copy_name(const char *name) {
    if (!*name) return "";
    const std::size_t size = std::strlen(name) + 1;
    auto *copy = static_cast<char *>(objects_.allocate(size));
    std::memcpy(copy, name, size);
    return copy;
}

// Adds other to the contexts that this one keeps alive. The link is in place before the search for a way back, so
// of two threads that link two contexts to each other at the same time at least one sees the circle.
void Context::link(Context &other, const char *op) {
    if (&other.memory_ != &memory_) {
        fail(Status::context_mismatch, "%s: context %llu lives on %s, context %llu on %s: operands must be on one device", op,
             static_cast<unsigned long long>(id_), memory_.device(), static_cast<unsigned long long>(other.id_), other.memory_.device());
    }
    {
        std::lock_guard lock(links_lock_);
        for (const auto &known : links_) {
            if (known.get() == &other) {
                last_link_ = &other;
                return;
            }
        }
        links_.emplace_back(&other);
    }
    if (other.refers_to(*this)) {
        Ref<Context> removed;  // released after the lock
        std::lock_guard lock(links_lock_);
        const auto at = std::find_if(links_.begin(), links_.end(), [&](const auto &l) { return l.get() == &other; });
        removed = std::move(*at);
        links_.erase(at);
        fail(Status::context_mismatch,
             "%s: context %llu cannot refer to context %llu, which refers to it already: neither could ever be freed", op,
             static_cast<unsigned long long>(id_), static_cast<unsigned long long>(other.id_));
    }
    last_link_ = &other;
}

std::vector<Ref<Context>> Context::linked() const {
    std::lock_guard lock(links_lock_);
    return links_;
}

bool Context::refers_to(const Context &target) const {
    std::vector<Ref<Context>> to_visit = linked();
    std::vector<const Context *> seen;
    while (!to_visit.empty()) {
        const Ref<Context> next = std::move(to_visit.back());
        to_visit.pop_back();
        if (next.get() == &target) return true;
        if (std::find(seen.begin(), seen.end(), next.get()) != seen.end()) continue;
        seen.push_back(next.get());
        for (auto &further : next->linked()) to_visit.push_back(std::move(further));
    }
    return false;
}

void Context::allocate() {
    std::lock_guard lock(build_);
    if (!no_alloc_) fail(Status::invalid_argument, "context_allocate: the context was not made with no_alloc: its leafs have data already");
    std::vector<void *> blocks;
    blocks.reserve(unallocated_.size());
    try {
        for (const Tensor *t : unallocated_) blocks.push_back(data_arena().allocate(t->layout.nbytes(), true));
    } catch (...) {
        for (std::size_t i = 0; i < blocks.size(); i++) data_arena().release(blocks[i], unallocated_[i]->layout.nbytes());
        throw;
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        unallocated_[i]->data.store(static_cast<std::byte *>(blocks[i]), std::memory_order_release);
    }
    unallocated_.clear();
}

void Context::reset() {
    RunGuard run(*this, true, "context_reset");
    std::vector<Ref<Context>> released;        // their memory may go with the last reference: outside of our locks
    std::vector<Ref<const RefCounted>> files;  // the same
    std::vector<Ref<TensorWatcher>> watchers;  // the same
    std::vector<Ref<const StandIn>> stand_ins;
    {
        std::lock_guard lock(build_);
        // One reference is the handle through which we were called.
        if (ref_count() > 1) {
            fail(Status::busy, "context_reset: a graph or another context still refers to context %llu",
                 static_cast<unsigned long long>(id_));
        }
        for (const auto &watcher : watchers_) watcher->tensors_gone(*this);
        watchers.swap(watchers_);
        objects_.reset();
        if (data_) data_->reset();
        unallocated_.clear();
        files.swap(files_);
        stand_ins.swap(stand_ins_);
        budget_.used -= std::exchange(stand_ins_bytes_, 0);
        first_error_.reset();
        last_link_ = nullptr;
        std::lock_guard links(links_lock_);
        released.swap(links_);
    }
}

void *Context::allocate_object(std::size_t size) {
    std::lock_guard lock(build_);
    return objects_.allocate(size);
}

void Context::release_object(void *block, std::size_t size) noexcept {
    std::lock_guard lock(build_);
    objects_.release(block, size);
}

void *Context::allocate_data(std::size_t size) {
    std::lock_guard lock(build_);
    return data_arena().allocate(size);
}

void Context::release_data(void *block, std::size_t size) noexcept {
    std::lock_guard lock(build_);
    data_arena().release(block, size);
}

void Context::keep_error(const Error &error) noexcept {
    try {
        std::lock_guard lock(build_);
        if (!first_error_) first_error_ = error;
    } catch (...) {
        // No memory for the message: the constructor's NULL still says that something failed.
    }
}

std::optional<Error> Context::take_error() {
    std::lock_guard lock(build_);
    std::optional<Error> error = std::move(first_error_);
    first_error_.reset();
    return error;
}

std::size_t Context::used_memory() const {
    std::lock_guard lock(build_);
    return budget_.used;
}

std::size_t Context::peak_memory() const {
    std::lock_guard lock(build_);
    return budget_.peak;
}

RunGuard::RunGuard(Context &context, bool exclusive, const char *what) : context_(&context), exclusive_(exclusive) {
    if (exclusive ? context.run_lock().try_exclusive() : context.run_lock().try_shared()) return;
    context_ = nullptr;
    fail(Status::busy, "%s: context %llu is in use by a running graph, a mapping or another call", what,
         static_cast<unsigned long long>(context.id()));
}

void RunGuard::release() noexcept {
    if (!context_) return;
    if (exclusive_) {
        context_->run_lock().unlock_exclusive();
    } else {
        context_->run_lock().unlock_shared();
    }
}

}  // namespace tensorlib::core
