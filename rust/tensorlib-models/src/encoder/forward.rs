//! The vectors of a batch's tokens: embeddings, layers, the last norm.

use super::attention::NearMask;
use super::batches::{batches, Batch};
use super::biases::causal_mask;
use super::layer::{Firsts, Run};
use super::shape::Positions;
use super::{Encoder, Line};
use crate::norm::normed;
use crate::{Error, Result};
use tensorlib::nn::{Module, Pass};
use tensorlib::{Context, Graph, ScaleOptions, Tensor};

impl Encoder {
    /// Checks lines, and calls `compute` for batches of them; lines without tokens are in none.
    pub(super) fn each_batch(
        &self,
        first: usize,
        lines: &[Line],
        mut progress: impl FnMut(usize) -> bool,
        mut compute: impl FnMut(&Context, &Batch) -> Result<()>,
    ) -> Result<()> {
        for (i, line) in lines.iter().enumerate() {
            self.check(line).map_err(|e| Error::invalid(format!("line {}: {e}", first + i)))?;
        }
        let lengths: Vec<usize> = lines.iter().map(|line| line.ids.len()).collect();
        let mut ctx = Context::on(&self.backend);
        let mut done = lengths.iter().filter(|length| **length == 0).count();
        for batch in batches(&lengths) {
            done += batch.lines.len();
            compute(&ctx, &batch.with_two_columns())?;
            if !progress(done) {
                return Err(Error::invalid(format!("stopped after {done} of {} lines", lines.len())));
            }
            ctx.reset()?;
        }
        Ok(())
    }

    fn check(&self, line: &Line) -> Result<()> {
        let (n, most) = (line.ids.len(), self.max_tokens);
        if n > most {
            return Err(Error::invalid(format!("{n} tokens: up to {most} are valid")));
        }
        if let Some(token) = line.ids.iter().find(|token| i64::from(**token) >= self.vocabulary) {
            return Err(Error::invalid(format!("token {token}: 0 to {} are valid", self.vocabulary - 1)));
        }
        if !line.types.is_empty() && line.types.len() != n {
            let what = format!("{} token types for {n} tokens: one for each, or none, is valid", line.types.len());
            return Err(Error::invalid(what));
        }
        let types = self.types.as_ref().and_then(|types| types.shape().get(1).copied()).unwrap_or(1);
        match line.types.iter().find(|kind| i64::from(**kind) >= types) {
            Some(kind) => Err(Error::invalid(format!("token type {kind}: 0 to {} are valid", types - 1))),
            None => Ok(()),
        }
    }

    pub(super) fn not_finite(&self, what: String) -> Error {
        let because = self.weight_memory.not_finite().map_or(String::new(), |weight| format!("; {weight}"));
        Error::invalid(what + &because)
            .with_hint("a weight is damaged, or values are beyond F32's range: compare the file with its source")
    }

    /// Computes a node and reads it.
    pub(super) fn read(&self, node: &Tensor) -> Result<Vec<f32>> {
        let graph = Graph::new(&[node])?;
        self.weight_memory.keep(|| Ok(graph.compute(&self.backend)?))?;
        self.weight_memory.give_back();
        Ok(node.to_vec::<f32>()?)
    }

    pub(super) fn pass(&self) -> Pass {
        Pass::evaluation()
    }

    /// The vectors of a batch's tokens after the last layer, [width, tokens], or with `firsts` of each line's first token
    /// alone; a single line's has two columns then.
    pub(super) fn hidden(&self, ctx: &Context, lines: &[Line], batch: &Batch, firsts: bool) -> Result<Tensor> {
        let first = match self.shape.positions {
            Positions::Rows { first, .. } => first,
            Positions::Turned(_) | Positions::Slopes(_) | Positions::Distances => 0,
        };
        let (mut ids, mut kinds, mut positions) = (Vec::new(), Vec::new(), Vec::new());
        let index = |id: &u32| i32::try_from(*id).unwrap_or(i32::MAX);
        for (line, _) in batch.places() {
            let Line { ids: of_line, types } = lines[line];
            ids.extend(of_line.iter().map(index));
            kinds.extend(types.iter().map(index));
            kinds.resize(ids.len(), 0);
            positions.extend((0..of_line.len()).map(|i| (first + i as i64) as i32));
        }
        let n = [ids.len() as i64];
        let (ids, positions) = (ctx.tensor_of(n, &ids)?, ctx.tensor_of(n, &positions)?);
        let pass = self.pass();
        let mut x = self.tokens.forward(&ids, &pass)?;
        if self.shape.embedding_scale != 1.0 {
            x = x.scale(self.shape.embedding_scale, ScaleOptions::new())?;
        }
        if let Some(table) = &self.positions {
            x = (&x + &table.forward(&positions, &pass)?)?;
        }
        if let Some(types) = &self.types {
            let added = match kinds.iter().all(|kind| *kind == 0) {
                // The view is a node of this context, because the weights' takes no more.
                true => ctx.within(|| types.narrow(1, 0, 1))?,
                false => ctx.within(|| types.get_rows(&ctx.tensor_of(n, &kinds)?))?,
            };
            x = (&x + &added)?;
        }
        if !self.shape.norm_after_project {
            x = normed(self.norm.as_ref(), &x, &pass)?;
        }
        if let Some(project) = &self.project {
            x = project.forward(&x, &pass)?;
        }
        if self.shape.norm_after_project {
            x = normed(self.norm.as_ref(), &x, &pass)?;
        }
        let longest = batch.groups.iter().map(|group| group.length).max().unwrap_or(0);
        let run = Run {
            shape: &self.shape,
            batch,
            positions: &positions,
            biases: match (&self.biases, self.shape.causal) {
                (Some(biases), _) => Some(biases.mask(ctx, longest)?),
                (None, true) => Some(causal_mask(ctx, longest)?),
                (None, false) => None,
            },
            near: NearMask::of(ctx, &self.shape, longest)?,
            distances: self.distances.as_ref().map(|distances| distances.of(ctx, longest, &pass)).transpose()?,
            pass,
        };
        let firsts = if firsts { Some(Firsts::new(ctx, batch)?) } else { None };
        for (i, layer) in self.layers.iter().enumerate() {
            // Other tokens matter up to the last layer, to which they are keys and values.
            let firsts = firsts.as_ref().filter(|_| i + 1 == self.layers.len());
            match self.convolution.as_ref().filter(|_| i == 0) {
                Some(convolution) => {
                    let results = layer.forward(&run, &x, None)?;
                    x = convolution.forward(ctx, batch, &x, &results, &run.pass)?;
                    if let Some(firsts) = firsts {
                        x = firsts.of(&x)?;
                    }
                }
                None => x = layer.forward(&run, &x, firsts)?,
            }
        }
        normed(self.last_norm.as_ref(), &x, &run.pass)
    }
}
