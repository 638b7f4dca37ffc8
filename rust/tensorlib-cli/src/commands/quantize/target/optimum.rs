//! Chooses an option for each tensor so that the sum of their errors is small and that of their bytes within a limit.
//!
//! The lower convex hull of a tensor's options (bytes, error) is what any price of a byte would choose from: each step
//! along it saves less error per byte than the step before. Steps of all tensors are taken in the order of what they
//! save per byte. That is the best choice for the bytes that it takes (Lagrange); what is left of the limit then goes to
//! later steps that fit.

/// An option of a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    pub bytes: u64,
    pub error: f64,
}

/// The number of the chosen option for each tensor; `None` if even the smallest options take more than `limit` bytes.
/// Each tensor has an option.
pub fn choose(tensors: &[Vec<Cost>], limit: u64) -> Option<Vec<usize>> {
    let hulls: Vec<Vec<usize>> = tensors.iter().map(|options| hull(options)).collect();
    let mut chosen: Vec<usize> = hulls.iter().map(|hull| hull[0]).collect();
    let mut bytes: u64 = chosen.iter().zip(tensors).map(|(i, options)| options[*i].bytes).sum();
    if bytes > limit {
        return None;
    }
    let mut steps: Vec<(f64, usize, usize)> = Vec::new();
    for (tensor, hull) in hulls.iter().enumerate() {
        for step in 1..hull.len() {
            let (from, to) = (tensors[tensor][hull[step - 1]], tensors[tensor][hull[step]]);
            steps.push((saved(from, to), tensor, step));
        }
    }
    // Steps of a tensor stay in their order: each saves less than the one before, and equal ones are not exchanged.
    steps.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut reached = vec![0; tensors.len()];
    for (_, tensor, step) in steps {
        let more = tensors[tensor][hulls[tensor][step]].bytes - tensors[tensor][chosen[tensor]].bytes;
        if reached[tensor] + 1 == step && bytes + more <= limit {
            (bytes, reached[tensor], chosen[tensor]) = (bytes + more, step, hulls[tensor][step]);
        }
    }
    Some(chosen)
}

/// The error that a step saves per byte.
fn saved(from: Cost, to: Cost) -> f64 {
    (from.error - to.error) / (to.bytes - from.bytes) as f64
}

/// The options on the lower convex hull, from the smallest on: more bytes and less error, and less saved per byte with
/// each.
fn hull(options: &[Cost]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..options.len()).collect();
    order.sort_by(|a, b| {
        (options[*a].bytes, options[*a].error)
            .partial_cmp(&(options[*b].bytes, options[*b].error))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut hull: Vec<usize> = Vec::new();
    for i in order {
        if hull.last().is_some_and(|last| options[i].error >= options[*last].error) {
            continue;
        }
        while let [.., before, last] = hull[..] {
            if saved(options[before], options[last]) > saved(options[last], options[i]) {
                break;
            }
            hull.pop();
        }
        hull.push(i);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The smallest error of all choices within the limit.
    fn best(tensors: &[Vec<Cost>], limit: u64) -> Option<f64> {
        let Some((first, rest)) = tensors.split_first() else { return Some(0.0) };
        let of = |option: &Cost| Some(option.error + best(rest, limit.checked_sub(option.bytes)?)?);
        first.iter().filter_map(of).min_by(f64::total_cmp)
    }

    fn total(tensors: &[Vec<Cost>], chosen: &[usize]) -> (u64, f64) {
        let costs = chosen.iter().zip(tensors).map(|(i, options)| options[*i]);
        costs.fold((0, 0.0), |(bytes, error), cost| (bytes + cost.bytes, error + cost.error))
    }

    #[test]
    fn the_choice_is_within_a_step_of_the_best() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut equal = 0;
        for _ in 0..300 {
            let tensors: Vec<Vec<Cost>> = (0..4)
                .map(|_| {
                    let size = 1 + random(9);
                    (1..6).map(|i| Cost { bytes: i * size, error: random(1000) as f64 / (i * i) as f64 }).collect()
                })
                .collect();
            let least: u64 = tensors.iter().map(|options| options[0].bytes).sum();
            assert!(choose(&tensors, least - 1).is_none());
            for limit in [least, least + 1, least + 10, least * 2, least * 10] {
                let (bytes, error) = total(&tensors, &choose(&tensors, limit).unwrap());
                let want = best(&tensors, limit).unwrap();
                // The bound of Lagrange: the step that did not fit would have reached the best.
                let step = tensors.iter().flat_map(|options| options.iter().map(|cost| cost.error)).fold(0.0, f64::max);
                assert!(bytes <= limit && error >= want - 1e-9 && error <= want + step, "{error} {want}");
                equal += usize::from(error <= want + 1e-9);
            }
            let all = choose(&tensors, u64::MAX).unwrap();
            assert!((total(&tensors, &all).1 - best(&tensors, 1 << 40).unwrap()).abs() < 1e-9);
        }
        assert!(equal > 1000, "{equal} of 1500");
    }

    #[test]
    fn options_that_no_price_chooses_are_left_out() {
        let cost = |bytes, error| Cost { bytes, error };
        // More bytes and more error; and above the line between its neighbours.
        let options = [cost(4, 1.0), cost(1, 9.0), cost(2, 9.5), cost(3, 8.0), cost(4, 2.0)];
        assert_eq!(hull(&options), [1, 0]);
        assert_eq!(hull(&[cost(1, 0.0), cost(2, 0.0)]), [0]);
    }
}
