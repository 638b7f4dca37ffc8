#include "gguf_handles.hpp"

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

namespace {

template <class Open>
tl_status open(const char *function, tl_gguf **out, tl_error *err, Open open_file) noexcept {
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        *out = wrap(open_file().release());
    });
}

// Returns NULL for an invalid index.
const core::GgufKey *find_key(const tl_gguf *gguf, size_t index) noexcept {
    return gguf && index < unwrap(gguf)->keys().size() ? &unwrap(gguf)->keys()[index] : nullptr;
}

const core::GgufTensor *find_tensor(const tl_gguf *gguf, size_t index) noexcept {
    return gguf && index < unwrap(gguf)->tensors().size() ? &unwrap(gguf)->tensors()[index] : nullptr;
}

const core::GgufKey &key_at(const char *function, const tl_gguf *gguf, size_t index) {
    required(gguf, function, "gguf");
    const core::GgufKey *key = find_key(gguf, index);
    if (!key) core::fail(Status::invalid_argument, "%s: index is %zu: there are %zu keys", function, index, unwrap(gguf)->keys().size());
    return *key;
}

template <class T, class Read>
tl_status get(const char *function, const tl_gguf *gguf, size_t index, T *out, tl_error *err, Read read) noexcept {
    return guarded(err, [&] {
        const core::GgufKey &key = key_at(function, gguf, index);
        *required(out, function, "out") = read(key);
    });
}

}  // namespace

tl_status tl_gguf_open(const char *path, tl_gguf **out, tl_error *err) {
    return open("gguf_open", out, err, [&] { return core::Gguf::open(required(path, "gguf_open", "path"), core::Gguf::Access::map); });
}

tl_status tl_gguf_open_copy(const char *path, tl_gguf **out, tl_error *err) {
    return open("gguf_open_copy", out, err,
                [&] { return core::Gguf::open(required(path, "gguf_open_copy", "path"), core::Gguf::Access::copy); });
}

tl_status tl_gguf_open_memory(const void *data, size_t size, tl_gguf **out, tl_error *err) {
    return open("gguf_open_memory", out, err, [&] { return core::Gguf::open_memory(data, size); });
}

tl_status tl_gguf_open_memory_copy(const void *data, size_t size, tl_gguf **out, tl_error *err) {
    return open("gguf_open_memory_copy", out, err, [&] { return core::Gguf::open_memory(data, size, core::Gguf::Access::copy); });
}

void tl_gguf_free(tl_gguf *gguf) {
    if (gguf) unwrap(gguf)->drop_ref();
}

uint32_t tl_gguf_version(const tl_gguf *gguf) { return gguf ? unwrap(gguf)->version() : 0; }

size_t tl_gguf_alignment(const tl_gguf *gguf) { return gguf ? unwrap(gguf)->alignment() : 0; }

size_t tl_gguf_n_parts(const tl_gguf *gguf) { return gguf ? unwrap(gguf)->n_parts() : 0; }

size_t tl_gguf_n_kv(const tl_gguf *gguf) { return gguf ? unwrap(gguf)->keys().size() : 0; }

const char *tl_gguf_key(const tl_gguf *gguf, size_t index) {
    const core::GgufKey *key = find_key(gguf, index);
    return key ? key->name.c_str() : nullptr;
}

int64_t tl_gguf_find(const tl_gguf *gguf, const char *key) {
    const auto found = gguf && key ? unwrap(gguf)->find_key(key) : std::nullopt;
    return found ? static_cast<int64_t>(*found) : -1;
}

tl_gguf_type tl_gguf_kv_type(const tl_gguf *gguf, size_t index) {
    const core::GgufKey *key = find_key(gguf, index);
    return key ? static_cast<tl_gguf_type>(key->value.type) : -1;
}

tl_gguf_type tl_gguf_array_type(const tl_gguf *gguf, size_t index) {
    const core::GgufKey *key = find_key(gguf, index);
    return key && key->value.type == core::GgufType::array ? static_cast<tl_gguf_type>(key->value.element) : -1;
}

uint64_t tl_gguf_array_n(const tl_gguf *gguf, size_t index) {
    const core::GgufKey *key = find_key(gguf, index);
    return key ? key->value.count : 0;
}

tl_status tl_gguf_get_u64(const tl_gguf *gguf, size_t index, uint64_t *out, tl_error *err) {
    return get("gguf_get_u64", gguf, index, out, err, [](const auto &key) { return core::gguf_u64(key); });
}

tl_status tl_gguf_get_i64(const tl_gguf *gguf, size_t index, int64_t *out, tl_error *err) {
    return get("gguf_get_i64", gguf, index, out, err, [](const auto &key) { return core::gguf_i64(key); });
}

