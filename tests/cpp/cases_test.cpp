// Runs the language-neutral cases through the C++ API, one GoogleTest per case. Grammar: tests/cases/README.md.
#include "gen/case_ops.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace {

struct Case {
    std::string name;
    std::vector<std::vector<std::string>> lines;  // words; of `word` the text in one
};

// TENSORLIB_DEVICE: one, or several with + between them. Leafs are on each of these in turn then, and they compute joined.
const std::vector<tl::Backend> &parts() {
    static const std::vector<tl::Backend> all = [] {
        const char *wanted = std::getenv("TENSORLIB_DEVICE"), *threads = std::getenv("TENSORLIB_TEST_THREADS");
        std::vector<tl::Backend> opened;
        std::istringstream names(wanted && *wanted ? wanted : "cpu");
        for (std::string name; std::getline(names, name, '+');)
            opened.emplace_back(name, tl::BackendOptions{threads && *threads ? std::atoi(threads) : 2});
        return opened;
    }();
    return all;
}

tl::Backend &device() {
    static tl::Backend backend = parts().size() == 1 ? parts()[0] : tl::Backend::join(parts());
    return backend;
}

bool has_cpu() { return device().device().find("cpu") != std::string::npos; }

tl::Status status_of(const std::string &name) {
    const std::map<std::string, tl::Status> known{
        {"INVALID_ARGUMENT", tl::Status::invalid_argument}, {"SHAPE_MISMATCH", tl::Status::shape_mismatch},
        {"TYPE_MISMATCH", tl::Status::type_mismatch},       {"CONTEXT_MISMATCH", tl::Status::context_mismatch},
        {"UNSUPPORTED", tl::Status::unsupported},           {"OUT_OF_MEMORY", tl::Status::out_of_memory}};
    return known.at(name);
}

// Numbers are read by strtod and strtof: std::stod and std::stof throw for denormal values.

// One case as it runs: tensors by id, then the checks of its last lines.
class Runner {
public:
    void run(const Case &c) {
        for (const auto &line : c.lines) {
            const std::string &what = line[0];
            if (what == "leaf")
                leaf(line);
            else if (what == "blocks")
                blocks(line);
            else if (what == "hex")
                hex(line);
            else if (what == "set")
                data_.at(line[1])[std::stoul(line[2])] = std::strtof(line[3].c_str(), nullptr);
            else if (what == "op")
                op(line);
            else if (what == "cpu_only")
                cpu_only_ = true;
            else if (what == "out")
                out(line);
            else if (what == "fails")
                fails(line);
            else if (what == "tol")
                abs_ = std::strtod(line[1].c_str(), nullptr), rel_ = std::strtod(line[2].c_str(), nullptr);
            else if (what == "at")
                at(line);
            else if (what == "error") {
                ASSERT_TRUE(error_.has_value()) << "the operation was accepted";
                EXPECT_EQ(static_cast<int>(error_->code()), static_cast<int>(status_of(line[1]))) << error_->what();
            } else if (what == "word") {
                ASSERT_TRUE(error_.has_value());
                EXPECT_NE(std::string(error_->what()).find(line[1]), std::string::npos)
                    << "'" << line[1] << "' is not in: " << error_->what();
            } else {
                FAIL() << "not in the grammar: " << what;
            }
            if (testing::Test::HasFatalFailure() || done_) return;
        }
    }

private:
    void leaf(const std::vector<std::string> &w) {
        const tl::Type type = tl::type_from_name(w[2]);
        const auto seed = static_cast<std::uint32_t>(std::stoul(w[7]));
        const tl::Tensor t = next_context().zeros(type, {std::stoll(w[3]), std::stoll(w[4]), std::stoll(w[5]), std::stoll(w[6])});
        std::vector<float> values(static_cast<std::size_t>(t.n_elements()));
        for (std::size_t i = 0; i < values.size(); i++) {
            const auto at = static_cast<std::uint32_t>(i);
            values[i] = w[2].find('f') != std::string::npos ? support::value(seed, at) : integer(w[2], seed, at);
        }
        tensors_.insert({w[1], t});
        data_[w[1]] = std::move(values);
    }

    // For a leaf: one after the other of the devices'.
    const tl::Context &next_context() {
        const std::size_t part = n_leafs_++ % parts().size();
        if (part == 0) return ctx_;
        while (others_.size() < part) others_.emplace_back(parts()[others_.size() + 1]);
        return others_[part - 1];
    }

