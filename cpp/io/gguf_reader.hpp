// Parses one GGUF file's bytes into keys and tensors. Every length, count and offset is checked against the existing
// bytes before memory is allocated for it, so a file costs no more memory than a small multiple of its size.
#pragma once

#include "io/byte_reader.hpp"
#include "io/gguf.hpp"

namespace tensorlib::core {

class GgufReader {
public:
    // `file` names the bytes in messages.
    GgufReader(const char *what, std::string_view file, std::span<const std::byte> bytes) : reader_(what, file, bytes), bytes_(bytes) {}

    void run();

    std::uint32_t version = 0, alignment = gguf_default_alignment;
    std::vector<GgufKey> keys;
    std::vector<GgufTensor> tensors;

    // A key's value as a number of any integer type; nothing if there is no such key. Throws if the value is no
    // integer.
    std::optional<std::uint64_t> number(std::string_view key) const;

private:
    void read_head(std::uint64_t &n_tensors, std::uint64_t &n_keys);
    std::string read_name(const char *what);
    void read_key();
    void read_value(GgufValue &value, int depth);
    void read_array(GgufValue &value, int depth);
    void read_strings(GgufValue &value);
    GgufType read_type();
    void read_alignment();
    void read_tensor();
    void place(std::size_t data_begin);
    void check_overlaps() const;

    ByteReader reader_;
    std::span<const std::byte> bytes_;
    std::vector<std::size_t> offset_fields_;  // where each tensor's offset is stored, for messages
    std::size_t alignment_field_ = 0;
};

}  // namespace tensorlib::core
