//! Random texts over every class of Unicode.

/// A small random number generator: xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Letter,
    Mark,
    Number,
    Punctuation,
    Symbol,
    Space,
    Control,
}
use Class::*;

/// Characters by Unicode class, listed here instead of taken from a library.
pub const CLASSES: &[(Class, &str)] = &[
    (Letter, "abcdestlmvrABCDEÉéñßΩωжЖłœªʰǅאבשعمหก漢字日本語かナ한글𐐀𠀀"),
    (Mark, "\u{301}\u{308}\u{327}\u{64b}\u{5b0}\u{94d}\u{903}\u{20dd}\u{fe0f}"),
    (Number, "0123456789٣४Ⅷ½²"),
    (Punctuation, "'.,!?-_(){}[]\"#%&*/:;@\\¿«»—…、。「」،؟"),
    (Symbol, "$+<=>^`|~©°±€→∀👍🎉👩💻🇩🇪"),
    (Space, " \t\n\r\u{b}\u{c}\u{85}\u{a0}\u{2003}\u{2028}\u{2029}\u{3000}"),
    (Control, "\0\u{1}\u{1b}\u{7f}\u{200d}\u{200e}\u{feff}\u{ad}\u{e000}\u{fffe}"),
];

pub fn class(character: char) -> Class {
    let listed = CLASSES.iter().find(|(_, characters)| characters.contains(character));
    match character {
        // The corner cases have these in addition to the list.
        'a'..='z' | 'A'..='Z' => Letter,
        '\u{2581}' => Symbol,
        _ => listed.unwrap_or_else(|| panic!("{character:?} has no class")).0,
    }
}

/// Texts that are easily handled wrong.
pub const CORNERS: &[&str] = &[
    "",
    " ",
    "   ",
    "\n",
    "\n\n \n",
    "\t \t",
    " a",
    "a ",
    "  a  b  ",
    "a\nb",
    "a \n b",
    "a\r\n\r\nb",
    "don't I'LL we've",
    "'s",
    "1234567890",
    "a1b22c333",
    "漢字かナ",
    "👩\u{200d}💻",
    "e\u{301}é",
    "\u{2581}",
    "a\u{2581}b",
    "<s>",
    "<0x41>",
];

/// Up to `longest` characters: words, runs and single characters of all classes.
pub fn text(random: &mut Random, longest: usize) -> String {
    let n = random.below(longest + 1);
    let mut out = String::new();
    let mut count = 0;
    while count < n {
        // Text consists mostly of letters and spaces; otherwise pieces of several characters would hardly occur.
        let (_, characters) = match random.below(10) {
            0..=3 => CLASSES[0],
            4 | 5 => (Space, " "),
            _ => random.pick(CLASSES),
        };
        let all: Vec<char> = characters.chars().collect();
        let run = 1 + random.below(5);
        let repeated = random.below(4) == 0;
        let first = random.pick(&all);
        for _ in 0..run {
            out.push(if repeated { first } else { random.pick(&all) });
        }
        count += run;
    }
    out
}

/// All corner cases, then random texts.
pub fn texts(seed: u64, n: usize, longest: usize) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut texts: Vec<String> = CORNERS.iter().map(|text| (*text).to_string()).collect();
    texts.extend((0..n).map(|_| text(&mut random, longest)));
    texts
}
