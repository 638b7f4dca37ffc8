#include "api/dlpack.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "graph/data_lock.hpp"
#include "graph/overlap.hpp"
#include "ops/node_batch.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>

namespace tensorlib::core {

namespace {

// DLPack's structs. A caller may have compiled DLPack's own definitions, so these have other names, and their bytes are
// copied from and to the caller's objects.
struct Version {
    std::uint32_t major, minor;
};

struct PlacedOn {
    std::int32_t device, number;
};

struct ElementType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};

struct Elements {
    void *data;
    PlacedOn on;
    std::int32_t n_dims;
    ElementType type;
    std::int64_t *shape;    // slowest dimension first
    std::int64_t *strides;  // in elements; null if the elements are contiguous
    std::uint64_t byte_offset;
};

struct Managed {
    Version version;
    void *manager;
    void (*deleter)(DLManagedTensorVersioned *self);
    std::uint64_t flags;
    Elements elements;
};

static_assert(sizeof(void *) == 8);
static_assert(sizeof(ElementType) == 4 && sizeof(Elements) == 48 && sizeof(Managed) == 80);
static_assert(offsetof(Elements, on) == 8 && offsetof(Elements, n_dims) == 16 && offsetof(Elements, type) == 20);
static_assert(offsetof(Elements, shape) == 24 && offsetof(Elements, strides) == 32 && offsetof(Elements, byte_offset) == 40);
static_assert(offsetof(Managed, manager) == 8 && offsetof(Managed, deleter) == 16 && offsetof(Managed, flags) == 24);
static_assert(offsetof(Managed, elements) == 32);

// Every version of this major number has the structs above, and all that this file writes exists since 1.0.
constexpr std::uint32_t major_version = 1;

constexpr std::uint64_t flag_read_only = 1;

constexpr std::int32_t on_cpu = 1, on_cuda_host = 3;

constexpr std::uint8_t code_int = 0, code_uint = 1, code_float = 2, code_bfloat = 4, code_bool = 6;
constexpr std::array code_names{"int", "uint", "float", "handle", "bfloat", "complex", "bool"};

struct TypeRow {
    DType type;
    std::uint8_t code, bits;
};

// The types that both sides have.
constexpr TypeRow types[] = {
    {DType::f32, code_float, 32}, {DType::f16, code_float, 16},   {DType::bf16, code_bfloat, 16}, {DType::f64, code_float, 64},
    {DType::i8, code_int, 8},     {DType::i16, code_int, 16},     {DType::i32, code_int, 32},     {DType::i64, code_int, 64},
    {DType::u8, code_uint, 8},    {DType::boolean, code_bool, 8},
};

std::string valid_types() {
    std::string text;
    for (const TypeRow &row : types) text += (text.empty() ? "" : ", ") + std::string(traits(row.type).name);
    return text;
}

// "uint8", "float32 of 4 lanes"
std::string type_text(const ElementType &type) {
    const std::string bits = std::to_string(type.bits);
    const std::string text =
        type.code < code_names.size() ? code_names[type.code] + bits : "of code " + std::to_string(type.code) + ", " + bits + " bits";
    return type.lanes == 1 ? text : text + " of " + std::to_string(type.lanes) + " lanes";
}

// "[2, 3]", in DLPack's order
std::string list_text(const std::int64_t *values, std::int32_t n) {
    std::string text = "[";
    for (std::int32_t i = 0; i < n; i++) text += (i == 0 ? "" : ", ") + std::to_string(values[i]);
    return text + "]";
}

// What the deleter of an exported tensor frees.
struct Export {
    Managed managed;  // the exported tensor; its manager is this object
    std::array<std::int64_t, max_dims> shape, strides;
    Tensor *root;
    // The context that owns the memory. It is dropped as a link is, because a context may own memory that another one
    // exported, and so on: a long chain of them would overflow the stack.
    ContextLinks::List context;
};

Managed bytes_of(const DLManagedTensorVersioned *managed) noexcept {
    Managed bytes;
    std::memcpy(&bytes, managed, sizeof bytes);
    return bytes;
}

void delete_export(DLManagedTensorVersioned *self) {
    const std::unique_ptr<Export> exported(static_cast<Export *>(bytes_of(self).manager));
    exported->root->storage.exports.fetch_sub(1, std::memory_order_acq_rel);
    ContextLinks::release(std::move(exported->context));
}

}  // namespace

