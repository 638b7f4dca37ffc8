#include "gguf_handles.hpp"

#include <vector>

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

namespace {

template <class T>
tl_status set(tl_gguf_writer *writer, const char *key, core::GgufType type, T value, tl_error *err) noexcept {
    constexpr const char *function = "gguf_writer_set";
    return guarded(err, [&] { unwrap(required(writer, function, "writer"))->set_scalar(required(key, function, "key"), type, &value); });
}

}  // namespace

void tl_gguf_writer_params_init(tl_gguf_writer_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_gguf_writer_create(const char *path, const tl_gguf_writer_params *params, tl_gguf_writer **out, tl_error *err) {
    constexpr const char *function = "gguf_writer_create";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        required(path, function, "path");
        core::GgufWriterParams wanted;
        if (params) {
            const tl_gguf_writer_params given = capi::read_params<24>(params, function);
            if (given.version != 0) wanted.version = given.version;
            if (given.alignment != 0) wanted.alignment = given.alignment;
            wanted.split_size = given.split_size;
        }
        *out = wrap(core::GgufWriter::create(path, wanted).release());
    });
}

tl_status tl_gguf_writer_set_u8(tl_gguf_writer *writer, const char *key, uint8_t value, tl_error *err) {
    return set(writer, key, core::GgufType::u8, value, err);
}

tl_status tl_gguf_writer_set_i8(tl_gguf_writer *writer, const char *key, int8_t value, tl_error *err) {
    return set(writer, key, core::GgufType::i8, value, err);
}

tl_status tl_gguf_writer_set_u16(tl_gguf_writer *writer, const char *key, uint16_t value, tl_error *err) {
    return set(writer, key, core::GgufType::u16, value, err);
}

tl_status tl_gguf_writer_set_i16(tl_gguf_writer *writer, const char *key, int16_t value, tl_error *err) {
    return set(writer, key, core::GgufType::i16, value, err);
}

tl_status tl_gguf_writer_set_u32(tl_gguf_writer *writer, const char *key, uint32_t value, tl_error *err) {
    return set(writer, key, core::GgufType::u32, value, err);
}

tl_status tl_gguf_writer_set_i32(tl_gguf_writer *writer, const char *key, int32_t value, tl_error *err) {
    return set(writer, key, core::GgufType::i32, value, err);
}

tl_status tl_gguf_writer_set_f32(tl_gguf_writer *writer, const char *key, float value, tl_error *err) {
    return set(writer, key, core::GgufType::f32, value, err);
}

tl_status tl_gguf_writer_set_bool(tl_gguf_writer *writer, const char *key, bool value, tl_error *err) {
    return set(writer, key, core::GgufType::boolean, static_cast<uint8_t>(value), err);
}

tl_status tl_gguf_writer_set_u64(tl_gguf_writer *writer, const char *key, uint64_t value, tl_error *err) {
    return set(writer, key, core::GgufType::u64, value, err);
}

tl_status tl_gguf_writer_set_i64(tl_gguf_writer *writer, const char *key, int64_t value, tl_error *err) {
    return set(writer, key, core::GgufType::i64, value, err);
}

tl_status tl_gguf_writer_set_f64(tl_gguf_writer *writer, const char *key, double value, tl_error *err) {
    return set(writer, key, core::GgufType::f64, value, err);
}

tl_status tl_gguf_writer_set_string(tl_gguf_writer *writer, const char *key, const char *text, size_t size, tl_error *err) {
    constexpr const char *function = "gguf_writer_set_string";
    return guarded(err, [&] {
        required(writer, function, "writer");
        required(key, function, "key");
        if (size != 0) required(text, function, "text");
        unwrap(writer)->set_string(key, size != 0 ? std::string_view(text, size) : std::string_view());
    });
}

tl_status tl_gguf_writer_set_array(tl_gguf_writer *writer, const char *key, tl_gguf_type type, const void *data, uint64_t n,
                                   tl_error *err) {
    constexpr const char *function = "gguf_writer_set_array";
    return guarded(err, [&] {
        required(writer, function, "writer");
        required(key, function, "key");
        unwrap(writer)->set_array(key, capi::gguf_type_of(function, type), data, n);
    });
}

tl_status tl_gguf_writer_set_string_array(tl_gguf_writer *writer, const char *key, const char *const *texts, const size_t *sizes, size_t n,
                                          tl_error *err) {
    constexpr const char *function = "gguf_writer_set_string_array";
    return guarded(err, [&] {
        required(writer, function, "writer");
        required(key, function, "key");
        if (n != 0) required(texts, function, "texts");
        std::vector<std::string_view> views;
        for (size_t i = 0; i < n; i++) {
            if (!texts[i] && !(sizes && sizes[i] == 0)) core::fail(Status::invalid_argument, "%s: text %zu is NULL", function, i);
            views.push_back(!sizes          ? std::string_view(texts[i])
                            : sizes[i] != 0 ? std::string_view(texts[i], sizes[i])
                                            : std::string_view());
        }
        unwrap(writer)->set_strings(key, views);
    });
}

tl_status tl_gguf_writer_copy_kv(tl_gguf_writer *writer, const tl_gguf *gguf, tl_error *err) {
    constexpr const char *function = "gguf_writer_copy_kv";
    return guarded(err, [&] {
        required(writer, function, "writer");
        unwrap(writer)->copy_keys(*unwrap(required(gguf, function, "gguf")));
    });
}

tl_status tl_gguf_writer_add_tensor(tl_gguf_writer *writer, tl_tensor *tensor, tl_error *err) {
    constexpr const char *function = "gguf_writer_add_tensor";
    return guarded(err, [&] {
        required(writer, function, "writer");
        unwrap(writer)->add_tensor(capi::required_tensor(tensor, function, "tensor"));
    });
}

tl_status tl_gguf_writer_declare_tensor(tl_gguf_writer *writer, const char *name, tl_type type, int32_t n_dims, const int64_t *ne,
                                        tl_error *err) {
    constexpr const char *function = "gguf_writer_declare_tensor";
    return guarded(err, [&] {
        required(writer, function, "writer");
        required(name, function, "name");
        const core::DTypeTraits &traits = core::traits_numbered(function, type);
        if (n_dims < 0 || n_dims > core::max_dims)
            core::fail(Status::invalid_argument, "%s: n_dims is %d: 0 to 4 are valid", function, n_dims);
        if (n_dims != 0) required(ne, function, "ne");
        unwrap(writer)->declare_tensor(name, traits.type, {ne, static_cast<std::size_t>(n_dims)});
    });
}

tl_status tl_gguf_writer_write_data(tl_gguf_writer *writer, const void *data, size_t size, tl_error *err) {
    return guarded(err, [&] { unwrap(required(writer, "gguf_writer_write_data", "writer"))->write_data(data, size); });
}

tl_status tl_gguf_writer_finish(tl_gguf_writer *writer, tl_error *err) {
    return guarded(err, [&] { unwrap(required(writer, "gguf_writer_finish", "writer"))->finish(); });
}

size_t tl_gguf_writer_n_parts(const tl_gguf_writer *writer) { return writer ? unwrap(writer)->n_parts() : 0; }

void tl_gguf_writer_free(tl_gguf_writer *writer) {
    if (writer) unwrap(writer)->drop_ref();
}
