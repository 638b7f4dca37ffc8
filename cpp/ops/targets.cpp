// Checks of operands that operations write into.
#include "base/fail.hpp"
#include "graph/overlap.hpp"
#include "ops/op_def.hpp"

namespace tensorlib::core::ops {

namespace {

// What would be valid if the overlap search could not decide the strides.
constexpr const char *undecided = "strides where each is at least the extent of those below it are always valid";

}  // namespace

void check_target(const char *op, const char *name, const Tensor &target) {
    if (const char *reason = read_only_text(*target.root)) {
        fail(Status::invalid_argument, "%s: %s is %s, which %s: it cannot be written", op, name, tensor_text(target).c_str(), reason);
    }
    switch (overlaps_itself(target)) {
        case Overlap::no: return;
        case Overlap::yes:
            fail(Status::invalid_argument, "%s: %s is %s: its elements overlap in memory; a target whose elements lie apart is valid", op,
                 name, strided_text(target).c_str());
        case Overlap::unknown:
            fail(Status::invalid_argument, "%s: %s is %s: whether its elements overlap in memory takes too long to tell; %s", op, name,
                 strided_text(target).c_str(), undecided);
    }
}

void check_apart(const char *op, const char *from_name, const Tensor &from, const char *name, const Tensor &target) {
    const Overlap found = overlap(from, target);
    if (found == Overlap::no) return;
    const char *what = found == Overlap::yes ? "they overlap in memory" : "whether they overlap in memory takes too long to tell";
    fail(Status::invalid_argument, "%s: %s is %s, %s is %s, and %s: copy %s by way of dup", op, from_name, strided_text(from).c_str(), name,
         strided_text(target).c_str(), what, from_name);
}

}  // namespace tensorlib::core::ops
