//! The CUDA text of operators, without a compiler: what tools and tests call.

use crate::errors::Errors;
use crate::ir::Lowered;
use crate::operator;
use crate::text::{self, Text};
use crate::{attribute, depth, element, gradient, groups, helper, in_a_macro, passes, print};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::fmt;
use std::thread;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, FnArg, ImplItemFn, Item, Meta, ReturnType};

/// The CUDA text of the operators in a text of Rust, or everything that is wrong with them.
///
/// `source` is a file, or a part of one with whole items. Translated are the items in it that are marked `#[scan_op]`
/// or `#[scan_fn]`; items marked `#[scan_element]` are checked. Other items may be missing: what a name of a type, a
/// constant or a function means is not looked up. For the same reason, the errors are those that the macros find, and
/// not the errors that rustc finds in their result, such as those about types. Items inside of a call of another macro
/// are not seen.
///
/// # Errors
///
/// All errors of all items, in the order of the text. If the text is no Rust, the one error of the parser. Procedural
/// macros cannot call this function: it runs on a thread of its own, with a stack for the deepest code that the
/// language accepts. They call [`scan_op`](crate::scan_op).
///
/// # Examples
///
/// A whole operator, with a function that it calls:
///
/// ```
/// let translated = scan_language::translate(
///     "
///     #[scan_fn]
///     fn nearer(a: i64, b: i64) -> bool {
///         a.abs() < b.abs()
///     }
///
///     struct Nearest;
///
///     #[scan_op]
///     impl ScanOp for Nearest {
///         type Element = i64;
///         const IDENTITY: i64 = i64::MAX;
///         fn combine(a: i64, b: i64) -> i64 {
///             if nearer(b, a) { b } else { a }
///         }
///     }
///     ",
/// );
/// let expected = "\
/// ‹bool› nearer(‹i64› a, ‹i64› b) {
///   return a.abs() < b.abs();
/// }
///
/// ‹i64› Nearest::combine(‹i64› a, ‹i64› b) {
///   return ‹nearer›(b, a) ? b : a;
/// }
/// ";
/// assert_eq!(translated.map(|text| text.to_string()).as_deref(), Ok(expected));
/// ```
///
/// Errors, with their places in the text:
///
/// ```
/// let errors = scan_language::translate(
///     "#[scan_op]
///      fn add(a: u32, b: u32) -> u32 {
///          let r = &a;
///          helper(b)?
///      }",
/// )
/// .unwrap_err();
/// assert_eq!((errors[0].line, errors[0].column, errors[0].rust.as_str()), (3, 18, "&a"));
/// assert_eq!((errors[1].line, errors[1].column), (4, 10));
/// ```
pub fn translate(source: &str) -> Result<Translated, Vec<Diagnostic>> {
    if in_a_macro() {
        return Err(vec![Diagnostic::new("`translate` is not for procedural macros: call `scan_op` there")]);
    }
    // Tokens stay on their thread, and so does the text that they keep there.
    let run = || translated(source);
    let result = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(depth::OF_RUSTC << 10).spawn_scoped(scope, run);
        thread.map(|thread| thread.join())
    });
    match result {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(error) => Err(vec![Diagnostic::new(format!("no thread for the translation: {error}"))]),
    }
}

/// The CUDA text of the operators in a text of Rust. `Display` shows all functions, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// The functions of operators, and those marked `#[scan_fn]`, in the order of the text.
    pub functions: Vec<Function>,
}

/// A function and its CUDA text. `Display` shows it as a function of C++ with Rust in `‹›`.
///
/// ```
/// let translated = scan_language::translate("#[scan_fn] fn next(x: u8) -> u8 { x.wrapping_add(STEP) }").unwrap();
/// let next = &translated.functions[0];
/// assert_eq!((next.operator.as_deref(), next.name.as_str(), next.returns.as_str()), (None, "next", "u8"));
/// assert_eq!(next.to_string(), "‹u8› next(‹u8› x) {\n  return x + ‹STEP›;\n}\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Function {
    /// The operator, of a function of one.
    pub operator: Option<String>,
    /// `combine`, `lift`, …, or the name of the function that is marked `#[scan_fn]`.
    pub name: String,
    /// Its parameters, but for `self`.
    pub parameters: Vec<Parameter>,
    /// The Rust type of its result.
    pub returns: String,
    /// The text inside of the braces.
    pub body: Vec<Piece>,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name in the CUDA text.
    pub name: String,
    /// Its Rust type.
    pub ty: String,
}