tl_status tl_gguf_get_f64(const tl_gguf *gguf, size_t index, double *out, tl_error *err) {
    return get("gguf_get_f64", gguf, index, out, err, [](const auto &key) { return core::gguf_f64(key); });
}

tl_status tl_gguf_get_bool(const tl_gguf *gguf, size_t index, bool *out, tl_error *err) {
    return get("gguf_get_bool", gguf, index, out, err, [](const auto &key) { return core::gguf_bool(key); });
}

tl_status tl_gguf_get_string(const tl_gguf *gguf, size_t index, const char **out, size_t *size, tl_error *err) {
    return get("gguf_get_string", gguf, index, out, err, [&](const auto &key) {
        const std::string_view text = core::gguf_string(key);
        if (size) *size = text.size();
        return text.data();
    });
}

tl_status tl_gguf_array_u64(const tl_gguf *gguf, size_t index, uint64_t element, uint64_t *out, tl_error *err) {
    return get("gguf_array_u64", gguf, index, out, err, [&](const auto &key) { return core::gguf_u64(key, element); });
}

tl_status tl_gguf_array_i64(const tl_gguf *gguf, size_t index, uint64_t element, int64_t *out, tl_error *err) {
    return get("gguf_array_i64", gguf, index, out, err, [&](const auto &key) { return core::gguf_i64(key, element); });
}

tl_status tl_gguf_array_f64(const tl_gguf *gguf, size_t index, uint64_t element, double *out, tl_error *err) {
    return get("gguf_array_f64", gguf, index, out, err, [&](const auto &key) { return core::gguf_f64(key, element); });
}

tl_status tl_gguf_array_bool(const tl_gguf *gguf, size_t index, uint64_t element, bool *out, tl_error *err) {
    return get("gguf_array_bool", gguf, index, out, err, [&](const auto &key) { return core::gguf_bool(key, element); });
}

tl_status tl_gguf_array_string(const tl_gguf *gguf, size_t index, uint64_t element, const char **out, size_t *size, tl_error *err) {
    return get("gguf_array_string", gguf, index, out, err, [&](const auto &key) {
        required(size, "gguf_array_string", "size");
        const std::string_view text = core::gguf_string(key, element);
        *size = text.size();
        return text.data();
    });
}

tl_status tl_gguf_array_read(const tl_gguf *gguf, size_t index, tl_gguf_type type, uint64_t first, uint64_t n, void *out, tl_error *err) {
    constexpr const char *function = "gguf_array_read";
    return guarded(err, [&] {
        const core::GgufKey &key = key_at(function, gguf, index);
        core::gguf_elements(key, capi::gguf_type_of(function, type), first, n, out);
    });
}

const void *tl_gguf_kv_data(const tl_gguf *gguf, size_t index, size_t *size) {
    const core::GgufKey *key = find_key(gguf, index);
    if (size) *size = 0;
    if (!key) return nullptr;
    const auto bytes = key->value.payload();
    if (size) *size = bytes.size();
    return bytes.data();
}

size_t tl_gguf_n_tensors(const tl_gguf *gguf) { return gguf ? unwrap(gguf)->tensors().size() : 0; }

const char *tl_gguf_tensor_name(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? tensor->name.c_str() : nullptr;
}

int64_t tl_gguf_tensor_find(const tl_gguf *gguf, const char *name) {
    const auto found = gguf && name ? unwrap(gguf)->find_tensor(name) : std::nullopt;
    return found ? static_cast<int64_t>(*found) : -1;
}

tl_type tl_gguf_tensor_type(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? static_cast<tl_type>(tensor->layout.type) : -1;
}

int32_t tl_gguf_tensor_n_dims(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? tensor->n_dims : 0;
}

int64_t tl_gguf_tensor_ne(const tl_gguf *gguf, size_t index, int32_t dim) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor && dim >= 0 && dim < core::max_dims ? tensor->layout.ne[static_cast<std::size_t>(dim)] : 0;
}

size_t tl_gguf_tensor_nbytes(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? tensor->layout.nbytes() : 0;
}

uint64_t tl_gguf_tensor_offset(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? tensor->offset : 0;
}

const void *tl_gguf_tensor_data(const tl_gguf *gguf, size_t index) {
    const core::GgufTensor *tensor = find_tensor(gguf, index);
    return tensor ? tensor->data : nullptr;
}

tl_tensor *tl_gguf_tensor(tl_gguf *gguf, tl_context *ctx, const char *name) {
    constexpr const char *function = "gguf_tensor";
    return capi::constructed(ctx, [&](core::Context &context) {
        required(gguf, function, "gguf");
        return unwrap(gguf)->new_leaf(context, required(name, function, "name"));
    });
}
