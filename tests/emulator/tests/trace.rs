//! The trace follows an input to the partial result that is made of it.

#![allow(clippy::unwrap_used, reason = "a test that fails panics")]

use scan_codegen::{Argument, KernelRole, Launch, Schedule, Workspace};
use scan_emulator::{Emulator, KeptMemory, Memory, Module, What};

const SQUARES: &str = r#"
struct Squares {
  __device__ unsigned lift(unsigned char x) const { return x * x; }
  __device__ unsigned combine(unsigned a, unsigned b) const { return a + b; }
};
using State = unsigned;
using Input = unsigned char;
extern "C" __global__ void __launch_bounds__(32) squares(const Squares op, const Input* input, State* output) {
  if (threadIdx.x == 0) {
    const Input first = input[3];
    State sum = op.lift(first);
    const Input second = input[4];
    const Input third = input[5];
    sum = op.combine(sum, op.lift(second));
    sum = op.combine(sum, op.lift(third));
    *output = sum;
  }
}
"#;

/// Which of several inputs is lifted first, the emulator cannot know: they have no place, rather than a wrong one.
#[test]
fn an_input_that_is_lifted_before_the_next_is_read_has_a_place() {
    let module = Module::from_text("squares.cu", SQUARES).unwrap();
    let arguments = vec![Argument::Operator, Argument::Input, Argument::Output];
    let launches = vec![Launch::new(KernelRole::ReduceTiles, 1, 32, arguments)];
    let schedule = Schedule { workspace: Workspace::Scratch { bytes: 0 }, launches };
    let memory = Memory { input: &[0, 1, 2, 3, 4, 5], output_bytes: Some(4), output_element: 4, ..Memory::default() };
    let kernel = |_: &_| "squares".to_owned();
    let run = Emulator::new(1).trace().run(&module, kernel, &schedule, &memory, &mut KeptMemory::default()).unwrap();
    assert_eq!(run.output, 50_u32.to_ne_bytes());
    let trace = run.trace.unwrap();
    let lifts = trace.events.iter().filter_map(|event| match &event.what {
        What::Lift { read, state } => Some((*read, state.clone())),
        _ => None,
    });
    let place = |read| match &trace.event(read)?.what {
        What::Read { spot, .. } => Some((spot.buffer.clone(), spot.index)),
        _ => None,
    };
    let found: Vec<_> = lifts.map(|(read, state)| (place(read), state)).collect();
    let bytes = |square: u32| square.to_ne_bytes().to_vec();
    assert_eq!(found, [(Some(("input".to_owned(), 3)), bytes(9)), (None, bytes(16)), (None, bytes(25))]);
}
