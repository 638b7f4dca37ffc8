// GGUF files: metadata and tensors in one file, versions 2 and 3, little-endian.
//
//   "GGUF" | version u32 | tensors u64 | keys u64
//   | for each key:    text | type u32 | value |
//   | for each tensor: name | n_dims u32 | ne u64 x n_dims | type u32 | offset u64 |
//   | padding to the alignment | data, each tensor at its offset from here, a multiple of the alignment |
//
//   text: length u64 | bytes, no NUL         array: element type u32 | count u64 | elements
//
// The alignment is the key general.alignment (u32, a power of two), or 32. A file may be one of several parts,
// NAME-00001-of-00003.gguf, by the keys split.no, split.count and split.tensors.count; opened by its path, any part stands
// for all.
#pragma once

#include "graph/context.hpp"
#include "io/file_bytes.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib::core {

enum class GgufType : std::int32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };
constexpr int gguf_type_count = 13;
constexpr std::uint32_t gguf_default_alignment = 32;
// Longer keys and names are refused; the specification's limit for keys.
constexpr std::size_t gguf_longest_name = 65535;

const char *gguf_type_name(GgufType type) noexcept;
// Bytes of a value; 0 for strings and arrays.
std::size_t gguf_type_size(GgufType type) noexcept;

// A value as it lies in the file; everything in it was checked.
struct GgufValue {
    GgufType type = GgufType::u8;
    GgufType element = GgufType::u8;  // of an array
    std::uint64_t count = 0;          // of an array
    std::span<const std::byte> encoded;
    std::string text;  // of a string: its characters, with a NUL behind them
    // Of an array of strings: where every string_step-th one begins in elements().
    std::vector<std::uint64_t> marks;

    static constexpr std::uint64_t string_step = 16;
    // Of an array: behind its type and count.
    std::span<const std::byte> elements() const noexcept { return encoded.subspan(12); }
    // What is not the value's own length or type.
    std::span<const std::byte> payload() const noexcept {
        return encoded.subspan(type == GgufType::array ? 12 : type == GgufType::string ? 8 : 0);
    }
};

struct GgufKey {
    std::string name;
    GgufValue value;
};

struct GgufTensor {
    std::string name;
    Layout layout;
    std::int32_t n_dims = 0;   // as the file says: 0 for a scalar
    std::uint64_t offset = 0;  // in its part's data
    std::uint32_t part = 0;
    const std::byte *data = nullptr;
};

class Gguf final : public RefCounted {
public:
    enum class Access { map, copy };
    // All parts, where the file is one of several. Throws Error(io), Error(format).
    static Ref<Gguf> open(const std::string &path, Access access);
    // What these bytes hold, where they are (map: they stay the caller's) or copied; parts are not looked for.
    static Ref<Gguf> open_memory(const void *data, std::size_t size, Access access = Access::map);

    std::uint32_t version() const noexcept { return version_; }
    std::uint32_t alignment() const noexcept { return alignment_; }
    std::size_t n_parts() const noexcept { return parts_.size(); }

    std::span<const GgufKey> keys() const noexcept { return keys_; }
    std::span<const GgufTensor> tensors() const noexcept { return tensors_; }
    // Their indices.
    std::optional<std::size_t> find_key(std::string_view name) const noexcept;
    std::optional<std::size_t> find_tensor(std::string_view name) const noexcept;

    // A read-only leaf: over the file's bytes where kernels can use them there, else over a copy.
    Tensor *new_leaf(Context &context, std::string_view name) const;

private:
    friend class GgufReader;
    Gguf() = default;
    ~Gguf() override = default;

    void open_other_parts(std::size_t own, std::size_t count, Access access);
    void index();

    std::uint32_t version_ = 0, alignment_ = gguf_default_alignment;
    std::vector<Ref<FileBytes>> parts_;
    std::vector<GgufKey> keys_;
    std::vector<GgufTensor> tensors_;
    // Indices in the order of names: a hash table's worst case could be provoked by a file.
    std::vector<std::uint32_t> keys_by_name_, tensors_by_name_;
};

// Numbers, where the stored one is such a number exactly; `value` is one that is no array, or one element of it. `name`
// is for the message: Error(type_mismatch).
std::uint64_t gguf_u64(const GgufKey &key, std::optional<std::uint64_t> element = {});
std::int64_t gguf_i64(const GgufKey &key, std::optional<std::uint64_t> element = {});
double gguf_f64(const GgufKey &key, std::optional<std::uint64_t> element = {});
bool gguf_bool(const GgufKey &key, std::optional<std::uint64_t> element = {});
std::string_view gguf_string(const GgufKey &key, std::optional<std::uint64_t> element = {});
// n elements from `first` on, which must be of that type, into `out`.
void gguf_elements(const GgufKey &key, GgufType type, std::uint64_t first, std::uint64_t n, void *out);

}  // namespace tensorlib::core