    static float integer(const std::string &type, std::uint32_t seed, std::uint32_t i) {
        std::uint32_t x = i ^ (seed * 0x9E3779B1u);
        x = (x ^ (x >> 16)) * 0x7FEB352Du;
        x = (x ^ (x >> 15)) * 0x846CA68Bu;
        x ^= x >> 16;
        const auto value = static_cast<int>(x >> 8);
        if (type == "bool") return static_cast<float>(value % 2);
        return static_cast<float>(type[0] == 'u' ? value % 200 : value % 200 - 100);
    }

    void blocks(const std::vector<std::string> &w) {
        const tl::Type type = tl::type_from_name(w[2]);
        tensors_.insert({w[1], next_context().zeros(type, {std::stoll(w[3]), std::stoll(w[4]), std::stoll(w[5]), std::stoll(w[6])})});
        raw_[w[1]];
    }

    void hex(const std::vector<std::string> &w) {
        for (std::size_t i = 0; i < w[2].size(); i += 2) {
            raw_.at(w[1]).push_back(static_cast<std::byte>(std::stoul(w[2].substr(i, 2), nullptr, 16)));
        }
    }

    void op(const std::vector<std::string> &w) {
        CaseOperands src(ctx_);
        CaseAttrs attrs;
        for (std::size_t i = 3; i < w.size(); i++) {
            const auto equals = w[i].find('=');
            if (w[i] == "none")
                src.add(std::nullopt);
            else if (equals == std::string::npos)
                src.add(tensors_.at(w[i]));
            else
                attrs.set(w[i].substr(0, equals), w[i].substr(equals + 1));
        }
        try {
            tensors_.insert({w[1], build(w[2], src, attrs)});
        } catch (const tl::Error &error) {
            if (!error_) error_ = error;
        }
    }

    static tl::Tensor indexed(const tl::Tensor &a, const std::vector<std::int64_t> &begin, const std::vector<std::int64_t> &end,
                              const std::vector<std::int64_t> &dropped) {
        std::vector<tl::Index> indices;
        for (std::size_t d = 0; d < begin.size(); d++) {
            const bool drops = std::ranges::count(dropped, static_cast<std::int64_t>(d)) > 0;
            indices.push_back(drops ? tl::Index(begin[d]) : tl::Index(begin[d], end.at(d)));
        }
        switch (indices.size()) {
            case 0: return a[{}];
            case 1: return a[{indices[0]}];
            case 2: return a[{indices[0], indices[1]}];
            case 3: return a[{indices[0], indices[1], indices[2]}];
            default: return a[{indices.at(0), indices.at(1), indices.at(2), indices.at(3)}];
        }
    }

    static tl::Tensor build(const std::string &op, const CaseOperands &s, const CaseAttrs &attrs) {
        if (const auto made = case_op(op, s, attrs)) return *made;
        if (op == "mul_mat") return mul_mat(s.at(0), s.at(1));
        if (op == "mul_mat_exact") return mul_mat_exact(s.at(0), s.at(1));
        if (op == "mul_mat_id") return mul_mat_id(s.at(0), s.at(1), s.at(2));
        if (op == "gradient") {
            const std::optional<tl::Tensor> seed = s.at_if_given(1);
            return s.at(0).context().gradients(std::array{s.at(0)}, std::array{s.at(2)}, std::array{seed}).at(0);
        }
        if (op == "cat") return cat(s.all(), static_cast<int>(attrs.integer("dim")));
        if (op == "stack") return stack(s.all(), static_cast<int>(attrs.integer("dim")));
        if (op == "einsum") return einsum(attrs.text("equation"), s.all());
        if (op == "index") return indexed(s.at(0), attrs.ints("begin"), attrs.ints("end"), attrs.ints("dropped"));
        if (op == "reshape") return s.at(0).reshape(attrs.ints("ne"));
        if (op == "cast") return s.at(0).cast(tl::type_from_name(attrs.text("to")));
        if (op == "permute") {
            const auto axes = attrs.list<4>("axes");
            std::array<int, 4> four{};
            for (std::size_t i = 0; i < 4; i++) four[i] = static_cast<int>(axes[i]);
            return s.at(0).permute(four);
        }
        if (op == "view") {
            std::vector<std::size_t> nb;
            for (const std::int64_t stride : attrs.ints("nb")) nb.push_back(static_cast<std::size_t>(stride));
            return s.at(0).view(attrs.ints("ne"), nb, static_cast<std::size_t>(attrs.integer("offset")));
        }
        throw std::runtime_error("no such operation: " + op);
    }

