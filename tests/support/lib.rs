//! What the tests of several crates share, and what needs a whole build to fail.
//!
//! The size of a generic element is known when it is used:
//!
//! ```
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! assert_eq!(Block::<u64, 32>::layout().name, "Block_u64_32");
//! ```
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, scan_element};
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Block<T, const N: usize> {
//!     items: [T; N],
//! }
//!
//! Block::<u64, 33>::layout();
//! ```
//!
//! So are the types of a generic operator, and of the functions that it calls:
//!
//! ```
//! use scan_runtime::{ScanElement, ScanOp, scan_element, scan_fn, scan_op};
//! use std::{marker::PhantomData, ops::Add};
//!
//! #[scan_fn]
//! fn double<T: ScanElement + Add<Output = T>>(x: T) -> T {
//!     x + x
//! }
//!
//! struct Doubled<T>(PhantomData<T>);
//!
//! #[scan_op]
//! impl<T: ScanElement + Add<Output = T>> ScanOp for Doubled<T> {
//!     type Element = T;
//!     fn combine(a: T, b: T) -> T {
//!         double::<T>(a) + b
//!     }
//! }
//!
//! struct Later<T>(PhantomData<T>);
//!
//! #[scan_op]
//! impl<T: ScanElement + PartialOrd> ScanOp for Later<T> {
//!     type Element = [T; 2];
//!     fn combine(a: [T; 2], b: [T; 2]) -> [T; 2] {
//!         let mut c = a;
//!         c[1] = b[0];
//!         if a == b || a[0] < b[1] { b } else { c }
//!     }
//! }
//!
//! #[scan_element]
//! #[derive(Clone, Copy, PartialEq, PartialOrd)]
//! enum Level { Low, High }
//!
//! Doubled::<f32>(PhantomData).source();
//! Doubled::<scan_runtime::half::f16>(PhantomData).source();
//! Later::<u128>(PhantomData).source();
//! Later::<Level>(PhantomData).source();
//! ```
//!
//! With an `impl Add`:
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, ScanOp, scan_element, scan_op};
//! use std::{marker::PhantomData, ops::Add};
//!
//! struct Sum<T>(PhantomData<T>);
//!
//! #[scan_op]
//! impl<T: ScanElement + Add<Output = T>> ScanOp for Sum<T> {
//!     type Element = T;
//!     fn combine(a: T, b: T) -> T {
//!         a + b
//!     }
//! }
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Vector(f32, f32);
//!
//! impl Add for Vector {
//!     type Output = Vector;
//!     fn add(self, other: Vector) -> Vector { Vector(self.0 + other.0, self.1) }
//! }
//!
//! Sum::<Vector>(PhantomData).source();
//! ```
//!
//! The same in a function that an operator calls:
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, ScanOp, scan_element, scan_fn, scan_op};
//! use std::ops::Add;
//!
//! #[scan_fn]
//! fn double<T: ScanElement + Add<Output = T>>(x: T) -> T {
//!     x + x
//! }
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! struct Vector(f32, f32);
//!
//! impl Add for Vector {
//!     type Output = Vector;
//!     fn add(self, other: Vector) -> Vector { Vector(self.0 + other.0, self.1) }
//! }
//!
//! #[scan_op]
//! fn doubled(a: Vector, b: Vector) -> Vector {
//!     double::<Vector>(b)
//! }
//!
//! doubled.source();
//! ```
//!
//! With an `impl PartialEq`, in an array too:
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, ScanOp, scan_element, scan_op};
//! use std::marker::PhantomData;
//!
//! struct Changes<T>(PhantomData<T>);
//!
//! #[scan_op]
//! impl<T: ScanElement + PartialEq> ScanOp for Changes<T> {
//!     type Element = [T; 2];
//!     fn combine(a: [T; 2], b: [T; 2]) -> [T; 2] {
//!         if a == b { a } else { b }
//!     }
//! }
//!
//! #[scan_element]
//! #[derive(Clone, Copy)]
//! enum Letter { Small, Capital }
//!
//! impl PartialEq for Letter {
//!     fn eq(&self, _: &Letter) -> bool { true }
//! }
//!
//! Changes::<Letter>(PhantomData).source();
//! ```
//!
//! With a method that is `Ord`'s, not a number's:
//!
//! ```compile_fail,E0080
//! use scan_runtime::{ScanElement, ScanOp, scan_element, scan_op};
//! use std::marker::PhantomData;
//!
//! struct Largest<T>(PhantomData<T>);
//!
//! #[scan_op]
//! impl<T: ScanElement + Ord> ScanOp for Largest<T> {
//!     type Element = T;
//!     fn combine(a: T, b: T) -> T {
//!         a.max(b)
//!     }
//! }
//!
//! #[scan_element]
//! #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
//! enum Level { Low, High }
//!
//! Largest::<u8>(PhantomData).source();
//! Largest::<Level>(PhantomData).source();
//! ```
//!
//! What kernels trust is not written by hand, or only by who vouches for it with `unsafe`:
//!
//! ```compile_fail,E0200
//! use scan_codegen::OpSource;
//! use scan_runtime::{ScanOp, ops};
//!
//! struct Sum;
//!
//! impl ScanOp for Sum {
//!     type Input = u32;
//!     type State = u32;
//!     type Output = u32;
//!     fn identity(&self) -> Option<u32> { None }
//!     fn lift(&self, x: u32) -> u32 { x }
//!     fn combine(&self, a: u32, b: u32) -> u32 { a + b }
//!     fn project(&self, x: u32) -> u32 { x }
//!     fn source(&self) -> OpSource { ops::sum::<f64>().source() }
//! }
//! ```
//!
//! ```compile_fail,E0200
//! struct Text;
//!
//! impl scan_runtime::ScanFn for Text {
//!     const CALLEE: scan_runtime::__private::Callee = panic!();
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use scan_codegen::ElementType;
//! use scan_runtime::{Parameter, Parameters};
//!
//! struct Pointer;
//!
//! impl Parameter for Pointer {
//!     fn parameter_layout(&self) -> ElementType { panic!() }
//!     fn write(&self, _: usize, parameters: &mut Parameters) { *parameters = Parameters::default(); }
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use std::sync::Arc;
//!
//! use scan_runtime::{Scanner, cudarc::driver::{CudaStream, DevicePtr, DeviceSlice, SyncOnDrop}, ops};
//!
//! struct Anywhere(Arc<CudaStream>);
//!
//! impl DeviceSlice<u32> for Anywhere {
//!     fn len(&self) -> usize { usize::MAX }
//!     fn stream(&self) -> &Arc<CudaStream> { &self.0 }
//! }
//!
//! impl DevicePtr<u32> for Anywhere {
//!     fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) { (0x1000, SyncOnDrop::Sync(None)) }
//! }
//!
//! fn scan(scanner: &Scanner, anywhere: &Anywhere) {
//!     scanner.scan(ops::sum::<u32>()).on(&anywhere.0).run(anywhere).unwrap();
//! }
//! ```
//!
//! Nor does a layout pass that `#[scan_element]` has not seen:
//!
//! ```compile_fail,E0793
//! #[scan_runtime::scan_element]
//! #[cfg_attr(all(), repr(packed))]
//! #[derive(Clone, Copy)]
//! struct Packed {
//!     a: u8,
//!     b: u32,
//! }
//! ```

