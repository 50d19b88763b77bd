//! What the macros' output names. Not part of the public interface.
//!
//! An operator's text comes as constants, and what only Rust knows as functions without arguments: so it costs the
//! user's program data and hardly any code.

pub use crate::element::bytes_of;
pub use scan_codegen::{ElementType, OpSource, source_path};
pub use std::mem::{offset_of, size_of};
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::Ok;
pub use std::string::String;
pub use std::vec::Vec;
pub use std::{assert, file, option_env, vec};

use crate::{ScanElement, ScanOp};
use scan_codegen::{ElementKind, Field, FunctionSource, Piece};

/// What the test of an operator's laws returns.
pub type LawsResult = Result<(), Box<dyn std::error::Error>>;

/// How the layout of a type is found.
pub type Layout = fn() -> ElementType;

/// A piece of CUDA text, as the macro can write it down.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// Text as it stands.
    Text(&'static str),
    /// A local or a field.
    Name(&'static str),
    /// The name of a type.
    Type(Layout),
    /// A value that Rust computes.
    Constant(fn() -> Piece),
    /// A struct expression.
    Struct {
        /// The struct.
        ty: Layout,
        /// Its fields, in the order in which the user wrote them.
        fields: &'static [(&'static str, &'static [Part])],
        /// Whence the other fields come.
        base: Option<&'static [Part]>,
    },
    /// The user's line of what follows.
    Line(u32),
}

/// A function of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Function {
    /// `combine`, `lift` or `project`.
    pub name: &'static str,
    /// Its parameters.
    pub parameters: &'static [(&'static str, Layout)],
    /// The type of its result.
    pub returns: Layout,
    /// The statements between the braces.
    pub body: &'static [Part],
    /// Parts of the prelude that they need.
    pub uses: &'static [&'static str],
}

/// The layout of an element.
pub fn layout<T: ScanElement>() -> ElementType {
    T::layout()
}

/// The layout of a struct of these fields: name, offset, layout.
pub fn structure<T>(name: String, fields: &[(&str, usize, Layout)]) -> ElementType {
    structure_of(name, size_of::<T>(), align_of::<T>(), fields)
}

fn structure_of(name: String, size: usize, align: usize, fields: &[(&str, usize, Layout)]) -> ElementType {
    let field = |&(name, offset, layout): &(&str, usize, Layout)| Field { name: name.to_owned(), offset, ty: layout() };
    ElementType { name, size, align, kind: ElementKind::Struct(fields.iter().map(field).collect()) }
}

/// A constant of the user's, evaluated by Rust.
pub fn constant<T: ScanElement>(value: T) -> Piece {
    Piece::Constant { ty: T::layout(), bytes: bytes_of(&value) }
}

/// A constant argument of a generic type, as a part of a C++ name.
pub fn const_name(value: impl std::fmt::Display) -> String {
    let name = value.to_string().replace('-', "minus_");
    name.replace(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_', "_")
}

/// An operator's source.
pub fn operator<Op: ScanOp>(
    op: &Op,
    name: &str,
    parameters: Option<Layout>,
    functions: &[Function],
    file: String,
) -> OpSource {
    OpSource {
        name: name.to_owned(),
        input: Op::Input::layout(),
        state: Op::State::layout(),
        output: Op::Output::layout(),
        identity: op.identity().map(|identity| bytes_of(&identity)),
        parameters: parameters.map(|layout| layout()),
        functions: functions.iter().map(|function| function_source(function, &file)).collect(),
    }
}

fn function_source(function: &Function, file: &str) -> FunctionSource {
    FunctionSource {
        name: function.name.to_owned(),
        parameters: function.parameters.iter().map(|(name, layout)| ((*name).to_owned(), layout())).collect(),
        returns: (function.returns)(),
        body: pieces(function.body),
        file: file.to_owned(),
        uses: function.uses.to_vec(),
    }
}

fn pieces(parts: &[Part]) -> Vec<Piece> {
    let piece = |part: &Part| match *part {
        Part::Text(text) => Piece::Text(text),
        Part::Name(name) => Piece::Name(name),
        Part::Type(layout) => Piece::Type(layout()),
        Part::Constant(value) => value(),
        Part::Struct { ty, fields, base } => Piece::Struct {
            ty: ty(),
            fields: fields.iter().map(|(name, value)| (*name, pieces(value))).collect(),
            base: base.map(pieces),
        },
        Part::Line(line) => Piece::Line(line),
    };
    parts.iter().map(piece).collect()
}
