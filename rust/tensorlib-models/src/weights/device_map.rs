//! Decides where a model's leafs are made, and whether they get data.

use crate::placement::{Placement, SplitLayer};
use crate::{Error, Result};
use tensorlib::{Backend, Context, ContextOptions, DType, Tensor};

/// Some rows of matrices, on the device with this number.
pub struct Rows {
    /// The rows' numbers, ascending.
    pub numbers: Vec<i32>,
    pub device: usize,
}

/// The devices on which leafs are made.
#[derive(Clone)]
pub struct DeviceMap {
    /// The backends of all devices, in the order of joining, or the only one.
    parts: Vec<Backend>,
    placement: Placement,
    /// Whether large leafs have shapes but no data.
    outline: bool,
    /// Whether each leaf has a context of its own, so that its memory can be freed alone.
    singly: bool,
}

impl DeviceMap {
    /// Makes leafs on the backend's devices, as the placement says.
    pub fn new(backend: &Backend, placement: &Placement) -> Self {
        DeviceMap { parts: backend.parts(), placement: placement.clone(), outline: false, singly: false }
    }

    /// Leaves out the data of large leafs, to compute the memory that they would take.
    pub fn outline(mut self) -> Self {
        self.outline = true;
        self
    }

    /// Gives each leaf a context of its own, so that [`Weights::forget`](super::Weights::forget) frees its memory.
    pub fn singly(mut self) -> Self {
        self.singly = true;
        self
    }

    /// Whether each leaf has a context of its own.
    pub fn is_singly(&self) -> bool {
        self.singly
    }

    /// Makes a context on each device.
    pub fn contexts(&self, name: &str) -> Result<Vec<Context>> {
        let make = |part: &Backend| {
            let options = ContextOptions::new().on(part);
            let context = if self.outline { options.no_alloc() } else { options }.build()?;
            context.set_name(name)?;
            Ok(context)
        };
        self.parts.iter().map(make).collect()
    }

    /// Whether large leafs have shapes but no data.
    pub fn is_outline(&self) -> bool {
        self.outline
    }

    /// A leaf of numbers, [1, n], whose rows graphs look up.
    pub fn numbers(&self, ctx: &Context, values: &[i32]) -> Result<Tensor> {
        let leaf = ctx.zeros(DType::I32, [1, values.len() as i64])?;
        if !self.outline {
            leaf.write(values)?;
        }
        Ok(leaf)
    }

    /// The number of the tensor's device.
    pub fn device(&self, tensor: &str) -> usize {
        self.placement.device(tensor).min(self.parts.len() - 1)
    }

    /// The backend of the tensor's device.
    pub fn part(&self, tensor: &str) -> &Backend {
        &self.parts[self.device(tensor)]
    }

    /// The rows of a layer's feed-forward matrices on each of the first two devices, if the placement divides them.
    pub fn neurons(&self, layer: usize, count: i64) -> Result<Option<[Rows; 2]>> {
        let Some(SplitLayer { hot, neurons }) = self.placement.divided(layer) else { return Ok(None) };
        let refuse = |what: String| Err(Error::invalid(format!("the neurons of layer {layer}: {what}")));
        if *neurons as i64 != count {
            return refuse(format!("{neurons} are divided, the model has {count}: the division is another model's"));
        }
        if self.parts.len() < 2 {
            return refuse("they are divided over two devices, and there is one".into());
        }
        let is_ascending = hot.windows(2).all(|pair| pair[0] < pair[1]);
        if let Some(row) = hot.iter().find(|row| !is_ascending || !(0..count).contains(&i64::from(**row))) {
            return refuse(format!("{row} among those on the first device: ascending numbers below {count} are valid"));
        }
        let mut is_hot = vec![false; usize::try_from(count).unwrap_or(0)];
        hot.iter().for_each(|row| is_hot[*row as usize] = true);
        let cold = (0..).zip(&is_hot).filter(|(_, hot)| !**hot).map(|(row, _)| row).collect();
        Ok(Some([Rows { numbers: hot.clone(), device: 0 }, Rows { numbers: cold, device: 1 }]))
    }
}
