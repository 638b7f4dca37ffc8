//! Copies of the most recently used experts on the first device, for models whose experts lie elsewhere.
//!
//! Each layer has a number of slots. In a run each expert is computed where it is: experts with a slot on the first
//! device, the others where they lie. The results are added; for each of the two, `mul_mat_id` gets -1 for the experts
//! of the other. Slots change only between runs, so a graph never waits for a copy, and its plan stays valid: three
//! tables of numbers say which expert is where.

use super::shape::Shape;
use crate::weights::DeviceMap;
use crate::Result;
use tensorlib::{Context, Tensor};

/// The matrices of a layer's experts, [.., .., experts].
#[derive(Clone, Copy)]
pub struct Matrices<'a> {
    /// Some experts have no gates.
    pub gate: Option<&'a Tensor>,
    pub up: &'a Tensor,
    pub down: &'a Tensor,
}

impl<'a> Matrices<'a> {
    fn all(self) -> impl Iterator<Item = &'a Tensor> {
        self.gate.into_iter().chain([self.up, self.down])
    }
}

/// One place where some of a layer's experts are computed, and which ones.
pub struct Way<'a> {
    pub matrices: Matrices<'a>,
    /// For each token's experts, [used, tokens], the indices into `matrices`, and the experts' own numbers; -1 for
    /// experts that another way computes.
    pub ids: Tensor,
    pub own: Tensor,
}

impl<'a> Way<'a> {
    /// All experts where they lie.
    pub fn in_place(matrices: Matrices<'a>, ids: &Tensor) -> Self {
        Way { matrices, ids: ids.clone(), own: ids.clone() }
    }
}

/// The slots of all layers; `None` for a layer whose experts lie on the first device.
pub struct ExpertCache {
    layers: Vec<Option<Slots>>,
    hits: u64,
    misses: u64,
}

/// The slots of one layer.
struct Slots {
    gate: Option<Tensor>,
    up: Tensor,
    down: Tensor,
    /// The slot of each expert, or -1: [1, experts].
    slot: Tensor,
    /// Each expert's own number if it has a slot, else -1; and its own number if it has none, else -1.
    in_slot: Tensor,
    at_home: Tensor,
    lru: Lru,
}

/// Which expert each slot holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lru {
    expert: Vec<Option<usize>>,
    /// When each slot was last used.
    used: Vec<u64>,
    clock: u64,
}

impl Lru {
    fn new(slots: usize) -> Self {
        Lru { expert: vec![None; slots], used: vec![0; slots], clock: 0 }
    }

    /// Marks an expert as used and returns whether it had a slot. If not, it takes the slot that was unused for
    /// longest.
    fn touch(&mut self, expert: usize) -> bool {
        self.clock += 1;
        let known = self.expert.iter().position(|e| *e == Some(expert));
        let oldest = (0..self.used.len()).min_by_key(|slot| self.used[*slot]);
        let Some(slot) = known.or(oldest) else { return false };
        self.expert[slot] = Some(expert);
        self.used[slot] = self.clock;
        known.is_some()
    }
}

impl ExpertCache {
    /// Makes `slots` slots for each of these layers, on the first device.
    pub fn new(layers: &[Option<Matrices>], slots: usize, shape: &Shape, devices: &DeviceMap) -> Result<Self> {
        let contexts = devices.contexts("experts")?;
        let count = shape.experts.as_ref().map_or(0, |experts| experts.count);
        let layer = |(number, matrices): (usize, &Option<Matrices>)| {
            let Some(matrices) =
                matrices.filter(|_| devices.device(&format!("blk.{number}.ffn_down_exps.weight")) != 0)
            else {
                return Ok(None);
            };
            let n = slots.min(usize::try_from(count).unwrap_or(0));
            (n > 0).then(|| Slots::new(&contexts[0], matrices, n, count, devices)).transpose()
        };
        let layers = layers.iter().enumerate().map(layer).collect::<Result<_>>()?;
        Ok(ExpertCache { layers, hits: 0, misses: 0 })
    }

