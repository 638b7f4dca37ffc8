#include "base/files.hpp"

#include "base/fail.hpp"
#include "base/platform.hpp"
#include "base/utf8.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#if (defined(__unix__) || defined(__APPLE__)) && !defined(TL_PORTABLE)
#define TL_POSIX 1
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif
#include <filesystem>

namespace tensorlib::core::platform {

namespace {

[[noreturn]] void fail_io(const char *what, const std::string &path, const char *doing, int reason) {
    fail(Status::io, "%s: %s: %s: %s", what, path.c_str(), doing, std::generic_category().message(reason).c_str());
}

// Paths are UTF-8 everywhere. On Windows, whose names are UTF-16, a plain string would be interpreted in the process's
// code page. On other systems, a name may have any bytes.
std::filesystem::path system_path(const std::string &path) {
#if defined(_WIN32)
    if (valid_utf8(path) != path.size())
        fail(Status::invalid_argument, "the path '%s' is not UTF-8: a path in UTF-8 is valid", shown(path).c_str());
#endif
    return std::u8string(path.begin(), path.end());
}

std::string folder_of(const std::string &path) {
    const std::u8string folder = system_path(path).parent_path().u8string();
    return folder.empty() ? "." : std::string(folder.begin(), folder.end());
}

// A name that is unique in this process and among running processes.
std::string temporary_name(const std::string &path) {
    static std::atomic<unsigned> count{0};
    const auto id = static_cast<long long>(process_id());
    return folder_of(path) + format_text("/.tensorlib-%lld-%u.tmp", id, count.fetch_add(1, std::memory_order_relaxed));
}

}  // namespace

void close_file(const FileContents &contents) noexcept {
#if defined(TL_POSIX)
    if (contents.mapped) {
        (void)munmap(contents.data, contents.size);
        return;
    }
#endif
    free_pages(contents.data, contents.size);
}

#if defined(TL_POSIX)

namespace {

class Descriptor {
public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) (void)::close(fd_);
    }
    Descriptor(Descriptor &&other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    Descriptor &operator=(Descriptor &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    int get() const noexcept { return fd_; }

private:
    int fd_;
};

// Opens a regular file that is not empty.
Descriptor open_file(const char *what, const std::string &path, std::size_t &size) {
    // Non-blocking: a pipe without a writer would make us wait before it could be refused.
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.get() < 0) fail_io(what, path, "cannot be opened", errno);
    struct stat info;
    if (fstat(file.get(), &info) != 0) fail_io(what, path, "cannot be examined", errno);
    if (S_ISDIR(info.st_mode)) fail(Status::io, "%s: %s is a folder: a file is valid", what, path.c_str());
    if (!S_ISREG(info.st_mode)) fail(Status::io, "%s: %s is a device, pipe or socket: a regular file is valid", what, path.c_str());
    if (info.st_size <= 0) fail(Status::format, "%s: %s is empty", what, path.c_str());
    size = static_cast<std::size_t>(info.st_size);
    return file;
}

}  // namespace

