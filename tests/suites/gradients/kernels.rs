//! The CUDA text of gradients: executed by the emulator, beside the CPU; and compiled by NVRTC.

use scan_codegen::{DeviceLimits, Overrides, ScanSpec};
use scan_runtime::{
    Architecture, Scanner,
    gradient::{AdjointCarry, Differentiable},
    nvrtc,
};
use scan_tests::{
    emulated::{Emulator, Program},
    operators::mixed,
};

use super::differences::{Problem, largest_error};
use super::operators::{self, Case, Visitor, components};

struct InTheEmulator(usize);

impl Visitor for InTheEmulator {
    fn visit<C: Case>(&mut self) {
        self.0 += 1;
        // Every third, and those with parameters.
        if !self.0.is_multiple_of(3) && C::parameters().is_empty() && !scan_tests::extent::is_long() {
            return;
        }
        let problem = Problem::<C>::new(150, 17);
        let mut expected = problem.gradients(&Scanner::cpu());
        let op = C::op(&problem.parameters).gradient();
        let overrides = Overrides::default().threads(32);
        let initial = AdjointCarry::of_state(problem.of_last);
        let program =
            Program::of(op, &ScanSpec::inclusive().reverse().with_total(), Some(initial), &overrides).unwrap();
        let run = program.run(&Emulator::new(mixed(7)), &problem.backward_inputs()).unwrap();
        let mut found = problem.gradients(&Scanner::cpu());
        found.inputs = run.output.into_iter().flat_map(components).collect();
        // The bits of floats are not the CPU's: parts are grouped in another way.
        let scale = expected.inputs.iter().fold(1.0, |largest: f64, number| largest.max(number.abs()));
        for number in expected.inputs.iter_mut().chain(&mut found.inputs) {
            *number /= scale;
        }
        let (error, place) = largest_error(&found, &expected);
        assert!(error <= 1e-9, "{}: {place}", C::NAME);
    }
}

#[test]
fn kernels_give_the_gradients_of_the_cpu() {
    operators::visit(&mut InTheEmulator(0));
}

#[derive(Default)]
struct ThroughNvrtc {
    visited: usize,
    complaints: Vec<String>,
}

impl Visitor for ThroughNvrtc {
    fn visit<C: Case>(&mut self) {
        let scanner = Scanner::cpu_for(DeviceLimits::H200);
        let op = || C::op(&C::parameters());
        let mut sources = vec![scanner.backward(op()).cuda_source_for(1_000).unwrap()];
        self.visited += 1;
        if self.visited % 6 == 5 || scan_tests::extent::is_long() {
            sources.push(scanner.backward(op()).cuda_source_for(1_000_000_000).unwrap());
            sources.push(scanner.states(op()).cuda_source_for(1_000).unwrap());
        }
        for source in sources {
            match nvrtc::compile(&source, C::NAME, Architecture { major: 9, minor: 0 }) {
                Ok(compiled) if compiled.log.is_empty() => {}
                Ok(compiled) => self.complaints.push(format!("{}:\n{}", C::NAME, compiled.log)),
                Err(error) => self.complaints.push(format!("{}: {error}", C::NAME)),
            }
        }
    }
}

#[test]
fn kernels_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    let mut compiled = ThroughNvrtc::default();
    operators::visit(&mut compiled);
    assert!(
        compiled.complaints.is_empty(),
        "{} failures:\n{}",
        compiled.complaints.len(),
        compiled.complaints.join("\n\n")
    );
}
