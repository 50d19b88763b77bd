//! Arrays that are not those of the operator's input or output.

use scan_runtime::{ScanOp, Scanner, scan_element, scan_op};

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

fn main() {
    let scan = Scanner::cpu().scan(Recurrence).columns();
    let (gates, tokens, counts, mut states) = ([0.5_f32; 3], [1.0_f32; 3], [1_u8; 3], [0.0_f32; 3]);
    let _ = scan.run_into((&gates, &counts), &mut states);
    let _ = scan.run_into((&gates, &tokens, &tokens), &mut states);
    let _ = scan.run_into((&gates, &tokens), (&mut states,));
}