/// A piece of CUDA text, or of Rust that only rustc can fill in: it stands in `‹›` in what `Display` shows.
///
/// ```
/// use scan_language::Piece;
///
/// let translated = scan_language::translate("#[scan_fn] fn fits(x: f32) -> bool { x as u8 == LIMIT }").unwrap();
/// let [text @ .., _] = translated.functions[0].body.as_slice() else { panic!() };
/// let holes: Vec<_> = text.iter().filter(|piece| matches!(piece, Piece::Type(_) | Piece::Constant(_))).collect();
/// assert_eq!(holes, [&Piece::Type("u8".into()), &Piece::Constant("LIMIT".into())]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// CUDA text.
    Text(String),
    /// A local or a field. It gets another name in a kernel if C++ needs the word itself (`int`, `register`).
    Name(String),
    /// A type, whose size and layout rustc knows.
    Type(String),
    /// A constant expression, whose value rustc knows.
    Constant(String),
    /// A function that is marked `#[scan_fn]`, by its path and its generic arguments.
    Function(String),
    /// A struct expression. A kernel has its fields in the order of the declaration.
    Struct {
        /// The struct; `None` for the type of the field that the expression initializes.
        ty: Option<String>,
        /// The fields and their values, in the order of the expression.
        fields: Vec<(String, Vec<Piece>)>,
        /// The struct that gives the other fields (`..base`).
        base: Option<Vec<Piece>>,
    },
    /// A divisor that is the same for all elements. A kernel multiplies by its reciprocal, which is computed once.
    Divisor(Vec<Piece>),
    /// The text that follows comes from this line, counted from 1. `Display` shows nothing for it.
    Line(usize),
}

/// An error in an operator, with its place. `Display` shows the place and the message.
///
/// ```
/// let errors = scan_language::translate("#[scan_op]\nfn add(a: u32, b: u32) -> u32 { a.clamp(b) }").unwrap_err();
/// assert_eq!(errors[0].to_string(), "2:35: `clamp` takes 2 arguments");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// What is wrong and what to write instead.
    pub message: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column, in characters, counted from 1.
    pub column: usize,
    /// The Rust that the error is about, as it stands in the text. It may be empty.
    pub rust: String,
}

impl Diagnostic {
    /// An error of no place.
    fn new(message: impl Into<String>) -> Self {
        Diagnostic { message: message.into(), line: 1, column: 1, rust: String::new() }
    }

    fn at(span: Span, message: String) -> Self {
        let start = span.start();
        let rust = span.source_text().unwrap_or_default();
        Diagnostic { message, line: start.line, column: start.column + 1, rust }
    }
}

impl std::error::Error for Diagnostic {}

/// An item with one of the attributes.
struct Marked {
    kind: Kind,
    attribute: Attribute,
    /// The item without the attribute.
    item: TokenStream,
}

#[derive(Clone, Copy)]
enum Kind {
    Operator,
    Function,
    Element,
}

impl Kind {
    fn of(attribute: &Attribute) -> Option<Self> {
        match attribute.path().segments.last()?.ident.to_string().as_str() {
            "scan_op" => Some(Kind::Operator),
            "scan_fn" => Some(Kind::Function),
            "scan_element" => Some(Kind::Element),
            _ => None,
        }
    }
}

/// Finds the marked items, also those inside of modules, functions and impls.
struct Find(Vec<Marked>);

impl<'ast> Visit<'ast> for Find {
    fn visit_item(&mut self, item: &'ast Item) {
        self.see(item, attributes);
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.see(item, |item| Some(&mut item.attrs));
        visit::visit_impl_item_fn(self, item);
    }
}

impl Find {
    fn see<I: Clone + ToTokens>(&mut self, item: &I, attributes: fn(&mut I) -> Option<&mut Vec<Attribute>>) {
        let mut unmarked = item.clone();
        let marked = attributes(&mut unmarked).and_then(|attributes| {
            let (at, kind) = attributes.iter().enumerate().find_map(|(at, one)| Some((at, Kind::of(one)?)))?;
            Some((kind, attributes.remove(at)))
        });
        if let Some((kind, attribute)) = marked {
            self.0.push(Marked { kind, attribute, item: unmarked.into_token_stream() });
        }
    }
}

