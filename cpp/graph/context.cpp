#include "graph/context.hpp"

#include "base/callback_scope.hpp"
#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/utf8.hpp"
#include "graph/constants.hpp"
#include "graph/write_order.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace tensorlib::core {

namespace {

// Numbers contexts in the order of their creation, from 1, for messages.
std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> id{0};
    return id.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

namespace {

void check_name(const char *what, const char *name) {
    const std::string_view text = name ? name : "";
    if (const std::size_t valid = valid_utf8(text); valid != text.size()) {
        fail(Status::invalid_argument, "%s: byte %zu of the name is no part of UTF-8: names are UTF-8", what, valid);
    }
}

}  // namespace

const char Context::library_mark = 0;

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
      process_(platform::process_id()),
      no_alloc_(params.no_alloc),
      memory_(params.memory ? *params.memory : host_memory()),
      keep_alive_(params.keep_alive),
      budget_{params.mem_limit, 0, 0},
      objects_(host_memory(), budget_, params.mem_buffer, params.mem_buffer_size),
      plan_data_(memory_, budget_),
      links_(id_) {
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
    // Backends come and go while constants stay.
    std::erase_if(watchers_, [](const auto &known) { return known->ended(); });
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
    check_not_retired("tensor_drop_original");
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
    leaf.storage.stand_in.store(stand_in.get(), std::memory_order_release);
    arena.give_back(leaf.storage.data.exchange(nullptr, std::memory_order_acq_rel), size);
    stand_ins_bytes_ += added;
    budget_.used += added;
    budget_.peak = std::max(budget_.peak, budget_.used);
    for (const auto &watcher : watchers_) watcher->stands_in(leaf, *stand_in);
}

void Context::retire() noexcept {
    static std::mutex retired_lock;
    static Context *retired = nullptr;  // never freed, and found by leak checkers
    std::lock_guard lock(build_);
    if (std::exchange(is_retired_, true)) return;
    add_ref();
    const std::lock_guard all(retired_lock);
    next_retired_ = std::exchange(retired, this);
}

void Context::check_not_retired(const char *what) const {
    if (!is_retired_) return;
    fail(Status::busy, "%s: an exchange of a group that has failed cannot be stopped, and may use the memory of %s: make another context",
         what, text().c_str());
}

void Context::check_open(const char *what) const {
    refuse_in_callback(what);
    if (!frozen_) return;
    fail(
        Status::invalid_argument,
        "%s: %s was frozen, so that nothing is built in it: build in another context, such as one for each request; its nodes may refer to "
        "tensors of this one",
        what, text().c_str());
}

void Context::freeze() {
    std::lock_guard lock(build_);
    frozen_ = true;
}

Tensor *Context::make_tensor(const Layout &layout, std::size_t n_src, std::size_t attr_bytes) {
    void *block = take(objects_, sizeof(Tensor) + n_src * sizeof(Tensor *) + attr_bytes);
    auto *t = new (block) Tensor;
    t->layout = layout;
    t->context = this;
    t->root = t;
    t->n_src = static_cast<std::uint16_t>(n_src);
    t->src = reinterpret_cast<Tensor **>(t + 1);
    return t;
}

// Under build_, after the last point of failure.
void Context::enlist(Tensor &t) noexcept {
    t.previous = last_;
    (last_ ? last_->next : first_) = &t;
    last_ = &t;
    n_tensors_++;
}

std::size_t Context::list(std::span<Tensor *> tensors) const noexcept {
    std::lock_guard lock(build_);
    Tensor *t = first_;
    for (std::size_t i = 0; i < tensors.size() && t; i++, t = t->next) tensors[i] = t;
    return n_tensors_;
}

Tensor *Context::find(const char *name) const noexcept {
    std::lock_guard lock(build_);
    std::lock_guard names(names_lock_);
    Tensor *t = first_;
    while (t && std::strcmp(t->name.load(std::memory_order_relaxed), name) != 0) t = t->next;
    return t;
}

// Only for leafs: nodes stay.
void Context::release_tensor(Tensor *t) noexcept { objects_.release(t, sizeof(Tensor)); }

Tensor *Context::new_leaf(const Layout &layout) {
    std::lock_guard lock(build_);
    check_open("tensor_new");
    const auto purpose = [&] { return format_text("tensor_new: a leaf %s in %s", layout_text(layout).c_str(), text().c_str()); };
    return for_purpose(purpose, [&] {
        Tensor *t = make_tensor(layout, 0);
        try {
            if (no_alloc_) {
                unallocated_.push_back(t);
            } else {
                t->storage.data.store(static_cast<std::byte *>(take(data_arena(), layout.nbytes(), true)), std::memory_order_release);
            }
        } catch (...) {
            release_tensor(t);
            throw;
        }
        enlist(*t);
        return t;
    });
}

// A block's size is a multiple of the alignment of its struct, and no struct has an alignment of more than 8.
bool aligned_for(const Layout &layout, const std::byte *data) noexcept {
    const std::size_t size = traits(layout.type).size;
    const std::size_t unit = std::min<std::size_t>(size & (~size + 1), 8);
    return reinterpret_cast<std::uintptr_t>(data) % unit == 0;
}

// Under build_. Writes the data of a leaf that no other thread has seen yet; no run lock could guard it.
std::byte *Context::copy_data(const FileLeaf &leaf) {
    const std::size_t size = leaf.layout.nbytes();
    auto *data = static_cast<std::byte *>(take(data_arena(), size));
    try {
        memory_.write(data, leaf.data, size);
    } catch (...) {
        data_arena().release_unwritten(data, size);
        throw;
    }
    return data;
}

Tensor *Context::new_file_leaf(const FileLeaf &leaf) {
    std::lock_guard lock(build_);
    check_open("gguf_tensor");
    const bool in_place = memory_.host_accessible() && aligned_for(leaf.layout, leaf.data);
    const bool known = keeps(*leaf.owner);
    const bool is_added = in_place && !known;
    if (is_added) kept_.emplace_back(leaf.owner);
    const auto purpose = [&] {
        return format_text("a file's leaf '%s' %s in %s", leaf.name, layout_text(leaf.layout).c_str(), text().c_str());
    };
    Tensor *t = nullptr;
    const char *name = nullptr;
    try {
        for_purpose(purpose, [&] {
            t = make_tensor(leaf.layout, 0);
            name = copy_name(leaf.name);
            // These bytes are never written: constant is set before another thread sees the tensor.
            t->storage.data.store(in_place ? const_cast<std::byte *>(leaf.data) : copy_data(leaf), std::memory_order_release);
        });
    } catch (...) {
        if (name && *name) objects_.release(const_cast<char *>(name), std::strlen(name) + 1);
        if (t) release_tensor(t);
        if (is_added) kept_.pop_back();  // no leaf needs it
        throw;
    }
    t->storage.in_file = true;
    if (in_place) t->storage.home = leaf.mapped ? Home::mapped_file : Home::file_in_memory;
    t->storage.constant.store(next_constant(), std::memory_order_release);
    t->name.store(name, std::memory_order_release);
    enlist(*t);
    return t;
}

bool Context::keeps(const RefCounted &object) const noexcept {
    return std::ranges::any_of(kept_, [&](const auto &one) { return one.get() == &object; });
}

Tensor *Context::new_foreign_leaf(const ForeignLeaf &leaf) {
    constexpr const char *what = "tensor_from_dlpack";
    // An empty leaf has an address too, because one without an address has no data yet.
    alignas(64) static std::byte nothing[64];
    std::lock_guard lock(build_);
    check_open(what);
    if (!memory_.host_accessible()) {
        fail(Status::unavailable, "%s: the data lie in host memory, %s on %s: a context in host memory is valid", what, text().c_str(),
             memory_.device());
    }
    if (leaf.context == this) {
        fail(Status::context_mismatch, "%s: the data are a tensor's of %s itself, which could never be freed: use that tensor", what,
             text().c_str());
    }
    kept_.emplace_back(leaf.owner);
    Tensor *t = nullptr;
    try {
        if (leaf.context && !links_.add(*leaf.context, leaf.context->links_)) refuse_circle(what, *leaf.context);
        const auto purpose = [&] { return format_text("%s: a leaf %s in %s", what, layout_text(leaf.layout).c_str(), text().c_str()); };
        try {
            t = for_purpose(purpose, [&] { return make_tensor(leaf.layout, 0); });
        } catch (...) {
            if (leaf.context) links_.remove(*leaf.context);  // never the last reference: the owner has one too
            throw;
        }
    } catch (...) {
        kept_.pop_back();  // likewise: the caller has one
        throw;
    }
    t->storage.home = Home::foreign;
    t->storage.read_only = leaf.read_only;
    t->storage.data.store(leaf.layout.n_elements() == 0 ? nothing : leaf.data, std::memory_order_release);
    enlist(*t);
    return t;
}

void Context::take_back(Tensor &t, const ForeignLeaf &leaf) noexcept {
    {
        std::lock_guard lock(build_);
        if (leaf.context) links_.remove(*leaf.context);
        // Its maker has a reference too, so this is never the last one.
        std::erase_if(kept_, [&](const auto &owner) { return owner.get() == leaf.owner; });
    }
    take_back(t);
}

Tensor *Context::new_node(const NodeSpec &spec) {
    std::lock_guard lock(build_);
    check_open(op_name(spec.op));
    link_operands(spec);
    Tensor *t = nullptr;
    const bool keeps_more = spec.kept && !keeps(*spec.kept);
    try {
        if (keeps_more) kept_.push_back(spec.kept);
        const auto purpose = [&] {
            std::string operands;
            for (const Tensor *source : spec.src) {
                if (source) operands += (operands.empty() ? "" : ", ") + tensor_text(*source);
            }
            return format_text("%s: the node of %s in %s", op_name(spec.op), operands.c_str(), text().c_str());
        };
        t = for_purpose(purpose, [&] { return make_tensor(spec.layout, spec.src.size(), spec.attr_bytes); });
    } catch (...) {
        // A link that no node needs would forbid the opposite one forever. The operands' owners have references, so
        // none ends here.
        for_each_reference(spec.src, spec.view_of, spec.written, [&](Context &other) { links_.remove(other); });
        if (keeps_more && !kept_.empty() && kept_.back().get() == spec.kept.get()) kept_.pop_back();
        throw;
    }
    t->op = spec.op;
    std::copy(spec.src.begin(), spec.src.end(), t->src);
    for (const Tensor *source : t->sources()) t->state.gradient_number = std::max(t->state.gradient_number, source->state.gradient_number);
    if (spec.attr_bytes != 0) {
        void *attrs = t->src + spec.src.size();
        std::memcpy(attrs, spec.attr_storage.data(), spec.attr_bytes);
        t->attrs = attrs;
        t->attr_bytes = static_cast<std::uint16_t>(spec.attr_bytes);
    }
    if (spec.view_of) {
        t->is_view = true;
        t->written = spec.written;
        t->root = spec.view_of->root;
        t->root_offset = spec.view_of->root_offset + spec.view_offset;
    }
    t->is_collective = spec.is_collective;
    if (t->written || t->is_collective) t->state.write_number = next_write();
    enlist(*t);
    return t;
}

void Context::take_back(Tensor &node) noexcept {
    ContextLinks::List unneeded;
    {
        std::lock_guard lock(build_);
        unneeded = unlink_operands(node);
        (node.previous ? node.previous->next : first_) = node.next;
        (node.next ? node.next->previous : last_) = node.previous;
        n_tensors_--;
        objects_.release(&node, sizeof(Tensor) + node.n_src * sizeof(Tensor *) + node.attr_bytes);
    }
    ContextLinks::release(std::move(unneeded));
}

void Context::set_name(Tensor &t, const char *name) {
    check_name("tensor_set_name", name);
    std::lock_guard lock(build_);
    const char *copy = name ? copy_name(name) : "", *old;
    {
        std::lock_guard names(names_lock_);
        old = t.name.exchange(copy, std::memory_order_acq_rel);
    }
    if (*old) objects_.release(const_cast<char *>(old), std::strlen(old) + 1);
}

std::string Context::name_of(const Tensor &t) const {
    std::lock_guard names(names_lock_);
    return t.name.load(std::memory_order_acquire);
}

void Context::set_name(const char *name) {
    check_name("context_set_name", name);
    std::string copy(name ? name : "");
    std::lock_guard names(names_lock_);
    name_.swap(copy);
}

std::string Context::name() const {
    std::lock_guard names(names_lock_);
    return name_;
}

std::string Context::text() const {
    const std::string own = name();
    return own.empty() ? format_text("context %llu", static_cast<unsigned long long>(id_))
                       : format_text("context %llu '%s'", static_cast<unsigned long long>(id_), own.c_str());
}

// Under build_.
const char *Context::copy_name(const char *name) {
    if (!*name) return "";
    const std::size_t size = std::strlen(name) + 1;
    auto *copy = static_cast<char *>(take(objects_, size));
    std::memcpy(copy, name, size);
    return copy;
}

void Context::allocate() {
    std::lock_guard lock(build_);
    if (!no_alloc_) fail(Status::invalid_argument, "context_allocate: the context was not made with no_alloc: its leafs have data already");
    std::vector<void *> blocks;
    blocks.reserve(unallocated_.size());
    try {
        for (const Tensor *t : unallocated_) {
            const auto purpose = [&] { return format_text("context_allocate: leaf %s in %s", tensor_text(*t).c_str(), text().c_str()); };
            blocks.push_back(for_purpose(purpose, [&] { return take(data_arena(), t->layout.nbytes(), true); }));
        }
    } catch (...) {
        for (std::size_t i = 0; i < blocks.size(); i++) data_arena().release_unwritten(blocks[i], unallocated_[i]->layout.nbytes());
        throw;
    }
    for (std::size_t i = 0; i < blocks.size(); i++) {
        unallocated_[i]->storage.data.store(static_cast<std::byte *>(blocks[i]), std::memory_order_release);
    }
    unallocated_.clear();
}

void Context::reset() {
    Patience patience(busy_timeout());
    if (patience.until([&] { return try_reset(patience); })) return;
    fail(Status::busy, "context_reset: a view in %s of another context's tensor is mapped, or being read or written%s", text().c_str(),
         patience.text().c_str());
}

bool Context::try_reset(const Patience &patience) {
    // Owners run other libraries' code when they are dropped, so they outlast the run lock too.
    std::vector<Ref<const RefCounted>> owners;
    RunGuard run(*this, true, "context_reset", patience);
    ContextLinks::List released;               // memory may be freed with the last reference, so this is released
                                               // outside our locks
    std::vector<Ref<TensorWatcher>> watchers;  // likewise
    std::vector<Ref<const StandIn>> stand_ins;
    {
        std::lock_guard lock(build_);
        check_not_retired("context_reset");
        // One reference is the handle that the caller used.
        if (ref_count() > 1) {
            fail(Status::busy, "context_reset: a graph, another context or an exported tensor still refers to %s", text().c_str());
        }
        if (uses_.load(std::memory_order_acquire) != 0) return false;
        for (const auto &watcher : watchers_) watcher->tensors_gone(*this);
        watchers.swap(watchers_);
        // Plans stay, unless they lie in memory that is the caller's.
        if (objects_.fixed()) give_back_idle_plans();
        objects_.reset();
        if (data_) data_->reset();
        first_ = last_ = nullptr;
        n_tensors_ = 0;
        unallocated_.clear();
        owners.swap(kept_);
        stand_ins.swap(stand_ins_);
        budget_.used -= std::exchange(stand_ins_bytes_, 0);
        first_error_.reset();
        error_lost_ = false;
        frozen_ = false;
        released = links_.clear();
    }
    ContextLinks::release(std::move(released));
    return true;
}

void *Context::allocate_object(std::size_t size) {
    std::lock_guard lock(build_);
    return for_purpose([&] { return text(); }, [&] { return take(objects_, size); });
}

void *Context::allocate_data(std::size_t size) {
    std::lock_guard lock(build_);
    return for_purpose([&] { return text(); }, [&] { return take(data_arena(), size); });
}

// In a forked child, a thread that the child does not have may hold a lock. What cannot be freed is left then; the
// child's memory is its own copy.
std::unique_lock<std::mutex> Context::lock_to_release(std::mutex &mutex) const noexcept {
    std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock.owns_lock() && process_ == platform::process_id()) lock.lock();
    return lock;
}

