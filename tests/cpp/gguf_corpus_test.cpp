// Runs the fuzz target's entry point over its corpus, in every build: inputs that once broke something
// stay fixed.
#include "gguf_files.hpp"
#include "support.hpp"

#include <cstring>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace {

TEST(GgufCorpus, every_file_is_survived) {
    int n = 0;
    for (const auto &entry : std::filesystem::directory_iterator(std::string(TENSORLIB_ROOT) + "/tests/fuzz/corpus/gguf")) {
        SCOPED_TRACE(entry.path().string());
        const std::string bytes = support::file_text(entry.path().string());
        // A copy of exactly this size, so that a sanitizer sees a read past its end.
        const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
        std::memcpy(copy.get(), bytes.data(), bytes.size());
        EXPECT_EQ(LLVMFuzzerTestOneInput(copy.get(), bytes.size()), 0);
        n++;
    }
    EXPECT_GE(n, 8);
}

}  // namespace
