//! Marks: characters that callers put into texts before a template runs, and remove from its result.

use std::ops::RangeInclusive;

/// Characters that Unicode reserves as non-characters: texts contain none of them, or not all.
pub const MARKS: RangeInclusive<char> = '\u{FDD0}'..='\u{FDEF}';
