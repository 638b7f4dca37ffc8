// Where the elements of a result come from if an operation only moves them: repeat, concat, pad, pad_reflect_1d, roll, flip,
// and the copy of a that acc and set begin with.
#pragma once

#include "dtype/host_device.hpp"
#include "runtime/kernel.hpp"

#include <cstdint>

namespace tensorlib::core {

// A result composed of parts of operands, its sources. In dimension d, index i of the result stands for index (i +
// start[d]) mod period[d] of a source, which has an element there if that is below extent[d]. A source that repeats has
// a period equal to its own extent. Other sources have the result's extent as period, and start says where they lie. A
// unit of the result is in one source at most; a unit in no source is 0.
//
// A unit is an element, or a block of a quantised type. The result's units are contiguous.
struct Movement {
    struct Source {
        const std::byte *data;  // of the unit whose indices are all 0
        std::int64_t start[max_dims], period[max_dims], extent[max_dims];
        std::int64_t nb[max_dims];  // in bytes; negative if the source is traversed backwards

        // The source's index for index i of the result. The source has an element there if that is below its extent.
        TL_HOST_DEVICE std::int64_t index(int d, std::int64_t i) const {
            const std::int64_t j = i + start[d];
            return j < period[d] ? j : j % period[d];
        }
        // The address of unit 0 of the source's row for the result's row (i1, i2, i3); null if the source has no such
        // row.
        TL_HOST_DEVICE const std::byte *row(std::int64_t i1, std::int64_t i2, std::int64_t i3) const {
            const std::int64_t j1 = index(1, i1), j2 = index(2, i2), j3 = index(3, i3);
            if (j1 >= extent[1] || j2 >= extent[2] || j3 >= extent[3]) return nullptr;
            return data + j1 * nb[1] + j2 * nb[2] + j3 * nb[3];
        }
    };

    Source sources[core::max_sources];
    int n_sources;
    std::int64_t ne[max_dims];  // of the result, in units
    std::int64_t unit;          // bytes
};

// The movement of a step whose result is not empty. Dimensions in which nothing moves are joined with the next one if
// units are contiguous in all sources, so that rows are long.
Movement movement_of(const Step &step) noexcept;

}  // namespace tensorlib::core
