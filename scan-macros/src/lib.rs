//! `#[scan_op]`, `#[scan_fn]` and `#[scan_element]`: a Rust operator as CUDA text.
//!
//! Use these through the crate `scan-runtime`, which re-exports them with the traits that they implement.
//!
//! They are those of the crate `scan-language`, whose passes check an operator and translate it.
//! `scan_language::translate` does the same outside of a compiler.

use proc_macro::TokenStream;

/// Makes an `impl ScanOp`, or a function of two elements, an operator that a scan can apply on the GPU and on the CPU.
///
/// ```ignore
/// #[scan_op]
/// impl ScanOp for Largest {
///     type Element = f32;
///     const IDENTITY: f32 = f32::NEG_INFINITY;
///     fn combine(a: f32, b: f32) -> f32 { if a > b { a } else { b } }
/// }
///
/// #[scan_op(identity = Affine { a: 1.0, b: 0.0 })]
/// fn compose(f: Affine, g: Affine) -> Affine { Affine { a: f.a * g.a, b: g.a * f.b + g.b } }
/// ```
///
/// # The impl form
///
/// - `type Element = T;` if input, state and output have one type; or `type Input`, `type State` and `type Output` with
///   `fn lift(x: Input) -> State` and `fn project(s: State) -> Output` if they differ.
/// - `const IDENTITY: T = …;`, the value that changes nothing when it is combined with another. Rust evaluates it.
///   Leave it out if there is none.
/// - `fn combine(a: T, b: T) -> T`. The functions may take `&self`. Fields that they read, as `self.field`, are kernel
///   arguments, passed at every launch. Such a field is an element, or a `Table`, an array of items in device memory.
///   Another value of it needs no compilation.
///
/// - `fn append(s: State, x: Input) -> State`, the same as `combine(s, lift(x))`, and `fn prepend(x: Input, s: State) ->
///   State`, the same as `combine(lift(x), s)`, where it is cheaper to do both at once.
/// - A stepped operator: `type Carry`, `const START: Carry`, `fn apply(s: State, c: Carry) -> Carry` and `fn step(c:
///   Carry, x: Input) -> Carry`. Then `project` takes a carry. `fn emit(c: Carry, x: Input) -> Output` takes its place
///   in inclusive scans; an operator that has `emit` needs `project` only for exclusive scans and reductions. `fn
///   advance(c: Carry, x: Input) -> (Carry, Output)` is `step` and `emit` in one. The documentation of `ScanOp` has
///   examples.
///
/// # The function form
///
/// `#[scan_op(identity = …)]` on `fn name(a: T, b: T) -> T`, or `#[scan_op]` if there is no identity, replaces the
/// function by a unit struct of that name, which is the operator. With `name = Name` the unit struct has this name, and
/// the function stays a function:
///
/// ```ignore
/// #[scan_op(identity = f32::NEG_INFINITY, name = Max)]
/// fn max(a: f32, b: f32) -> f32 { if a > b { a } else { b } }
///
/// let max = max(3.0, 4.0);
/// let highest = scanner.scan(Max).run(&[3.0, 1.0, 4.0])?;
/// ```
///
/// Rust treats the name of a unit struct as a pattern. So `let total = scanner.scan(total)`, or a parameter `total:
/// f32`, is an error wherever an operator `total` is in scope ("interpreted as a unit struct, not a new binding"). Give
/// the operator another name by `name = Total`, or the variable.
///
/// # Options
///
/// `crate = path` if `scan_runtime` has another name. `name` and `identity` are those of the function form.
///
/// `laws` writes a test, `laws_of_…`, that checks the operator's laws (`scan_runtime::laws`): on samples generated from
/// its input's layout, or on those of `laws = [1.0, -2.5]` (any `AsRef<[Input]>`). `laws(samples = …, operator = …)`
/// names both: `operator` is the value to check, needed if it is generic or has fields. `tolerance = …`, `longest_run =
/// …`, `cases = …`, `seed = …` and `in_order` are the options of `scan_runtime::laws::Check`. An operator that counts
/// to k needs `longest_run = k + 1`, because shorter runs never reach k:
///
/// ```ignore
/// /// Whether there have been nine ones or more.
/// #[scan_op(identity = 0, laws(samples = [0, 1, 1], longest_run = 10, cases = 5_000, seed = 7))]
/// fn nine(a: u32, b: u32) -> u32 { if a + b > 9 { 9 } else { a + b } }
/// ```
///
/// `gradient` derives the operator's backward pass, an operator of its own: `scan_runtime::gradient` has what it
/// gives. `gradient(decay: f64)` names the fields that have a gradient too, with their types, and
/// `gradient(diagonal)` vouches for a diagonal Jacobian of the carry; a generic operator names its instances,
/// `gradient(Op<f32>, Op<f64>)`. With `laws`, a second test, `gradient_of_…`, compares it with differences. The function and the structs that the operator is made of are marked
/// `#[scan_fn(gradient)]` and `#[scan_element(gradient)]`.
///
/// The report of the test of the laws names such a k if `combine` compares with it and no run has reached it. `cargo
/// test --
/// --nocapture` shows the report.
///
/// # The language
///
/// Numbers, `bool`, arrays, `#[scan_element]` structs and enums; `let`, assignment, `if`, `match`, `while`, `loop`, `for` over
/// ranges, early `return`; the numeric methods; constants, and functions marked `#[scan_fn]`. They mean the same on the
/// GPU as in Rust: integers wrap, shift counts are masked, `as` saturates, floats are not contracted. A construct
/// outside the language is an error at the expression. The guide of `scan-runtime` lists every
/// type, statement and method, where a literal needs a suffix, and what is left out and why.
///
/// Operators and methods that are implemented by hand are outside the language: `a * b` with an `impl Mul`, `a.max(b)`
/// of other types than numbers, `==` with an `impl PartialEq`. In a generic operator, or a generic `#[scan_fn]`, such
/// types are found where it is used: `cargo build` reports them at the expression, `cargo check` does not. There a
/// value that is computed with must have a type that is known to be a `ScanElement`.
///
/// # Numbers
///
/// The CPU and the GPU give the same bits for integers, for `bool`, and for float operations that IEEE 754 defines: `+
/// - * / %`, `sqrt`, `mul_add`, roundings, comparisons, conversions, subnormal numbers included. For the rest:
///
/// - Integers wrap around on overflow on the GPU. On the CPU `a + b` does so in release builds and panics in debug
///   builds; `a.wrapping_add(b)` wraps in both.
/// - An operation that panics in Rust in every build (a division by zero, `MIN / -1`, an index past the end, a failed
///   `assert!`) stops the kernel on the GPU, and the launch reports an error.
/// - A NaN that an operation gives can be any NaN. One that is only moved keeps its bits.
/// - `min` and `max` of floats ignore a NaN; of `0.0` and `-0.0` they give either.
/// - `f16` and `bf16` of the crate `half` are computed as in the crate: each operation in `f32`, rounded once. `min`,
///   `max`, `abs`, `copysign` and `signum` are exact to the sign of zero. The crate's `from_f64` is left out, because its last bit
///   depends on the CPU: write `f16::from_f32(x as f32)`.
/// - The functions below differ from the exact result by some units in the last place. On the GPU the maximum error is
///   that of the CUDA programming guide, for `f32` and `f64`:
///
///   | | f32 | f64 | | f32 | f64 | | f32 | f64 | | f32 | f64 |
///   |---|--:|--:|---|--:|--:|---|--:|--:|---|--:|--:|
///   | `exp` | 2 | 1 | `log2` | 1 | 1 | `asin` | 2 | 2 | `cosh` | 2 | 1 |
///   | `exp2` | 2 | 1 | `log10` | 2 | 1 | `acos` | 2 | 2 | `tanh` | 2 | 1 |
///   | `exp_m1` | 1 | 1 | `sin` | 2 | 2 | `atan` | 2 | 2 | `cbrt` | 1 | 1 |
///   | `ln` | 1 | 1 | `cos` | 2 | 2 | `atan2` | 3 | 2 | `hypot` | 3 | 2 |
///   | `ln_1p` | 1 | 1 | `tan` | 4 | 2 | `sinh` | 3 | 2 | `powf` | 4 | 2 |
///
///   On the CPU they are those of the system's C library; with GNU's the error is at most 2, of `cbrt` for `f64` 4.
///   `powi` multiplies in the same order as LLVM's library.
///
/// The tests check this on a GPU, on edge values and random ones of every type.
///
/// A trait method that is called on a generic parameter must mean what the primitive's own method of that name means.
#[proc_macro_attribute]
pub fn scan_op(options: TokenStream, item: TokenStream) -> TokenStream {
    scan_language::scan_op(options.into(), item.into()).into()
}