fn attributes(item: &mut Item) -> Option<&mut Vec<Attribute>> {
    match item {
        Item::Impl(item) => Some(&mut item.attrs),
        Item::Fn(item) => Some(&mut item.attrs),
        Item::Struct(item) => Some(&mut item.attrs),
        Item::Enum(item) => Some(&mut item.attrs),
        Item::Union(item) => Some(&mut item.attrs),
        Item::Trait(item) => Some(&mut item.attrs),
        Item::Type(item) => Some(&mut item.attrs),
        Item::Const(item) => Some(&mut item.attrs),
        Item::Static(item) => Some(&mut item.attrs),
        Item::Mod(item) => Some(&mut item.attrs),
        _ => None,
    }
}

fn translated(source: &str) -> Result<Translated, Vec<Diagnostic>> {
    let tokens: TokenStream =
        source.parse().map_err(|error: proc_macro2::LexError| vec![Diagnostic::at(error.span(), error.to_string())])?;
    let parsed = match depth::refused(&tokens) {
        Some(error) => Err(error),
        None => syn::parse2::<syn::File>(tokens),
    };
    let file = parsed.map_err(|error| diagnostics(vec![error], end_of(source)))?;
    let mut find = Find(Vec::new());
    find.visit_file(&file);
    let mut functions = Vec::new();
    let mut found = Vec::new();
    for marked in find.0 {
        let span = marked.attribute.span();
        let mut errors = Errors::default();
        let made = marked.translated(&mut errors);
        functions.extend(made);
        found.extend(diagnostics(errors.into_found(), Diagnostic::at(span, String::new())));
    }
    if found.is_empty() {
        return Ok(Translated { functions });
    }
    found.sort_by_key(|error| (error.line, error.column));
    Err(found)
}

/// The errors; those without a place of their own get another one.
fn diagnostics(errors: Vec<syn::Error>, elsewhere: Diagnostic) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for error in errors.into_iter().flatten() {
        let span = error.span();
        found.push(match span.byte_range() == Span::call_site().byte_range() {
            true => Diagnostic { message: error.to_string(), ..elsewhere.clone() },
            false => Diagnostic::at(span, error.to_string()),
        });
    }
    found
}

/// The place after the last character.
fn end_of(source: &str) -> Diagnostic {
    let last = source.rsplit('\n').next().unwrap_or_default();
    let (line, column) = (source.matches('\n').count() + 1, last.chars().count() + 1);
    Diagnostic { line, column, ..Diagnostic::new("") }
}

impl Marked {
    fn translated(self, errors: &mut Errors) -> Vec<Function> {
        let options = match &self.attribute.meta {
            Meta::Path(_) => TokenStream::new(),
            meta => match meta.require_list() {
                Ok(list) => list.tokens.clone(),
                Err(error) => {
                    errors.push(error);
                    return Vec::new();
                }
            },
        };
        match self.kind {
            Kind::Operator => {
                let Some((operator, lowered)) = passes::lowered(options, self.item, errors) else { return Vec::new() };
                let of = |operator: &operator::Operator, lowered: &[Lowered]| -> Vec<Function> {
                    let functions = lowered.iter().zip(&operator.functions);
                    functions
                        .map(|(lowered, function)| Function::new(Some(&operator.name), lowered, function))
                        .collect()
                };
                let mut functions = of(&operator, &lowered);
                let backward = if errors.is_empty() { gradient::backward(&operator, errors) } else { None };
                if let Some((operator, lowered)) = backward {
                    functions.extend(of(&operator, &lowered));
                }
                functions
            }
            Kind::Function => {
                attribute::options(options, &["gradient", "crate"], errors);
                match groups::item(self.item) {
                    Ok(Item::Fn(item)) => {
                        let function =
                            operator::Function { attributes: Vec::new(), signature: item.sig, block: *item.block };
                        let lowered = helper::lowered(&function, errors);
                        lowered.iter().map(|lowered| Function::new(None, lowered, &function)).collect()
                    }
                    Ok(other) => {
                        errors.at(&other, helper::NO_FUNCTION);
                        Vec::new()
                    }
                    Err(error) => {
                        errors.push(error);
                        Vec::new()
                    }
                }
            }
            Kind::Element => {
                element::element(options, self.item, errors);
                Vec::new()
            }
        }
    }
}

