#include "graph/op.hpp"

namespace tensorlib::core {

const char *op_name(Op op) noexcept {
    switch (op) {
        case Op::leaf: return "leaf";
#define TL_OP(name, number) \
    case Op::name: return #name;
#include "graph/gen/op_list.inc"
#undef TL_OP
    }
    return "?";  // not reached: an Op is one of the list
}

}  // namespace tensorlib::core
