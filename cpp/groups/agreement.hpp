// Whether all ranks of a group are about to make the same calls.
#pragma once

#include "groups/group.hpp"

#include <string>
#include <vector>

namespace tensorlib::core {

// What a rank is about to do, in words.
struct Intentions {
    std::vector<std::string> collectives;
    struct Transfer {
        int peer;
        bool is_send;
        std::string text;  // equal for both ends
    };
    std::vector<Transfer> transfers;
};

// Exchanges a digest. If the ranks differ, throws Error(group) on all of them, with the first difference; the group lives on.
void agree(const Group &group, const Group::Call &call, const Intentions &own);

}  // namespace tensorlib::core