void Context::release_object(void *block, std::size_t size) noexcept {
    if (const auto lock = lock_to_release(build_)) objects_.release(block, size);
}

PlanStore &Context::plans(std::unique_ptr<PlanStore> (*make)(Context &)) {
    if (PlanStore *made = plans()) return *made;
    std::lock_guard lock(build_);
    if (!own_plans_) {
        own_plans_ = make(*this);
        plans_.store(own_plans_.get(), std::memory_order_release);
    }
    return *own_plans_;
}

void *Context::allocate_plan_data(std::size_t size) {
    std::lock_guard lock(build_);
    return for_purpose([&] { return text(); }, [&] { return take(plan_arena(), size); });
}

void Context::release_plan_data(void *block, std::size_t size) noexcept {
    if (const auto lock = lock_to_release(build_)) plan_arena().release(block, size);
}

void Context::count_plan(std::size_t bytes) {
    std::lock_guard lock(build_);
    const auto fits = [&] { return budget_.limit == 0 || (bytes <= budget_.limit && budget_.used <= budget_.limit - bytes); };
    if (!fits() && (!give_back_idle_plans() || !fits())) {
        fail(Status::out_of_memory, "%s: %zu bytes asked, %zu used, mem_limit is %zu", text().c_str(), bytes, budget_.used, budget_.limit);
    }
    budget_.used += bytes;
    budget_.peak = std::max(budget_.peak, budget_.used);
}

