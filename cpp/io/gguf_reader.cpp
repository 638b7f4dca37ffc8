#include "io/gguf_reader.hpp"

#include "base/checked.hpp"
#include "base/utf8.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tensorlib::core {

namespace {

constexpr std::size_t least_string = 8;                      // a length
constexpr std::size_t least_array = 4 + 8;                   // element type and count
constexpr std::size_t least_key = least_string + 1 + 4 + 1;  // a name of one character, a type, a value of one byte
constexpr std::size_t least_tensor = least_string + 4 + 4 + 8;
// Arrays in arrays: without a limit, a file could choose the depth of the recursion.
constexpr int deepest_array = 16;

using Unsigned = unsigned long long;

// In a sorted list, the first index whose name equals the next one's.
template <class Named>
std::optional<std::size_t> first_duplicate(const std::vector<Named> &list) {
    std::vector<std::uint32_t> order(list.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        const int c = list[a].name.compare(list[b].name);
        return c != 0 ? c < 0 : a < b;
    });
    for (std::size_t i = 1; i < order.size(); i++) {
        if (list[order[i]].name == list[order[i - 1]].name) return order[i];
    }
    return {};
}

}  // namespace

void GgufReader::run() {
    std::uint64_t n_tensors = 0, n_keys = 0;
    read_head(n_tensors, n_keys);
    for (std::uint64_t i = 0; i < n_keys; i++) read_key();
    if (const auto twice = first_duplicate(keys))
        reader_.fail_at(reader_.at(), format_text("key '%s' is there twice", shown(keys[*twice].name).c_str()));
    read_alignment();
    for (std::uint64_t i = 0; i < n_tensors; i++) read_tensor();
    if (const auto twice = first_duplicate(tensors))
        reader_.fail_at(offset_fields_[*twice], format_text("tensor '%s' is there twice", shown(tensors[*twice].name).c_str()));
    place(round_up(reader_.at(), alignment));
    check_overlaps();
}

void GgufReader::read_head(std::uint64_t &n_tensors, std::uint64_t &n_keys) {
    const auto magic = reader_.take(4, "the magic number");
    if (std::memcmp(magic.data(), "GGUF", 4) != 0) reader_.fail_at(0, "no GGUF file, which begins with 47 47 55 46");
    version = reader_.read<std::uint32_t>("the version");
    if ((version & 0xFFFF) == 0 && version != 0)
        reader_.fail_at(4, "a big-endian file (its version reads as a multiple of 65536): little-endian ones are valid");
    if (version == 1)
        reader_.fail_at(4, "version 1, whose lengths have 32 bits: versions 2 and 3 are valid; convert it with its maker's tool");
    if (version != 2 && version != 3) reader_.fail_at(4, format_text("version %u: versions 2 and 3 are valid", version));
    n_tensors = reader_.count("the number of tensors", least_tensor);
    n_keys = reader_.count("the number of keys", least_key);
    // Indices have 32 bits; a file with more would have some 100 GB of names.
    if (std::max(n_tensors, n_keys) > std::numeric_limits<std::uint32_t>::max()) reader_.fail_at(8, "more than 2^32 tensors or keys");
}

std::string GgufReader::read_name(const char *what) {
    const std::size_t begin = reader_.at();
    const std::string_view name = reader_.text(what);
    if (name.size() > gguf_longest_name)
        reader_.fail_at(begin, format_text("%s has %zu bytes: up to %zu are valid", what, name.size(), gguf_longest_name));
    if (const auto nul = name.find('\0'); nul != name.npos)
        reader_.fail_at(begin + least_string + nul, format_text("%s has a NUL at byte %zu", what, nul));
    if (const auto valid = valid_utf8(name); valid != name.size())
        reader_.fail_at(begin + least_string + valid, format_text("%s is no UTF-8 from byte %zu on", what, valid));
    return std::string(name);
}

void GgufReader::read_key() {
    const std::size_t begin = reader_.at();
    GgufKey key;
    key.name = read_name("a key");
    if (key.name.empty()) reader_.fail_at(begin, format_text("key %zu has an empty name", keys.size()));
    key.value.type = read_type();
    if (key.name == "general.alignment") alignment_field_ = reader_.at();
    read_value(key.value, 0);
    keys.push_back(std::move(key));
}

GgufType GgufReader::read_type() {
    const std::size_t begin = reader_.at();
    const auto type = reader_.read<std::uint32_t>("a value's type");
    if (type >= gguf_type_count) reader_.fail_at(begin, format_text("a value of type %u: 0 to %d are valid", type, gguf_type_count - 1));
    return static_cast<GgufType>(type);
}

void GgufReader::read_value(GgufValue &value, int depth) {
    const std::size_t begin = reader_.at();
    switch (value.type) {
        case GgufType::string: value.text = reader_.text("a string"); break;
        case GgufType::array: read_array(value, depth); break;
        default: {
            const auto bytes = reader_.take(gguf_type_size(value.type), "a value");
            if (value.type == GgufType::boolean && std::to_integer<unsigned>(bytes[0]) > 1)
                reader_.fail_at(begin, format_text("a bool of %u: 0 and 1 are valid", std::to_integer<unsigned>(bytes[0])));
        }
    }
    value.encoded = reader_.since(begin);
}

