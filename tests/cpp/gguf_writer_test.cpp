// Writing GGUF files: their contents, byte by byte for small files, and the state that a failed write leaves.
#include "gguf_files.hpp"
#include "support.hpp"

#include "base/fail.hpp"
#include "graph/tensor_data.hpp"
#include "io/gguf_writer.hpp"
#include "ops/op_def.hpp"

#include <tensorlib/gguf.hpp>

#include <sys/wait.h>

#include <algorithm>
#include <csignal>

namespace core = tensorlib::core;
using core::Gguf;
using core::GgufType;
using core::GgufWriter;
using core::Ref;
using support::Bytes;
using support::expect_error;
using support::TempFolder;
using tl::Status;

namespace {

using namespace support;  // t_u8 ...

Ref<core::Context> context() { return core::Context::create({}); }

core::Tensor *leaf(core::Context &ctx, const char *name, std::vector<std::int64_t> ne, float first) {
    core::Tensor *t = ctx.new_leaf(core::contiguous_layout("test", core::DType::f32, ne));
    ctx.set_name(*t, name);
    std::vector<float> values(static_cast<std::size_t>(t->layout.n_elements()));
    for (std::size_t i = 0; i < values.size(); i++) values[i] = first + static_cast<float>(i);
    core::write_f32(*t, values.data(), values.size());
    return t;
}

template <class T>
void set(GgufWriter &writer, const char *key, GgufType type, T value) {
    writer.set_scalar(key, type, &value);
}

TEST(GgufWriter, writes_what_the_format_says) {
    for (const std::uint32_t version : {2u, 3u}) {
        const TempFolder folder;
        const auto ctx = context();
        const auto writer = GgufWriter::create(folder.path("out.gguf"), {version, 64, 0});
        set(*writer, "u8", GgufType::u8, std::uint8_t{200});
        set(*writer, "f64", GgufType::f64, -1e300);
        set(*writer, "yes", GgufType::boolean, true);
        writer->set_string("text", "gr\xC3\xBC\xC3\x9F");
        const std::int16_t shorts[] = {1, -2};
        writer->set_array("shorts", GgufType::i16, shorts, 2);
        const std::string_view texts[] = {"a", "", "bc"};
        writer->set_strings("texts", texts);
        writer->add_tensor(*leaf(*ctx, "vector", {3}, 1));
        const std::int64_t ne[] = {2, 2};
        writer->declare_tensor("matrix", core::DType::f32, ne);
        writer->declare_tensor("scalar", core::DType::f32, {});
        const std::int64_t none[] = {4, 0};
        writer->declare_tensor("empty", core::DType::f32, none);
        const float matrix[] = {5, 6, 7, 8}, scalar = 9;
        // In pieces, whose borders are nobody's business.
        writer->write_data(matrix, 7);
        writer->write_data(reinterpret_cast<const char *>(matrix) + 7, 9);
        writer->write_data(nullptr, 0);
        writer->write_data(&scalar, 4);
        // Where a file cannot be without a name, it has one that says what it is.
        for (const std::string &name : folder.names()) EXPECT_TRUE(name.starts_with(".tensorlib-")) << name << ": a name before the end";
        writer->finish();

        Bytes b;
        b.head(4, 7, version).scalar<std::uint8_t>("u8", t_u8, 200).scalar("f64", t_f64, -1e300).scalar<std::uint8_t>("yes", t_bool, 1);
        b.key("text", t_string).string("gr\xC3\xBC\xC3\x9F").key("shorts", t_array).array(t_i16, 2).put(shorts[0]).put(shorts[1]);
        b.key("texts", t_array).array(t_string, 3).string("a").string("").string("bc").scalar("general.alignment", t_u32, 64u);
        b.tensor("vector", {3}, 0, 0).tensor("matrix", {2, 2}, 0, 64).tensor("scalar", {}, 0, 128).tensor("empty", {4, 0}, 0, 192);
        b.pad(64).floats(1, 3).pad(64).floats(5, 4).pad(64).floats(9, 1).pad(64);
        EXPECT_EQ(support::file_text(folder.path("out.gguf")), b.str());
        EXPECT_EQ(folder.names(), std::vector<std::string>{"out.gguf"});
        EXPECT_EQ(writer->n_parts(), 1u);
    }
}

TEST(GgufWriter, copies_keys_but_its_own_and_those_that_are_set) {
    Bytes b;
    b.head(0, 4).scalar("general.alignment", t_u32, 128u).scalar("kept", t_u32, 7u).scalar("own", t_u32, 1u);
    b.key("nested", t_array).array(t_array, 2).array(t_u8, 1).u8(5).array(t_string, 1).string("x");
    const auto from = Gguf::open_memory(b.str().data(), b.size());
    const TempFolder folder;
    const auto writer = GgufWriter::create(folder.path("copy.gguf"), {});
    set(*writer, "own", GgufType::u32, 2u);
    writer->copy_keys(*from);
    writer->finish();
    const auto file = Gguf::open(folder.path("copy.gguf"), Gguf::Access::map);
    EXPECT_EQ(file->alignment(), 32u);
    ASSERT_EQ(file->keys().size(), 3u);
    EXPECT_EQ(core::gguf_u64(file->keys()[0]), 2u);
    EXPECT_EQ(core::gguf_u64(file->keys()[1]), 7u);
    const auto nested = [](const Ref<Gguf> &f) { return f->keys()[f->find_key("nested").value()].value.encoded; };
    ASSERT_EQ(nested(file).size(), nested(from).size());
    EXPECT_EQ(std::memcmp(nested(file).data(), nested(from).data(), nested(from).size()), 0);
}

// Where one of several parts cannot take its name, all names are as they were: old parts and new ones are not mixed.
TEST(GgufWriter, parts_take_their_names_together_or_not_at_all) {
    const auto ctx = context();
    const auto part = [](int i) { return core::format_text("big-%05d-of-00004.gguf", i); };
    for (const int had : {0, 4, 2}) {  // old parts; of 2 the others have nothing to go back to
        for (const int cannot : {0, 1, 2, 3, 4}) {
            SCOPED_TRACE(core::format_text("%d old parts, part %d fails", had, cannot));
            const TempFolder folder;
            for (int i = 1; i <= had; i++) std::ofstream(folder.path(part(i))) << "old part " << i;
            core::GgufWriterParams params;
            params.split_size = 4096;
            const auto writer = GgufWriter::create(folder.path("big.gguf"), params);
            for (int i = 0; i < 8; i++) {
                writer->declare_tensor(core::format_text("t%d", i), core::DType::f32, std::vector<std::int64_t>{400});
            }
            const std::vector<float> values(400, 1.0f);
            for (int i = 0; i < 8; i++) writer->write_data(values.data(), 1600);
            if (cannot == 0) {
                writer->finish();
                EXPECT_EQ(folder.names().size(), 4u);
                EXPECT_EQ(Gguf::open(folder.path(part(3)), Gguf::Access::map)->n_parts(), 4u);
                continue;
            }
            const std::vector<std::string> before = folder.names();
            // Parts that are complete have temporary names by now. (The last one is complete in finish().)
            std::vector<std::string> temporary;
            for (const std::string &name : before) {
                if (name.starts_with(".tensorlib-")) temporary.push_back(name);
            }
            ASSERT_GE(temporary.size(), 3u);
            std::sort(temporary.begin(), temporary.end(),
                      [](const std::string &a, const std::string &b) { return std::pair(a.size(), a) < std::pair(b.size(), b); });
            if (cannot < 4) {
                std::filesystem::remove(folder.path(temporary[static_cast<std::size_t>(cannot - 1)]));
            } else {
                std::filesystem::remove(folder.path(part(4)));
                std::filesystem::create_directory(folder.path(part(4)));
            }
            expect_error(Status::io, {part(cannot)}, [&] { writer->finish(); });
            if (cannot == 4) std::filesystem::remove(folder.path(part(4)));
            for (int i = 1; i <= 4; i++) {
                const bool expected = i <= had && !(cannot == 4 && i == 4);
                ASSERT_EQ(std::filesystem::exists(folder.path(part(i))), expected) << i;
                EXPECT_EQ(support::file_text(folder.path(part(i))), expected ? core::format_text("old part %d", i) : "");
            }
        }
    }
}

TEST(GgufWriter, splits_by_size_and_never_a_tensor) {
    const TempFolder folder;
    const auto ctx = context();
    core::GgufWriterParams params;
    params.split_size = 4096;
    const auto writer = GgufWriter::create(folder.path("big.gguf"), params);
    writer->set_string("general.name", "whole");
    for (int i = 0; i < 6; i++) writer->add_tensor(*leaf(*ctx, core::format_text("t%d", i).c_str(), {400}, static_cast<float>(i)));
    writer->add_tensor(*leaf(*ctx, "large", {5000}, 0));
    writer->finish();
    const std::vector<std::string> names = {"big-00001-of-00004.gguf", "big-00002-of-00004.gguf", "big-00003-of-00004.gguf",
                                            "big-00004-of-00004.gguf"};
    EXPECT_EQ(folder.names(), names);
    for (std::size_t i = 0; i < 3; i++) EXPECT_LE(std::filesystem::file_size(folder.path(names[i])), 4096u) << i;
    const auto file = Gguf::open(folder.path(names[2]), Gguf::Access::map);
    EXPECT_EQ(file->n_parts(), 4u);
    EXPECT_EQ(file->tensors().size(), 7u);
    EXPECT_EQ(core::gguf_string(file->keys()[file->find_key("general.name").value()]), "whole");
    EXPECT_EQ(core::get_f32(*file->new_leaf(*ctx, "t5"), {399, 0, 0, 0}), 404.0f);
    EXPECT_EQ(core::get_f32(*file->new_leaf(*ctx, "large"), {4999, 0, 0, 0}), 4999.0f);

    // What fits stays one file of the given name.
    params.split_size = 1 << 20;
    const auto small = GgufWriter::create(folder.path("small.gguf"), params);
    small->add_tensor(*leaf(*ctx, "t", {4}, 0));
    small->finish();
    EXPECT_EQ(Gguf::open(folder.path("small.gguf"), Gguf::Access::map)->n_parts(), 1u);
}

TEST(GgufWriter, views_and_results_are_packed_and_must_be_computed) {
    const TempFolder folder;
    const auto ctx = context();
    core::Tensor *a = leaf(*ctx, "a", {2, 3}, 0);
    core::Tensor *turned = core::build_node(*ctx, core::Op::transpose, std::vector<core::Tensor *>{a}, {});
    ctx->set_name(*turned, "turned");
    core::Tensor *sum = core::build_node(*ctx, core::Op::add, std::vector<core::Tensor *>{a, a}, {});
    ctx->set_name(*sum, "sum");
    const auto writer = GgufWriter::create(folder.path("v.gguf"), {});
    writer->add_tensor(*turned);
    writer->finish();
    const auto file = Gguf::open(folder.path("v.gguf"), Gguf::Access::map);
    std::vector<float> values(6);
    core::read_f32(*file->new_leaf(*ctx, "turned"), values.data(), 6);
    EXPECT_EQ(values, (std::vector<float>{0, 2, 4, 1, 3, 5}));

    const auto second = GgufWriter::create(folder.path("s.gguf"), {});
    second->add_tensor(*sum);
    expect_error(Status::invalid_argument, {"'sum'", "make it an output"}, [&] { second->finish(); });
    expect_error(Status::invalid_argument, {"'sum'", "make it an output"}, [&] { second->finish(); });
    // While a writer is to read from it, a context cannot be emptied.
    expect_error(Status::busy, {}, [&] { ctx->reset(); });
}

TEST(GgufWriter, misuse_says_what_would_be_valid) {
    const TempFolder folder;
    const auto ctx = context();
    const auto writer = GgufWriter::create(folder.path("m.gguf"), {});
    writer->set_string("key", "x");
    const std::int64_t ne[] = {4}, five[] = {1, 1, 1, 1, 1}, odd[] = {33};
    const std::uint8_t two = 2;
    writer->declare_tensor("t", core::DType::f32, ne);
    struct Row {
        std::function<void()> call;
        std::vector<std::string> words;
    };
    const Row rows[] = {
        {[&] { writer->set_string("key", "y"); }, {"'key'", "set already"}},
        {[&] { writer->set_string("", "y"); }, {"a key is empty", "1 to 65535 bytes"}},
        {[&] { writer->set_string("\xFF", "y"); }, {"UTF-8"}},
        {[&] { writer->set_string(std::string(70000, 'k'), "y"); }, {"70000", "65535"}},
        {[&] { set(*writer, "general.alignment", GgufType::u32, 64u); }, {"general.alignment", "alignment and split_size"}},
        {[&] { set(*writer, "split.no", GgufType::u16, std::uint16_t{0}); }, {"split.no"}},
        {[&] { writer->set_scalar("b", GgufType::boolean, &two); }, {"'b'", "0 and 1"}},
        {[&] { writer->set_array("b", GgufType::boolean, &two, 1); }, {"'b'", "0 and 1"}},
        {[&] { writer->set_array("a", GgufType::string, &two, 1); }, {"'a'", "numbers and bools"}},
        {[&] { writer->set_array("a", GgufType::u64, &two, ~0ull); }, {"'a'", "too many"}},
        {[&] { writer->set_array("a", GgufType::u8, nullptr, 1); }, {"'a'", "NULL"}},
        {[&] { writer->declare_tensor("t", core::DType::f32, ne); }, {"'t'", "declared already"}},
        {[&] { writer->declare_tensor("", core::DType::f32, ne); }, {"a tensor's name is empty", "1 to 64 bytes"}},
        {[&] { writer->add_tensor(*leaf(*ctx, "", {1}, 0)); }, {"a tensor's name is empty"}},
        {[&] { writer->declare_tensor(std::string(65, 't'), core::DType::f32, ne); }, {"65 bytes", "64"}},
        {[&] { writer->declare_tensor("u", core::DType::f32, five); }, {"5 dimensions"}},
        {[&] { writer->declare_tensor("u", core::DType::u8, ne); }, {"'u' is u8", "no type of GGUF", "i8"}},
        {[&] { writer->declare_tensor("u", core::DType::boolean, ne); }, {"'u' is bool", "no type of GGUF"}},
        {[&] { writer->write_data(nullptr, 4); }, {"NULL"}},
        {[&] { writer->write_data(ne, 17); }, {"17 bytes", "'t'", "lacks 16"}},
        {[&] { writer->finish(); }, {"'t'", "lacks 16"}},
        {[&] { writer->set_string("late", "y"); }, {"data were written"}},
        {[&] { writer->declare_tensor("u", core::DType::f32, ne); }, {"data were written"}},
        {[&] { writer->add_tensor(*leaf(*ctx, "u", {1}, 0)); }, {"data were written"}},
    };
    for (const Row &row : rows) expect_error(Status::invalid_argument, row.words, row.call);
    const float data[4] = {};
    writer->write_data(data, 16);
    expect_error(Status::invalid_argument, {"1 bytes more"}, [&] { writer->write_data(data, 1); });
    writer->finish();
    expect_error(Status::invalid_argument, {"is finished"}, [&] { writer->finish(); });
    expect_error(Status::invalid_argument, {"is finished"}, [&] { writer->set_string("k", ""); });
    expect_error(Status::invalid_argument, {"path is empty"}, [&] { GgufWriter::create("", {}); });
    expect_error(Status::invalid_argument, {"version 1", "2 and 3"}, [&] { GgufWriter::create("x", {1, 32, 0}); });
    expect_error(Status::invalid_argument, {"alignment 24", "power of two"}, [&] { GgufWriter::create("x", {3, 24, 0}); });
    (void)odd;
}

TEST(GgufWriter, files_that_cannot_be_made_say_why) {
    const TempFolder folder;
    expect_error(Status::io, {"gguf_writer", "none/x.gguf", "No such file"}, [&] { GgufWriter::create(folder.path("none/x.gguf"), {}); });
    const auto onto_folder = GgufWriter::create(folder.path(""), {});
    expect_error(Status::io, {"cannot be named"}, [&] { onto_folder->finish(); });
    expect_error(Status::invalid_argument, {"failed before"}, [&] { onto_folder->finish(); });
}

TEST(GgufWriter, what_is_not_finished_leaves_the_target_as_it_was) {
    const TempFolder folder;
    const auto ctx = context();
    const std::string path = folder.write("keep.gguf", "old");
    {
        const auto writer = GgufWriter::create(path, {});
        writer->add_tensor(*leaf(*ctx, "t", {100}, 0));
        const std::int64_t ne[] = {4};
        writer->declare_tensor("u", core::DType::f32, ne);
        writer->write_data("ab", 2);
    }
    EXPECT_EQ(support::file_text(path), "old");
    EXPECT_EQ(folder.names(), std::vector<std::string>{"keep.gguf"});

    // A process that is killed on the way.
    const pid_t child = fork();
    if (child == 0) {
        const auto writer = GgufWriter::create(path, {});
        const std::int64_t ne[] = {4};
        writer->declare_tensor("u", core::DType::f32, ne);
        writer->write_data("ab", 2);
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(support::file_text(path), "old");
    for (const std::string &name : folder.names()) EXPECT_TRUE(name == "keep.gguf" || name.starts_with(".tensorlib-")) << name;
}

// The public C++ API over both.
TEST(GgufApi, what_was_written_is_read) {
    const TempFolder folder;
    const tl::Context ctx;
    const auto t = ctx.tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
    t.set_name("t");
    tl::GgufWriter writer(folder.path("api.gguf"), {.alignment = 64});
    writer.set("u8", std::uint8_t{1});
    writer.set("i16", std::int16_t{-2});
    writer.set("f32", 0.5f);
    writer.set("yes", true);
    writer.set("text", "hello");
    writer.set("ints", std::span<const std::int64_t>(std::vector<std::int64_t>{1, -1}));
    writer.set("texts", std::span<const std::string>(std::vector<std::string>{"a", "bc"}));
    writer.add(t);
    writer.declare("scalar", tl::Type::i32, {});
    const std::int32_t seven = 7;
    writer.write(std::as_bytes(std::span(&seven, 1)));
    writer.finish();
    for (const auto &file : {tl::Gguf::open(folder.path("api.gguf")), tl::Gguf::open_copy(folder.path("api.gguf"))}) {
        EXPECT_EQ(file.version(), 3u);
        EXPECT_EQ(file.alignment(), 64u);
        EXPECT_EQ(file.n_parts(), 1u);
        EXPECT_EQ(file.keys().size(), 8u);
        EXPECT_EQ(file.type("u8"), tl::GgufType::u8);
        EXPECT_EQ(file.type("i16"), tl::GgufType::i16);
        EXPECT_EQ(file.u64("u8"), 1u);
        EXPECT_EQ(file.i64("i16"), -2);
        EXPECT_EQ(file.f64("f32"), 0.5);
        EXPECT_TRUE(file.boolean("yes"));
        EXPECT_EQ(file.string("text"), "hello");
        EXPECT_EQ(file.numbers<std::int64_t>("ints"), (std::vector<std::int64_t>{1, -1}));
        EXPECT_EQ(file.strings("texts"), (std::vector<std::string>{"a", "bc"}));
        EXPECT_FALSE(file.has("none"));
        expect_error(Status::invalid_argument, {"no key 'none'"}, [&] { file.u64("none"); });
        expect_error(Status::type_mismatch, {"'ints'", "i64"}, [&] { file.numbers<float>("ints"); });
        expect_error(Status::type_mismatch, {"'u8'", "array"}, [&] { file.strings("u8"); });
        const auto infos = file.tensors();
        ASSERT_EQ(infos.size(), 2u);
        EXPECT_EQ(infos[0].shape, (tl::Shape{2, 3}));
        EXPECT_EQ(infos[1].shape, tl::Shape{});
        EXPECT_EQ(infos[1].data.size(), 4u);
        const auto leaf = file.tensor(ctx, "t");
        EXPECT_EQ(leaf.read<float>(), t.read<float>());
        EXPECT_EQ(leaf.name(), "t");
        tl::Backend cpu;
        const auto sum = leaf + leaf;
        cpu.compute({sum});
        EXPECT_EQ(sum.read<float>()[5], 12.0f);
        expect_error(Status::invalid_argument, {"read-only"}, [&] { leaf.write_f32(std::vector<float>(6)); });
    }
}

TEST(GgufWriter, all_types_come_back_byte_for_byte) {
    const std::string path = std::string(TENSORLIB_ROOT) + "/../shared/vectors/all-types.gguf";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
    const TempFolder folder;
    const auto from = Gguf::open(path, Gguf::Access::map);
    const auto ctx = context();
    const auto writer = GgufWriter::create(folder.path("all.gguf"), {});
    writer->copy_keys(*from);
    for (const core::GgufTensor &tensor : from->tensors()) writer->add_tensor(*from->new_leaf(*ctx, tensor.name));
    writer->finish();
    // The reference too writes keys and tensors in their order, at the default alignment.
    EXPECT_EQ(support::file_text(folder.path("all.gguf")), support::file_text(path));
}

}  // namespace