void Context::uncount_plan(std::size_t bytes) noexcept {
    if (const auto lock = lock_to_release(build_)) budget_.used -= bytes;
}

// Under build_. Drops idle plans before it fails.
void *Context::take(Arena &arena, std::size_t size, bool zeroed) {
    try {
        return arena.allocate(size, zeroed);
    } catch (const Error &error) {
        if (error.code() != Status::out_of_memory || !give_back_idle_plans()) throw;
    }
    return arena.allocate(size, zeroed);
}

// Under build_. Returns whether there were any.
bool Context::give_back_idle_plans() noexcept {
    if (!own_plans_) return false;
    bool any = false;
    for (;;) {
        const PlanStore::Idle idle = own_plans_->take_idle();
        if (!idle.any()) return any;
        any = true;
        for (const auto &block : idle.blocks) {
            if (block.begin) plan_arena().give_back(block.begin, block.size);
        }
        budget_.used -= idle.counted;
    }
}

void Context::keep_error(Status code, const char *message) noexcept {
    try {
        std::lock_guard lock(build_);
        if (!first_error_) first_error_.emplace(code, message);
    } catch (...) {
        error_lost_ = true;  // no memory for the message
    }
}

std::optional<Error> Context::take_error() {
    std::lock_guard lock(build_);
    std::optional<Error> error = std::move(first_error_);
    first_error_.reset();
    // Short enough for std::string to store without allocating.
    if (error_lost_.exchange(false) && !error) error.emplace(Status::out_of_memory, "out of memory");
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

RunGuard::RunGuard(Context &context, bool exclusive, const char *what, Patience patience) : context_(nullptr), exclusive_(exclusive) {
    refuse_in_callback(what);
    if (!patience.until([&] { return try_lock(context, exclusive); })) refuse(context, what, patience);
    context_ = &context;
}

void RunGuard::refuse(const Context &context, const char *what, const Patience &patience, const char *use) {
    fail(Status::busy, "%s: %s is in use by a running graph, a mapping or another call%s%s", what, context.text().c_str(),
         patience.text().c_str(), use);
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
