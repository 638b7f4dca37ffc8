//! Python's `%`, which formats if its left side is a string. The crate supports it for numbers only, so `a % b` becomes
//! a call of a function that checks the type of `a`.

use super::quotes::Quotes;
use super::Rendered;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, State, Value};

/// The function's name.
pub const FUNCTION: &str = "__percent";

/// `left % right`.
pub fn remainder(state: &mut State, left: Value, right: Value) -> Rendered<Value> {
    if left.kind() == ValueKind::String {
        let mut arguments = vec![left];
        match right.is_tuple() {
            true => arguments.extend(right.try_iter()?),
            false => arguments.push(right),
        }
        return state.apply_filter("format", &arguments);
    }
    let wrong = |what: &str| Error::new(ErrorKind::InvalidOperation, format!("%: {what}"));
    if left.is_integer() && right.is_integer() {
        let (a, b) = (i128::try_from(left)?, i128::try_from(right)?);
        let rest = a.checked_rem(b).ok_or_else(|| wrong("division by zero"))?;
        // Python's remainder has the sign of the divisor.
        let rest = if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest };
        return Ok(i64::try_from(rest).map_or_else(|_| Value::from(rest), Value::from));
    }
    if !left.is_number() || !right.is_number() {
        return Err(wrong(&format!("{} and {}: two numbers, or a text, are valid", left.kind(), right.kind())));
    }
    let (a, b) = (f64::try_from(left)?, f64::try_from(right)?);
    if b == 0.0 {
        return Err(wrong("division by zero"));
    }
    let rest = a % b;
    Ok(Value::from(if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }))
}

/// The most operators of a block that are rewritten, as each takes time for the whole block; later ones only work for
/// numbers.
const MOST: usize = 256;

/// The block with calls instead of the operator.
pub fn rewritten(block: &str) -> String {
    let mut block = block.to_string();
    // Works from left to right, so that a call that is a left operand is found next.
    let (mut from, mut done) = (2, 0);
    while let Some(at) = operator(&block, from).filter(|_| done < MOST) {
        done += 1;
        from = at + 1;
        let (Some(left), Some(right)) = (operand_before(&block, at), operand_behind(&block, at + 1)) else { continue };
        let call = format!("{FUNCTION}({}, {})", block[left..at].trim(), block[at + 1..right].trim());
        from = left + call.len();
        block.replace_range(left..right, &call);
        // Operators inside the operands were before this one, or follow now.
        from = from.min(left + FUNCTION.len() + 1).max(2);
    }
    block
}

/// For each byte, whether it is outside of quotes.
fn outside(block: &str) -> Vec<bool> {
    let mut quotes = Quotes::default();
    let mut all = vec![false; block.len()];
    for (at, character) in block.char_indices() {
        all[at] = quotes.is_outside(character);
    }
    all
}

/// The next `%` that is an operator; the `%` of the block's own delimiters are not.
fn operator(block: &str, from: usize) -> Option<usize> {
    let outside = outside(block);
    let end = block.len() - 2;
    (from.max(2)..end).find(|at| outside[*at] && block.as_bytes()[*at] == b'%')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The start of the operand that ends before a position: names, strings and numbers with their calls, items and
/// filters. The left operand of a product or quotient belongs to it.
fn operand_before(block: &str, at: usize) -> Option<usize> {
    let (bytes, outside) = (block.as_bytes(), outside(block));
    let mut start = at;
    loop {
        let end = block[..start].trim_end().len();
        let last = *bytes.get(end.checked_sub(1)?)?;
        let begin = match last {
            b')' | b']' | b'}' if outside[end - 1] => opening(block, end - 1)?,
            // The end of a string: search back for its beginning.
            b'\'' | b'"' => {
                (0..end - 1).rev().find(|i| bytes[*i] == last && (*i == 0 || outside[*i - 1]) && !outside[*i])?
            }
            last if is_word(last) => (0..end).rev().take_while(|i| is_word(bytes[*i])).last()?,
            _ => return None,
        };
        let before = block[..begin].trim_end();
        let touches = begin == before.len();
        let is_call = matches!(last, b')' | b']')
            && touches
            && before.ends_with(|c: char| is_word(c as u8) || matches!(c, ')' | ']' | '\'' | '"'));
        start = match before.as_bytes().last()? {
            _ if is_call => begin,
            b'.' | b'|' | b'*' | b'/' => before.len() - 1,
            b'-' if is_sign(before) => return Some(before.len() - 1),
            _ => return Some(begin),
        };
        // `//` and `**` have two characters.
        while matches!(block.as_bytes()[..start].last(), Some(b'*' | b'/')) {
            start -= 1;
        }
    }
}

/// Whether the `-` at the end is a sign, not an operator.
fn is_sign(before: &str) -> bool {
    let before = before[..before.len() - 1].trim_end();
    !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ')' | ']' | '}' | '\'' | '"'))
}