void GgufReader::read_array(GgufValue &value, int depth) {
    const std::size_t begin = reader_.at();
    if (depth == deepest_array) reader_.fail_at(begin, format_text("arrays in arrays, more than %d deep", deepest_array));
    value.element = read_type();
    if (value.element == GgufType::string) {
        value.count = reader_.count("an array's length", least_string);
        read_strings(value);
    } else if (value.element == GgufType::array) {
        value.count = reader_.count("an array's length", least_array);
        for (std::uint64_t i = 0; i < value.count; i++) {
            GgufValue inner;  // only the bytes of the outer one are kept
            read_array(inner, depth + 1);
        }
    } else {
        const std::size_t size = gguf_type_size(value.element);
        value.count = reader_.count("an array's length", size);
        const std::size_t first = reader_.at();
        const auto bytes = reader_.take(static_cast<std::size_t>(value.count) * size, "an array");
        if (value.element != GgufType::boolean) return;
        const auto bad = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return std::to_integer<unsigned>(b) > 1; });
        if (bad == bytes.end()) return;
        reader_.fail_at(first + static_cast<std::size_t>(bad - bytes.begin()),
                        format_text("a bool of %u: 0 and 1 are valid", std::to_integer<unsigned>(*bad)));
    }
}

void GgufReader::read_strings(GgufValue &value) {
    const std::size_t first = reader_.at();
    for (std::uint64_t i = 0; i < value.count; i++) {
        if (i % GgufValue::string_step == 0) value.marks.push_back(reader_.at() - first);
        (void)reader_.text("a string");
    }
}

void GgufReader::read_alignment() {
    const auto found = std::find_if(keys.begin(), keys.end(), [](const GgufKey &key) { return key.name == "general.alignment"; });
    if (found == keys.end()) return;
    if (found->value.type != GgufType::u32)
        reader_.fail_at(alignment_field_, format_text("general.alignment is %s: u32 is valid", gguf_type_name(found->value.type)));
    alignment = static_cast<std::uint32_t>(gguf_u64(*found));
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        reader_.fail_at(alignment_field_, format_text("general.alignment is %u: a power of two is valid", alignment));
}

void GgufReader::read_tensor() {
    GgufTensor tensor;
    tensor.name = read_name("a tensor's name");
    const std::string text = "tensor '" + shown(tensor.name) + "'";
    const std::size_t dims_field = reader_.at();
    const auto n_dims = reader_.read<std::uint32_t>("a tensor's number of dimensions");
    if (n_dims > max_dims) reader_.fail_at(dims_field, format_text("%s has %u dimensions: 0 to 4 are valid", text.c_str(), n_dims));
    tensor.n_dims = static_cast<std::int32_t>(n_dims);
    Extents ne{1, 1, 1, 1};
    for (std::size_t d = 0; d < n_dims; d++) ne[d] = reader_.read<std::int64_t>("a tensor's dimension");
    const std::size_t type_field = reader_.at();
    const auto id = reader_.read<std::int32_t>("a tensor's type");
    const DTypeTraits *type = find_traits(id);
    if (!type || !in_gguf(type->type)) {
        const bool retired = (id >= 4 && id <= 5) || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
        reader_.fail_at(type_field, format_text("%s has type %d, which %s", text.c_str(), id,
                                                retired ? "was retired: convert the file again with a present type" : "there is not"));
    }
    try {
        tensor.layout = contiguous_layout(text.c_str(), type->type, {ne.data(), std::max<std::size_t>(n_dims, 1)});
    } catch (const Error &error) {
        if (error.code() != Status::invalid_argument) throw;
        reader_.fail_at(dims_field, error.what());
    }
    offset_fields_.push_back(reader_.at());
    tensor.offset = reader_.read<std::uint64_t>("a tensor's offset");
    if (tensor.offset % alignment != 0) {
        reader_.fail_at(offset_fields_.back(), format_text("%s is at offset %llu: a multiple of the alignment %u is valid", text.c_str(),
                                                           static_cast<Unsigned>(tensor.offset), alignment));
    }
    tensors.push_back(std::move(tensor));
}

void GgufReader::place(std::size_t data_begin) {
    const std::size_t room = data_begin < bytes_.size() ? bytes_.size() - data_begin : 0;
    for (std::size_t i = 0; i < tensors.size(); i++) {
        GgufTensor &tensor = tensors[i];
        const std::size_t nbytes = tensor.layout.nbytes();
        if (nbytes == 0) {
            // None of it is ever accessed; the address only says that there are data.
            tensor.data = bytes_.data();
            continue;
        }
        if (tensor.offset > room || nbytes > room - tensor.offset) {
            reader_.fail_at(offset_fields_[i], format_text("tensor '%s' has %zu bytes at offset %llu of the data, which have %zu: "
                                                           "the file is cut short, or the offset is wrong",
                                                           shown(tensor.name).c_str(), nbytes, static_cast<Unsigned>(tensor.offset), room));
        }
        tensor.data = bytes_.data() + data_begin + tensor.offset;
    }
}

void GgufReader::check_overlaps() const {
    std::vector<std::uint32_t> order;
    for (std::size_t i = 0; i < tensors.size(); i++) {
        if (tensors[i].layout.nbytes() != 0) order.push_back(static_cast<std::uint32_t>(i));
    }
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return tensors[a].offset < tensors[b].offset; });
    for (std::size_t i = 1; i < order.size(); i++) {
        const GgufTensor &one = tensors[order[i - 1]], &next = tensors[order[i]];
        if (next.offset - one.offset >= one.layout.nbytes()) continue;
        reader_.fail_at(offset_fields_[order[i]],
                        format_text("tensors '%s' and '%s' overlap", shown(one.name).c_str(), shown(next.name).c_str()));
    }
}

std::optional<std::uint64_t> GgufReader::number(std::string_view key) const {
    for (const GgufKey &k : keys) {
        if (k.name != key) continue;
        try {
            return gguf_u64(k);
        } catch (const Error &error) {
            reader_.fail_at(reader_.at(), error.what());
        }
    }
    return {};
}

}  // namespace tensorlib::core
