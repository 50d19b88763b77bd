//! Items that the macros' output refers to. Not part of the public interface.
//!
//! An operator's text is stored in constants, and values that only Rust knows in functions without arguments. So it
//! adds data to the user's program and hardly any code.

pub use crate::arrays::fields::{FieldTuple, Fields};
pub use crate::cpu::{Add, And, Apply, ExclusiveOr, Lane, Larger, Multiply, Or, Smaller, Vectorized};
pub use crate::element::bytes_of;
pub use crate::parameters::{Parameter, Parameters};
pub use crate::sealed::ByMacro;
pub use scan_codegen::{ElementType, OpSource, OutputsOf, Primitive, source_path};
pub use std::any::TypeId;
pub use std::default::Default;
pub use std::marker::PhantomData;
pub use std::mem::{offset_of, size_of};
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::Ok;
pub use std::string::String;
pub use std::vec::Vec;
pub use std::{assert, file, option_env, vec};

pub use crate::ScanElement;

pub mod types;

/// Items for `cudarc`, which are there if it is.
#[cfg(feature = "cuda")]
#[doc(hidden)]
#[macro_export]
macro_rules! __device_items {
    ($($items:tt)*) => { $($items)* };
}

/// No items for `cudarc`, which is not there.
#[cfg(not(feature = "cuda"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __device_items {
    ($($items:tt)*) => {};
}

pub use crate::__device_items as device_items;

#[cfg(feature = "cuda")]
use crate::{
    DiskCache, Error,
    aot::{Precompile, Precompiled},
    cuda::Stores,
};
use crate::{ScanOp, element::bytes_of_any};
#[cfg(feature = "cuda")]
use scan_codegen::DeviceLimits;
use scan_codegen::{CarrySource, ElementKind, Field, FunctionSource, Piece, PlanError};
use std::collections::HashMap;
#[cfg(feature = "cuda")]
use std::sync::Arc;

/// The machine code of all kernels that a scan or a reduction may need on a device, obtained as the device obtains it.
/// For the project's own tests, which have no device.
#[cfg(feature = "cuda")]
pub fn machine_code(
    what: &impl Precompile,
    limits: &DeviceLimits,
    precompiled: Option<Precompiled>,
    disk: Option<DiskCache>,
) -> Result<Vec<Arc<Vec<u8>>>, Error> {
    let stores = Stores { precompiled: precompiled.into_iter().collect(), disk, ..Stores::default() };
    what.wanted().machine_code(limits, &stores)
}

/// The return type of the test of an operator's laws.
pub type LawsResult = Result<(), Box<dyn std::error::Error>>;

/// Passes the test of an operator's laws, whose report `cargo test -- --nocapture` shows.
pub fn laws_hold(report: &crate::laws::Report) -> LawsResult {
    println!("{report}");
    Ok(())
}

/// Passes the test of an operator's gradient.
pub fn gradient_holds(report: &crate::laws::GradientReport) -> LawsResult {
    println!("{report}");
    Ok(())
}

/// A function that returns the layout of a type.
pub type Layout = fn() -> ElementType;

/// A piece of CUDA text, in the form that the macro emits.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Literal text, with marks of the locals and fields in it, and of the lines in the user's file of what
    /// follows them.
    Text(&'static str),
    /// The name of a type.
    Type(Layout),
    /// A value that Rust computes.
    Constant(fn() -> Piece),
    /// A struct expression.
    Struct {
        /// The struct; `None` for the type of the field that it initializes.
        ty: Option<Layout>,
        /// Its fields, in the order in which the user wrote them.
        fields: &'static [(&'static str, &'static [Part])],
        /// The struct that the other fields are copied from.
        base: Option<&'static [Part]>,
    },
    /// The name of a function that is called.
    Call(FindCallee),
    /// A divisor that all elements share.
    Divisor(&'static [Part]),
}

/// The character before and after a name in a text, and that before and after the number of a line.
const NAME: char = '\u{1}';
const LINE: char = '\u{2}';

/// A text as pieces.
fn marked(text: &'static str, pieces: &mut Vec<Piece>) {
    // Every other part is between two marks of names, and in the rest every other one between two marks of lines.
    for (index, part) in text.split(NAME).enumerate() {
        if index % 2 == 1 {
            pieces.push(Piece::Name(part));
            continue;
        }
        for (index, part) in part.split(LINE).enumerate() {
            match part.parse() {
                Ok(line) if index % 2 == 1 => pieces.push(Piece::Line(line)),
                _ if part.is_empty() => {}
                _ => pieces.push(Piece::Text(part.into())),
            }
        }
    }
}

/// The assumed number of iterations of a loop, if the macro cannot determine it.
pub const SOME_ROUNDS: u64 = 8;

/// The number of iterations of a loop over `start..end`.
pub const fn rounds(start: i128, end: i128) -> u64 {
    let rounds = end.saturating_sub(start);
    match rounds {
        ..=0 => 0,
        1..=0xffff_ffff => rounds as u64,
        _ => 0xffff_ffff,
    }
}

/// The sum of products; `u64::MAX` on overflow.
pub const fn sum_of_products(products: &[&[u64]]) -> u64 {
    let (mut sum, mut index) = (0_u64, 0);
    while index < products.len() {
        let (mut product, mut factor) = (1_u64, 0);
        while factor < products[index].len() {
            product = product.saturating_mul(products[index][factor]);
            factor += 1;
        }
        sum = sum.saturating_add(product);
        index += 1;
    }
    sum
}

/// A function that operators can call. `#[scan_fn]` makes a type with the function's name, which implements it; nothing
/// else can.
///
/// # Safety
///
/// The text has the parameter types and the result type of the Rust function, and accesses no other memory.
/// `#[scan_fn]` ensures that.
#[diagnostic::on_unimplemented(
    message = "an operator can only call functions that are marked `#[scan_fn]`",
    label = "not marked `#[scan_fn]`",
    note = "mark the function: `#[scan_fn]` on the line before its `fn`"
)]
pub unsafe trait ScanFn: 'static {
    #[doc(hidden)]
    const SEALED: ByMacro;

    /// Its text, and the callees that it refers to.
    #[doc(hidden)]
    const CALLEE: Callee;

    /// The same as a function, for callers: a constant that holds those of its callees could not be evaluated in a
    /// cycle.
    #[doc(hidden)]
    fn callee() -> Callee {
        Self::CALLEE
    }
}

