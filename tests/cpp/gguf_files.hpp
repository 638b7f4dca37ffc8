// GGUF files for tests, byte by byte: independent of the engine's own writer.
#pragma once

#include <unistd.h>

#include <algorithm>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace support {

// Appends values as a GGUF file has them.
class Bytes {
public:
    template <class T>
    Bytes &put(T value) {
        const auto *p = reinterpret_cast<const char *>(&value);
        text_.append(p, sizeof value);
        return *this;
    }
    Bytes &u8(unsigned v) { return put(static_cast<std::uint8_t>(v)); }
    Bytes &u32(std::uint32_t v) { return put(v); }
    Bytes &u64(std::uint64_t v) { return put(v); }
    Bytes &raw(const std::string &bytes) {
        text_ += bytes;
        return *this;
    }
    Bytes &string(const std::string &s) { return u64(s.size()).raw(s); }
    Bytes &key(const std::string &name, std::uint32_t type) { return string(name).u32(type); }
    Bytes &array(std::uint32_t type, std::uint64_t n) { return u32(type).u64(n); }
    // A whole key of one scalar.
    template <class T>
    Bytes &scalar(const std::string &name, std::uint32_t type, T value) {
        return key(name, type).put(value);
    }
    Bytes &head(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
        return raw("GGUF").u32(version).u64(tensors).u64(keys);
    }
    Bytes &tensor(const std::string &name, const std::vector<std::uint64_t> &ne, std::uint32_t type, std::uint64_t offset) {
        string(name).u32(static_cast<std::uint32_t>(ne.size()));
        for (const auto n : ne) u64(n);
        return u32(type).u64(offset);
    }
    Bytes &pad(std::size_t alignment = 32) {
        while (text_.size() % alignment != 0) text_ += '\0';
        return *this;
    }
    // n floats: first, first + 1, ...
    Bytes &floats(float first, int n) {
        for (int i = 0; i < n; i++) put(first + static_cast<float>(i));
        return *this;
    }
    std::size_t size() const { return text_.size(); }
    const std::string &str() const { return text_; }

private:
    std::string text_;
};

// GGUF's numbers of value types.
enum : std::uint32_t { t_u8, t_i8, t_u16, t_i16, t_u32, t_i32, t_f32, t_bool, t_string, t_array, t_u64, t_i64, t_f64 };

// A folder of its own for the scope.
class TempFolder {
public:
    TempFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "tensorlib-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~TempFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TempFolder(const TempFolder &) = delete;
    TempFolder &operator=(const TempFolder &) = delete;

    std::string path(const std::string &name) const { return path_ + "/" + name; }
    std::string write(const std::string &name, const std::string &bytes) const {
        std::ofstream(path(name), std::ios::binary) << bytes;
        return path(name);
    }
    // Names of what is in it, sorted.
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto &entry : std::filesystem::directory_iterator(path_)) found.push_back(entry.path().filename().string());
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    std::string path_;
};

inline std::string file_text(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace support
