//! The states of sequences that are computed together, and those at the ends of known pages.

use super::shape::Shape;
use super::state_slots::{Group, Place, Slots};
use crate::weights::DeviceMap;
use crate::Result;
use std::sync::{Arc, Mutex, PoisonError};
use tensorlib::Context;

/// A slot for each sequence that has pages.
pub struct SequenceStates {
    slots: Slots,
    /// Slots that no sequence has. Slot 0 is the state before any token.
    free: Arc<Mutex<Vec<usize>>>,
    kept: Vec<Arc<Kept>>,
    /// The most bytes of kept states.
    most_bytes: usize,
    time: u64,
}

/// A slot, which is free again when its sequence drops it.
pub struct Slot {
    number: usize,
    free: Arc<Mutex<Vec<usize>>>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(self.number);
    }
}

/// The state after a page, until others need the room.
#[derive(Debug)]
pub struct Kept(Mutex<Contents>);

#[derive(Debug)]
struct Contents {
    bytes: Option<Arc<[u8]>>,
    used: u64,
}

impl Kept {
    /// The state in main memory, in the order of [`Slots::read`].
    pub fn bytes(&self) -> Option<Arc<[u8]>> {
        self.contents(|contents| contents.bytes.clone())
    }

    fn contents<R>(&self, f: impl FnOnce(&mut Contents) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SequenceStates {
    /// Makes room for the states of `together` sequences; `None` for a model without recurrent layers. Kept states take at
    /// most `most_bytes` bytes of main memory.
    pub fn new(shape: &Shape, together: usize, most_bytes: usize, devices: &DeviceMap) -> Result<Option<Self>> {
        let Some(slots) = Slots::new(shape, together, devices)? else { return Ok(None) };
        // The lowest number is taken first.
        let free = Arc::new(Mutex::new((1..=together).rev().collect()));
        // A model without attention has a pool of no bytes.
        let most_bytes = if most_bytes == 0 { together * slots.slot_bytes() } else { most_bytes };
        Ok(Some(SequenceStates { slots, free, kept: Vec::new(), most_bytes, time: 0 }))
    }

    /// The slots that runs read and write.
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Bytes of the slots and the kept states.
    pub fn nbytes(&self) -> usize {
        self.slots.nbytes() + self.kept_bytes()
    }

    fn kept_bytes(&self) -> usize {
        self.kept.iter().filter_map(|kept| kept.bytes()).map(|bytes| bytes.len()).sum()
    }

    /// Bytes of a state.
    pub fn state_bytes(&self) -> usize {
        self.slots.slot_bytes()
    }

    /// Takes a slot that no sequence has, if there is one.
    pub fn take(&self) -> Option<Slot> {
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        Some(Slot { number, free: self.free.clone() })
    }

    /// Sets a sequence's state to that of another one.
    pub fn copy(&self, from: &Slot, to: &Slot) -> Result<()> {
        self.slots.write(to.number, &self.slots.read(Place::slot(from.number))?)
    }

    /// Sets a sequence's state to a kept one.
    pub fn restore(&mut self, slot: &Slot, kept: &Kept) -> Result<bool> {
        self.time += 1;
        let time = self.time;
        let bytes = kept.contents(|contents| {
            contents.used = time;
            contents.bytes.clone()
        });
        let Some(bytes) = bytes else { return Ok(false) };
        self.slots.write(slot.number, &bytes)?;
        Ok(true)
    }

    /// Keeps a sequence's state for those that begin like it. States that were used longest ago make room.
    pub fn keep(&mut self, slot: &Slot) -> Result<Arc<Kept>> {
        let bytes = self.slots.read(Place::slot(slot.number))?.into();
        Ok(self.keep_bytes(bytes))
    }

    /// [`SequenceStates::keep`] for a state in main memory.
    pub fn keep_bytes(&mut self, bytes: Arc<[u8]>) -> Arc<Kept> {
        self.time += 1;
        let kept = Arc::new(Kept(Mutex::new(Contents { bytes: Some(bytes), used: self.time })));
        // Pages that are gone took the last other owner of their states with them.
        self.kept.retain(|kept| Arc::strong_count(kept) > 1 && kept.bytes().is_some());
        while self.kept_bytes() + self.state_bytes() > self.most_bytes {
            let oldest = (0..self.kept.len()).min_by_key(|i| self.kept[*i].contents(|contents| contents.used));
            let Some(oldest) = oldest else { break };
            self.kept.remove(oldest).contents(|contents| contents.bytes = None);
        }
        self.kept.push(kept.clone());
        kept
    }

    /// The groups of a run whose parts have these numbers of computed tokens, tokens and slots: sequences with one token
    /// each together, the others by themselves. A state is replaced by the one that follows it.
    pub fn groups(ctx: &Context, parts: &[(usize, usize, &Slot)]) -> Result<Vec<Group>> {
        let before = |(computed, _, slot): &(usize, usize, &Slot)| if *computed == 0 { 0 } else { slot.number };
        let (mut groups, mut first, mut left) = (Vec::new(), 0, parts);
        while let Some(part) = left.first() {
            let ones = left.iter().take_while(|(_, tokens, _)| *tokens == 1).count();
            if ones > 1 {
                let from: Vec<i32> = left[..ones].iter().map(|part| before(part) as i32).collect();
                let to: Vec<i32> = left[..ones].iter().map(|(_, _, slot)| slot.number as i32).collect();
                groups.push(Group::of_each(ctx, first, 1, &from, &to)?);
                (first, left) = (first + ones as i64, &left[ones..]);
                continue;
            }
            groups.push(Group::of_one(first, part.1 as i64, Place::slot(before(part)), (part.2.number, 1)));
            (first, left) = (first + part.1 as i64, &left[1..]);
        }
        Ok(groups)
    }
}
