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
// NAME-00001-of-00003.gguf, as the keys split.no, split.count and split.tensors.count say. Opening any part by its path
// opens all of them.
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
// The specification's limit for keys. Longer keys and names are refused.
constexpr std::size_t gguf_longest_name = 65535;

const char *gguf_type_name(GgufType type) noexcept;
// The bytes of a value; 0 for strings and arrays.
std::size_t gguf_type_size(GgufType type) noexcept;

// A value as stored in the file; everything in it has been checked.
struct GgufValue {
    GgufType type = GgufType::u8;
    GgufType element = GgufType::u8;  // of an array
    std::uint64_t count = 0;          // of an array
    std::span<const std::byte> encoded;
    std::string text;  // of a string: its characters, followed by a NUL
    // For an array of strings: where every string_step-th string begins in elements().
    std::vector<std::uint64_t> marks;

    static constexpr std::uint64_t string_step = 16;
    // For an array: the bytes after its type and count.
    std::span<const std::byte> elements() const noexcept { return encoded.subspan(12); }
    // The bytes without the value's own length or type.
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
    std::int32_t n_dims = 0;   // as the file says; 0 for a scalar
    std::uint64_t offset = 0;  // in its part's data
    std::uint32_t part = 0;
    const std::byte *data = nullptr;
};

class Gguf final : public RefCounted {
public:
    enum class Access { map, copy };
    // Opens all parts if the file is one of several. Throws Error(io), Error(format).
    static Ref<Gguf> open(const std::string &path, Access access);
    // Opens the file in these bytes, in place (map: they stay the caller's) or copied. Does not look for other parts.
    static Ref<Gguf> open_memory(const void *data, std::size_t size, Access access = Access::map);

    std::uint32_t version() const noexcept { return version_; }
    std::uint32_t alignment() const noexcept { return alignment_; }
    std::size_t n_parts() const noexcept { return parts_.size(); }

    std::span<const GgufKey> keys() const noexcept { return keys_; }
    std::span<const GgufTensor> tensors() const noexcept { return tensors_; }
    // The index of a key or a tensor.
    std::optional<std::size_t> find_key(std::string_view name) const noexcept;
    std::optional<std::size_t> find_tensor(std::string_view name) const noexcept;

    // A read-only leaf: over the file's bytes if kernels can use them in place, otherwise over a copy.
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
    // Indices sorted by name, because a file could provoke a hash table's worst case.
    std::vector<std::uint32_t> keys_by_name_, tensors_by_name_;
};

// Numbers, if the stored number can be represented exactly. `element` selects an element of an array; otherwise the
// value is not an array. The message of Error(type_mismatch) has the key's name.
std::uint64_t gguf_u64(const GgufKey &key, std::optional<std::uint64_t> element = {});
std::int64_t gguf_i64(const GgufKey &key, std::optional<std::uint64_t> element = {});
double gguf_f64(const GgufKey &key, std::optional<std::uint64_t> element = {});
bool gguf_bool(const GgufKey &key, std::optional<std::uint64_t> element = {});
std::string_view gguf_string(const GgufKey &key, std::optional<std::uint64_t> element = {});
// Copies n elements, starting with `first`, to `out`; they must be of that type.
void gguf_elements(const GgufKey &key, GgufType type, std::uint64_t first, std::uint64_t n, void *out);

}  // namespace tensorlib::core
