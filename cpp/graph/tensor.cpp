#include "graph/tensor.hpp"

#include "base/fail.hpp"
#include "graph/context.hpp"

namespace tensorlib::core {

Tensor *left_out() noexcept {
    static Tensor tensor;
    return &tensor;
}

std::string tensor_text(const Tensor &t) {
    const std::string name = t.context ? t.context->name_of(*t.known()) : "";
    return name.empty() ? layout_text(t.layout) : "'" + name + "' " + layout_text(t.layout);
}

std::string strided_text(const Tensor &t) {
    const Strides &nb = t.layout.nb;
    return format_text("%s with strides %zu, %zu, %zu, %zu", tensor_text(t).c_str(), nb[0], nb[1], nb[2], nb[3]);
}

const char *read_only_text(const Tensor &root) noexcept {
    if (root.storage.in_file) return "lies in a GGUF file and is read-only (copy it into a leaf of your own)";
    if (root.storage.read_only) return "lies in memory that another library shares read-only (copy it into a leaf of your own)";
    return root.storage.constant.load(std::memory_order_acquire) ? "is promised constant" : nullptr;
}

std::string sources_text(const Tensor &node) {
    std::string text;
    for (const Tensor *source : node.sources()) text += (text.empty() ? "" : ", ") + tensor_text(*source);
    return text.empty() ? "nothing" : text;
}

}  // namespace tensorlib::core