DLManagedTensorVersioned *to_dlpack(Tensor &t) {
    constexpr const char *what = "tensor_to_dlpack";
    Tensor &root = *t.root;
    const Layout &layout = t.layout;
    const auto *row = std::ranges::find(types, layout.type, &TypeRow::type);
    if (row == std::end(types)) {
        fail(Status::type_mismatch, "%s: %s: DLPack has no such type: %s are valid, and cast gives them", what, tensor_text(t).c_str(),
             valid_types().c_str());
    }
    DeviceMemory &memory = lock_context(t).memory();
    if (!memory.host_accessible()) {
        fail(Status::unavailable, "%s: %s lives on %s: data in host memory are valid; use tensor_read", what, tensor_text(t).c_str(),
             memory.device());
    }
    auto made = std::make_unique<Export>();
    made->context.push_back({Ref<Context>(root.context), nullptr, 0});
    made->root = &root;
    const DataLock lock(t, false, what);
    check_readable(what, t);
    if (is_dropped(t)) {
        fail(Status::unavailable, "%s: the original of %s was dropped: use tensor_read", what, tensor_text(root).c_str());
    }
    const auto n_dims = static_cast<std::size_t>(layout.n_dims);
    for (std::size_t d = 0; d < n_dims; d++) {
        made->shape[n_dims - 1 - d] = layout.ne[d];
        made->strides[n_dims - 1 - d] = static_cast<std::int64_t>(layout.nb[d] / traits(layout.type).size);
    }
    const bool is_read_only = read_only_text(root) || overlaps_itself(t) != Overlap::no;
    Managed &managed = made->managed;
    managed.version = {major_version, 0};
    managed.manager = made.get();
    managed.deleter = delete_export;
    managed.flags = is_read_only ? flag_read_only : 0;
    managed.elements = {layout.n_elements() == 0 ? nullptr : t.address(),
                        {on_cpu, 0},
                        layout.n_dims,
                        {row->code, row->bits, 1},
                        made->shape.data(),
                        made->strides.data(),
                        0};
    root.storage.exports.fetch_add(1, std::memory_order_acq_rel);
    return reinterpret_cast<DLManagedTensorVersioned *>(&made.release()->managed);
}

namespace {

constexpr const char *importing = "tensor_from_dlpack";

// Owns an imported tensor, unless it is given back to the caller.
class Imported final : public RefCounted {
public:
    explicit Imported(DLManagedTensorVersioned *managed, void (*deleter)(DLManagedTensorVersioned *)) noexcept
        : managed_(managed), deleter_(deleter) {}
    // DLPack allows tensors without a deleter.
    ~Imported() override {
        if (managed_ && deleter_) deleter_(managed_);
    }
    void give_back() noexcept { managed_ = nullptr; }

private:
    DLManagedTensorVersioned *managed_;
    void (*const deleter_)(DLManagedTensorVersioned *);
};

DType type_of(const ElementType &type) {
    for (const TypeRow &row : types) {
        if (row.code == type.code && row.bits == type.bits && type.lanes == 1) return row.type;
    }
    fail(Status::type_mismatch, "%s: the elements are %s: %s are valid", importing, type_text(type).c_str(), valid_types().c_str());
}

// The shape in our order, with contiguous strides.
Layout shape_of(const Elements &given, DType type) {
    if (given.n_dims < 0 || given.n_dims > max_dims) {
        fail(Status::invalid_argument, "%s: %d dimensions: 0 to 4 are valid", importing, given.n_dims);
    }
    if (given.n_dims != 0 && !given.shape) {
        fail(Status::invalid_argument, "%s: shape is NULL: %d values are valid", importing, given.n_dims);
    }
    Extents ne{1, 1, 1, 1};
    std::reverse_copy(given.shape, given.shape + given.n_dims, ne.begin());
    return contiguous_layout(importing, type, std::span(ne).first(static_cast<std::size_t>(std::max(given.n_dims, 1))));
}

// Puts DLPack's strides into a layout of shape_of(). Dimensions of one element keep theirs, because any value is valid there.
void set_strides(const Elements &given, Layout &layout) {
    if (!given.strides || layout.n_elements() == 0) return;
    for (std::size_t d = 0; d < static_cast<std::size_t>(given.n_dims); d++) {
        if (layout.ne[d] == 1) continue;
        const std::int64_t stride = given.strides[static_cast<std::size_t>(given.n_dims) - 1 - d];
        if (stride < 0) {
            fail(Status::invalid_argument,
                 "%s: the strides of shape %s are %s: 0 or more is valid; copy the elements in ascending order first", importing,
                 list_text(given.shape, given.n_dims).c_str(), list_text(given.strides, given.n_dims).c_str());
        }
        if (!checked_mul(static_cast<std::size_t>(stride), traits(layout.type).size, layout.nb[d])) layout.nb[d] = SIZE_MAX;
    }
}

// The first element's address, after checking that the elements lie in memory from there on.
std::byte *address_of(const Elements &given, const Layout &layout) {
    if (layout.n_elements() == 0) return nullptr;
    if (!given.data) {
        fail(Status::invalid_argument, "%s: data is NULL, and the shape %s has %lld elements: it may be NULL for none", importing,
             list_text(given.shape, given.n_dims).c_str(), static_cast<long long>(layout.n_elements()));
    }
    std::size_t size, first, end;
    if (!layout.end_from(0, size) || size > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) ||
        !checked_add(reinterpret_cast<std::uintptr_t>(given.data), given.byte_offset, first) || !checked_add(first, size, end)) {
        fail(Status::invalid_argument, "%s: the elements of shape %s%s at byte_offset %llu do not fit into an address space", importing,
             list_text(given.shape, given.n_dims).c_str(),
             given.strides ? (" with strides " + list_text(given.strides, given.n_dims)).c_str() : "",
             static_cast<unsigned long long>(given.byte_offset));
    }
    std::byte *address = static_cast<std::byte *>(given.data) + given.byte_offset;
    if (!aligned_for(layout, address)) {
        fail(Status::invalid_argument, "%s: the first element is at address %p, which is not aligned for %s: copy the tensor first",
             importing, static_cast<void *>(address), traits(layout.type).name);
    }
    return address;
}