    void out(const std::vector<std::string> &w) {
        ASSERT_FALSE(error_.has_value()) << error_->what();
        write_leafs();
        const tl::Tensor &t = tensors_.at(w[1]);
        EXPECT_STREQ(tl::type_name(t.type()), w[2].c_str());
        for (std::size_t d = 0; d < 4; d++) EXPECT_EQ(t.shape()[d], std::stoll(w[3 + d]));
        try {
            device().compute({t});
        } catch (const tl::Error &error) {
            // A device may lack kernels; the CPU has all.
            if (error.code() != tl::Status::unsupported || device().device() == "cpu") throw;
            done_ = true;
            if (!cpu_only_) GTEST_SKIP() << error.what();
            return;
        }
        ASSERT_TRUE(!cpu_only_ || has_cpu()) << "it was computed";
        result_ = t.read_f32();
    }

    void write_leafs() {
        for (const auto &[id, values] : data_) tensors_.at(id).write_f32(values);
        for (const auto &[id, bytes] : raw_) tensors_.at(id).write_bytes(bytes.data(), 0, bytes.size());
    }

    void fails(const std::vector<std::string> &w) {
        ASSERT_FALSE(error_.has_value()) << error_->what();
        write_leafs();
        try {
            device().compute({tensors_.at(w[1])});
        } catch (const tl::Error &error) {
            error_ = error;
        }
        ASSERT_TRUE(error_.has_value()) << "it was computed";
        EXPECT_EQ(static_cast<int>(error_->code()), static_cast<int>(status_of(w[2]))) << error_->what();
    }

    void at(const std::vector<std::string> &w) {
        const std::size_t first = std::stoul(w[1]);
        for (std::size_t i = 2; i < w.size(); i++) {
            ASSERT_LT(first + i - 2, result_.size());
            const double got = static_cast<double>(result_[first + i - 2]), want = std::strtod(w[i].c_str(), nullptr);
            const bool same = (std::isnan(got) && std::isnan(want)) || got == want ||
                              (std::isfinite(got) && std::isfinite(want) && std::fabs(got - want) <= abs_ + rel_ * std::fabs(want));
            ASSERT_TRUE(same) << "element " << first + i - 2 << " is " << got << ", expected " << want;
        }
    }

    tl::Context ctx_{parts()[0]};
    std::deque<tl::Context> others_;
    std::size_t n_leafs_ = 0;
    std::map<std::string, tl::Tensor> tensors_;
    std::map<std::string, std::vector<float>> data_;
    std::map<std::string, std::vector<std::byte>> raw_;
    std::optional<tl::Error> error_;
    std::vector<float> result_;
    double abs_ = 0, rel_ = 0;
    bool cpu_only_ = false, done_ = false;
};

std::vector<Case> read_cases(const std::filesystem::path &folder) {
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() == ".cases") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Case> cases;
    for (const auto &path : files) {
        std::ifstream in(path);
        for (std::string line; std::getline(in, line);) {
            if (line.empty() || line[0] == '#') continue;
            std::istringstream words(line);
            std::vector<std::string> split;
            for (std::string word; words >> word;) split.push_back(word);
            if (split[0] == "case") {
                cases.push_back({split.at(1), {}});
            } else if (split[0] == "word") {
                cases.back().lines.push_back({"word", line.substr(5)});
            } else if (split[0] != "end") {
                cases.back().lines.push_back(split);
            }
        }
    }
    return cases;
}

class CaseTest : public testing::Test {
public:
    explicit CaseTest(const Case &c) : case_(c) {}
    void TestBody() override { Runner().run(case_); }

private:
    const Case &case_;
};

}  // namespace

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
    const char *folder = std::getenv("TENSORLIB_CASES");
    const auto cases = read_cases(folder && *folder ? folder : TENSORLIB_ROOT "/tests/cases");
    if (const char *asked = std::getenv("TENSORLIB_ISA"); asked && *asked && parts()[0].isa() != asked) {
        std::fprintf(stderr, "TENSORLIB_ISA is %s, but %s runs\n", asked, parts()[0].isa().c_str());
        return 1;
    }
    for (const Case &c : cases) {
        testing::RegisterTest("cases", c.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                              [&c]() -> testing::Test * { return new CaseTest(c); });
    }
    const int result = RUN_ALL_TESTS();
    const auto &unit = *testing::UnitTest::GetInstance();
    std::printf("cases c++ %s %s: %d passed, %d failed, %d skipped\n", device().device().c_str(), parts()[0].isa().c_str(),
                unit.successful_test_count(), unit.failed_test_count(), unit.skipped_test_count());
    return result;
}
