#include "api/handles.hpp"
#include "base/utf8.hpp"
#include "io/gguf_writer.hpp"

#include <tensorlib/gguf.hpp>

namespace tensorlib {

namespace {

const core::GgufKey &key_of(const core::Gguf &file, std::string_view key) {
    const auto found = file.find_key(key);
    if (!found) core::fail(Status::invalid_argument, "gguf: no key '%s' among %zu", core::shown(key).c_str(), file.keys().size());
    return file.keys()[*found];
}

const core::GgufValue &array_of(const core::Gguf &file, std::string_view key) {
    const core::GgufValue &value = key_of(file, key).value;
    if (value.type != core::GgufType::array)
        core::fail(Status::type_mismatch, "gguf: '%s' is %s: an array is valid", core::shown(key).c_str(),
                   core::gguf_type_name(value.type));
    return value;
}

}  // namespace

Gguf Gguf::open(const std::string &path) { return Gguf(share(core::Gguf::open(path, core::Gguf::Access::map))); }
Gguf Gguf::open_copy(const std::string &path) { return Gguf(share(core::Gguf::open(path, core::Gguf::Access::copy))); }
Gguf Gguf::open_memory(std::span<const std::byte> bytes) {
    return Gguf(share(core::Gguf::open_memory(bytes.data(), bytes.size(), core::Gguf::Access::map)));
}

std::uint32_t Gguf::version() const { return impl_->version(); }
std::size_t Gguf::alignment() const { return impl_->alignment(); }
std::size_t Gguf::n_parts() const { return impl_->n_parts(); }

std::vector<std::string> Gguf::keys() const {
    std::vector<std::string> names;
    for (const core::GgufKey &key : impl_->keys()) names.push_back(key.name);
    return names;
}

bool Gguf::has(std::string_view key) const { return impl_->find_key(key).has_value(); }
GgufType Gguf::type(std::string_view key) const { return static_cast<GgufType>(key_of(*impl_, key).value.type); }
std::uint64_t Gguf::u64(std::string_view key) const { return core::gguf_u64(key_of(*impl_, key)); }
std::int64_t Gguf::i64(std::string_view key) const { return core::gguf_i64(key_of(*impl_, key)); }
double Gguf::f64(std::string_view key) const { return core::gguf_f64(key_of(*impl_, key)); }
bool Gguf::boolean(std::string_view key) const { return core::gguf_bool(key_of(*impl_, key)); }
std::string Gguf::string(std::string_view key) const { return std::string(core::gguf_string(key_of(*impl_, key))); }

GgufType Gguf::element_type(std::string_view key) const { return static_cast<GgufType>(array_of(*impl_, key).element); }
std::size_t Gguf::size(std::string_view key) const { return static_cast<std::size_t>(array_of(*impl_, key).count); }

std::vector<std::string> Gguf::strings(std::string_view key) const {
    std::vector<std::string> texts;
    const core::GgufKey &array = key_of(*impl_, key);
    for (std::uint64_t i = 0; i < size(key); i++) texts.emplace_back(core::gguf_string(array, i));
    return texts;
}

void Gguf::read_array(std::string_view key, GgufType type, void *out, std::size_t n) const {
    core::gguf_elements(key_of(*impl_, key), static_cast<core::GgufType>(type), 0, n, out);
}

std::vector<Gguf::TensorInfo> Gguf::tensors() const {
    std::vector<TensorInfo> infos;
    for (const core::GgufTensor &tensor : impl_->tensors()) {
        const core::Layout &l = tensor.layout;
        infos.push_back({tensor.name, static_cast<Type>(l.type), Shape(l.ne.begin(), l.ne.begin() + tensor.n_dims), l.nbytes(),
                         std::span(tensor.data, l.nbytes())});
    }
    return infos;
}

Tensor Gguf::tensor(const Context &context, std::string_view name) const {
    return Tensor(context.impl_, impl_->new_leaf(*context.impl_, name));
}

GgufWriter::GgufWriter(const std::string &path, const GgufWriterOptions &options)
    : impl_(share(core::GgufWriter::create(path, {options.version, options.alignment, options.split_size}))) {}

void GgufWriter::set(std::string_view key, std::string_view text) { impl_->set_string(key, text); }
void GgufWriter::set(std::string_view key, std::span<const std::string> texts) {
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    impl_->set_strings(key, views);
}
void GgufWriter::set_scalar(std::string_view key, GgufType type, const void *value) {
    impl_->set_scalar(key, static_cast<core::GgufType>(type), value);
}
void GgufWriter::set_array(std::string_view key, GgufType type, const void *data, std::size_t n) {
    impl_->set_array(key, static_cast<core::GgufType>(type), data, n);
}
void GgufWriter::copy_keys(const Gguf &file) { impl_->copy_keys(*file.impl_); }
void GgufWriter::add(const Tensor &tensor) { impl_->add_tensor(tensor.get()); }
void GgufWriter::declare(std::string_view name, Type type, const Shape &shape) { impl_->declare_tensor(name, dtype_of(type), shape); }
void GgufWriter::write(std::span<const std::byte> data) { impl_->write_data(data.data(), data.size()); }
void GgufWriter::finish() { impl_->finish(); }

}  // namespace tensorlib
