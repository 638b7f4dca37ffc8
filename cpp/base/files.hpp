// Reads and writes whole files, with a portable fallback for each function. Failures are Error(io) with the path and
// the system's reason; `what` heads their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tensorlib::core::platform {

// A file's bytes, with the size that it had when it was opened.
struct FileContents {
    std::byte *data = nullptr;
    std::size_t size = 0;
    bool mapped = false;
};

// Maps a file for reading; pages are loaded when touched. Without support for this, it calls read_file. Shortening the
// file meanwhile removes pages, and touching those ends the process.
FileContents map_file(const char *what, const std::string &path);
// Reads the file into memory that starts on a page.
FileContents read_file(const char *what, const std::string &path);
void close_file(const FileContents &contents) noexcept;

// A file that is being written. It has no name if the system supports that (O_TMPFILE). Otherwise it has a temporary
// name in the target's folder that begins with ".tensorlib-" and ends in ".tmp". publish() gives it the target's name
// in one step, replacing the previous file. No program ever sees half a file, and a killed process leaves the target
// unchanged.
class NewFile {
public:
    static std::unique_ptr<NewFile> create(const char *what, const std::string &path);
    virtual ~NewFile() = default;  // if not published, the bytes are lost
    virtual void write(const void *data, std::size_t size) = 0;
    // Returns when the bytes are on the disk. The file then has its temporary name and needs no descriptor.
    virtual void close() = 0;
    // Call after close().
    virtual void publish(const std::string &path) = 0;
};

// Files that belong together, and their target names.
struct Publication {
    NewFile *file;
    const std::string *path;
};
// Publishes the files, the last one first. If that fails for one, all names are as before. A process that is killed
// meanwhile leaves some new and some old files, and the replaced ones under temporary names.
void publish_together(const char *what, std::span<const Publication> files);

// A file that grows at its end while others may read it. It is locked if the system has locks: if several processes, or
// several places in one, ask for one file, only one gets it.
class LogFile {
public:
    // Empties or creates the file. Null if it is locked; errors as above.
    static std::unique_ptr<LogFile> open(const char *what, const std::string &path);
    virtual ~LogFile() = default;
    // False if this failed (a full disk). The file is then as before, as far as the system allows.
    virtual bool append(const void *data, std::size_t size) noexcept = 0;
    const std::string &path() const noexcept { return path_; }

protected:
    explicit LogFile(const std::string &path) : path_(path) {}

private:
    std::string path_;
};

}  // namespace tensorlib::core::platform