/// A function that is not recursive, directly or through others. `#[scan_fn]` implements it for a function whose
/// callees all implement it.
pub trait NoRecursion {}

/// The stand-in type for an unmarked function, which is reported elsewhere.
impl NoRecursion for () {}

/// Compiles only for a function that is not recursive.
pub const fn not_recursive<F: NoRecursion>() {}

/// A function of one parameter that operators can call. `#[scan_fn]` implements it; nothing else can.
///
/// # Safety
///
/// `map` is the function whose text [`ScanFn`] gives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no `#[scan_fn]` of one parameter",
    label = "not a function that maps one element to another"
)]
pub unsafe trait ScanMap: ScanFn {
    #[doc(hidden)]
    const SEALED: ByMacro;
    /// The type of its parameter.
    type From;
    /// The type of its result.
    type To;
    /// Calls it.
    fn map(from: Self::From) -> Self::To;
}

/// The text of a function, preceded by the texts of its callees.
pub(crate) fn function_text<F: ScanFn>() -> Vec<FunctionSource> {
    let mut texts = Texts::default();
    texts.helper(F::callee);
    texts.helpers
}

/// Whether an enum has a variant whose number is 0.
#[derive(Clone, Copy, Debug)]
pub struct Given<const HAS_ZERO: bool>;

/// Zeros are a value of the enum.
#[diagnostic::on_unimplemented(
    message = "no variant of the enum has the number 0, so that memory cannot be allocated as zeros of it",
    label = "an enum of it has no variant with the number 0",
    note = "give a variant the number 0, or copy values to the device with `clone_htod`"
)]
pub trait HasZero {}

impl HasZero for Given<true> {}

/// A function that returns a callee.
pub type FindCallee = fn() -> Callee;

/// A function that operators can call.
#[derive(Clone, Copy, Debug)]
pub struct Callee {
    /// Its identity, generic arguments included.
    pub id: fn() -> TypeId,
    /// Its generic arguments, as parts of a C++ name.
    pub arguments: fn() -> Vec<String>,
    /// Its text.
    pub function: Function,
}

/// A function of an operator, or one that it calls.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// `combine`, `lift` or `project`, or the name of the callee.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [(&'static str, Layout)],
    /// The type of its result.
    pub returns: Layout,
    /// The statements between the braces.
    pub body: &'static [Part],
    /// The parts of the prelude that the body needs, and how often a call uses each.
    pub uses: &'static [(&'static str, u64)],
    /// The callees of the body, and how often it calls each.
    pub calls: &'static [(FindCallee, u64)],
    /// Whether it is rarely called.
    pub cold: bool,
    /// The user's file.
    pub file: fn() -> String,
}

/// The layout of a struct of these fields: name, offset, layout.
pub fn structure<T>(name: String, compares: bool, fields: &[(&str, usize, Layout)]) -> ElementType {
    structure_of(name, compares, size_of::<T>(), align_of::<T>(), fields)
}

fn structure_of(
    name: String,
    compares: bool,
    size: usize,
    align: usize,
    fields: &[(&str, usize, Layout)],
) -> ElementType {
    let field = |&(name, offset, layout): &(&str, usize, Layout)| Field { name: name.to_owned(), offset, ty: layout() };
    ElementType { name, size, align, kind: ElementKind::Struct(fields.iter().map(field).collect()), compares }
}

/// The layout of an enum: the type of its discriminant, and its variants.
pub fn enumeration(name: &str, repr: Primitive, variants: &[(&str, i128)]) -> ElementType {
    let variant = |&(name, number): &(&str, i128)| (name.to_owned(), number);
    ElementType::enumeration(name.to_owned(), repr, variants.iter().map(variant).collect())
}

