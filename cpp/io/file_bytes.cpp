#include "io/file_bytes.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"

#include <cstring>

namespace tensorlib::core {

Ref<FileBytes> FileBytes::map(const char *what, const std::string &path) {
    auto file = Ref<FileBytes>::adopt(new FileBytes);
    file->path_ = path;
    file->contents_ = platform::map_file(what, path);
    file->owned_ = true;
    return file;
}

Ref<FileBytes> FileBytes::read(const char *what, const std::string &path) {
    auto file = Ref<FileBytes>::adopt(new FileBytes);
    file->path_ = path;
    file->contents_ = platform::read_file(what, path);
    file->owned_ = true;
    return file;
}

Ref<FileBytes> FileBytes::copy(const char *what, const void *data, std::size_t size) {
    auto file = Ref<FileBytes>::adopt(new FileBytes);
    file->contents_.data = static_cast<std::byte *>(platform::allocate_pages(size));
    if (!file->contents_.data) fail(Status::out_of_memory, "%s: no memory for a copy of %zu bytes", what, size);
    file->contents_.size = size;
    file->owned_ = true;
    if (size != 0) std::memcpy(file->contents_.data, data, size);
    return file;
}

Ref<FileBytes> FileBytes::borrow(const void *data, std::size_t size) {
    auto file = Ref<FileBytes>::adopt(new FileBytes);
    // Never written through: contents() returns it as const.
    file->contents_.data = static_cast<std::byte *>(const_cast<void *>(data));
    file->contents_.size = size;
    return file;
}

}  // namespace tensorlib::core
