// A file's bytes in host memory, whoever owns them. The file's handle and all contexts with leafs over them share these
// bytes.
#pragma once

#include "base/files.hpp"
#include "base/ref.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace tensorlib::core {

class FileBytes final : public RefCounted {
public:
    static Ref<FileBytes> map(const char *what, const std::string &path);
    static Ref<FileBytes> read(const char *what, const std::string &path);
    // The caller's bytes, which must stay valid as long as this object exists.
    static Ref<FileBytes> borrow(const void *data, std::size_t size);
    static Ref<FileBytes> copy(const char *what, const void *data, std::size_t size);

    std::span<const std::byte> bytes() const noexcept { return {contents_.data, contents_.size}; }
    // Whether the bytes are pages of the file, which the system can load again.
    bool mapped() const noexcept { return contents_.mapped; }
    // Empty for bytes that came from memory.
    const std::string &path() const noexcept { return path_; }

private:
    FileBytes() = default;
    ~FileBytes() override {
        if (owned_) platform::close_file(contents_);
    }

    platform::FileContents contents_;
    std::string path_;
    bool owned_ = false;
};

}  // namespace tensorlib::core
