#include "ops/node_batch.hpp"

namespace tensorlib::core {

NodeBatch::~NodeBatch() {
    for (auto node = made_.rbegin(); node != made_.rend(); ++node) context_.take_back(**node);
}

Tensor *NodeBatch::make(Op op, std::span<Tensor *const> src, std::span<const Attr> attrs) {
    if (op_def(op).compose || op_def(op).n_results > 1) return build_node(context_, op, src, attrs, this);
    made_.push_back(nullptr);  // so that the new node cannot be lost
    try {
        made_.back() = build_node(context_, op, src, attrs);
    } catch (...) {
        made_.pop_back();
        throw;
    }
    return made_.back();
}

void NodeBatch::adopt(Tensor &node) {
    try {
        made_.push_back(&node);
    } catch (...) {
        context_.take_back(node);
        throw;
    }
}

void NodeBatch::take(NodeBatch &other) {
    made_.insert(made_.end(), other.made_.begin(), other.made_.end());
    other.made_.clear();
}

}  // namespace tensorlib::core