/// The position of the bracket that this one closes.
fn opening(block: &str, close: usize) -> Option<usize> {
    let (bytes, outside) = (block.as_bytes(), outside(block));
    let mut depth = 0;
    (0..=close).rev().filter(|i| outside[*i]).find(|i| {
        match bytes[*i] {
            b')' | b']' | b'}' => depth += 1,
            b'(' | b'[' | b'{' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The end of the operand that starts at a position.
fn operand_behind(block: &str, at: usize) -> Option<usize> {
    let (bytes, outside) = (block.as_bytes(), outside(block));
    let skip = |from: usize| from + (block[from..].len() - block[from..].trim_start().len());
    let mut end = skip(at);
    while matches!(bytes.get(end)?, b'-' | b'+') {
        end = skip(end + 1);
    }
    end = match *bytes.get(end)? {
        b'(' | b'[' | b'{' => closing(block, end)?,
        quote @ (b'\'' | b'"') => text_end(block, end, quote)?,
        first if is_word(first) => word_end(bytes, end),
        _ => return None,
    };
    loop {
        let next = skip(end);
        match bytes.get(next)? {
            b'(' | b'[' if next == end => end = closing(block, next)?,
            b'.' | b'|' if outside[next] => {
                let name = skip(next + 1);
                if !bytes.get(name).is_some_and(|byte| is_word(*byte)) {
                    return None;
                }
                end = word_end(bytes, name);
            }
            _ => return Some(end),
        }
    }
}

fn word_end(bytes: &[u8], from: usize) -> usize {
    // A number may contain a point.
    let is_number = bytes[from].is_ascii_digit();
    let goes_on = |i: &usize| is_word(bytes[*i]) || (is_number && bytes[*i] == b'.');
    (from..bytes.len()).take_while(goes_on).last().map_or(from, |last| last + 1)
}

fn text_end(block: &str, from: usize, quote: u8) -> Option<usize> {
    let (bytes, mut escaped) = (block.as_bytes(), false);
    let found = (from + 1..bytes.len()).find(|i| {
        let ends = bytes[*i] == quote && !escaped;
        escaped = bytes[*i] == b'\\' && !escaped;
        ends
    });
    found.map(|at| at + 1)
}

/// The position after the bracket that closes this one.
fn closing(block: &str, open: usize) -> Option<usize> {
    let (bytes, outside) = (block.as_bytes(), outside(block));
    let mut depth = 0;
    let found = (open..bytes.len()).filter(|i| outside[*i]).find(|i| {
        match bytes[*i] {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    found.map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::rewritten;

    #[test]
    fn operators_become_calls() {
        for (block, wanted) in [
            ("{{ '%s=%d' % ('a', 3) }}", "{{ __percent('%s=%d', ('a', 3)) }}"),
            ("{{ f % x.y[0] ~ 'z' }}", "{{ __percent(f, x.y[0]) ~ 'z' }}"),
            ("{% if loop.index0 % 2 == 0 %}", "{% if __percent(loop.index0, 2) == 0 %}"),
            ("{%- if (a + 1) % 2 != (b % 2) -%}", "{%- if __percent((a + 1), 2) != (__percent(b, 2)) -%}"),
            ("{{ a * b % c }}", "{{ __percent(a * b, c) }}"),
            ("{{ a + b % c % d }}", "{{ a + __percent(__percent(b, c), d) }}"),
            ("{{ m|length % 2 }}", "{{ __percent(m|length, 2) }}"),
            ("{{ 'it\\'s %s' % n|upper }}", "{{ __percent('it\\'s %s', n|upper) }}"),
            ("{{ '100%' }}", "{{ '100%' }}"),
            ("{{ \"a % b\" }}", "{{ \"a % b\" }}"),
            ("{% set x = -3 % 2 %}", "{% set x = __percent(-3, 2) %}"),
            ("{{ f(1, '%s' % 2) }}", "{{ f(1, __percent('%s', 2)) }}"),
        ] {
            assert_eq!(rewritten(block), wanted);
        }
    }
}
