// Writes GGUF files.
//
//   keys and tensors are declared | the heads are made, parts are planned | data come, in the declared order |
//   all files are on the disk | they get their names
//
// Each tensor's data come from a tensor in memory, read in pieces, or from the caller, in pieces, so no more than a
// piece is held. No file has the target's name before finish(). The head is written with the first data; after that,
// keys and tensors can no longer be added.
#pragma once

#include "base/files.hpp"
#include "graph/context.hpp"
#include "io/gguf.hpp"

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tensorlib::core {

struct GgufWriterParams {
    std::uint32_t version = 3;
    std::uint32_t alignment = gguf_default_alignment;
    // The most bytes of a file: more go to further parts, NAME-00001-of-00003.gguf. A tensor is never split, so a part
    // of one tensor may be larger. 0 = one file.
    std::uint64_t split_size = 0;
};

// Not thread-safe: one caller at a time.
class GgufWriter final : public RefCounted {
public:
    static Ref<GgufWriter> create(const std::string &path, const GgufWriterParams &params);

    // Sets a key; a key that already exists is an error. `value` is a scalar of that type.
    void set_scalar(std::string_view key, GgufType type, const void *value);
    void set_string(std::string_view key, std::string_view text);
    void set_array(std::string_view key, GgufType element, const void *data, std::uint64_t n);
    void set_strings(std::string_view key, std::span<const std::string_view> texts);
    // Copies all keys of a file, except those that are already set and the writer's own (general.alignment, split.*).
    void copy_keys(const Gguf &file);

    // Adds a tensor under its own name. It is read when its turn comes: by finish(), or before data of a later one.
    void add_tensor(Tensor &tensor);
    // Declares a tensor whose data come by write_data().
    void declare_tensor(std::string_view name, DType type, std::span<const std::int64_t> ne);
    // The next piece of the first declared tensor that is not complete.
    void write_data(const void *data, std::size_t size);

    // Writes the rest, and gives the files their names. Nothing else can be called afterwards.
    void finish();
    // The number of files; 0 before the first data, when it is not known yet.
    std::size_t n_parts() const noexcept { return parts_.size(); }

private:
    struct Key {
        std::string name;
        std::string encoded;  // type and value
    };
    struct Declared {
        std::string name;
        Layout layout;
        std::int32_t n_dims;
        Ref<Context> context;  // of `source`
        Tensor *source = nullptr;
        std::uint64_t offset = 0;
    };
    struct Part {
        std::size_t first = 0, end = 0;  // of tensors
        std::string path;
        std::unique_ptr<platform::NewFile> file;
    };

    GgufWriter(std::string path, const GgufWriterParams &params) : path_(std::move(path)), params_(params) {}
    ~GgufWriter() override = default;

    void check_open(const char *function) const;
    void check_declaring(const char *function) const;
    void add_key(std::string_view key, std::string encoded);
    void declare(Declared tensor);
    std::string head_of(std::size_t part, std::size_t n_parts) const;
    std::size_t tensor_info_size(const Declared &tensor) const noexcept;
    void plan_parts();
    void begin_data();
    void write_sources();
    void write_source(const Declared &tensor);
    void put(const void *data, std::size_t size);
    void end_tensor();
    template <class F>
    void guard(F f);

    const std::string path_;
    const GgufWriterParams params_;
    std::vector<Key> keys_;
    std::set<std::string, std::less<>> key_names_, tensor_names_;
    std::vector<Declared> tensors_;
    std::vector<Part> parts_;
    std::unique_ptr<platform::NewFile> first_file_;  // until the parts are planned

    std::size_t part_ = 0, tensor_ = 0;  // the current part and tensor
    std::uint64_t in_tensor_ = 0;        // bytes of the tensor that have been written
    enum class State { declaring, writing, finished, failed } state_ = State::declaring;
};

}  // namespace tensorlib::core
