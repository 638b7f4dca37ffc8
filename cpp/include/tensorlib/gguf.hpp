// GGUF files for C++: metadata and tensors, read and written.
//
//     tl::Gguf file = tl::Gguf::open("model.gguf");                 // mapped; open_copy() reads
//     std::string architecture = file.string("general.architecture");
//     tl::Context ctx;
//     tl::Tensor weights = file.tensor(ctx, "output.weight");       // lies in the file, read-only
//
//     tl::GgufWriter writer("copy.gguf");
//     writer.copy_keys(file);
//     writer.add(weights);
//     writer.finish();                                              // the file appears here
//
// Ownership: handles are cheap to copy; copies share the file. A context keeps the bytes that its tensors lie in.
//
// Errors: every function that can fail throws tensorlib::Error: io with the path and the system's reason, format with
// the byte at which a file breaks the format, invalid_argument for a missing key, type_mismatch for a value of another
// type.
#pragma once

#include <tensorlib/tensorlib.hpp>

#include <type_traits>

namespace tensorlib {

namespace core {
class Gguf;
class GgufWriter;
}  // namespace core

// Types of metadata values; the numbers are the format's.
enum class GgufType : std::int32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

// The value type of a C++ number or bool.
template <class T>
constexpr GgufType gguf_type_of() {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "no value type holds this");
    if constexpr (std::is_same_v<T, bool>)
        return GgufType::boolean;
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? GgufType::f32 : GgufType::f64;
    else if constexpr (sizeof(T) == 8)
        return std::is_signed_v<T> ? GgufType::i64 : GgufType::u64;
    else
        return static_cast<GgufType>((sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : 4) + (std::is_signed_v<T> ? 1 : 0));
}

// An opened and checked file. If it is one of several parts, NAME-00001-of-00003.gguf, this is all of them.
class Gguf {
public:
    // Maps the file, which must not be changed while this object or a tensor over it is in use.
    static Gguf open(const std::string &path);
    static Gguf open_copy(const std::string &path);
    // The bytes stay the caller's. They must exist until the last handle and the last context with tensors over them
    // are freed.
    static Gguf open_memory(std::span<const std::byte> bytes);

    std::uint32_t version() const;
    std::size_t alignment() const;
    std::size_t n_parts() const;

    std::vector<std::string> keys() const;
    bool has(std::string_view key) const;
    GgufType type(std::string_view key) const;
    // Integers of any type if they fit; floats, and integers that a double holds exactly.
    std::uint64_t u64(std::string_view key) const;
    std::int64_t i64(std::string_view key) const;
    double f64(std::string_view key) const;
    bool boolean(std::string_view key) const;
    std::string string(std::string_view key) const;
    // Arrays.
    GgufType element_type(std::string_view key) const;
    std::size_t size(std::string_view key) const;
    std::vector<std::string> strings(std::string_view key) const;
    // T must be the elements' own type.
    template <class T>
    std::vector<T> numbers(std::string_view key) const {
        static_assert(!std::is_same_v<T, bool>, "read bools as std::uint8_t with GgufType::boolean");
        std::vector<T> values(size(key));
        read_array(key, gguf_type_of<T>(), values.data(), values.size());
        return values;
    }
    void read_array(std::string_view key, GgufType type, void *out, std::size_t n) const;

    struct TensorInfo {
        std::string name;
        Type type;
        Shape shape;  // empty: a scalar
        std::size_t nbytes;
        std::span<const std::byte> data;  // as long as the file is open
    };
    std::vector<TensorInfo> tensors() const;

    // A leaf over the file's bytes, constant from the start; on a device, a copy of them.
    Tensor tensor(const Context &context, std::string_view name) const;

private:
    friend class GgufWriter;
    explicit Gguf(std::shared_ptr<core::Gguf> impl) : impl_(std::move(impl)) {}
    std::shared_ptr<core::Gguf> impl_;
};

struct GgufWriterOptions {
    std::uint32_t version = 3;     // 2 or 3
    std::uint32_t alignment = 32;  // a power of two, at least 8
    std::uint64_t split_size = 0;  // the most bytes of a file; more go to further parts; 0 = one file
};

// A file that is being written. If the handle ends before finish(), no file is left. Use it from one thread at a time.
class GgufWriter {
public:
    explicit GgufWriter(const std::string &path, const GgufWriterOptions &options = {});

    // Sets a key. A key that is already set is an error.
    template <class T>
    std::enable_if_t<std::is_arithmetic_v<T>> set(std::string_view key, T value) {
        set_scalar(key, gguf_type_of<T>(), &value);
    }
    void set(std::string_view key, std::string_view text);
    void set(std::string_view key, const char *text) { set(key, std::string_view(text)); }
    template <class T>
    void set(std::string_view key, std::span<const T> values) {
        set_array(key, gguf_type_of<T>(), values.data(), values.size());
    }
    void set(std::string_view key, std::span<const std::string> texts);
    // Copies all keys of a file, except those that are already set, general.alignment and split.*.
    void copy_keys(const Gguf &file);

    // Adds a tensor under its name. finish(), or write() for a later tensor, reads its data.
    void add(const Tensor &tensor);
    // Declares a tensor whose data come by write(), in order and in pieces.
    void declare(std::string_view name, Type type, const Shape &shape);
    void write(std::span<const std::byte> data);

    void finish();

private:
    void set_scalar(std::string_view key, GgufType type, const void *value);
    void set_array(std::string_view key, GgufType type, const void *data, std::size_t n);
    std::shared_ptr<core::GgufWriter> impl_;
};

}  // namespace tensorlib