FileContents map_file(const char *what, const std::string &path) {
    FileContents contents;
    const Descriptor file = open_file(what, path, contents.size);
    void *data = mmap(nullptr, contents.size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (data == MAP_FAILED && errno == ENOMEM) {
        fail(Status::out_of_memory, "%s: %s: no room among the addresses for its %zu bytes", what, path.c_str(), contents.size);
    }
    if (data == MAP_FAILED) fail_io(what, path, "cannot be mapped", errno);
    contents.data = static_cast<std::byte *>(data);
    contents.mapped = true;
    return contents;
}

FileContents read_file(const char *what, const std::string &path) {
    FileContents contents;
    const Descriptor file = open_file(what, path, contents.size);
    contents.data = static_cast<std::byte *>(allocate_pages(contents.size));
    if (!contents.data) fail(Status::out_of_memory, "%s: %s: no memory for its %zu bytes", what, path.c_str(), contents.size);
    for (std::size_t at = 0; at < contents.size;) {
        const ssize_t n = ::read(file.get(), contents.data + at, contents.size - at);
        if (n < 0 && errno == EINTR) continue;
        if (n > 0) {
            at += static_cast<std::size_t>(n);
            continue;
        }
        const int reason = errno;
        close_file(contents);
        if (n < 0) fail_io(what, path, "cannot be read", reason);
        fail(Status::io, "%s: %s ended at byte %zu of %zu: somebody shortened it", what, path.c_str(), at, contents.size);
    }
    return contents;
}

namespace {

class PosixFile final : public NewFile {
public:
    PosixFile(const char *what, const std::string &path) : what_(what), path_(path), file_(open_new(path, name_)) {
        if (file_.get() < 0) fail_io(what, path, "cannot be made", errno);
    }
    ~PosixFile() override {
        if (!name_.empty()) (void)::unlink(name_.c_str());
    }
    PosixFile(const PosixFile &) = delete;
    PosixFile &operator=(const PosixFile &) = delete;

    void write(const void *data, std::size_t size) override {
        const auto *from = static_cast<const std::byte *>(data);
        while (size > 0) {
            const ssize_t n = ::write(file_.get(), from, size);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail_io(what_, path_, "cannot be written", errno);
            from += n;
            size -= static_cast<std::size_t>(n);
        }
    }
    void close() override {
        if (fsync(file_.get()) != 0) fail_io(what_, path_, "cannot be brought to the disk", errno);
        if (name_.empty()) {
            // A link cannot replace a file, but a rename can, so this goes by way of a temporary name.
            std::string name = temporary_name(path_);
            if (linkat(AT_FDCWD, link_of(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
                fail_io(what_, path_, "cannot be named", errno);
            name_ = std::move(name);
        }
        file_ = Descriptor(-1);
    }
    void publish(const std::string &path) override {
        if (::rename(name_.c_str(), path.c_str()) != 0) fail_io(what_, path, "cannot be named", errno);
        name_.clear();
        // The folder's entry must survive a loss of power too. A file system that does not support this has nothing to
        // lose.
        const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
        if (folder.get() >= 0) (void)fsync(folder.get());
    }

private:
    static std::string link_of(const Descriptor &file) { return "/proc/self/fd/" + std::to_string(file.get()); }

    // Opens a file without a name if possible, otherwise under the temporary name that it returns.
    static Descriptor open_new(const std::string &path, std::string &name) {
        constexpr mode_t mode = 0666;  // minus the process's mask
#if defined(O_TMPFILE)
        Descriptor nameless(::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
        if (nameless.get() >= 0 && ::access(link_of(nameless).c_str(), F_OK) == 0) return nameless;
#endif
        std::string candidate;
        for (int i = 0; i < 100; i++) {
            candidate = temporary_name(path);
            Descriptor file(::open(candidate.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode));
            const int reason = errno;
            if (file.get() >= 0) name = std::move(candidate);
            // The name was left by a killed process with our number: tries the next one.
            if (file.get() >= 0 || reason != EEXIST) return file;
        }
        return Descriptor(-1);
    }

    const char *what_;
    std::string path_;
    std::string name_;  // empty if the file has no name; declared before file_, whose initialiser sets it
    Descriptor file_;
};

}  // namespace

std::unique_ptr<NewFile> NewFile::create(const char *what, const std::string &path) { return std::make_unique<PosixFile>(what, path); }

namespace {

class PosixLog final : public LogFile {
public:
    PosixLog(const std::string &path, Descriptor file) : LogFile(path), file_(std::move(file)) {}

    bool append(const void *data, std::size_t size) noexcept override {
        const auto *from = static_cast<const std::byte *>(data);
        std::size_t done = 0;
        while (done < size) {
            const ssize_t n = ::write(file_.get(), from + done, size - done);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                // Restores what was complete. If that fails too, a part of a line stays.
                if (ftruncate(file_.get(), end_) == 0) (void)lseek(file_.get(), end_, SEEK_SET);
                return false;
            }
            done += static_cast<std::size_t>(n);
        }
        end_ += static_cast<off_t>(size);
        return true;
    }

private:
    Descriptor file_;
    off_t end_ = 0;
};

}  // namespace

std::unique_ptr<LogFile> LogFile::open(const char *what, const std::string &path) {
    // Non-blocking: a pipe without a reader would make us wait.
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666));
    if (file.get() < 0) fail_io(what, path, "cannot be opened", errno);
    struct stat info;
    if (fstat(file.get(), &info) != 0) fail_io(what, path, "cannot be examined", errno);
    if (!S_ISREG(info.st_mode)) fail(Status::io, "%s: %s is a device, pipe or socket: a regular file is valid", what, path.c_str());
    // Some file systems have no locks; the file is then used without one.
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return nullptr;
    if (ftruncate(file.get(), 0) != 0) fail_io(what, path, "cannot be emptied", errno);
    return std::make_unique<PosixLog>(path, std::move(file));
}

#else

namespace {

using Stream = std::unique_ptr<std::FILE, int (*)(std::FILE *)>;

Stream open_stream(const std::string &path, const char *mode) {
#if defined(_WIN32)
    const std::wstring wide_mode(mode, mode + std::strlen(mode));
    return {_wfopen(system_path(path).c_str(), wide_mode.c_str()), std::fclose};
#else
    return {std::fopen(path.c_str(), mode), std::fclose};
#endif
}

}  // namespace

FileContents map_file(const char *what, const std::string &path) { return read_file(what, path); }

FileContents read_file(const char *what, const std::string &path) {
    std::error_code error;
    const auto status = std::filesystem::status(system_path(path), error);
    if (std::filesystem::is_directory(status)) fail(Status::io, "%s: %s is a folder: a file is valid", what, path.c_str());
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        fail(Status::io, "%s: %s is a device, pipe or socket: a regular file is valid", what, path.c_str());
    const Stream file = open_stream(path, "rb");
    if (!file) fail_io(what, path, "cannot be opened", errno);
    const auto size = std::filesystem::file_size(system_path(path), error);
    if (error) fail_io(what, path, "cannot be examined", error.value());
    if (size == 0) fail(Status::format, "%s: %s is empty", what, path.c_str());
    if (size > std::numeric_limits<std::size_t>::max() / 2) fail(Status::out_of_memory, "%s: %s is too large", what, path.c_str());
    FileContents contents;
    contents.size = static_cast<std::size_t>(size);
    contents.data = static_cast<std::byte *>(allocate_pages(contents.size));
    if (!contents.data) fail(Status::out_of_memory, "%s: %s: no memory for its %zu bytes", what, path.c_str(), contents.size);
    const std::size_t n = std::fread(contents.data, 1, contents.size, file.get());
    if (n != contents.size) {
        close_file(contents);
        fail(Status::io, "%s: %s ended at byte %zu of %zu", what, path.c_str(), n, contents.size);
    }
    return contents;
}

namespace {

class StreamFile final : public NewFile {
public:
    StreamFile(const char *what, const std::string &path)
        : what_(what), path_(path), name_(temporary_name(path)), file_(open_stream(name_, "wb")) {
        if (!file_) fail_io(what, path, "cannot be made", errno);
    }
    ~StreamFile() override {
        file_.reset();
        std::error_code error;
        if (!name_.empty()) std::filesystem::remove(system_path(name_), error);
    }
    StreamFile(const StreamFile &) = delete;
    StreamFile &operator=(const StreamFile &) = delete;

    void write(const void *data, std::size_t size) override {
        if (std::fwrite(data, 1, size, file_.get()) != size) fail_io(what_, path_, "cannot be written", errno);
    }
    void close() override {
        if (std::fclose(file_.release()) != 0) fail_io(what_, path_, "cannot be brought to the disk", errno);
    }
    void publish(const std::string &path) override {
        std::error_code error;
        std::filesystem::rename(system_path(name_), system_path(path), error);
        if (error) fail_io(what_, path, "cannot be named", error.value());
        name_.clear();
    }

private:
    const char *what_;
    std::string path_, name_;
    Stream file_;
};

}  // namespace

std::unique_ptr<NewFile> NewFile::create(const char *what, const std::string &path) { return std::make_unique<StreamFile>(what, path); }

namespace {

class StreamLog final : public LogFile {
public:
    StreamLog(const std::string &path, Stream file) : LogFile(path), file_(std::move(file)) {}
    // Flushes the library's buffer, because a forked child would write it again.
    bool append(const void *data, std::size_t size) noexcept override {
        return std::fwrite(data, 1, size, file_.get()) == size && std::fflush(file_.get()) == 0;
    }

private:
    Stream file_;
};

}  // namespace

std::unique_ptr<LogFile> LogFile::open(const char *what, const std::string &path) {
    std::error_code error;
    const auto status = std::filesystem::status(system_path(path), error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        fail(Status::io, "%s: %s is no regular file: one is valid", what, path.c_str());
    Stream file = open_stream(path, "wb");
    if (!file) fail_io(what, path, "cannot be opened", errno);
    return std::make_unique<StreamLog>(path, std::move(file));
}

#endif

namespace {

// The file that has the name before a new file takes it. A second name keeps it until everything is done.
class Former {
public:
    Former(const char *what, const std::string &path) : path_(system_path(path)) {
        std::error_code error;
        const auto status = std::filesystem::symlink_status(path_, error);
        if (!std::filesystem::exists(status)) return;
        if (std::filesystem::is_directory(status)) fail(Status::io, "%s: %s is a folder: the name of a file is valid", what, path.c_str());
        for (int i = 0; i < 100 && second_.empty(); i++) {
            std::filesystem::path name = system_path(temporary_name(path));
            std::filesystem::create_hard_link(path_, name, error);
            if (error == std::errc::file_exists) continue;  // left by a killed process with our number
            if (error) {
                // On a file system without second names, the file has only the other name meanwhile.
                std::filesystem::rename(path_, name, error);
                if (error) break;
                is_moved_ = true;
            }
            second_ = std::move(name);
        }
        if (second_.empty()) fail_io(what, path, "cannot be kept until the new files are there", error.value());
    }
    ~Former() {
        std::error_code error;
        if (undo_ && second_.empty()) {
            std::filesystem::remove(path_, error);
        } else if (undo_ || is_moved_) {
            std::filesystem::rename(second_, path_, error);
        } else if (!second_.empty()) {
            std::filesystem::remove(second_, error);
        }
    }
    Former(const Former &) = delete;
    Former &operator=(const Former &) = delete;

    void replaced() noexcept { undo_ = true; }
    void keep_new() noexcept { undo_ = is_moved_ = false; }

private:
    const std::filesystem::path path_;
    std::filesystem::path second_;  // empty: no file had the name
    bool is_moved_ = false, undo_ = false;
};

}  // namespace

void publish_together(const char *what, std::span<const Publication> files) {
    std::deque<Former> formers;
    // A single file takes its name in one step anyway.
    if (files.size() > 1) {
        for (const Publication &each : files) formers.emplace_back(what, *each.path);
    }
    for (std::size_t i = files.size(); i-- > 0;) {
        files[i].file->publish(*files[i].path);
        if (!formers.empty()) formers[i].replaced();
    }
    for (Former &former : formers) former.keep_new();
}

}  // namespace tensorlib::core::platform