impl Function {
    fn new(operator: Option<&str>, lowered: &Lowered, function: &operator::Function) -> Self {
        let types = function.signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(rust(&typed.ty)),
            FnArg::Receiver(_) => None,
        });
        let parameters = lowered.parameters.iter().zip(types).map(|(name, ty)| Parameter { name: name.clone(), ty });
        let returns = match &function.signature.output {
            ReturnType::Type(_, ty) => rust(ty),
            ReturnType::Default => "()".to_owned(),
        };
        Function {
            operator: operator.map(str::to_owned),
            name: lowered.name.clone(),
            parameters: parameters.collect(),
            returns,
            body: pieces(&print::body(&lowered.body)),
        }
    }
}

fn pieces(text: &Text) -> Vec<Piece> {
    text.pieces.iter().map(Piece::new).collect()
}

impl Piece {
    fn new(piece: &text::Piece) -> Self {
        match piece {
            text::Piece::Text(text) => Piece::Text(text.clone()),
            text::Piece::Name(name) => Piece::Name(name.clone()),
            text::Piece::Type(ty) => Piece::Type(rust(ty)),
            text::Piece::Constant { written, .. } => Piece::Constant(rust(written)),
            text::Piece::Call { path, .. } => Piece::Function(rust(path)),
            text::Piece::Struct { ty, fields, base } => Piece::Struct {
                ty: ty.as_ref().map(rust),
                fields: fields.iter().map(|(name, value)| (name.clone(), pieces(value))).collect(),
                base: base.as_ref().map(pieces),
            },
            text::Piece::Divisor(value) => Piece::Divisor(pieces(value)),
            text::Piece::Line(line) => Piece::Line(*line),
        }
    }
}

/// Rust without the spaces that tokens do not need.
fn rust(tokens: &impl ToTokens) -> String {
    let mut written = String::new();
    write(tokens.to_token_stream(), &mut written);
    written
}

fn write(tokens: TokenStream, written: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                written.push_str(open);
                write(group.stream(), written);
                written.push_str(close);
            }
            token => {
                let is_apart = |last: char| last.is_alphanumeric() || matches!(last, '_' | ',' | ';');
                if !matches!(token, TokenTree::Punct(_)) && written.ends_with(is_apart) {
                    written.push(' ');
                }
                written.push_str(&token.to_string());
            }
        }
    }
}

impl fmt::Display for Translated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, function) in self.functions.iter().enumerate() {
            f.write_str(if index > 0 { "\n" } else { "" })?;
            function.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "‹{}› ", self.returns)?;
        if let Some(operator) = &self.operator {
            write!(f, "{operator}::")?;
        }
        let parameters = self.parameters.iter().map(|Parameter { name, ty }| format!("‹{ty}› {name}"));
        writeln!(f, "{}({}) {{", self.name, parameters.collect::<Vec<_>>().join(", "))?;
        for line in shown(&self.body).lines() {
            writeln!(f, "  {line}")?;
        }
        writeln!(f, "}}")
    }
}

fn shown(pieces: &[Piece]) -> String {
    pieces.iter().map(ToString::to_string).collect()
}

impl fmt::Display for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Piece::Text(text) | Piece::Name(text) => f.write_str(text),
            Piece::Type(rust) | Piece::Constant(rust) | Piece::Function(rust) => write!(f, "‹{rust}›"),
            Piece::Struct { ty, fields, base } => {
                let mut parts: Vec<String> =
                    fields.iter().map(|(name, value)| format!("{name}: {}", shown(value))).collect();
                parts.extend(base.iter().map(|base| format!("..{}", shown(base))));
                let ty = ty.iter().map(|ty| format!("‹{ty}›")).collect::<String>();
                write!(f, "{ty}{{{}}}", parts.join(", "))
            }
            Piece::Divisor(value) => f.write_str(&shown(value)),
            Piece::Line(_) => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}
