//! Cuts answers into pieces in many ways.

use super::templates::Family;
use crate::common::sampling::Uniform;
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{AnswerEvent, AnswerParser, ParsedAnswer, Reasoning, Segment, Tools};

/// The answer as segments: control tokens of the vocabulary apart, text letter by letter.
pub fn segments(tokenizer: &Tokenizer, family: &Family, answer: &str) -> Vec<Segment> {
    let (mut all, mut rest) = (Vec::new(), answer);
    while let Some(first) = rest.chars().next() {
        let controls = family.controls.iter().chain(&["<|im_end|>"]);
        let control =
            controls.into_iter().find(|c| rest.starts_with(*c) && tokenizer.is_control(tokenizer.id(c).unwrap()));
        let n = control.map_or(first.len_utf8(), |control| control.len());
        all.push(match control {
            Some(control) => Segment::Control(control.to_string()),
            None => Segment::Text(first.into()),
        });
        rest = &rest[n..];
    }
    all
}

/// Events with parts of one text joined.
pub fn joined(events: Vec<AnswerEvent>) -> Vec<AnswerEvent> {
    let mut all: Vec<AnswerEvent> = Vec::new();
    for event in events {
        match (all.last_mut(), &event) {
            (Some(AnswerEvent::Content(text)), AnswerEvent::Content(more))
            | (Some(AnswerEvent::Reasoning(text)), AnswerEvent::Reasoning(more)) => text.push_str(more),
            (
                Some(AnswerEvent::CallArguments { index, text }),
                AnswerEvent::CallArguments { index: other, text: more },
            ) if index == other => text.push_str(more),
            _ => all.push(event),
        }
    }
    all
}

pub fn events(parser: &mut AnswerParser, pieces: &[Vec<Segment>]) -> Vec<AnswerEvent> {
    let mut all: Vec<AnswerEvent> = pieces.iter().flat_map(|piece| parser.push(piece)).collect();
    all.extend(parser.finish());
    joined(all)
}

/// Reads an answer in many partitions, which all give these events.
pub fn parsed(family: &Family, reasoning: Reasoning, tools: &Tools, answer: &str) -> (Vec<AnswerEvent>, ParsedAnswer) {
    let tokenizer = family.tokenizer();
    let letters = segments(&tokenizer, family, answer);
    let parser = || AnswerParser::new(&tokenizer, Some(family.format), tools, reasoning);
    let wanted = events(&mut parser(), std::slice::from_ref(&letters));
    for seed in 0..60 {
        let mut random = Uniform(seed);
        let (mut pieces, most) = (vec![Vec::new()], 1 + seed as usize % 12);
        for letter in &letters {
            let last: &mut Vec<Segment> = pieces.last_mut().unwrap();
            match (last.last_mut(), letter) {
                // Letters are one segment or several.
                (Some(Segment::Text(text)), Segment::Text(letter)) if random.below(3) > 0 => text.push_str(letter),
                _ => last.push(letter.clone()),
            }
            if random.below(most) == 0 {
                pieces.push(Vec::new());
            }
        }
        let found = events(&mut parser(), &pieces);
        assert_eq!(found, wanted, "{}: {answer:?} in {pieces:?}", family.name);
    }
    let mut whole = ParsedAnswer::default();
    whole.extend(wanted.clone());
    (wanted, whole)
}
