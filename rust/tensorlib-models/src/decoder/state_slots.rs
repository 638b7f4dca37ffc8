//! Memory for the states of recurrent layers.

use super::shape::Shape;
use crate::weights::DeviceMap;
use crate::{Error, Result};
use tensorlib::{Context, DType, Tensor};

/// Slots, each with room for the states of all recurrent layers after one token. Slot 0 is the state before the first
/// token, which is 0, and nothing is ever written there.
pub struct Slots {
    layers: Vec<Option<LayerSlots>>,
    count: usize,
}

/// The slots of a layer.
struct LayerSlots {
    /// The last columns that each part of the layer read: [channels, columns, slots].
    columns: Vec<Tensor>,
    /// The matrices of a recurrence that has some: [rows, columns, heads, slots].
    matrices: Option<Tensor>,
}

impl Slots {
    /// Makes `count` slots in addition to slot 0; `None` for a model without recurrent layers.
    pub fn new(shape: &Shape, count: usize, devices: &DeviceMap) -> Result<Option<Self>> {
        let Some(recurrence) = &shape.recurrence else { return Ok(None) };
        let (contexts, slots) = (devices.contexts("states")?, count as i64 + 1);
        let of_layer = |layer: usize| {
            if !shape.blocks_of(layer).recurrence {
                return Ok(None);
            }
            let ctx = &contexts[devices.device(&format!("blk.{layer}.{}.weight", recurrence.part()))];
            let matrices = recurrence.matrices();
            let matrices = matrices.map(|[rows, columns, heads]| ctx.zeros(DType::F32, [rows, columns, heads, slots]));
            let columns = recurrence.columns(shape.width).into_iter();
            let columns = columns.map(|[channels, n]| ctx.zeros(DType::F32, [channels, n, slots]));
            let columns = columns.collect::<tensorlib::Result<_>>()?;
            Ok(Some(LayerSlots { columns, matrices: matrices.transpose()? }))
        };
        let layers = (0..usize::try_from(shape.layers).unwrap_or(0)).map(of_layer).collect::<Result<_>>()?;
        Ok(Some(Slots { layers, count: slots as usize }))
    }

    /// Bytes of all slots.
    pub fn nbytes(&self) -> usize {
        self.tensors().map(|(tensor, _)| tensor.nbytes()).sum()
    }

    /// Bytes of a slot.
    pub fn slot_bytes(&self) -> usize {
        self.nbytes() / self.count
    }

    /// The columns of one place, and the matrices of another, layer by layer.
    pub fn read(&self, place: Place) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.slot_bytes()];
        let mut left = &mut bytes[..];
        for (tensor, is_columns) in self.tensors() {
            let slot = if is_columns { place.columns } else { place.matrices };
            let (part, rest) = left.split_at_mut(tensor.nbytes() / self.count);
            tensor.read_bytes(slot * part.len(), part)?;
            left = rest;
        }
        Ok(bytes)
    }

    /// Sets a slot to what [`Slots::read`] returned.
    pub fn write(&self, slot: usize, mut bytes: &[u8]) -> Result<()> {
        for (tensor, _) in self.tensors() {
            let (part, rest) = bytes.split_at(tensor.nbytes() / self.count);
            tensor.write_bytes(slot * part.len(), part)?;
            bytes = rest;
        }
        Ok(())
    }

    /// Columns and matrices of each recurrent layer in turn, and whether they are columns.
    fn tensors(&self) -> impl Iterator<Item = (&Tensor, bool)> {
        self.layers.iter().flatten().flat_map(|layer| {
            let matrices = layer.matrices.iter().map(|matrices| (matrices, false));
            layer.columns.iter().map(|columns| (columns, true)).chain(matrices)
        })
    }

    fn layer(&self, layer: usize) -> Result<&LayerSlots> {
        let slots = self.layers.get(layer).and_then(Option::as_ref);
        slots.ok_or_else(|| Error::internal(format!("layer {layer} has no state")))
    }

    fn columns(&self, (layer, part): (usize, usize)) -> Result<&Tensor> {
        let columns = self.layer(layer)?.columns.get(part);
        columns.ok_or_else(|| Error::internal(format!("layer {layer} has no columns for part {part}")))
    }

    fn matrices(&self, layer: usize) -> Result<&Tensor> {
        let matrices = self.layer(layer)?.matrices.as_ref();
        matrices.ok_or_else(|| Error::internal(format!("layer {layer} has no matrices")))
    }
}

/// Where a state lies: the slots of its columns and of its matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub columns: usize,
    pub matrices: usize,
}

impl Place {
    /// A state in one slot.
    pub fn slot(slot: usize) -> Self {
        Place { columns: slot, matrices: slot }
    }
}

/// Sequences of a run that have equally many tokens, one sequence after the other.
pub struct Group {
    /// The first token's place in the run.
    pub first: i64,
    /// The tokens of a sequence.
    pub tokens: i64,
    /// Where the states before them lie, one for each sequence.
    from: From,
    to: To,
}

/// Where the states of a group's sequences come from.
enum From {
    One(Place),
    /// Slots as an index.
    Each(Tensor),
}

