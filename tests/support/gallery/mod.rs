//! The operators of [`scan_runtime::gallery`], each with an input that looks like a real one and the results computed
//! without the operator.
//!
//! The tests check the laws of each, compare its scans on the CPU, in the emulator and on a GPU with those results, and compile
//! its kernels with NVRTC.

mod argmax;
mod automaton;
mod bit_matrices;
mod brackets;
mod complex_product;
mod interval_union;
mod linear_recurrence;
mod log_sum_exp;
mod longest_sorted_run;
mod maximum_subarray;
mod modular_product;
mod online_softmax;
mod permutations;
mod polynomial_hash;
mod quaternions;
mod run_length;
mod saturating_counter;
mod second_order_recurrence;
mod sums;
mod tropical_matrices;
mod welford;

use scan_runtime::{
    __private::bytes_of,
    ScanElement, ScanOp,
    gallery::{
        argmax::ArgMax, automaton::Lexer, bit_matrices::ShiftRegister, brackets::Depth, complex_product::Phase,
        interval_union::Booked, linear_recurrence::Smoothing, log_sum_exp::LogSumExp, longest_sorted_run::LongestClimb,
        maximum_subarray::BestPeriod, modular_product::ModularProduct, online_softmax::Attention,
        permutations::Shuffle, polynomial_hash::TextHash, quaternions::Attitude, run_length::RunLength,
        saturating_counter::BranchPredictor, second_order_recurrence::Oscillator, tropical_matrices::Viterbi,
        welford::Moments,
    },
    laws::Check,
};

pub use sums::{SUMS, visit_sums};

/// An operator with an input, and with the results of the scan.
pub trait Example: ScanOp + Clone {
    /// The operator, its parameters set.
    fn new() -> Self;

    /// An input of this length, as it might come.
    fn input(len: usize) -> Vec<Self::Input>;

    /// The results of the inclusive scan, computed without [`combine`](ScanOp::combine).
    fn expected(&self, input: &[Self::Input]) -> Vec<Self::Output>;

    /// How far a float of the results may be from the expected one, relative to the largest before it.
    fn tolerance() -> f64 {
        0.0
    }

    /// How its laws are checked, on the first inputs.
    fn laws() -> Check {
        Check::new()
    }
}

/// Does something with each of the operators.
pub trait Visitor {
    /// Called once an operator.
    fn visit<Op: Example>(&mut self, name: &str);
}

/// Visits every operator.
pub fn visit_gallery(visitor: &mut impl Visitor) {
    visitor.visit::<Smoothing>("linear_recurrence");
    visitor.visit::<Oscillator>("second_order_recurrence");
    visitor.visit::<Attitude>("quaternions");
    visitor.visit::<Phase>("complex_product");
    visitor.visit::<Moments>("welford");
    visitor.visit::<LogSumExp>("log_sum_exp");
    visitor.visit::<Attention>("online_softmax");
    visitor.visit::<BestPeriod>("maximum_subarray");
    visitor.visit::<LongestClimb>("longest_sorted_run");
    visitor.visit::<ArgMax>("argmax");
    visitor.visit::<ModularProduct>("modular_product");
    visitor.visit::<TextHash>("polynomial_hash");
    visitor.visit::<Depth>("brackets");
    visitor.visit::<Lexer>("automaton");
    visitor.visit::<Shuffle>("permutations");
    visitor.visit::<ShiftRegister>("bit_matrices");
    visitor.visit::<Viterbi>("tropical_matrices");
    visitor.visit::<BranchPredictor>("saturating_counter");
    visitor.visit::<RunLength>("run_length");
    visitor.visit::<Booked>("interval_union");
}

/// Where results are not what was expected: all but floats bit for bit, floats within [`Example::tolerance`].
///
/// # Errors
///
/// The first place at which they differ.
pub fn compare<T: ScanElement>(found: &[T], expected: &[T], tolerance: f64) -> Result<(), String> {
    if found.len() != expected.len() {
        return Err(format!("{} results, where {} were expected", found.len(), expected.len()));
    }
    let mut largest = vec![0.0; leaves(&T::layout(), &bytes_of_zero::<T>()).len()];
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let [found, expected] = [found, expected].map(|value| leaves(&T::layout(), &bytes_of(value)));
        for ((found, expected), largest) in found.iter().zip(&expected).zip(&mut largest) {
            let fits = match (found, expected) {
                (Leaf::Float(found), Leaf::Float(expected)) => {
                    if expected.is_finite() {
                        *largest = expected.abs().max(*largest);
                    }
                    found == expected || (found - expected).abs() <= tolerance * *largest
                }
                (found, expected) => found == expected,
            };
            if !fits {
                return Err(format!("result {index} is {found:?}, where {expected:?} was expected"));
            }
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Leaf {
    Float(f64),
    Bytes(Vec<u8>),
}

fn bytes_of_zero<T>() -> Vec<u8> {
    vec![0; size_of::<T>()]
}

/// The numbers of an element, one by one.
fn leaves(layout: &scan_codegen::ElementType, bytes: &[u8]) -> Vec<Leaf> {
    use scan_codegen::{ElementKind, Primitive};
    match &layout.kind {
        ElementKind::Struct(fields) => {
            fields.iter().flat_map(|field| leaves(&field.ty, &bytes[field.offset..])).collect()
        }
        ElementKind::Array { item, len } => {
            (0..*len).flat_map(|index| leaves(item, &bytes[index * item.size..])).collect()
        }
        ElementKind::Primitive(Primitive::F32) => {
            vec![Leaf::Float(f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]).into())]
        }
        ElementKind::Primitive(Primitive::F64) => {
            let mut raw = [0; 8];
            raw.copy_from_slice(&bytes[..8]);
            vec![Leaf::Float(f64::from_ne_bytes(raw))]
        }
        ElementKind::Primitive(_) | ElementKind::Enum { .. } | ElementKind::Table { .. } => {
            vec![Leaf::Bytes(bytes[..layout.size].to_vec())]
        }
    }
}

/// A number from 0 to 1 that looks random and is the same everywhere.
fn uniform(index: usize) -> f64 {
    (crate::operators::mixed(index as u64) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A whole number below `limit`, likewise.
fn below(limit: u64, index: usize) -> u64 {
    crate::operators::mixed(index as u64) % limit
}

/// Goes through `input` with a state, and keeps what each step gives.
fn each_prefix<I: Copy, S, O>(input: &[I], mut state: S, mut step: impl FnMut(&mut S, I) -> O) -> Vec<O> {
    input.iter().map(|&x| step(&mut state, x)).collect()
}
