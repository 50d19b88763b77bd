//! Arrays that are not those of the operator's input or output.

use scan_runtime::{ScanOp, Scanner, arrays, ops, scan_element, scan_op};

#[scan_element]
#[derive(Clone, Copy)]
struct Step {
    gate: f32,
    token: f32,
}

struct Recurrence;

#[scan_op]
impl ScanOp for Recurrence {
    type Input = Step;
    type State = Step;
    type Output = f32;
    fn lift(step: Step) -> Step {
        step
    }
    fn combine(a: Step, b: Step) -> Step {
        Step { gate: a.gate * b.gate, token: b.gate * a.token + b.token }
    }
    fn project(h: Step) -> f32 {
        h.token
    }
}

/// Two places, and three tokens.
#[scan_element]
#[derive(Clone, Copy)]
struct Tokens {
    places: [u32; 2],
    tokens: [u8; 3],
}

struct Tokenizer;

#[scan_op]
impl ScanOp for Tokenizer {
    type Input = u8;
    type State = u32;
    type Output = Tokens;
    fn lift(x: u8) -> u32 {
        x as u32
    }
    fn combine(a: u32, b: u32) -> u32 {
        a + b
    }
    fn project(s: u32) -> Tokens {
        Tokens { places: [s, s], tokens: [0_u8, 1, 2] }
    }
}

fn main() {
    let scan = Scanner::cpu().scan(Recurrence);
    let (gates, tokens, counts, mut states) = ([0.5_f32; 3], [1.0_f32; 3], [1_u8; 3], [0.0_f32; 3]);
    let _ = scan.run_into((&gates, &counts), &mut states);
    let _ = scan.run_into((&gates, &tokens, &tokens), &mut states);
    let _ = scan.run_into((&gates, &tokens), (&mut states,));
    let mut read = [0_u8; 9];
    let _ = Scanner::cpu().scan(Tokenizer).run_into(b"abc", arrays::scatter_by_output((&mut read,)));
    let _ = Scanner::cpu().scan(Tokenizer).run_into(b"abc", arrays::scatter_by_output((arrays::discard(),)));
    let both = Scanner::cpu().scan(ops::pair(ops::filter::<u8>(), ops::last()));
    let candidates = [ops::Candidate { keep: true, value: 7_u8 }; 3];
    let _ = both.run_into(&candidates, arrays::scatter_by_output((&mut read,)));
}
