//! A sound's texts while they are made: the window that the model sees, and the cache of its tokens.

use super::model::Cache;
use super::search::Texts;
use super::Transcriber;
use crate::Result;
use tensorlib::nn::Pass;
use tensorlib::{Context, DType, Graph};

/// A model at work on a sound.
pub struct Session<'a> {
    model: &'a Transcriber,
    cache: Cache,
    /// The place of each text in the cache.
    places: Vec<usize>,
    ctx: Context,
}

impl<'a> Session<'a> {
    /// A session with room for this many texts.
    pub fn new(model: &'a Transcriber, texts: usize) -> Result<Self> {
        // Half the memory, and an error that is small compared with that of 16-bit weights.
        let dtype = if model.exact { DType::F32 } else { DType::F16 };
        let cache = Cache::new(&model.shape, texts, dtype, &model.devices)?;
        Ok(Session { model, cache, places: Vec::new(), ctx: Context::on(&model.backend) })
    }

    /// Shows the model a window, whose features are [mels, frames].
    pub fn see(&mut self, features: &[f32]) -> Result<()> {
        let (model, pass) = (self.model, Pass::evaluation());
        let stored = self.ctx.within(|| {
            let encoded = model.encoder.forward(&self.ctx, features, &pass)?;
            model.decoder.store_window(&encoded, &self.cache, &pass)
        })?;
        let graph = Graph::new(&stored.iter().collect::<Vec<_>>())?;
        model.compute(&graph)?;
        drop((stored, graph));
        Ok(self.ctx.reset()?)
    }

    /// Begins a text with these tokens. Returns the logits after those of these numbers.
    pub fn begin(&mut self, tokens: &[u32], columns: &[usize]) -> Result<Vec<Vec<f32>>> {
        self.cache.clear();
        self.places = vec![0];
        self.run(tokens, 1, columns)
    }

    fn run(&mut self, ids: &[u32], texts: usize, columns: &[usize]) -> Result<Vec<Vec<f32>>> {
        let (model, cache) = (self.model, &self.cache);
        let logits = self.ctx.within(|| model.decoder.forward(&self.ctx, cache, ids, texts, columns))?;
        let graph = Graph::new(&[&logits])?;
        model.compute(&graph)?;
        let values = logits.to_vec::<f32>()?;
        drop((logits, graph));
        self.ctx.reset()?;
        self.cache.add(texts, ids.len() / texts);
        let rows: Vec<Vec<f32>> = values.chunks(model.vocabulary.size()).map(<[f32]>::to_vec).collect();
        model.check_finite(&rows)?;
        Ok(rows)
    }

    /// Gives each new text a place: one takes over that of the text that it continues, all others get copies.
    fn place(&mut self, from: &[usize]) -> Result<()> {
        let (mut taken, mut places) = (vec![false; self.cache.texts()], vec![None; from.len()]);
        for (place, parent) in places.iter_mut().zip(from) {
            let parent = self.places[*parent];
            if !taken[parent] {
                taken[parent] = true;
                *place = Some(parent);
            }
        }
        let mut free = (0..taken.len()).filter(|place| !taken[*place]);
        let mut pairs = Vec::new();
        for (place, parent) in places.iter_mut().zip(from).filter(|(place, _)| place.is_none()) {
            let chosen = free.next().ok_or_else(|| crate::Error::internal("more texts than the cache has room for"))?;
            pairs.push((self.places[*parent], chosen));
            *place = Some(chosen);
        }
        if let Some(graph) = self.cache.copies(&self.ctx, &pairs)? {
            self.model.compute(&graph)?;
        }
        self.ctx.reset()?;
        self.places = places.into_iter().flatten().collect();
        Ok(())
    }
}

impl Texts for Session<'_> {
    fn continued(&mut self, from: &[usize], tokens: &[u32]) -> Result<Vec<Vec<f32>>> {
        self.place(from)?;
        let texts = self.places.iter().max().map_or(0, |last| last + 1);
        // Places between those of texts compute something that nobody reads.
        let mut ids = vec![self.model.vocabulary.end; texts];
        for (place, token) in self.places.iter().zip(tokens) {
            ids[*place] = *token;
        }
        let columns = self.places.clone();
        self.run(&ids, texts, &columns)
    }
}
