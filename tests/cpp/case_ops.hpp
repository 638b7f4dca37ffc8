// The operations of the cases by their functions. Written by `cargo xtask ops` from cpp/ops/*.toml: change it there.
#pragma once

#include "case_attrs.hpp"

#include <optional>
#include <string>

// Nothing where it is none of these. One operand: by Tensor's method.
inline std::optional<tl::Tensor> case_op(const std::string &op, const CaseOperands &s, const CaseAttrs &attrs) {
    if (op == "add") return tl::add(s.at(0), s.at(1));
    if (op == "transpose") return s.at(0).transpose();
    if (op == "cont") return s.at(0).cont();
    if (op == "cpy") return tl::cpy(s.at(0), s.at(1));
    if (op == "dup") return s.at(0).dup();
    if (op == "get_rows") return tl::get_rows(s.at(0), s.at(1));
    if (op == "set_rows") return tl::set_rows(s.at(0), s.at(1), s.at(2));
    (void)attrs;
    return std::nullopt;
}