    /// The ways in which a layer's experts are computed, those with slots and the others, for each token's experts,
    /// [used, tokens].
    pub fn ways<'a>(&'a self, layer: usize, matrices: Matrices<'a>, ids: &Tensor) -> Result<Vec<Way<'a>>> {
        let Some(slots) = self.layers.get(layer).and_then(Option::as_ref) else {
            return Ok(vec![Way::in_place(matrices, ids)]);
        };
        let (shape, n) = (ids.shape(), ids.n_elements() as i64);
        let flat = ids.reshape([n])?;
        let of = |table: &Tensor| -> Result<Tensor> { Ok(table.get_rows(&flat)?.reshape(&shape)?) };
        let at_home = of(&slots.at_home)?;
        let (slot, in_slot) = (of(&slots.slot)?, of(&slots.in_slot)?);
        let hot = Way { matrices: slots.matrices(), ids: slot, own: in_slot };
        Ok(vec![hot, Way::in_place(matrices, &at_home)])
    }

    /// Call after a run: a layer used these experts, in this order. Experts without a slot take one.
    pub fn used(&mut self, layer: usize, matrices: Matrices, experts: &[i32]) -> Result<()> {
        let Some(slots) = &mut self.layers[layer] else { return Ok(()) };
        let before = slots.lru.expert.clone();
        for expert in experts {
            let there = slots.lru.touch(usize::try_from(*expert).unwrap_or(0));
            *if there { &mut self.hits } else { &mut self.misses } += 1;
        }
        if let Err(error) = slots.load(matrices, &before) {
            // After a partial load the contents of the slots are unknown.
            slots.lru = Lru::new(before.len());
            slots.write_tables()?;
            return Err(error);
        }
        Ok(())
    }

    /// How often a used expert had a slot, and how often not.
    pub fn hits(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    /// Bytes of all slots.
    pub fn nbytes(&self) -> usize {
        let of = |slots: &Slots| slots.matrices().all().map(Tensor::nbytes).sum::<usize>();
        self.layers.iter().flatten().map(of).sum()
    }
}

impl Slots {
    fn new(ctx: &Context, matrices: Matrices, n: usize, count: i64, devices: &DeviceMap) -> Result<Self> {
        let room = |weight: &Tensor| {
            let shape = weight.shape();
            Ok::<_, crate::Error>(ctx.zeros(weight.dtype(), [shape[0], shape[1], n as i64])?)
        };
        let table = || devices.numbers(ctx, &vec![-1; usize::try_from(count).unwrap_or(0)]);
        let slots = Slots {
            gate: matrices.gate.map(room).transpose()?,
            up: room(matrices.up)?,
            down: room(matrices.down)?,
            slot: table()?,
            in_slot: table()?,
            at_home: table()?,
            lru: Lru::new(n),
        };
        if !devices.is_outline() {
            slots.write_tables()?;
        }
        Ok(slots)
    }

    fn matrices(&self) -> Matrices<'_> {
        Matrices { gate: self.gate.as_ref(), up: &self.up, down: &self.down }
    }

    /// Copies the experts that are new in their slots.
    fn load(&self, matrices: Matrices, before: &[Option<usize>]) -> Result<()> {
        for (slot, expert) in self.lru.expert.iter().enumerate() {
            let Some(expert) = expert.filter(|e| before[slot] != Some(*e)) else { continue };
            for (from, to) in matrices.all().zip(self.matrices().all()) {
                let n = to.nbytes() / self.lru.expert.len();
                let mut bytes = vec![0; n];
                from.read_bytes(expert * n, &mut bytes)?;
                to.write_bytes(slot * n, &bytes)?;
            }
        }
        self.write_tables()
    }

    fn write_tables(&self) -> Result<()> {
        let count = self.slot.n_elements();
        let slot_of = |expert: usize| self.lru.expert.iter().position(|e| *e == Some(expert));
        let table = |f: &dyn Fn(usize) -> Option<usize>| -> Vec<i32> {
            (0..count).map(|e| f(e).map_or(-1, |n| i32::try_from(n).unwrap_or(-1))).collect()
        };
        self.slot.write(&table(&slot_of))?;
        self.in_slot.write(&table(&|e| slot_of(e).map(|_| e)))?;
        Ok(self.at_home.write(&table(&|e| slot_of(e).is_none().then_some(e)))?)
    }
}

#[cfg(test)]
mod tests {
    use super::Lru;

    #[test]
    fn the_one_not_used_for_longest_goes() {
        let mut lru = Lru::new(2);
        let seen: Vec<bool> = [3, 5, 3, 7, 5, 3].iter().map(|expert| lru.touch(*expert)).collect();
        assert_eq!(seen, [false, false, true, false, false, false]);
        assert_eq!(lru.expert, [Some(5), Some(3)]);
        assert!(!Lru::new(0).touch(1));
    }
}
