// The reference implementation's inputs and outputs, in ../shared/vectors next to the checkout. Tests over them are
// skipped, with a message, where the folder does not exist.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace support {

// A safetensors file: names to ranges of bytes. Reads what these vectors need of the format, no more.
class Vectors {
public:
    explicit Vectors(const std::string &file) {
        std::ifstream in(std::string(TENSORLIB_ROOT) + "/../shared/vectors/" + file, std::ios::binary);
        bytes_.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        if (bytes_.size() < 8) return;
        std::uint64_t header;
        std::memcpy(&header, bytes_.data(), sizeof header);
        header_ = std::string(bytes_.data() + 8, header);
        data_ = 8 + header;
    }
    bool there() const { return data_ != 0; }
    bool has(const std::string &name) const { return header_.find('"' + name + "\":{") != std::string::npos; }

    template <class T>
    std::vector<T> get(const std::string &name) const {
        const std::size_t entry = header_.find('"' + name + "\":{");
        const std::string key = "\"data_offsets\":[";
        const std::size_t at = header_.find(key, entry);
        if (entry == std::string::npos || at == std::string::npos) throw std::runtime_error("no vector " + name);
        std::size_t used;
        const std::size_t begin = std::stoull(header_.substr(at + key.size(), 24), &used);
        const std::size_t end = std::stoull(header_.substr(at + key.size() + used + 1, 24));
        std::vector<T> values((end - begin) / sizeof(T));
        std::memcpy(values.data(), bytes_.data() + data_ + begin, end - begin);
        return values;
    }

private:
    std::vector<char> bytes_;
    std::string header_;
    std::size_t data_ = 0;
};

inline const Vectors &quant_vectors() {
    static const Vectors all("quant.safetensors");
    return all;
}

}  // namespace support

#define TL_SKIP_WITHOUT_VECTORS(vectors) \
    if (!(vectors).there()) GTEST_SKIP() << "../shared/vectors is not there"
