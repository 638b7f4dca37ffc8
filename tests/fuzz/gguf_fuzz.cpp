// libFuzzer's entry point for GGUF files, also a plain test over its corpus (tests/cpp/gguf_corpus_test.cpp).
//
// Not only must nothing crash: what opens must hold together. Keys and tensors are found by their names, tensors lie inside
// the bytes and apart from each other, a leaf has the bytes that the file has, and a borrowed file is the same as a copy.
#include "base/fail.hpp"
#include "graph/tensor_data.hpp"
#include "io/gguf.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace tensorlib::core;

// A broken promise: libFuzzer keeps the input of an abort.
void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "gguf_fuzz: %s\n", what);
    std::abort();
}

template <class F>
void survive(F f) {
    try {
        f();
    } catch (const tensorlib::Error &) {
    }
}

void walk_keys(const Gguf &file) {
    for (std::size_t i = 0; i < file.keys().size(); i++) {
        const GgufKey &key = file.keys()[i];
        require(file.find_key(key.name) == i, "a key is not found by its name");
        survive([&] { (void)gguf_u64(key); });
        survive([&] { (void)gguf_i64(key); });
        survive([&] { (void)gguf_f64(key); });
        survive([&] { (void)gguf_bool(key); });
        survive([&] { (void)gguf_string(key); });
        if (key.value.type != GgufType::array) continue;
        for (std::uint64_t e = 0; e < key.value.count; e += 1 + e / 8) {
            survive([&] { (void)gguf_u64(key, e); });
            survive([&] { (void)gguf_string(key, e); });
        }
        std::vector<std::byte> all(key.value.elements().size());
        survive([&] { gguf_elements(key, key.value.element, 0, key.value.count, all.data()); });
    }
}

void walk_tensors(const Gguf &file, const std::byte *begin, std::size_t size) {
    const auto context = Context::create({});
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < file.tensors().size(); i++) {
        const GgufTensor &tensor = file.tensors()[i];
        const std::size_t nbytes = tensor.layout.nbytes();
        require(file.find_tensor(tensor.name) == i, "a tensor is not found by its name");
        require(tensor.data >= begin && nbytes <= size && tensor.data <= begin + (size - nbytes), "a tensor lies outside of the bytes");
        const Tensor *leaf = file.new_leaf(*context, tensor.name);
        bytes.resize(nbytes);
        read_bytes(*leaf, bytes.data(), 0, nbytes);
        require(nbytes == 0 || std::memcmp(bytes.data(), tensor.data, nbytes) == 0, "a leaf has other bytes than the file");
    }
}

void compare(const Gguf &a, const Gguf &b) {
    require(a.keys().size() == b.keys().size() && a.tensors().size() == b.tensors().size(), "a copy has other contents");
    for (std::size_t i = 0; i < a.keys().size(); i++) {
        const auto one = a.keys()[i].value.encoded, other = b.keys()[i].value.encoded;
        require(one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size()) == 0, "a copy has another value");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    survive([&] {
        const auto file = Gguf::open_memory(data, size);
        walk_keys(*file);
        walk_tensors(*file, reinterpret_cast<const std::byte *>(data), size);
        compare(*file, *Gguf::open_memory(data, size, Gguf::Access::copy));
    });
    return 0;
}
