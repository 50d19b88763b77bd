//! The numbers that `combine` compares with, found in the operator's text.
//!
//! An operator that counts to k behaves like a sum up to k. A check of shorter folds cannot tell it from a sum.

use scan_codegen::{FunctionSource, OpSource, Piece};

/// Numbers beyond are no counts that folds of samples could reach in a test.
const LARGEST: u64 = 4096;

/// What an operand of a comparison ends with, in the text, if it is not a part of a longer expression.
const ENDS: [&str; 7] = [")", ";", " &&", " ||", " ?", "]", ","];

/// What precedes an operand of a comparison.
const BEGINS: [&str; 7] = ["(", "!", "&& ", "|| ", "return ", "= ", "? "];

/// The integers that `combine`, and the functions that it calls, compare with: literals and constants.
pub(super) fn compared(source: &OpSource) -> Vec<u64> {
    let mut functions: Vec<&FunctionSource> =
        source.functions.iter().filter(|function| function.name == "combine").collect();
    let mut seen = Vec::new();
    let mut numbers = Vec::new();
    while let Some(function) = functions.pop() {
        let mut text = String::new();
        write(&function.body, &mut text);
        for operator in [" == ", " != ", " < ", " <= ", " > ", " >= "] {
            let sides = text.match_indices(operator).map(|(at, _)| (&text[..at], &text[at + operator.len()..]));
            numbers.extend(sides.flat_map(|(left, right)| [number_at_end(left), number_at_start(right)]).flatten());
        }
        for (helper, _) in &function.calls {
            if !seen.contains(helper) {
                seen.push(*helper);
                functions.extend(source.helpers.get(*helper));
            }
        }
    }
    numbers.retain(|number| (1..=LARGEST).contains(number));
    numbers
}

/// The text with constants as numbers, and without the types of literals.
fn write(pieces: &[Piece], text: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(words) => *text += words,
            Piece::Name(name) => *text += name,
            Piece::Type(_) | Piece::Line(_) => {}
            Piece::Constant { bytes, .. } => {
                let mut number = [0; 16];
                match number.get_mut(..bytes.len()) {
                    Some(low) => low.copy_from_slice(bytes),
                    None => continue,
                }
                *text += &u128::from_le_bytes(number).to_string();
            }
            Piece::Helper(_) => *text += "f",
            Piece::Struct { fields, base, .. } => {
                fields.iter().for_each(|(_, value)| write(value, &mut *text));
                base.iter().for_each(|base| write(base, &mut *text));
            }
            Piece::Divisor(value) => write(value, text),
        }
    }
}

fn number_at_start(text: &str) -> Option<u64> {
    let text = text.strip_prefix('(').unwrap_or(text);
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    (rest.is_empty() || ENDS.iter().any(|end| rest.starts_with(end))).then(|| parse(number))?
}

fn number_at_end(text: &str) -> Option<u64> {
    let text = text.strip_suffix(')').unwrap_or(text);
    let begin = text.rfind(|letter: char| !letter.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
    let (rest, number) = text.split_at(begin);
    (rest.is_empty() || BEGINS.iter().any(|begin| rest.ends_with(begin))).then(|| parse(number))?
}

fn parse(number: &str) -> Option<u64> {
    let number = number.trim_end_matches("ll").trim_end_matches('u');
    match (number.strip_prefix("0x"), number.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok(),
        _ => number.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ScanOp, scan_fn, scan_op};

    const LIMIT: u32 = 300;

    #[scan_fn]
    fn bounded(n: u32) -> u32 {
        if 77_u32 <= n { 77 } else { n }
    }

    #[scan_op(identity = 0)]
    fn count(a: u32, b: u32) -> u32 {
        let n = a + b;
        if n > 9 || a + 5 > b || n > 6 + a || n == 0x1f {
            1
        } else if n >= LIMIT {
            bounded(n)
        } else if n < 100_000 && n != 12_u32 {
            n
        } else {
            n + 11
        }
    }

    #[scan_op(identity = 0.0)]
    fn floats(a: f32, b: f32) -> f32 {
        if a > 9.0 { a } else { b }
    }

    #[test]
    fn numbers_are_those_that_are_compared_as_a_whole() {
        let mut found = compared(&count.source());
        found.sort_unstable();
        assert_eq!(found, [9, 12, 31, 77, 300]);
        assert_eq!(compared(&floats.source()), []);
    }
}