// Which dimension of the layout becomes dimension 0 of a view, where elements are contiguous. A dimension of one element
// serves as well.
std::size_t contiguous_dim(const Elements &given, const Layout &layout) {
    for (std::size_t d = 0; d < max_dims; d++) {
        if (layout.ne[d] == 1 || layout.nb[d] == traits(layout.type).size) return d;
    }
    fail(Status::invalid_argument, "%s: shape %s has the strides %s: one of 4 dimensions must have the stride 1: copy the tensor first",
         importing, list_text(given.shape, given.n_dims).c_str(), list_text(given.strides, given.n_dims).c_str());
}

// Views of the memory, a leaf of one dimension, whose last one has the layout. `first`: contiguous_dim().
Tensor *view_with(NodeBatch &views, Tensor *memory, const Layout &layout, std::size_t first) {
    Extents ne{layout.ne[first]}, nb{}, axes{static_cast<std::int64_t>(first)};
    for (std::size_t d = 0, at = 1; d < max_dims; d++) {
        if (d == first) continue;
        ne[at] = layout.ne[d];
        nb[at] = static_cast<std::int64_t>(layout.nb[d]);
        axes[at++] = static_cast<std::int64_t>(d);
    }
    const auto n_dims = static_cast<std::size_t>(layout.n_dims), n = std::max(n_dims, first + 1);
    Tensor *t =
        views.make(Op::view, {memory}, {Attr::of_ints("ne", std::span(ne).first(n)), Attr::of_ints("nb", std::span(nb).subspan(1, n - 1))});
    if (first != 0) t = views.make(Op::permute, {t}, {Attr::of_ints("axes", axes)});
    // Without the dimension of one element that took the place of a contiguous one.
    if (n != n_dims) t = views.make(Op::reshape, {t}, {Attr::of_ints("ne", std::span(layout.ne).first(n_dims))});
    return t;
}

}  // namespace

Tensor *from_dlpack(Context &context, DLManagedTensorVersioned *managed) {
    if (!managed) fail(Status::invalid_argument, "%s: managed is NULL", importing);
    // Another major version may have another struct after the version.
    Version version;
    std::memcpy(&version, managed, sizeof version);
    if (version.major != major_version) {
        fail(Status::unsupported, "%s: the tensor has DLPack's version %u.%u: major version %u is valid", importing, version.major,
             version.minor, major_version);
    }
    const Managed given = bytes_of(managed);
    const Elements &elements = given.elements;
    if (elements.on.device != on_cpu && elements.on.device != on_cuda_host) {
        fail(Status::unavailable, "%s: the data lie on a device of DLPack's type %d: CPU (%d) and pinned host memory (%d) are valid",
             importing, elements.on.device, on_cpu, on_cuda_host);
    }
    Layout layout = shape_of(elements, type_of(elements.type));
    set_strides(elements, layout);
    std::byte *address = address_of(elements, layout);
    const bool is_contiguous = layout.contiguous();
    const std::size_t first = is_contiguous ? 0 : contiguous_dim(elements, layout);

    const auto owner = Ref<Imported>::adopt(new Imported(managed, given.deleter));
    ForeignLeaf leaf{layout, address, (given.flags & flag_read_only) != 0, owner.get(), nullptr};
    // An exported tensor of this library refers to its context, so circles can be found.
    if (given.deleter == delete_export) leaf.context = static_cast<Export *>(given.manager)->root->context;
    try {
        if (is_contiguous) return context.new_foreign_leaf(leaf);
        const auto n = static_cast<std::int64_t>(layout.span_bytes() / traits(layout.type).size);
        leaf.layout = contiguous_layout(importing, layout.type, {&n, 1});
        Tensor *memory = context.new_foreign_leaf(leaf);
        try {
            NodeBatch views(context);
            Tensor *t = view_with(views, memory, layout, first);
            views.keep();
            return t;
        } catch (...) {
            context.take_back(*memory, leaf);
            throw;
        }
    } catch (...) {
        owner->give_back();
        throw;
    }
}

}  // namespace tensorlib::core
