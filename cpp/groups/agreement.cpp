#include "groups/agreement.hpp"

#include "base/fail.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace tensorlib::core {

namespace {

using Hash = std::uint64_t;

// FNV-1a.
Hash hash_of(std::string_view text, Hash hash = 0xCBF29CE484222325u) noexcept {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
    return hash;
}

template <class T>
std::vector<T> gathered(const Group &group, Group::Call call, const std::vector<T> &own) {
    struct Memory {
        std::vector<T> own, all;
    };
    const auto memory = std::make_shared<Memory>(Memory{own, std::vector<T>(own.size() * static_cast<std::size_t>(group.size()))});
    call.memory = memory;
    group.gather(call, reinterpret_cast<const std::byte *>(memory->own.data()), reinterpret_cast<std::byte *>(memory->all.data()),
                 own.size() * sizeof(T));
    return std::move(memory->all);
}

// The texts of all ranks, cut.
std::vector<std::string> gathered_texts(const Group &group, const Group::Call &call, const std::string &own) {
    constexpr std::size_t longest = 400;
    std::vector<char> cut(longest, '\0');
    std::copy_n(own.begin(), std::min(own.size(), longest - 1), cut.begin());
    const std::vector<char> all = gathered(group, call, cut);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank * longest < all.size(); rank++) texts.emplace_back(all.data() + rank * longest);
    return texts;
}

void check_collectives(const Group &group, const Group::Call &call, const std::vector<std::string> &own, std::size_t most) {
    std::vector<Hash> hashes(most, 0);
    std::ranges::transform(own, hashes.begin(), [](const std::string &text) { return hash_of(text); });
    const std::vector<Hash> all = gathered(group, call, hashes);
    for (std::size_t i = 0; i < most; i++) {
        std::size_t other = 1;
        while (other * most < all.size() && all[other * most + i] == all[i]) other++;
        if (other * most >= all.size()) continue;
        const std::vector<std::string> texts = gathered_texts(group, call, i < own.size() ? own[i] : "nothing");
        fail(Status::group, "%s: the ranks' graphs differ: node %zu of the group is %s on rank 0, %s on rank %zu", call.what().c_str(),
             i + 1, texts[0].c_str(), texts[other].c_str(), other);
    }
}

// What a rank sends to a peer, or receives from it.
std::string list_of(const Intentions &own, int peer, bool is_send) {
    std::string text;
    for (const Intentions::Transfer &transfer : own.transfers) {
        if (transfer.peer == peer && transfer.is_send == is_send) text += (text.empty() ? "" : "; ") + transfer.text;
    }
    return text.empty() ? "nothing" : text;
}

void check_transfers(const Group &group, const Group::Call &call, const Intentions &own) {
    const auto size = static_cast<std::size_t>(group.size());
    // What this rank sends to each rank, and receives from it.
    std::vector<Hash> hashes;
    for (const bool is_send : {true, false}) {
        for (int peer = 0; peer < group.size(); peer++) hashes.push_back(hash_of(list_of(own, peer, is_send)));
    }
    const std::vector<Hash> all = gathered(group, call, hashes);
    for (std::size_t from = 0; from < size; from++) {
        for (std::size_t to = 0; to < size; to++) {
            if (all[from * 2 * size + to] == all[to * 2 * size + size + from]) continue;
            const auto rank = static_cast<std::size_t>(group.rank());
            const std::string sent = rank == from ? list_of(own, static_cast<int>(to), true) : "";
            const std::string received = rank == to ? list_of(own, static_cast<int>(from), false) : "";
            const auto senders = gathered_texts(group, call, sent), receivers = gathered_texts(group, call, received);
            fail(Status::group, "%s: the ranks' graphs differ: rank %zu sends rank %zu: %s; that receives: %s", call.what().c_str(), from,
                 to, senders[from].c_str(), receivers[to].c_str());
        }
    }
}

}  // namespace

void agree(const Group &group, const Group::Call &call, const Intentions &own) {
    if (group.size() == 1 && own.transfers.empty()) return;
    Hash hash = hash_of("");
    for (const std::string &text : own.collectives) hash = hash_of("\n", hash_of(text, hash));
    struct Digest {
        Hash hash;
        std::uint64_t n_collectives, n_transfers;
    };
    const std::vector<Digest> all = gathered<Digest>(group, call, {{hash, own.collectives.size(), own.transfers.size()}});
    const auto differs = [&](const Digest &digest) { return digest.hash != hash || digest.n_collectives != own.collectives.size(); };
    if (std::ranges::any_of(all, differs)) {
        const auto most = std::ranges::max_element(all, {}, &Digest::n_collectives);
        check_collectives(group, call, own.collectives, static_cast<std::size_t>(most->n_collectives));
    }
    if (std::ranges::any_of(all, [](const Digest &digest) { return digest.n_transfers != 0; })) check_transfers(group, call, own);
}

}  // namespace tensorlib::core
