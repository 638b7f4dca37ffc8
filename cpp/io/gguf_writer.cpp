#include "io/gguf_writer.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/utf8.hpp"
#include "graph/tensor_data.hpp"

#include <algorithm>

namespace tensorlib::core {

namespace {

constexpr const char *what = "gguf_writer";
// Bytes of a tensor that are read at a time.
constexpr std::size_t piece_size = std::size_t{1} << 20;
// The specification's limit for tensors' names; readers with less room refuse the file.
constexpr std::size_t longest_tensor_name = 64;

using Unsigned = unsigned long long;

template <class T>
void append(std::string &to, T value) {
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
}

void append_text(std::string &to, std::string_view text) {
    append<std::uint64_t>(to, text.size());
    to += text;
}

template <class T>
std::string encoded(GgufType type, T value) {
    std::string bytes;
    append(bytes, static_cast<std::uint32_t>(type));
    append(bytes, value);
    return bytes;
}

std::string array_head(GgufType element, std::uint64_t n) {
    std::string bytes = encoded(GgufType::array, static_cast<std::uint32_t>(element));
    append(bytes, n);
    return bytes;
}

void check_name(const char *kind, std::string_view name, std::size_t longest) {
    if (name.empty()) fail(Status::invalid_argument, "%s: a %s is empty: 1 to %zu bytes are valid", what, kind, longest);
    if (name.size() > longest)
        fail(Status::invalid_argument, "%s: %s '%s' has %zu bytes: 1 to %zu are valid", what, kind, shown(name).c_str(), name.size(),
             longest);
    if (name.find('\0') != name.npos || valid_utf8(name) != name.size())
        fail(Status::invalid_argument, "%s: a %s has a NUL or is no UTF-8 at byte %zu", what, kind,
             std::min(name.find('\0'), valid_utf8(name)));
}

// The keys that the writer itself sets.
bool is_own_key(std::string_view key) { return key == "general.alignment" || key.starts_with("split."); }

void check_bools(std::string_view key, const void *data, std::uint64_t n) {
    const auto *values = static_cast<const std::uint8_t *>(data);
    for (std::uint64_t i = 0; i < n; i++) {
        if (values[i] > 1)
            fail(Status::invalid_argument, "%s: bool %llu of '%s' is %u: 0 and 1 are valid", what, static_cast<Unsigned>(i),
                 shown(key).c_str(), values[i]);
    }
}

}  // namespace

Ref<GgufWriter> GgufWriter::create(const std::string &path, const GgufWriterParams &params) {
    if (path.empty()) fail(Status::invalid_argument, "%s: the path is empty", what);
    if (params.version != 2 && params.version != 3)
        fail(Status::invalid_argument, "%s: version %u: 2 and 3 are valid", what, params.version);
    if (params.alignment < 8 || (params.alignment & (params.alignment - 1)) != 0)
        fail(Status::invalid_argument, "%s: alignment %u: a power of two from 8 on is valid", what, params.alignment);
    auto writer = Ref<GgufWriter>::adopt(new GgufWriter(path, params));
    // Creates the file now, so that a missing folder is reported before anything is computed.
    writer->first_file_ = platform::NewFile::create(what, path);
    return writer;
}

void GgufWriter::check_open(const char *function) const {
    if (state_ == State::finished) fail(Status::invalid_argument, "%s: %s: %s is finished", what, function, path_.c_str());
    if (state_ == State::failed) fail(Status::invalid_argument, "%s: %s: writing %s failed before", what, function, path_.c_str());
}

void GgufWriter::check_declaring(const char *function) const {
    check_open(function);
    if (state_ == State::writing)
        fail(Status::invalid_argument, "%s: %s: data were written already: keys and tensors come before them", what, function);
}

void GgufWriter::add_key(std::string_view key, std::string value) {
    check_declaring("a key");
    check_name("key", key, gguf_longest_name);
    if (is_own_key(key)) {
        fail(Status::invalid_argument, "%s: key '%s' is the writer's own: its parameters alignment and split_size decide", what,
             shown(key).c_str());
    }
    if (key_names_.contains(key)) fail(Status::invalid_argument, "%s: key '%s' is set already", what, shown(key).c_str());
    keys_.push_back({std::string(key), std::move(value)});
    try {
        key_names_.emplace(key);
    } catch (...) {
        keys_.pop_back();
        throw;
    }
}

void GgufWriter::set_scalar(std::string_view key, GgufType type, const void *value) {
    std::string bytes;
    append(bytes, static_cast<std::uint32_t>(type));
    if (type == GgufType::boolean) check_bools(key, value, 1);
    bytes.append(static_cast<const char *>(value), gguf_type_size(type));
    add_key(key, std::move(bytes));
}

void GgufWriter::set_string(std::string_view key, std::string_view text) {
    std::string bytes = encoded(GgufType::string, static_cast<std::uint64_t>(text.size()));
    add_key(key, bytes.append(text));
}

void GgufWriter::set_array(std::string_view key, GgufType element, const void *data, std::uint64_t n) {
    const std::size_t size = gguf_type_size(element);
    if (size == 0)
        fail(Status::invalid_argument, "%s: '%s': an array of %s: numbers and bools are valid here", what, shown(key).c_str(),
             gguf_type_name(element));
    std::size_t bytes_size;
    if (!checked_mul(n, size, bytes_size) || bytes_size > std::string().max_size() / 2)
        fail(Status::invalid_argument, "%s: '%s': %llu elements are too many", what, shown(key).c_str(), static_cast<Unsigned>(n));
    if (!data && n != 0) fail(Status::invalid_argument, "%s: '%s': data is NULL", what, shown(key).c_str());
    if (element == GgufType::boolean) check_bools(key, data, n);
    std::string bytes = array_head(element, n);
    if (n != 0) bytes.append(static_cast<const char *>(data), bytes_size);
    add_key(key, std::move(bytes));
}

void GgufWriter::set_strings(std::string_view key, std::span<const std::string_view> texts) {
    std::string bytes = array_head(GgufType::string, texts.size());
    for (const std::string_view text : texts) append_text(bytes, text);
    add_key(key, std::move(bytes));
}

void GgufWriter::copy_keys(const Gguf &file) {
    check_declaring("copy_kv");
    for (const GgufKey &key : file.keys()) {
        if (is_own_key(key.name) || key_names_.contains(key.name)) continue;
        std::string bytes;
        append(bytes, static_cast<std::uint32_t>(key.value.type));
        bytes.append(reinterpret_cast<const char *>(key.value.encoded.data()), key.value.encoded.size());
        add_key(key.name, std::move(bytes));
    }
}

void GgufWriter::declare(Declared tensor) {
    check_declaring("a tensor");
    check_name("tensor's name", tensor.name, longest_tensor_name);
    if (!in_gguf(tensor.layout.type)) {
        fail(Status::invalid_argument, "%s: tensor '%s' is %s, which is no type of GGUF: cast it to i8 or another one", what,
             tensor.name.c_str(), traits(tensor.layout.type).name);
    }
    if (tensor_names_.contains(tensor.name))
        fail(Status::invalid_argument, "%s: tensor '%s' is declared already", what, tensor.name.c_str());
    tensors_.push_back(std::move(tensor));
    try {
        tensor_names_.insert(tensors_.back().name);
    } catch (...) {
        tensors_.pop_back();
        throw;
    }
}

void GgufWriter::add_tensor(Tensor &tensor) {
    const Layout &l = tensor.layout;
    const auto n_dims = static_cast<std::size_t>(l.n_dims);
    declare({tensor.context->name_of(tensor), contiguous_layout(what, l.type, {l.ne.data(), n_dims}), l.n_dims,
             Ref<Context>(tensor.context), &tensor});
}

void GgufWriter::declare_tensor(std::string_view name, DType type, std::span<const std::int64_t> ne) {
    const std::int64_t one = 1;
    const auto extents = ne.empty() ? std::span<const std::int64_t>(&one, 1) : ne;
    declare({std::string(name), contiguous_layout(what, type, extents), static_cast<std::int32_t>(ne.size()), {}});
}

// --- heads and parts ---

std::size_t GgufWriter::tensor_info_size(const Declared &tensor) const noexcept {
    return 8 + tensor.name.size() + 4 + 8 * static_cast<std::size_t>(tensor.n_dims) + 4 + 8;
}

std::string GgufWriter::head_of(std::size_t index, std::size_t n_parts) const {
    const Part &part = parts_[index];
    std::vector<Key> keys;
    if (index == 0) keys = keys_;
    if (params_.alignment != gguf_default_alignment) keys.push_back({"general.alignment", encoded(GgufType::u32, params_.alignment)});
    if (n_parts > 1) {
        keys.push_back({"split.no", encoded(GgufType::u16, static_cast<std::uint16_t>(index))});
        keys.push_back({"split.count", encoded(GgufType::u16, static_cast<std::uint16_t>(n_parts))});
        keys.push_back({"split.tensors.count", encoded(GgufType::i32, static_cast<std::int32_t>(tensors_.size()))});
    }
    std::string head = "GGUF";
    append(head, params_.version);
    append<std::uint64_t>(head, part.end - part.first);
    append<std::uint64_t>(head, keys.size());
    for (const Key &key : keys) {
        append_text(head, key.name);
        head += key.encoded;
    }
    for (std::size_t i = part.first; i < part.end; i++) {
        const Declared &tensor = tensors_[i];
        append_text(head, tensor.name);
        append(head, tensor.n_dims);
        for (std::int32_t d = 0; d < tensor.n_dims; d++) append(head, tensor.layout.ne[static_cast<std::size_t>(d)]);
        append(head, static_cast<std::int32_t>(tensor.layout.type));
        append(head, tensor.offset);
    }
    head.resize(round_up(head.size(), params_.alignment), '\0');
    return head;
}

// Adds tensors to a part as long as it stays below split_size; each part has at least one.
void GgufWriter::plan_parts() {
    // The sizes of the heads without the tensors' infos, as if there were several parts, which is not known yet.
    parts_.resize(2);
    const std::uint64_t first_head = head_of(0, 2).size(), other_head = head_of(1, 2).size();
    std::uint64_t head = first_head, data = 0;
    parts_.clear();
    parts_.push_back({0, 0, path_, nullptr});
    for (std::size_t i = 0; i < tensors_.size(); i++) {
        Declared &tensor = tensors_[i];
        const std::uint64_t info = tensor_info_size(tensor), size = round_up(tensor.layout.nbytes(), params_.alignment);
        Part &part = parts_.back();
        const bool full = params_.split_size != 0 && head + info + data + size + params_.alignment > params_.split_size;
        if (full && part.end > part.first) {
            parts_.push_back({i, i, {}, nullptr});
            head = other_head;
            data = 0;
        }
        tensor.offset = data;
        head += info;
        data += size;
        parts_.back().end = i + 1;
    }
    if (parts_.size() == 1) return;
    if (parts_.size() > 65535)
        fail(Status::invalid_argument, "%s: %zu parts: up to 65535 are valid; choose a larger split_size", what, parts_.size());
    const std::string stem = path_.ends_with(".gguf") ? path_.substr(0, path_.size() - 5) : path_;
    for (std::size_t i = 0; i < parts_.size(); i++) parts_[i].path = stem + format_text("-%05zu-of-%05zu.gguf", i + 1, parts_.size());
}

// --- data ---

// After a failed write, nothing can continue. After other failures (a tensor is not computed yet, a context is busy),
// the call may be repeated.
template <class F>
void GgufWriter::guard(F f) {
    const auto give_up = [&]() noexcept {
        state_ = State::failed;
        parts_.clear();
    };
    try {
        f();
    } catch (const Error &error) {
        if (error.code() == Status::io) give_up();
        throw;
    } catch (...) {
        give_up();
        throw;
    }
}

void GgufWriter::begin_data() {
    if (state_ == State::writing) return;
    plan_parts();
    state_ = State::writing;
    parts_[0].file = std::move(first_file_);
    const std::string head = head_of(0, parts_.size());
    parts_[0].file->write(head.data(), head.size());
}

void GgufWriter::put(const void *data, std::size_t size) {
    parts_[part_].file->write(data, size);
    in_tensor_ += size;
}

// Pads, and moves to the next tensor, in the next part if this one is complete.
void GgufWriter::end_tensor() {
    const std::string padding(round_up(in_tensor_, params_.alignment) - in_tensor_, '\0');
    parts_[part_].file->write(padding.data(), padding.size());
    in_tensor_ = 0;
    tensor_++;
    if (tensor_ < parts_[part_].end || part_ + 1 == parts_.size()) return;
    parts_[part_].file->close();
    part_++;
    parts_[part_].file = platform::NewFile::create(what, parts_[part_].path);
    const std::string head = head_of(part_, parts_.size());
    parts_[part_].file->write(head.data(), head.size());
}

void GgufWriter::write_source(const Declared &tensor) {
    const std::size_t size = tensor.layout.nbytes();
    std::vector<std::byte> piece(std::min(size, piece_size));
    while (in_tensor_ < size) {
        const std::size_t n = std::min<std::size_t>(piece.size(), size - in_tensor_);
        read_bytes(*tensor.source, piece.data(), in_tensor_, n);
        put(piece.data(), n);
    }
}

// Writes tensors in memory, up to the first one whose data come from the caller; empty ones are complete.
void GgufWriter::write_sources() {
    while (tensor_ < tensors_.size()) {
        const Declared &tensor = tensors_[tensor_];
        if (tensor.source) {
            write_source(tensor);
        } else if (tensor.layout.nbytes() != 0) {
            return;
        }
        end_tensor();
    }
}

void GgufWriter::write_data(const void *data, std::size_t size) {
    check_open("write_data");
    if (!data && size != 0) fail(Status::invalid_argument, "%s: write_data: data is NULL: %zu bytes are valid", what, size);
    guard([&] {
        begin_data();
        write_sources();
    });
    if (size == 0) return;
    if (tensor_ == tensors_.size())
        fail(Status::invalid_argument, "%s: write_data: %zu bytes more than the declared tensors have", what, size);
    const Declared &tensor = tensors_[tensor_];
    const std::uint64_t left = tensor.layout.nbytes() - in_tensor_;
    if (size > left) {
        fail(Status::invalid_argument, "%s: write_data: %zu bytes for tensor '%s', which lacks %llu: pieces end with their tensor", what,
             size, tensor.name.c_str(), static_cast<Unsigned>(left));
    }
    guard([&] {
        put(data, size);
        if (size == left) end_tensor();
    });
}

void GgufWriter::finish() {
    check_open("finish");
    guard([&] {
        begin_data();
        write_sources();
        if (tensor_ < tensors_.size()) {
            const Declared &tensor = tensors_[tensor_];
            fail(Status::invalid_argument, "%s: finish: tensor '%s' lacks %llu of its %zu bytes", what, tensor.name.c_str(),
                 static_cast<Unsigned>(tensor.layout.nbytes() - in_tensor_), tensor.layout.nbytes());
        }
        parts_.back().file->close();
        // The first part comes last: a program that waits for it finds all others.
        std::vector<platform::Publication> files;
        for (const Part &part : parts_) files.push_back({part.file.get(), &part.path});
        platform::publish_together(what, files);
    });
    tensors_.clear();  // and their contexts
    state_ = State::finished;
}

}  // namespace tensorlib::core