/// Makes a function callable from operators and from other such functions.
///
/// ```ignore
/// #[scan_fn]
/// fn gcd(a: u64, b: u64) -> u64 {
///     let (mut a, mut b) = (a, b);
///     while b != 0 {
///         let r = a % b;
///         a = b;
///         b = r;
///     }
///     a
/// }
///
/// #[scan_op(identity = 0)]
/// fn common_divisor(a: u64, b: u64) -> u64 { gcd(a, b) }
/// ```
///
/// The function itself stays unchanged. It takes and returns elements by value, and its body is in the same language as
/// that of an [operator](macro@scan_op). It is called by its path, `helpers::gcd(a, b)`, also from other crates; its
/// module cannot have a type or module of the same name. A generic function is called with its generic arguments:
/// `first::<f32, 4>(x)`. A function cannot call itself, directly or through others. `crate = path` is an option, as for
/// `#[scan_op]`; so is `gradient`, which lets the gradients of operators call it.
#[proc_macro_attribute]
pub fn scan_fn(options: TokenStream, item: TokenStream) -> TokenStream {
    scan_language::scan_fn(options.into(), item.into()).into()
}

/// Makes a struct, or an enum without fields, an element that a scan can read, combine and write.
///
/// ```ignore
/// #[scan_element]
/// #[derive(Clone, Copy)]
/// struct Affine { a: f32, b: f32 }
/// ```
///
/// The struct gets `#[repr(C)]` unless it has a `repr`, and `ScanElement` and cudarc's `DeviceRepr` are implemented for it.
/// Where zeros are a value of each field, so is cudarc's `ValidAsZeroBits`: `stream.alloc_zeros::<Affine>(len)` allocates
/// an output. Each field must be an element: a primitive number, `bool`, an array of elements, or another `#[scan_element]`. The
/// struct must be `Copy` and at most 256 bytes long. `crate = path` is an option, as for `#[scan_op]`.
///
/// An operator can compare two of them with `==` if the attribute sees `#[derive(PartialEq)]`, which must be below it,
/// and the types of the fields have it too. It can compare two enums with `<` if it sees `#[derive(PartialOrd)]`: by
/// their discriminants, as in Rust.
///
/// An enum is stored as its discriminant. It gets `#[repr(u8)]` (`u16` if it has more variants than `u8` has values)
/// unless it has a `repr` of its own, which is required if it has explicit discriminants. It is `ValidAsZeroBits` if a
/// variant has the discriminant 0.
///
/// `gradient`, of a struct, numbers its floats, so that it can be a part of operators that have a gradient; a generic
/// struct names its instances, `gradient(Affine<f32>, Affine<f64>)`.
#[proc_macro_attribute]
pub fn scan_element(options: TokenStream, item: TokenStream) -> TokenStream {
    scan_language::scan_element(options.into(), item.into()).into()
}