/// Where the states after a group's tokens go.
enum To {
    /// Those after the last `states` tokens of one sequence go into as many slots, of which `first` is the first: matrices
    /// with that of the last token first, columns in the order of the tokens.
    Slots { first: usize, states: i64 },
    /// Slots as an index.
    Each(Tensor),
}

impl Group {
    /// A group of one sequence. The states after its last `states` tokens are kept in slots from `to` on.
    pub fn of_one(first: i64, tokens: i64, from: Place, (to, states): (usize, i64)) -> Self {
        Group { first, tokens, from: From::One(from), to: To::Slots { first: to, states } }
    }

    /// A group of several sequences, each with a slot for the state before and another for the state after its tokens.
    pub fn of_each(ctx: &Context, first: i64, tokens: i64, from: &[i32], to: &[i32]) -> Result<Self> {
        let index = |slots: &[i32]| ctx.tensor_of([slots.len() as i64], slots);
        Ok(Group { first, tokens, from: From::Each(index(from)?), to: To::Each(index(to)?) })
    }

    /// The number of sequences.
    pub fn sequences(&self) -> i64 {
        match &self.from {
            From::One(_) => 1,
            From::Each(index) => index.shape()[0],
        }
    }

    /// The states of the group's sequences, of those in all slots. `slot`: the slot of one sequence's state.
    fn gathered(&self, all: &Tensor, slot: impl Fn(Place) -> usize) -> Result<Tensor> {
        let mut shape = all.shape();
        let last = shape.len() - 1;
        match &self.from {
            From::One(place) => Ok(all.narrow(last, slot(*place) as i64, 1)?),
            From::Each(index) => {
                shape[last] = index.shape()[0];
                Ok(rows(all)?.get_rows(index)?.reshape(&shape[..])?)
            }
        }
    }

    /// The number of states that are kept of each sequence.
    pub fn states(&self) -> i64 {
        match self.to {
            To::Slots { states, .. } => states,
            To::Each(_) => 1,
        }
    }
}

/// The states that a run begins with, and the slots for those that it leaves.
pub struct RunStates<'a> {
    slots: &'a Slots,
    pub groups: Vec<Group>,
}

impl<'a> RunStates<'a> {
    pub fn new(slots: &'a Slots, groups: Vec<Group>) -> Self {
        RunStates { slots, groups }
    }

    /// The results of all groups, one after the other in this dimension.
    pub fn of_groups(&self, dim: i64, result: impl Fn(&Group) -> Result<Tensor>) -> Result<Tensor> {
        let mut all: Option<Tensor> = None;
        for group in &self.groups {
            let new = result(group)?;
            all = Some(match all {
                Some(before) => before.concat(&new, dim)?,
                None => new,
            });
        }
        all.ok_or_else(|| Error::internal("a run without tokens"))
    }

    /// The columns of a part of a layer before a group's tokens: [channels, columns, sequences].
    pub fn columns(&self, part: (usize, usize), group: &Group) -> Result<Tensor> {
        group.gathered(self.slots.columns(part)?, |place| place.columns)
    }

    /// A layer's matrices before a group's tokens: [rows, columns, heads, sequences].
    pub fn matrices(&self, layer: usize, group: &Group) -> Result<Tensor> {
        group.gathered(self.slots.matrices(layer)?, |place| place.matrices)
    }

    /// The node that stores the columns of a part of a layer after a group's tokens. `read`: the columns that it read,
    /// [channels, columns + tokens, sequences].
    pub fn store_columns(&self, part: (usize, usize), group: &Group, read: &Tensor) -> Result<Tensor> {
        let to = self.slots.columns(part)?;
        let (channels, count) = (to.shape()[0], to.shape()[1]);
        match &group.to {
            To::Slots { first, states } => {
                // The windows of the last tokens overlap.
                let column = read.strides()[1];
                let skipped = usize::try_from(group.tokens - states + 1).unwrap_or(0) * column;
                let columns = read.view([channels, count, *states], &[column, column], skipped)?;
                Ok(columns.cpy(&to.narrow(2, *first as i64, *states)?)?)
            }
            To::Each(index) => set(to, &read.narrow(1, group.tokens, count)?.cont()?, index),
        }
    }

    /// The node that stores a layer's matrices after a group's tokens: the second result of the operation.
    pub fn store_matrices(&self, layer: usize, group: &Group, matrices: &Tensor) -> Result<Tensor> {
        let to = self.slots.matrices(layer)?;
        match &group.to {
            To::Slots { first, states } => Ok(matrices.cpy(&to.narrow(3, *first as i64, *states)?)?),
            To::Each(index) => set(to, matrices, index),
        }
    }
}

/// Stores states in the slots of an index.
fn set(all: &Tensor, new: &Tensor, index: &Tensor) -> Result<Tensor> {
    let all = rows(all)?;
    Ok(all.set_rows(&new.reshape([all.shape()[0], index.shape()[0]])?, index)?)
}

/// A row for each slot.
fn rows(all: &Tensor) -> Result<Tensor> {
    let shape = all.shape();
    let (of_slot, slots) = shape.split_at(shape.len() - 1);
    Ok(all.reshape([of_slot.iter().product(), slots[0]])?)
}
