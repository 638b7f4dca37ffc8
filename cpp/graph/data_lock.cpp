#include "graph/data_lock.hpp"

#include "base/fail.hpp"

namespace tensorlib::core {

void check_readable(const char *what, const Tensor &t) {
    const Tensor &root = *t.root;
    if (root.is_leaf()) {
        if (!root.storage.data.load(std::memory_order_acquire) && !is_dropped(root)) {
            fail(Status::invalid_argument, "%s: leaf %s has no data yet: call context_allocate first", what, tensor_text(t).c_str());
        }
    } else if (!root.storage.computed.load(std::memory_order_acquire)) {
        fail(Status::invalid_argument, "%s: %s, the result of %s, is not computed: make it an output of a graph and compute that", what,
             tensor_text(t).c_str(), op_name(root.op));
    }
}

void check_writable(const char *what, const Tensor &t) {
    const Tensor &root = *t.root;
    if (!root.is_leaf()) {
        fail(Status::invalid_argument, "%s: %s is the result of %s: only leafs and views of leafs can be written", what,
             tensor_text(t).c_str(), op_name(root.op));
    }
    if (const char *reason = read_only_text(root)) {
        fail(Status::invalid_argument, "%s: %s %s: it cannot be written", what, tensor_text(t).c_str(), reason);
    }
    check_readable(what, t);
}

}  // namespace tensorlib::core
