// Reading GGUF files: their contents, hostile files, and leafs over them. These tests make files byte by byte
// (gguf_files.hpp), not with the engine's writer.
#include "gguf_files.hpp"
#include "support.hpp"

#include "base/fail.hpp"
#include "graph/constants.hpp"
#include "graph/graph.hpp"
#include "graph/tensor_data.hpp"
#include "io/gguf.hpp"
#include "ops/op_def.hpp"

#include <sys/stat.h>

#include <cstring>
#include <limits>
#include <memory>

namespace core = tensorlib::core;
using core::Gguf;
using core::Ref;
using support::Bytes;
using support::expect_error;
using support::TempFolder;
using tl::Status;

namespace {

using namespace support;  // t_u8 ...

Ref<Gguf> open(const std::string &bytes) { return Gguf::open_memory(bytes.data(), bytes.size()); }

const core::GgufKey &key(const Ref<Gguf> &file, const char *name) { return file->keys()[file->find_key(name).value()]; }

Ref<core::Context> context(core::ContextParams params = {}) { return core::Context::create(params); }

std::vector<float> values(const core::Tensor &t) {
    std::vector<float> out(static_cast<std::size_t>(t.layout.n_elements()));
    core::read_f32(t, out.data(), out.size());
    return out;
}

// Every type of value, and arrays of each.
Bytes all_values(std::uint32_t version) {
    Bytes b;
    b.head(0, 18, version);
    b.scalar<std::uint8_t>("u8", t_u8, 200).scalar<std::int8_t>("i8", t_i8, -100);
    b.scalar<std::uint16_t>("u16", t_u16, 60000).scalar<std::int16_t>("i16", t_i16, -30000);
    b.scalar<std::uint32_t>("u32", t_u32, 4000000000u).scalar<std::int32_t>("i32", t_i32, -2000000000);
    b.scalar<std::uint64_t>("u64", t_u64, ~0ull).scalar<std::int64_t>("i64", t_i64, std::numeric_limits<std::int64_t>::min());
    b.scalar("f32", t_f32, 3.25f).scalar("f64", t_f64, -1e300).scalar<std::uint8_t>("yes", t_bool, 1).scalar<std::uint8_t>("no", t_bool, 0);
    b.key("text", t_string).string("gr\xC3\xBC\xC3\x9F");
    b.key("strings", t_array).array(t_string, 40);
    for (int i = 0; i < 40; i++) b.string(std::string(static_cast<std::size_t>(i % 5), static_cast<char>('a' + i % 26)));
    b.key("ints", t_array).array(t_i32, 3).put(1).put(-2).put(3);
    b.key("bools", t_array).array(t_bool, 2).u8(1).u8(0);
    b.key("empty", t_array).array(t_f64, 0);
    b.key("nested", t_array).array(t_array, 2).array(t_u8, 2).u8(1).u8(2).array(t_string, 1).string("x");
    return b;
}

TEST(GgufValues, every_type_in_both_versions) {
    for (const std::uint32_t version : {2u, 3u}) {
        const Bytes bytes = all_values(version);
        const auto file = open(bytes.str());
        EXPECT_EQ(file->version(), version);
        EXPECT_EQ(file->alignment(), 32u);
        EXPECT_EQ(file->keys().size(), 18u);
        EXPECT_EQ(core::gguf_u64(key(file, "u8")), 200u);
        EXPECT_EQ(core::gguf_i64(key(file, "i8")), -100);
        EXPECT_EQ(core::gguf_u64(key(file, "u16")), 60000u);
        EXPECT_EQ(core::gguf_i64(key(file, "i16")), -30000);
        EXPECT_EQ(core::gguf_i64(key(file, "u32")), 4000000000);
        EXPECT_EQ(core::gguf_f64(key(file, "i32")), -2e9);
        EXPECT_EQ(core::gguf_u64(key(file, "u64")), ~0ull);
        EXPECT_EQ(core::gguf_i64(key(file, "i64")), std::numeric_limits<std::int64_t>::min());
        EXPECT_EQ(core::gguf_f64(key(file, "f32")), 3.25);
        EXPECT_EQ(core::gguf_f64(key(file, "f64")), -1e300);
        EXPECT_TRUE(core::gguf_bool(key(file, "yes")));
        EXPECT_FALSE(core::gguf_bool(key(file, "no")));
        EXPECT_EQ(core::gguf_string(key(file, "text")), "gr\xC3\xBC\xC3\x9F");
        for (std::uint64_t i = 0; i < 40; i++) {
            EXPECT_EQ(core::gguf_string(key(file, "strings"), i), std::string(i % 5, static_cast<char>('a' + i % 26)));
        }
        EXPECT_EQ(core::gguf_i64(key(file, "ints"), 1), -2);
        EXPECT_TRUE(core::gguf_bool(key(file, "bools"), 0));
        std::int32_t ints[2];
        core::gguf_elements(key(file, "ints"), core::GgufType::i32, 1, 2, ints);
        EXPECT_EQ(ints[0], -2);
        EXPECT_EQ(ints[1], 3);
        EXPECT_EQ(key(file, "empty").value.count, 0u);
        const auto &nested = key(file, "nested").value;
        EXPECT_EQ(nested.element, core::GgufType::array);
        EXPECT_EQ(nested.count, 2u);
        EXPECT_EQ(nested.encoded.size(), 12u + 12 + 2 + 12 + 9);
        EXPECT_FALSE(file->find_key("nothing"));
        EXPECT_FALSE(file->find_key(""));
    }
}

TEST(GgufValues, convert_only_where_exact) {
    const Bytes bytes = all_values(3);
    const auto file = open(bytes.str());
    struct Row {
        std::function<void()> call;
        std::vector<std::string> words;
    };
    std::uint8_t out[8];
    const Row rows[] = {
        {[&] { core::gguf_u64(key(file, "i8")); }, {"'i8'", "i8", "0 or more"}},
        {[&] { core::gguf_u64(key(file, "f32")); }, {"'f32'", "f32", "integer"}},
        {[&] { core::gguf_i64(key(file, "u64")); }, {"'u64'", "2^63"}},
        {[&] { core::gguf_f64(key(file, "u64")); }, {"'u64'", "exactly"}},
        {[&] { core::gguf_f64(key(file, "text")); }, {"'text'", "string"}},
        {[&] { core::gguf_bool(key(file, "u8")); }, {"'u8'", "bool alone"}},
        {[&] { core::gguf_u64(key(file, "yes")); }, {"'yes'", "bool"}},
        {[&] { core::gguf_string(key(file, "ints")); }, {"'ints'", "array"}},
        {[&] { core::gguf_string(key(file, "ints"), 0); }, {"element 0", "'ints'", "i32"}},
        {[&] { core::gguf_i64(key(file, "u8"), 0); }, {"'u8'", "no array"}},
        {[&] { core::gguf_elements(key(file, "ints"), core::GgufType::u32, 0, 1, out); }, {"'ints'", "i32", "u32"}},
        {[&] { core::gguf_elements(key(file, "strings"), core::GgufType::string, 0, 1, out); }, {"'strings'"}},
        {[&] { core::gguf_elements(key(file, "u8"), core::GgufType::u8, 0, 1, out); }, {"'u8'", "array is valid"}},
    };
    for (const Row &row : rows) expect_error(Status::type_mismatch, row.words, row.call);
    expect_error(Status::invalid_argument, {"element 3", "has 3"}, [&] { core::gguf_i64(key(file, "ints"), 3); });
    expect_error(Status::invalid_argument, {"2 + 2", "has 3"},
                 [&] { core::gguf_elements(key(file, "ints"), core::GgufType::i32, 2, 2, out); });
    expect_error(Status::invalid_argument, {"has 3"}, [&] { core::gguf_elements(key(file, "ints"), core::GgufType::i32, 1, ~0ull, out); });
    expect_error(Status::invalid_argument, {"NULL"}, [&] { core::gguf_elements(key(file, "ints"), core::GgufType::i32, 0, 1, nullptr); });
    core::gguf_elements(key(file, "ints"), core::GgufType::i32, 3, 0, nullptr);
}

// Two tensors, a vector and a matrix, with any alignment.
std::string small_file(std::uint32_t alignment = 32, std::uint32_t version = 3) {
    Bytes b;
    const std::uint64_t second = (12 + alignment - 1) / alignment * alignment;
    b.head(2, 2, version).scalar("general.alignment", t_u32, alignment).key("general.name", t_string).string("small");
    b.tensor("vector", {3}, 0, 0).tensor("matrix", {2, 3}, 0, second);
    b.pad(alignment).floats(1, 3).pad(alignment).floats(10, 6);
    return b.str();
}

TEST(GgufTensors, at_every_alignment) {
    for (std::uint32_t alignment = 8; alignment <= 4096; alignment *= 2) {
        const std::string bytes = small_file(alignment);
        const auto file = open(bytes);
        const auto ctx = context();
        EXPECT_EQ(file->alignment(), alignment);
        ASSERT_EQ(file->tensors().size(), 2u);
        const core::GgufTensor &matrix = file->tensors()[file->find_tensor("matrix").value()];
        EXPECT_EQ(matrix.n_dims, 2);
        EXPECT_EQ(matrix.layout.ne, (core::Extents{2, 3, 1, 1}));
        EXPECT_EQ(values(*file->new_leaf(*ctx, "vector")), (std::vector<float>{1, 2, 3}));
        EXPECT_EQ(values(*file->new_leaf(*ctx, "matrix")), (std::vector<float>{10, 11, 12, 13, 14, 15}));
    }
}

TEST(GgufTensors, scalars_empty_ones_any_order_and_garbage_behind) {
    Bytes b;
    b.head(4, 0).tensor("last", {1}, 0, 32).tensor("scalar", {}, 0, 0).tensor("empty", {4, 0, 2}, 0, 1 << 20).tensor("", {1}, 0, 64);
    b.pad().floats(7, 1).pad().floats(8, 1).pad().floats(9, 1).raw("garbage");
    const auto file = open(b.str());
    const auto ctx = context();
    EXPECT_EQ(file->tensors()[1].n_dims, 0);
    const core::Tensor *scalar = file->new_leaf(*ctx, "scalar"), *empty = file->new_leaf(*ctx, "empty");
    EXPECT_EQ(scalar->layout.n_dims, 1);
    EXPECT_EQ(values(*scalar), (std::vector<float>{7}));
    EXPECT_EQ(empty->layout.ne, (core::Extents{4, 0, 2, 1}));
    EXPECT_EQ(values(*empty), std::vector<float>{});
    EXPECT_EQ(values(*file->new_leaf(*ctx, "last")), (std::vector<float>{8}));
    EXPECT_EQ(values(*file->new_leaf(*ctx, "")), (std::vector<float>{9}));
}

struct Hostile {
    const char *name;
    Bytes bytes;
    std::vector<std::string> words;
};

// Keys first: a file of one key.
Bytes one_key(const Bytes &key) { return Bytes().head(0, 1).raw(key.str()); }

Bytes one_tensor(const Bytes &tensor) { return Bytes().head(1, 0).raw(tensor.str()).pad().raw(std::string(256, '\0')); }

Bytes nested_arrays(int depth) {
    Bytes b;
    b.key("deep", t_array);
    for (int i = 0; i < depth; i++) b.array(t_array, 1);
    return b.array(t_u8, 0);
}

std::vector<Hostile> hostile_heads() {
    return {
        {"empty", Bytes(), {"byte 0", "magic", "the end"}},
        {"no magic", Bytes().raw("GGML").u32(3).u64(0).u64(0), {"byte 0", "no GGUF", "47 47 4d 4c"}},
        {"cut in the version", Bytes().raw("GGUF\3"), {"byte 4", "version", "1 are left"}},
        {"version 0", Bytes().head(0, 0, 0), {"byte 4", "version 0", "2 and 3"}},
        {"version 1", Bytes().head(0, 0, 1), {"byte 4", "version 1", "32 bits"}},
        {"version 4", Bytes().head(0, 0, 4), {"byte 4", "version 4", "2 and 3"}},
        {"big-endian", Bytes().head(0, 0, 3u << 24), {"byte 4", "big-endian"}},
        {"more tensors than bytes", Bytes().head(1ull << 60, 0), {"byte 8", "number of tensors", "1152921504606846976"}},
        {"more keys than bytes", Bytes().head(0, ~0ull), {"byte 16", "number of keys"}},
        {"a key is missing", Bytes().head(0, 1).u64(0), {"byte 16", "keys is 1"}},
        {"a tensor is missing", Bytes().head(1, 0).raw(std::string(8, '\0')), {"tensors is 1", "24"}},
    };
}

std::vector<Hostile> hostile_keys() {
    const auto n = std::string("a\0b", 3);
    return {
        {"a key longer than the file", one_key(Bytes().u64(1ull << 63).u32(0).u8(0).u8(0)), {"byte 24", "a key", "9223372036854775808"}},
        {"a key without a name", one_key(Bytes().key("", t_u8).u32(0)), {"byte 24", "empty name"}},
        {"a NUL in a key", one_key(Bytes().key(n, t_u8).u8(0)), {"byte 33", "NUL"}},
        {"no UTF-8 in a key", one_key(Bytes().key("a\xFF", t_u8).u8(0)), {"byte 33", "UTF-8"}},
        {"an overlong character", one_key(Bytes().key("\xC0\x80", t_u8).u8(0)), {"UTF-8"}},
        {"a surrogate", one_key(Bytes().key("\xED\xA0\x80", t_u8).u8(0)), {"UTF-8"}},
        {"a cut character", one_key(Bytes().key("\xE2\x82", t_u8).u8(0)), {"UTF-8"}},
        {"a key of 64 KiB", one_key(Bytes().key(std::string(65536, 'k'), t_u8).u8(0)), {"65536 bytes", "65535"}},
        {"a type that is none", one_key(Bytes().key("k", 13).u64(0)), {"byte 33", "type 13", "0 to 12"}},
        {"a value cut short", one_key(Bytes().key("k", t_u64).u32(0)), {"byte 37", "a value needs 8"}},
        {"a string longer than the file", one_key(Bytes().key("k", t_string).u64(1000).raw("abc")), {"byte 37", "a string is 1000"}},
        {"a bool of 2", one_key(Bytes().key("k", t_bool).u8(2)), {"byte 37", "bool of 2", "0 and 1"}},
        {"a bool of 7 in an array", one_key(Bytes().key("k", t_array).array(t_bool, 3).u8(1).u8(0).u8(7)), {"byte 51", "bool of 7"}},
        {"an array of type 99", one_key(Bytes().key("k", t_array).array(99, 0)), {"byte 37", "type 99"}},
        {"an array longer than the file",
         one_key(Bytes().key("k", t_array).array(t_u64, 1ull << 61).u64(0)),
         {"byte 41", "length", "8 bytes each"}},
        {"more strings than bytes", one_key(Bytes().key("k", t_array).array(t_string, 3).u64(0).u64(0)), {"byte 41", "length is 3"}},
        {"a string in an array is too long",
         one_key(Bytes().key("k", t_array).array(t_string, 1).u64(9).raw("abc")),
         {"byte 49", "a string is 9"}},
        {"more arrays than bytes", one_key(Bytes().key("k", t_array).array(t_array, 1ull << 40).array(t_u8, 0)), {"byte 41"}},
        {"arrays 17 deep", one_key(nested_arrays(17)), {"16 deep"}},
        {"arrays 100000 deep", one_key(nested_arrays(100000)), {"16 deep"}},
        {"a key twice", Bytes().head(0, 2).key("k", t_u8).u8(0).key("k", t_bool).u8(0), {"'k' is there twice"}},
        {"alignment of another type",
         one_key(Bytes().scalar<std::uint64_t>("general.alignment", t_u64, 32)),
         {"byte 53", "u64", "u32 is valid"}},
        {"alignment 0", one_key(Bytes().scalar("general.alignment", t_u32, 0u)), {"byte 53", "is 0", "power of two"}},
        {"alignment 48", one_key(Bytes().scalar("general.alignment", t_u32, 48u)), {"byte 53", "is 48", "power of two"}},
    };
}

std::vector<Hostile> hostile_tensors() {
    const std::uint64_t big = 1ull << 62;
    std::vector<Hostile> rows = {
        {"a NUL in a name", one_tensor(Bytes().tensor(std::string("\0", 1), {1}, 0, 0)), {"byte 32", "name has a NUL"}},
        {"no UTF-8 in a name", one_tensor(Bytes().tensor("\x80", {1}, 0, 0)), {"byte 32", "UTF-8"}},
        {"5 dimensions", one_tensor(Bytes().tensor("t", {1, 1, 1, 1, 1}, 0, 0)), {"byte 33", "'t'", "5 dimensions", "0 to 4"}},
        {"4 billion dimensions", one_tensor(Bytes().string("t").u32(~0u)), {"4294967295 dimensions"}},
        {"a negative dimension", one_tensor(Bytes().tensor("t", {4, ~0ull}, 0, 0)), {"'t'", "ne[1] is -1"}},
        {"too many elements", one_tensor(Bytes().tensor("t", {big, big}, 0, 0)), {"'t'", "more bytes than"}},
        {"too many elements behind a zero", one_tensor(Bytes().tensor("t", {0, big, big}, 0, 0)), {"'t'", "more bytes than"}},
        {"too many bytes", one_tensor(Bytes().tensor("t", {big}, 28, 0)), {"'t'", "more bytes than"}},
        {"a type that is none", one_tensor(Bytes().tensor("t", {1}, 9999, 0)), {"byte 45", "'t'", "type 9999", "there is not"}},
        {"a type that GGUF does not have", one_tensor(Bytes().tensor("t", {1}, 1000, 0)), {"byte 45", "'t'", "type 1000", "there is not"}},
        {"a negative type", one_tensor(Bytes().tensor("t", {1}, ~0u, 0)), {"'t'", "type -1"}},
        {"an odd offset", one_tensor(Bytes().tensor("t", {1}, 0, 4)), {"byte 49", "'t'", "offset 4", "alignment 32"}},
        {"data behind the end", one_tensor(Bytes().tensor("t", {1}, 0, 256)), {"byte 49", "'t'", "offset 256", "which have 256"}},
        {"data across the end", one_tensor(Bytes().tensor("t", {65}, 0, 0)), {"'t'", "260 bytes", "cut short"}},
        {"an offset that wraps", one_tensor(Bytes().tensor("t", {1}, 0, ~0ull - 31)), {"'t'", "18446744073709551584"}},
        {"a name twice",
         Bytes().head(2, 0).tensor("t", {1}, 0, 0).tensor("t", {1}, 0, 32).pad().raw(std::string(64, '\0')),
         {"'t' is there twice"}},
        {"tensors on one another",
         Bytes().head(2, 0).tensor("a", {9}, 0, 0).tensor("b", {1}, 0, 32).pad().raw(std::string(64, '\0')),
         {"'a' and 'b' overlap"}},
        {"two at one place",
         Bytes().head(2, 0).tensor("a", {1}, 0, 0).tensor("b", {1}, 0, 0).pad().raw(std::string(64, '\0')),
         {"overlap"}},
        {"no data at all", Bytes().head(1, 0).tensor("t", {1}, 0, 0), {"'t'", "which have 0"}},
    };
    for (const std::uint32_t id : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
        rows.push_back({"a retired type",
                        one_tensor(Bytes().tensor("t", {32}, id, 0)),
                        {"byte 45", "'t'", core::format_text("type %u", id), "retired"}});
    }
    return rows;
}

TEST(GgufHostile, files_are_refused_with_the_place) {
    for (const auto &rows : {hostile_heads(), hostile_keys(), hostile_tensors()}) {
        for (const Hostile &row : rows) {
            SCOPED_TRACE(row.name);
            expect_error(Status::format, row.words, [&] { open(row.bytes.str()); });
        }
    }
    EXPECT_EQ(open(one_key(nested_arrays(15)).str())->keys().size(), 1u);
    expect_error(Status::invalid_argument, {"data is NULL"}, [] { Gguf::open_memory(nullptr, 4); });
}

// All that a user can do with a file that opened.
void walk(const Ref<Gguf> &file) {
    const auto ctx = context();
    for (const core::GgufKey &key : file->keys()) {
        if (key.value.type == core::GgufType::string) (void)core::gguf_string(key);
        if (key.value.type == core::GgufType::array && key.value.element == core::GgufType::string) {
            for (std::uint64_t i = 0; i < key.value.count; i++) (void)core::gguf_string(key, i);
        }
    }
    for (const core::GgufTensor &tensor : file->tensors()) {
        const core::Tensor *leaf = file->new_leaf(*ctx, tensor.name);
        std::vector<std::byte> bytes(leaf->layout.nbytes());
        core::read_bytes(*leaf, bytes.data(), 0, bytes.size());
    }
}

// Opens exactly these bytes, in their own allocation, so that AddressSanitizer sees a read past the end.
bool opens(const std::string &bytes) {
    const auto copy = std::make_unique<char[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    try {
        walk(Gguf::open_memory(copy.get(), bytes.size()));
        return true;
    } catch (const tl::Error &error) {
        EXPECT_EQ(error.code(), Status::format) << error.what();
        return false;
    }
}

// The file of small_file() with every kind of value before its tensors.
std::string rich_file() {
    const std::string all = all_values(3).str();
    Bytes b;
    b.head(2, 18).raw(all.substr(24)).tensor("vector", {3}, 0, 0).tensor("matrix", {2, 3}, 1, 32);
    return b.pad().floats(1, 3).pad().raw(std::string(12, '\1')).str();
}

TEST(GgufHostile, every_prefix_is_an_error_and_nothing_worse) {
    const std::string whole = rich_file();
    ASSERT_TRUE(opens(whole));
    for (std::size_t n = 0; n < whole.size(); n++) EXPECT_FALSE(opens(whole.substr(0, n))) << n;
}

TEST(GgufHostile, every_flipped_byte_is_survived) {
    const std::string whole = rich_file();
    int opened = 0;
    for (std::size_t i = 0; i < whole.size(); i++) {
        for (const unsigned flip : {0x01u, 0x80u, 0xFFu}) {
            std::string flipped = whole;
            flipped[i] = static_cast<char>(static_cast<unsigned char>(flipped[i]) ^ flip);
            opened += opens(flipped);
        }
    }
    EXPECT_GT(opened, 0);
}

// --- files ---

TEST(GgufFiles, mapped_copied_and_borrowed_are_the_same) {
    const TempFolder folder;
    const std::string path = folder.write("small.gguf", small_file());
    for (const auto access : {Gguf::Access::map, Gguf::Access::copy}) {
        const auto file = Gguf::open(path, access);
        const auto ctx = context();
        EXPECT_EQ(file->n_parts(), 1u);
        EXPECT_EQ(values(*file->new_leaf(*ctx, "vector")), (std::vector<float>{1, 2, 3}));
    }
}

TEST(GgufFiles, that_cannot_be_opened_say_why) {
    const TempFolder folder;
    const std::string empty = folder.write("empty.gguf", ""), pipe = folder.path("pipe");
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    for (const auto access : {Gguf::Access::map, Gguf::Access::copy}) {
        expect_error(Status::io, {"gguf_open", "none.gguf", "No such file"}, [&] { Gguf::open(folder.path("none.gguf"), access); });
        expect_error(Status::io, {"is a folder"}, [&] { Gguf::open(folder.path(""), access); });
        expect_error(Status::io, {"pipe", "regular file"}, [&] { Gguf::open(pipe, access); });
        expect_error(Status::format, {"empty.gguf", "is empty"}, [&] { Gguf::open(empty, access); });
        expect_error(Status::format, {"bad.gguf", "byte 0"}, [&] { Gguf::open(folder.write("bad.gguf", "no such thing"), access); });
    }
}

// --- parts ---

// Part `index` of `count`, with a tensor of its own.
std::string part(unsigned index, unsigned count, const std::string &tensor, int n_tensors = 3) {
    Bytes b;
    b.head(1, index == 0 ? 4 : 3);
    if (index == 0) b.key("general.name", t_string).string("whole");
    b.scalar<std::uint16_t>("split.no", t_u16, static_cast<std::uint16_t>(index));
    b.scalar<std::uint16_t>("split.count", t_u16, static_cast<std::uint16_t>(count)).scalar("split.tensors.count", t_i32, n_tensors);
    return b.tensor(tensor, {2}, 0, 0).pad().floats(static_cast<float>(index), 2).str();
}

std::string part_name(unsigned index) { return core::format_text("big-0000%u-of-00003.gguf", index + 1); }

TEST(GgufParts, any_part_stands_for_all) {
    const TempFolder folder;
    for (unsigned i = 0; i < 3; i++) folder.write(part_name(i), part(i, 3, core::format_text("t%u", i)));
    for (unsigned i = 0; i < 3; i++) {
        const auto file = Gguf::open(folder.path(part_name(i)), Gguf::Access::map);
        const auto ctx = context();
        EXPECT_EQ(file->n_parts(), 3u);
        EXPECT_EQ(core::gguf_string(key(file, "general.name")), "whole");
        ASSERT_EQ(file->tensors().size(), 3u);
        for (unsigned t = 0; t < 3; t++) {
            EXPECT_EQ(file->tensors()[t].part, t);
            const auto first = static_cast<float>(t);
            EXPECT_EQ(values(*file->new_leaf(*ctx, core::format_text("t%u", t))), (std::vector<float>{first, first + 1}));
        }
    }
    // A file in memory has no folder in which other parts could be found.
    EXPECT_EQ(open(part(1, 3, "t1"))->tensors().size(), 1u);
}

TEST(GgufParts, what_does_not_fit_together_is_named) {
    const TempFolder folder;
    const auto refused = [&](Status status, const std::vector<std::string> &words) {
        expect_error(status, words, [&] { Gguf::open(folder.path(part_name(0)), Gguf::Access::copy); });
    };
    folder.write(part_name(0), part(0, 3, "t0"));
    folder.write(part_name(2), part(2, 3, "t2"));
    refused(Status::io, {part_name(1), "No such file"});
    folder.write(part_name(1), part(2, 3, "t1"));
    refused(Status::format, {part_name(1), "part 3 of 3", "2 of 3 is valid"});
    folder.write(part_name(1), part(1, 4, "t1"));
    refused(Status::format, {part_name(1), "part 2 of 4"});
    folder.write(part_name(1), "rubbish");
    refused(Status::format, {part_name(1), "byte 0"});
    folder.write(part_name(1), part(1, 3, "t2"));
    refused(Status::format, {"'t2'", "parts 2 and 3"});
    folder.write(part_name(1), part(1, 3, "t1"));
    folder.write(part_name(0), part(0, 3, "t0", 4));
    refused(Status::format, {"3 tensors", "split.tensors.count is 4"});
    folder.write(part_name(0), part(3, 3, "t0"));
    refused(Status::format, {"split.no is 3"});
    const std::string renamed = folder.write("renamed.gguf", part(0, 3, "t0"));
    expect_error(Status::format, {"must end in -00001-of-00003.gguf"}, [&] { Gguf::open(renamed, Gguf::Access::map); });
    folder.write("text.gguf", Bytes().head(0, 1).key("split.count", t_string).string("3").str());
    expect_error(Status::format, {"split.count"}, [&] { Gguf::open(folder.path("text.gguf"), Gguf::Access::map); });
}

// --- leafs ---

TEST(GgufLeafs, lie_in_the_file_and_cost_their_object_alone) {
    constexpr int n = 1 << 20;
    Bytes b;
    b.head(1, 0).tensor("large", {n}, 0, 0).pad().floats(0, n);
    const auto file = open(b.str());
    core::ContextParams params;
    params.mem_limit = 4096;
    params.no_alloc = true;
    const auto ctx = context(params);
    core::Tensor *leaf = file->new_leaf(*ctx, "large");
    EXPECT_STREQ(leaf->name.load(), "large");
    // std::string gives memory that is aligned for floats.
    EXPECT_EQ(static_cast<const void *>(leaf->address()), file->tensors()[0].data);
    EXPECT_EQ(core::get_f32(*leaf, {n - 1, 0, 0, 0}), static_cast<float>(n - 1));
    EXPECT_LT(ctx->used_memory(), 1024u);
}

TEST(GgufLeafs, outlive_the_files_handle_but_not_a_reset) {
    const TempFolder folder;
    auto file = Gguf::open(folder.write("small.gguf", small_file()), Gguf::Access::map);
    const auto ctx = context();
    const core::Tensor *leaf = file->new_leaf(*ctx, "vector");
    EXPECT_NE(file->new_leaf(*ctx, "vector"), nullptr);
    file = {};
    EXPECT_EQ(values(*leaf), (std::vector<float>{1, 2, 3}));
    const auto bytes = core::FileBytes::map("test", folder.path("small.gguf"));
    EXPECT_EQ(bytes->ref_count(), 1u);
    ctx->new_file_leaf({leaf->layout, "again", bytes->bytes().data(), bytes.get()});
    EXPECT_EQ(bytes->ref_count(), 2u);
    ctx->new_file_leaf({leaf->layout, "again", bytes->bytes().data(), bytes.get()});
    EXPECT_EQ(bytes->ref_count(), 2u);
    ctx->reset();
    EXPECT_EQ(bytes->ref_count(), 1u);
}

TEST(GgufLeafs, that_fail_keep_nothing_of_the_file) {
    const TempFolder folder;
    const auto file = Gguf::open(folder.write("small.gguf", small_file()), Gguf::Access::map);
    const auto bytes = core::FileBytes::map("test", folder.path("small.gguf"));
    const auto layout = file->tensors()[0].layout;
    core::ContextParams params;
    params.mem_limit = 1;
    const auto ctx = core::Context::create(params);
    const auto leaf = [&] { ctx->new_file_leaf({layout, "none", bytes->bytes().data(), bytes.get()}); };
    support::expect_error(tl::Status::out_of_memory, {"none"}, leaf);
    EXPECT_EQ(bytes->ref_count(), 1u);
    EXPECT_EQ(ctx->used_memory(), 0u);
}

TEST(GgufLeafs, that_lie_askew_are_copies) {
    const std::string bytes = small_file();
    for (std::size_t shift = 0; shift < 8; shift++) {
        const auto memory = std::make_unique<char[]>(bytes.size() + 8);
        std::memcpy(memory.get() + shift, bytes.data(), bytes.size());
        const auto file = Gguf::open_memory(memory.get() + shift, bytes.size());
        const auto ctx = context();
        const core::Tensor *leaf = file->new_leaf(*ctx, "vector");
        EXPECT_EQ(static_cast<const void *>(leaf->address()) == file->tensors()[0].data, shift % 4 == 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(leaf->address()) % 4, 0u);
        EXPECT_EQ(values(*leaf), (std::vector<float>{1, 2, 3}));
    }
}

TEST(GgufLeafs, are_read_only_however_they_are_written) {
    const std::string bytes = small_file();
    const auto file = open(bytes);
    const auto ctx = context();
    core::Tensor *leaf = file->new_leaf(*ctx, "vector");
    core::Tensor *view = core::build_node(*ctx, core::Op::reshape, std::vector<core::Tensor *>{leaf},
                                          std::vector<core::Attr>{core::Attr::of_ints("ne", std::vector<std::int64_t>{1, 3})});
    core::Tensor *own = ctx->new_leaf(leaf->layout);
    const float three[] = {7, 8, 9};
    const std::vector<std::string> words = {"'vector'", "GGUF file", "read-only"};
    expect_error(Status::invalid_argument, words, [&] { core::write_bytes(*leaf, three, 0, 12); });
    expect_error(Status::invalid_argument, words, [&] { core::write_f32(*leaf, three, 3); });
    expect_error(Status::invalid_argument, words, [&] { core::set_f32(*leaf, {0, 0, 0, 0}, 1); });
    expect_error(Status::invalid_argument, words, [&] { (void)core::map(*leaf, true); });
    expect_error(Status::invalid_argument, {"GGUF file", "read-only"}, [&] { core::write_f32(*view, three, 3); });
    for (core::Tensor *target : {leaf, view}) {
        expect_error(Status::invalid_argument, {"cpy", "GGUF file", "read-only"},
                     [&] { (void)core::build_node(*ctx, core::Op::cpy, std::vector<core::Tensor *>{own, target}, {}); });
    }
    core::set_constant(*leaf);
    EXPECT_EQ(std::memcmp(core::map(*leaf, false), leaf->address(), 12), 0);
    core::unmap(*leaf, false);
    expect_error(Status::unsupported, {"packed"}, [&] { core::drop_original(*leaf); });
    // Reading from it is what it is for.
    EXPECT_NE(core::build_node(*ctx, core::Op::cpy, std::vector<core::Tensor *>{leaf, own}, {}), nullptr);
    EXPECT_EQ(values(*leaf), (std::vector<float>{1, 2, 3}));
}

TEST(GgufLeafs, that_do_not_fit_change_nothing) {
    const std::string bytes = small_file();
    const auto file = open(bytes);
    core::ContextParams params;
    params.mem_limit = 64;
    const auto ctx = context(params);
    expect_error(Status::out_of_memory, {"limit"}, [&] { file->new_leaf(*ctx, "vector"); });
    EXPECT_EQ(ctx->used_memory(), 0u);
    expect_error(Status::invalid_argument, {"gguf_tensor", "'nothing'", "2"}, [&] { file->new_leaf(*ctx, "nothing"); });
}

// --- the field's reference ---

TEST(GgufVectors, all_types_are_read_as_the_reference_wrote_them) {
    const std::string path = std::string(TENSORLIB_ROOT) + "/../shared/vectors/all-types.gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    const std::string whole = support::file_text(path);
    const auto file = Gguf::open(path, Gguf::Access::map);
    EXPECT_EQ(file->tensors().size(), 35u);
    EXPECT_EQ(core::gguf_u64(key(file, "test.u64")), 18000000000000000000ull);
    EXPECT_EQ(core::gguf_string(key(file, "test.arr_str"), 2), "gamma \xCE\xB3");
    const auto ctx = context();
    constexpr std::size_t data_begin = 2432;  // the header has 2426 bytes
    for (const core::GgufTensor &tensor : file->tensors()) {
        const core::Tensor *leaf = file->new_leaf(*ctx, tensor.name);
        std::string bytes(leaf->layout.nbytes(), '\0');
        core::read_bytes(*leaf, bytes.data(), 0, bytes.size());
        EXPECT_EQ(bytes, whole.substr(data_begin + tensor.offset, bytes.size())) << tensor.name;
    }
}

}  // namespace