/// A constant of the user's, evaluated by Rust, with its name if it has one.
pub fn constant<T: ScanElement>(value: T, name: Option<&'static str>) -> Piece {
    Piece::Constant { ty: T::layout(), bytes: bytes_of(&value), name }
}

/// A constant argument of a generic type, as a part of a C++ name.
pub fn const_name(value: impl std::fmt::Display) -> String {
    let name = value.to_string().replace('-', "minus_");
    name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "_")
}

/// Whether two types are one, whatever they are called.
pub fn is_one_type<A: 'static, B: 'static>() -> bool {
    TypeId::of::<A>() == TypeId::of::<B>()
}

/// The `project` of an operator that has `emit` alone: a carry is an output where the two types are one. Runs that
/// would need another are refused before they begin.
#[allow(clippy::panic, reason = "only a caller of `project` itself gets here; the trait documents it")]
#[track_caller]
pub fn carry_as_output<Carry: ScanElement, Output: ScanElement>(operator: &str, carry: Carry) -> Output {
    match (&carry as &dyn std::any::Any).downcast_ref() {
        Some(output) => *output,
        None => panic!("{}", PlanError::NoProject { operator: operator.to_owned() }),
    }
}

/// An operator's source.
pub fn operator<Op: ScanOp>(op: &Op, name: &str, functions: &[Function]) -> OpSource {
    let [identity, start] = [bytes_of_any(op.identity()), bytes_of_any(op.start())];
    let layouts = [Op::Input::layout, Op::State::layout, Op::Output::layout, Op::Carry::layout];
    source(name, layouts, [identity, start], op.parameters(), functions, op.outputs_of())
}

/// The source of an operator that is made around others, without the functions; with a carry if one of theirs has one.
pub(crate) fn around<Op: ScanOp>(op: &Op, name: String, has_carry: bool) -> OpSource {
    OpSource {
        input: Op::Input::layout(),
        state: Op::State::layout(),
        output: Op::Output::layout(),
        identity: bytes_of_any(op.identity()),
        carry: has_carry.then(|| CarrySource { ty: Op::Carry::layout(), start: bytes_of_any(op.start()) }),
        parameters: op.parameters().layout(&name),
        functions: Vec::new(),
        helpers: Vec::new(),
        outputs_of: op.outputs_of(),
        backwards: None,
        name,
    }
}

/// The non-generic part of [`operator`], which is most of its code and so is compiled once.
fn source(
    name: &str,
    [input, state, output, carry]: [fn() -> ElementType; 4],
    [identity, start]: [Option<Vec<u8>>; 2],
    parameters: Parameters,
    functions: &[Function],
    outputs_of: OutputsOf,
) -> OpSource {
    let mut texts = Texts::default();
    let stepped = functions.iter().any(|function| function.name == "apply");
    let functions = functions.iter().map(|function| texts.function(function, function.name.to_owned())).collect();
    OpSource {
        name: name.to_owned(),
        input: input(),
        state: state(),
        output: output(),
        identity,
        carry: stepped.then(|| CarrySource { ty: carry(), start }),
        parameters: parameters.layout(name),
        functions,
        helpers: texts.helpers,
        outputs_of,
        backwards: None,
    }
}

/// The texts of functions, and of those that they call: each once, after those that it calls itself.
#[derive(Default)]
struct Texts {
    helpers: Vec<FunctionSource>,
    places: HashMap<TypeId, usize>,
}

impl Texts {
    fn function(&mut self, function: &Function, name: String) -> FunctionSource {
        FunctionSource {
            name,
            parameters: function.parameters.iter().map(|(name, layout)| ((*name).to_owned(), layout())).collect(),
            returns: (function.returns)(),
            body: self.pieces(function.body),
            file: (function.file)(),
            uses: function.uses.to_vec(),
            calls: function.calls.iter().map(|&(callee, times)| (self.helper(callee), times)).collect(),
            cold: function.cold,
        }
    }

    fn pieces(&mut self, parts: &[Part]) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(parts.len());
        for part in parts {
            pieces.push(match *part {
                Part::Text(text) => {
                    marked(text, &mut pieces);
                    continue;
                }
                Part::Type(layout) => Piece::Type(layout()),
                Part::Constant(value) => value(),
                Part::Struct { ty, fields, base } => Piece::Struct {
                    ty: ty.map(|layout| layout()),
                    fields: fields.iter().map(|(name, value)| (*name, self.pieces(value))).collect(),
                    base: base.map(|base| self.pieces(base)),
                },
                Part::Call(callee) => Piece::Helper(self.helper(callee)),
                Part::Divisor(value) => Piece::Divisor(self.pieces(value)),
            });
        }
        pieces
    }

    fn helper(&mut self, callee: FindCallee) -> usize {
        let callee = callee();
        let id = (callee.id)();
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let mut name = vec![callee.function.name.to_owned()];
        name.extend((callee.arguments)());
        let helper = self.function(&callee.function, name.join("_"));
        self.helpers.push(helper);
        self.places.insert(id, self.helpers.len() - 1);
        self.helpers.len() - 1
    }
}
