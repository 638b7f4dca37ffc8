// Whole files in and out, with a portable fallback for each. Failures are Error(io) with the path and the system's
// reason; `what` heads their messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace tensorlib::core::platform {

// A file's bytes, as many as it had when it was opened.
struct FileContents {
    std::byte *data = nullptr;
    std::size_t size = 0;
    bool mapped = false;
};

// Maps a file for reading, pages loaded when touched (where the system cannot: read_file). Whoever shortens the file
// meanwhile takes pages away, and touching those ends the process.
FileContents map_file(const char *what, const std::string &path);
// Reads it into memory that starts on a page.
FileContents read_file(const char *what, const std::string &path);
void close_file(const FileContents &contents) noexcept;

// A file in the making. It has no name where the system offers that (O_TMPFILE), else one that begins with ".tensorlib-"
// and ends in ".tmp", in the target's folder; publish() gives it the target's name in one step, replacing what was there.
// So nobody ever sees half a file, and a process that is killed leaves the target as it was.
class NewFile {
public:
    static std::unique_ptr<NewFile> create(const char *what, const std::string &path);
    virtual ~NewFile() = default;  // not published: the bytes are gone
    virtual void write(const void *data, std::size_t size) = 0;
    // Returns when the bytes are on the disk; the file has its temporary name then, and takes no descriptor any more.
    virtual void close() = 0;
    // After close().
    virtual void publish(const std::string &path) = 0;
};

// Files that belong together, and the names that they are to get.
struct Publication {
    NewFile *file;
    const std::string *path;
};
// Publishes them, the last first; where that fails for one, all names are as they were. (A process that is killed meanwhile leaves some of
// each, and the old files under temporary names.)
void publish_together(const char *what, std::span<const Publication> files);

// A file that grows at its end while others may read it. It is locked where the system has locks: of several
// processes, and several places in one, that ask for the same file one gets it.
class LogFile {
public:
    // Empties or makes it. Null where somebody has it; errors as above.
    static std::unique_ptr<LogFile> open(const char *what, const std::string &path);
    virtual ~LogFile() = default;
    // False where that was impossible (a full disk): the file is as it was then, as far as the system allows.
    virtual bool append(const void *data, std::size_t size) noexcept = 0;
    const std::string &path() const noexcept { return path_; }

protected:
    explicit LogFile(const std::string &path) : path_(path) {}

private:
    std::string path_;
};

}  // namespace tensorlib::core::platform
