//! Which parts of a folder's tensors make up a leaf, and the names of experts' matrices in older GGUF files.

use super::{check, HubName, Slice, Stack};
use crate::files::Entry;
use crate::{Error, Result};
use tensorlib::Gguf;

/// Consecutive elements of an entry.
pub struct Segment<'a> {
    pub entry: &'a Entry,
    pub first: u64,
    pub elements: u64,
    /// How matrices are transposed.
    pub transposed: Option<Transposed>,
}

/// Matrices that are transposed.
#[derive(Clone, Copy, Debug)]
pub struct Transposed {
    /// The elements of each.
    pub size: u64,
    /// Which half of the transposed rows is used, if not all are.
    pub half: Option<u64>,
}

impl<'a> Segment<'a> {
    fn whole(entry: &'a Entry) -> Self {
        Segment { entry, first: 0, elements: entry.elements(), transposed: None }
    }
}

/// The segments of a leaf of this shape; none if the folder has no such tensor.
pub fn of<'a>(name: HubName, find: impl Fn(&str) -> Option<&'a Entry>, shape: &[i64]) -> Result<Vec<Segment<'a>>> {
    let of_one = &shape[..shape.len().saturating_sub(1)];
    let (parts, part_shape): (Vec<&Entry>, _) = match name {
        HubName::One(candidates) => (candidates.iter().find_map(|name| find(name)).into_iter().collect(), shape),
        HubName::Rows { names, transposed } => {
            let Some(entry) = names.iter().find_map(|name| find(name)) else { return Ok(Vec::new()) };
            return rows_of_all(entry, transposed, shape);
        }
        HubName::Slice(slice) => {
            let Some(entry) = slice.names.iter().find_map(|name| find(name)) else { return Ok(Vec::new()) };
            return one_of(entry, &slice, shape);
        }
        HubName::Stack(stack) => {
            if let Some(fused) = stack.fused.iter().find_map(|name| find(name)) {
                return halves(fused, &stack, shape);
            }
            ((0..).map_while(|expert| (stack.of)(expert).iter().find_map(|name| find(name))).collect(), of_one)
        }
    };
    let Some(first) = parts.first() else { return Ok(Vec::new()) };
    let n = parts.len() as i64;
    if part_shape.len() < shape.len() && shape.last() != Some(&n) {
        let wanted = shape.last().copied().unwrap_or(0);
        return Err(Error::format(format!("tensor '{}' and its like: there are {n} of {wanted}", first.name)));
    }
    for part in &parts {
        check(&part.name, &part.shape, part.type_name.clone(), part_shape)?;
        if part.stored != first.stored {
            let message = format!("tensor '{}' is {}, '{}' {}", part.name, part.type_name, first.name, first.type_name);
            return Err(Error::format(message + ": one type is valid"));
        }
    }
    Ok(parts.into_iter().map(Segment::whole).collect())
}

/// All matrices [inputs, outputs, experts] of an entry in which their rows follow each other.
fn rows_of_all<'a>(entry: &'a Entry, transposed: bool, shape: &[i64]) -> Result<Vec<Segment<'a>>> {
    let [inputs, outputs, experts] = *shape else {
        return Err(Error::internal("a stack of other than matrices"));
    };
    let stored = if transposed { [outputs, inputs * experts] } else { [inputs, outputs * experts] };
    check(&entry.name, &entry.shape, entry.type_name.clone(), &stored)?;
    let size = u64::try_from(inputs * outputs).unwrap_or(0);
    Ok(vec![Segment { transposed: transposed.then_some(Transposed { size, half: None }), ..Segment::whole(entry) }])
}

/// One matrix [inputs, outputs] of an entry that has several.
fn one_of<'a>(entry: &'a Entry, slice: &Slice, shape: &[i64]) -> Result<Vec<Segment<'a>>> {
    let [inputs, outputs] = *shape else { return Err(Error::internal("a slice that is no matrix")) };
    let [columns, rows] = if slice.transposed { [outputs, inputs] } else { [inputs, outputs] };
    check(&entry.name, &entry.shape, entry.type_name.clone(), &[columns, rows, slice.count])?;
    let elements = u64::try_from(inputs * outputs).unwrap_or(0);
    let transposed = slice.transposed.then_some(Transposed { size: elements, half: None });
    Ok(vec![Segment { entry, first: slice.number * elements, elements, transposed }])
}

/// The rows of each matrix of a fused stack: in each matrix the gates' rows come first, then the others.
fn halves<'a>(entry: &'a Entry, stack: &Stack, shape: &[i64]) -> Result<Vec<Segment<'a>>> {
    if let (true, [inputs, outputs, experts]) = (stack.transposed, shape) {
        let outputs = outputs * if stack.half.is_some() { 2 } else { 1 };
        check(&entry.name, &entry.shape, entry.type_name.clone(), &[outputs, *inputs, *experts])?;
        let size = u64::try_from(inputs * outputs).unwrap_or(0);
        return Ok(vec![Segment { transposed: Some(Transposed { size, half: stack.half }), ..Segment::whole(entry) }]);
    }
    let Some(half) = stack.half else {
        check(&entry.name, &entry.shape, entry.type_name.clone(), shape)?;
        return Ok(vec![Segment::whole(entry)]);
    };
    let [inputs, outputs, experts] = shape else {
        return Err(Error::internal("a stack of other than matrices"));
    };
    check(&entry.name, &entry.shape, entry.type_name.clone(), &[*inputs, 2 * outputs, *experts])?;
    let elements = u64::try_from(inputs * outputs).unwrap_or(0);
    let first = |expert: u64| (2 * expert + half) * elements;
    Ok((0..u64::try_from(*experts).unwrap_or(0))
        .map(|e| Segment { entry, first: first(e), elements, transposed: None })
        .collect())
}

/// The names `blk.0.ffn_gate.0.weight` and so on for `blk.0.ffn_gate_exps.weight`, if the file has those.
pub fn expert_names(file: &Gguf, name: &str) -> Option<Vec<String>> {
    let (base, end) = name.split_once("_exps.")?;
    let of = |expert: usize| format!("{base}.{expert}.{end}");
    let names: Vec<String> = (0..).map(of).take_while(|name| file.tensor_info(name).is_some()).collect();
    (!names.is_empty()).then_some(names)
}