pub mod axes;
pub mod beside;
pub mod charts;
pub mod checked;
pub mod climb;
pub mod columns;
pub mod composed;
pub mod cubin;
pub mod distant;
mod drawing;
pub mod drawn;
pub mod driver;
pub mod each_segment;
pub mod emulated;
pub mod explain;
pub mod extent;
pub mod fuzz;
pub mod gallery;
pub mod items;
pub mod lexers;
pub mod lifting;
pub mod matrix;
pub mod mutants;
pub mod nccl;
mod nvrtc;
pub mod operators;
pub mod pip;
pub mod planted;
pub mod programs;
pub mod ranges;
pub mod reduced;
pub mod reference;
pub mod run_lengths;
pub mod segments;
pub mod several;
pub mod shared;
pub mod spans;
pub mod stepped;
pub mod strategies;
#[path = "../../scan-runtime/src/time_limit.rs"]
pub mod time_limit;
pub mod totals;
pub mod transducers;
pub mod words;

pub use nvrtc::{find_or_fetch as find_nvrtc, nvrtc};
pub use scan_emulator::target_dir;

use operators::TestOperator;
use scan_runtime::{Scan, ScanKind, Scanner};

/// The scan of a test operator in one of the four [ways](reference::WAYS).
pub fn configure<Op: TestOperator>(scanner: &Scanner, (kind, with_initial_value): (ScanKind, bool)) -> Scan<Op> {
    let scan = scanner.scan(Op::new());
    let scan = if with_initial_value { scan.init(Op::initial_value()) } else { scan };
    match kind {
        ScanKind::Inclusive => scan.inclusive(),
        ScanKind::Exclusive => scan.exclusive(),
    }
}

/// The code in the README is tested like an example in the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// So is the code in the README of the crate, which crates.io shows.
#[cfg(doctest)]
#[doc = include_str!("../../scan-runtime/README.md")]
pub struct CrateReadme;

/// So is the code on the front page of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../../docs/README.md")]
pub struct FrontPage;
