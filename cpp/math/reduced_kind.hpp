// What groups of elements are reduced to. A group has a state while it is reduced: up to three numbers, in F64, or in I64 if
// the elements are integers.
#pragma once

#include <stdint.h>

namespace tensorlib::core {

enum class Reduced : int {
    sum,          // the sum
    product,      // the product
    largest,      // the largest element, NaN if there is one
    smallest,     // the smallest element, NaN if there is one
    largest_at,   // the largest element without NaN, and its index in the group, -1 if there is none
    smallest_at,  // the smallest element, in the same way
    any,          // 1 if an element is not 0, else 0
    all,          // 0 if an element is 0, else 1
    deviations,   // the number of elements, their mean, and the sum of the squares of their distances from it
    exponentials  // the largest element e, NaN if there is one, and the sum of e^(x - e)
};
constexpr int n_reduced = 10, most_reduced_numbers = 3;

// The elements of a group that are combined in F32, one after the other, before they join the state, if the first
// dimension stays.
constexpr int64_t reduced_rows = 32;

}  // namespace tensorlib::core
