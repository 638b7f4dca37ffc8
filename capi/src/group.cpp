#include "groups/create.hpp"
#include "groups/shard.hpp"
#include "nodes.hpp"

using namespace tensorlib;
using capi::guarded;
using capi::required;
using capi::unwrap;
using capi::wrap;

void tl_group_params_init(tl_group_params *params, size_t struct_size) { capi::init_params(params, struct_size); }

tl_status tl_group_create(const char *name, const tl_group_params *params, tl_group **out, tl_error *err) {
    constexpr const char *function = "group_create";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        core::GroupParams wanted;
        if (params) wanted = core::group_params(capi::read_params<16>(params, function).timeout_ms);
        *out = wrap(core::create_group(name ? name : "auto", wanted).release());
    });
}

tl_status tl_group_member(tl_group *group, int32_t rank, tl_group **out, tl_error *err) {
    constexpr const char *function = "group_member";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        *out = wrap(unwrap(required(group, function, "group"))->take_member(rank).release());
    });
}

tl_status tl_group_split(tl_group *group, int32_t colour, int32_t key, tl_group **out, tl_error *err) {
    constexpr const char *function = "group_split";
    if (out) *out = nullptr;
    return guarded(err, [&] {
        required(out, function, "out");
        *out = wrap(unwrap(required(group, function, "group"))->split(colour, key).release());
    });
}

int32_t tl_group_rank(const tl_group *group) { return group ? unwrap(group)->rank() : 0; }

int32_t tl_group_size(const tl_group *group) { return group ? unwrap(group)->size() : 0; }

size_t tl_group_text(const tl_group *group, char *buf, size_t size) {
    return capi::copied_text(buf, size, [&] { return group ? unwrap(group)->text() : std::string(); });
}

void tl_group_free(tl_group *group) {
    if (group) unwrap(group)->drop_ref();
}

tl_status tl_shard_range(int64_t n, int64_t block, int32_t rank, int32_t size, int64_t *first, int64_t *count, tl_error *err) {
    constexpr const char *function = "shard_range";
    if (first) *first = 0;
    if (count) *count = 0;
    return guarded(err, [&] {
        required(first, function, "first");
        required(count, function, "count");
        const core::Shard shard = core::shard_range(n, block, rank, size);
        *first = shard.first;
        *count = shard.count;
    });
}
