#include "io/file_bytes.hpp"

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

Ref<FileBytes> FileBytes::borrow(const void *data, std::size_t size) {
    auto file = Ref<FileBytes>::adopt(new FileBytes);
    // Never written through: contents() hands it out as const.
    file->contents_.data = static_cast<std::byte *>(const_cast<void *>(data));
    file->contents_.size = size;
    return file;
}

}  // namespace tensorlib::core
