//! The states of a session's recurrent layers, and those to which it can go back.

use super::shape::Shape;
use super::state_slots::{Group, Place, RunStates, Slots};
use crate::weights::DeviceMap;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// The most checkpoints of a session. Each is a copy of the states.
const CHECKPOINTS: usize = 8;

/// The states after a session's tokens.
///
/// A run reads the state before its tokens in one half of the slots and stores those after its last tokens in the other
/// half, so that a run that fails has changed nothing.
pub struct States {
    slots: Slots,
    /// The number of slots in each half.
    half: usize,
    now: State,
    /// The number of tokens before `now`.
    position: usize,
    /// Positions whose states are still in slots, with their states.
    recent: Vec<(usize, Place)>,
    /// The latest checkpoints, by ascending positions.
    checkpoints: VecDeque<(usize, Arc<[u8]>)>,
}

/// Where a state is.
#[derive(Clone)]
enum State {
    In(Place),
    /// In main memory, in the order of [`Slots::read`].
    Bytes(Arc<[u8]>),
}

impl States {
    /// The states of an empty session; `None` for a model without recurrent layers.
    pub fn new(shape: &Shape, devices: &DeviceMap) -> Result<Option<Self>> {
        Ok(Slots::new(shape, 2, devices)?.map(|slots| States {
            slots,
            half: 1,
            now: State::In(Place::slot(0)),
            position: 0,
            recent: Vec::new(),
            checkpoints: VecDeque::new(),
        }))
    }

    /// Bytes of the states in slots and of the checkpoints.
    pub fn nbytes(&self) -> usize {
        self.slots.nbytes() + self.checkpoints.iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    }

    /// Bytes of a state.
    pub fn state_bytes(&self) -> usize {
        self.slots.slot_bytes()
    }

    /// Prepares a run after which the states of its last `states` tokens are kept. Returns whether slots were allocated
    /// again, so that graphs have to be made in a younger context.
    pub fn prepare(&mut self, states: usize, shape: &Shape, devices: &DeviceMap) -> Result<bool> {
        let grows = states > self.half;
        if grows {
            let bytes = self.read()?;
            let slots = Slots::new(shape, 2 * states, devices)?;
            self.slots = slots.ok_or_else(|| Error::internal("a model without recurrent layers"))?;
            (self.half, self.now) = (states, State::Bytes(bytes));
            self.recent.clear();
        }
        if let State::Bytes(bytes) = &self.now {
            self.slots.write(1, bytes)?;
            self.recent.clear();
            self.now = State::In(Place::slot(1));
        }
        Ok(grows)
    }

    /// The first slot of the half in which the current state is not.
    fn other_half(&self) -> usize {
        match &self.now {
            State::In(place) if (1..=self.half).contains(&place.matrices) => 1 + self.half,
            _ => 1,
        }
    }

    /// The states of a run of `tokens` tokens. Call [`States::prepare`] before it.
    pub fn run(&self, tokens: usize, states: usize) -> Result<RunStates<'_>> {
        let State::In(from) = self.now else { return Err(Error::internal("states that are not prepared")) };
        let group = Group::of_one(0, tokens as i64, from, (self.other_half(), states as i64));
        Ok(RunStates::new(&self.slots, vec![group]))
    }

    /// A run of these tokens was computed.
    pub fn advance(&mut self, tokens: usize, states: usize) {
        let (first, before) = (self.other_half(), (self.position, self.now.clone()));
        self.position += tokens;
        // Matrices lie with those of the last token first, columns in the order of the tokens.
        let place = |back: usize| Place { columns: first + states - 1 - back, matrices: first + back };
        self.recent = (0..states).map(|back| (self.position - back, place(back))).collect();
        if let (position, State::In(place)) = before {
            self.recent.push((position, place));
        }
        self.now = State::In(place(0));
    }

    /// Goes back to the last position up to this one of which the state is known, and returns it.
    pub fn rewind(&mut self, position: usize) -> usize {
        if position >= self.position {
            return self.position;
        }
        let recent = self.recent.iter().filter(|(at, _)| *at <= position).max_by_key(|(at, _)| *at);
        let kept = self.checkpoints.iter().rfind(|(at, _)| *at <= position);
        (self.position, self.now) = match (recent, kept) {
            (Some((at, place)), kept) if kept.is_none_or(|(kept, _)| kept <= at) => (*at, State::In(*place)),
            (_, Some((at, bytes))) => (*at, State::Bytes(bytes.clone())),
            _ => (0, State::In(Place::slot(0))),
        };
        let reached = self.position;
        self.recent.retain(|(at, _)| *at <= reached);
        self.checkpoints.retain(|(at, _)| *at <= reached);
        reached
    }

    /// Keeps a copy of the current state, unless there is one, or instead of the oldest copy if there are enough.
    pub fn checkpoint(&mut self) -> Result<()> {
        if self.position == 0 || self.checkpoints.back().is_some_and(|(at, _)| *at == self.position) {
            return Ok(());
        }
        let bytes = self.read()?;
        while self.checkpoints.len() >= CHECKPOINTS {
            self.checkpoints.pop_front();
        }
        self.checkpoints.push_back((self.position, bytes));
        Ok(())
    }

    /// The last checkpoint's position.
    pub fn last_checkpoint(&self) -> usize {
        self.checkpoints.back().map_or(0, |(at, _)| *at)
    }

    /// The current state in main memory.
    pub fn read(&self) -> Result<Arc<[u8]>> {
        match &self.now {
            State::In(place) => Ok(self.slots.read(*place)?.into()),
            State::Bytes(bytes) => Ok(bytes.clone()),
        }
    }

    /// The current state and the checkpoints before it, with their positions, which ascend.
    pub fn list(&self) -> Result<Vec<(usize, Arc<[u8]>)>> {
        let mut all: Vec<_> = self.checkpoints.iter().filter(|(at, _)| *at < self.position).cloned().collect();
        all.push((self.position, self.read()?));
        Ok(all)
    }

    /// Takes over what [`States::list`] returned: the last of them is the current state. All are checkpoints.
    pub fn take(&mut self, all: Vec<(usize, Arc<[u8]>)>) {
        self.recent.clear();
        (self.position, self.now) = match all.last() {
            Some((position, bytes)) => (*position, State::Bytes(bytes.clone())),
            None => (0, State::In(Place::slot(0))),
        };
        self.checkpoints = all.into_iter().filter(|(at, _)| *at > 0).collect();
    }
}
