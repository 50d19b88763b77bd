//! Rust statements to CUDA text.
//!
//! The text keeps the shape of the user's Rust: the prelude's classes have Rust's names and Rust's meaning, so that most
//! expressions stand as they were written. What changes: a block's value becomes a `return` or a variable, a shadowing
//! `let` a new name, an operand that has side effects a variable of its own, because C++ leaves the order of operands open.

mod expression;
mod literal;
mod pattern;
mod purity;
mod scope;
mod statement;
#[cfg(test)]
mod tests;
mod uses;

use crate::errors::Errors;
use crate::hygiene;
use crate::operator::{Function, Operator};
use crate::text::{Piece, Text};
use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use scope::Scopes;
use std::collections::{BTreeMap, BTreeSet};
use syn::{FnArg, Ident, Path, ReturnType, Type};
use uses::Uses;

/// A function whose body has become CUDA text.
pub(crate) struct Lowered {
    pub(crate) name: String,
    /// The names of the parameters after `self`.
    pub(crate) parameters: Vec<String>,
    pub(crate) body: Text,
    /// Parts of the prelude that the body needs, and the functions that it calls, and how often.
    pub(crate) uses: Uses,
    /// Names in patterns that were taken for new ones. To Rust they are constants where constants of that name exist.
    pub(crate) bindings: Vec<Ident>,
    /// The functions that it calls.
    pub(crate) callees: Vec<Callee>,
    /// Rust that compiles only if the names mean to rustc what they mean in the text.
    pub(crate) assumption: TokenStream,
}

/// A function that is called: where the user found it, and the name under which the text finds what `#[scan_fn]` made of it.
pub(crate) struct Callee {
    pub(crate) path: Path,
    pub(crate) alias: Ident,
}

/// Lowers every function of a checked operator.
pub(crate) fn operator(operator: &Operator, errors: &mut Errors) -> Vec<Lowered> {
    operator.functions.iter().map(|function| self::function(function, errors)).collect()
}

/// Lowers a checked function.
pub(crate) fn function(function: &Function, errors: &mut Errors) -> Lowered {
    Lowerer::new(errors).function(function)
}

/// How C++ ranks an expression; an operand of a lower rank than its operator needs parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Conditional,
    LogicalOr,
    LogicalAnd,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relational,
    Shift,
    Additive,
    Multiplicative,
    Unary,
    Postfix,
}

/// What is known of an expression's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Typing {
    /// C++ finds out.
    Typed,
    /// C++ finds out, unless these are truth values: their `&`, `|` and `^` are an `int`.
    Bitwise,
    /// An integer literal without a suffix, and its value where it is needed for folding.
    Integer(Option<i128>),
    /// A float literal without a suffix.
    Float,
    /// No value: control has left.
    Never,
}

/// An expression in CUDA text.
#[derive(Clone, Debug)]
struct Value {
    text: Text,
    rank: Rank,
    typing: Typing,
}

impl Value {
    fn typed(text: impl Into<Text>, rank: Rank) -> Self {
        Value { text: text.into(), rank, typing: Typing::Typed }
    }

    fn never() -> Self {
        Value { text: Text::default(), rank: Rank::Postfix, typing: Typing::Never }
    }

    /// Stands where something went wrong and an error was noted.
    fn error() -> Self {
        Value::typed("", Rank::Postfix)
    }

    fn is_typed(&self) -> bool {
        matches!(self.typing, Typing::Typed | Typing::Bitwise)
    }

    /// The text, in parentheses where the rank is below the one that its place asks for.
    fn at_least(self, rank: Rank) -> Text {
        if self.rank < rank { Text::new("(").add(self.text).add(")") } else { self.text }
    }
}

/// Where the value of a statement goes.
#[derive(Clone, Debug)]
enum Sink {
    Return,
    Assign(Text),
    Discard,
}

/// A loop that `break` and `continue` can mean.
struct Loop {
    label: Option<String>,
    /// Where a loop inside this one jumps to leave it, and to go on with it.
    after: Option<String>,
    next: Option<String>,
    /// Where the value of `break value` goes.
    sink: Sink,
    expected: Option<Type>,
}

struct Lowerer<'a> {
    errors: &'a mut Errors,
    uses: Uses,
    bindings: Vec<Ident>,
    callees: Vec<Callee>,
    scopes: Scopes,
    /// The variables that the text declares, but for those that are marked in any case.
    declared: BTreeSet<String>,
    /// The statements so far.
    out: Text,
    depth: usize,
    loops: Vec<Loop>,
    /// The type that `return` gives its value.
    returns: Option<Type>,
    /// Inside a lambda, what is known of the types that it returns.
    lambda_returns: Option<Vec<Typing>>,
}

impl<'a> Lowerer<'a> {
    fn new(errors: &'a mut Errors) -> Self {
        Lowerer {
            errors,
            uses: Uses::default(),
            bindings: Vec::new(),
            callees: Vec::new(),
            scopes: Scopes::default(),
            declared: BTreeSet::new(),
            out: Text::default(),
            depth: 0,
            loops: Vec::new(),
            returns: None,
            lambda_returns: None,
        }
    }

    fn function(mut self, function: &Function) -> Lowered {
        let named = hygiene::named(function);
        let returns = match &named.signature.output {
            ReturnType::Type(_, ty) => (**ty).clone(),
            ReturnType::Default => syn::parse_quote!(()),
        };
        self.returns = Some(returns.clone());
        self.scopes.open();
        let mut parameters = Vec::new();
        let mut patterns = Vec::new();
        for input in &named.signature.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let name = match &*typed.pat {
                syn::Pat::Ident(ident) if ident.subpat.is_none() => {
                    let name = self.scopes.fresh(&scope::plain(&ident.ident));
                    self.scopes.bind(&ident.ident, Text::name(&name), ident.mutability.is_some());
                    name
                }
                pattern => {
                    let name = self.scopes.fresh("value");
                    patterns.push((pattern, name.clone()));
                    name
                }
            };
            parameters.push(name);
        }
        for (pattern, name) in patterns {
            self.destructure(pattern, &Text::name(name));
        }
        self.block(&named.block, &Sink::Return, Some(&returns));
        self.scopes.close();
        Lowered {
            name: function.signature.ident.to_string(),
            parameters,
            body: mark_unread(self.out, &self.declared),
            uses: self.uses,
            bindings: self.bindings.into_iter().map(|ident| named.original(ident)).collect(),
            callees: self.callees,
            assumption: named.assumption,
        }
    }

    /// Notes that what follows stands on the line of `span`.
    fn mark(&mut self, span: Span) {
        self.out.push(Text::of(Piece::Line(span.start().line)));
    }

    /// A line of the function's text.
    fn line(&mut self, text: impl Into<Text>) {
        self.out.push("  ".repeat(self.depth));
        self.out.push(text);
        self.out.push("\n");
    }

    /// The same without its end, for a block that follows.
    fn open(&mut self, text: impl Into<Text>) {
        self.line(text);
        self.depth += 1;
    }

    fn close(&mut self, text: &str) {
        self.depth -= 1;
        self.line(text);
    }

    fn type_text(&self, ty: &Type) -> Text {
        Text::of(Piece::Type(ty.to_token_stream()))
    }

    /// A constant that the user named.
    fn constant(&self, path: &Path) -> Text {
        let name = path.segments.last().map(|last| scope::plain(&last.ident));
        Text::of(Piece::Constant { value: path.to_token_stream(), name })
    }

    /// The value for a place that takes its type from it.
    fn settled(&mut self, value: Value) -> Text {
        if value.typing != Typing::Bitwise {
            return value.text;
        }
        self.uses.insert("value_of");
        Text::new("value_of(").add(value.text).add(")")
    }

    /// A name for a variable that the user did not write.
    fn own_variable(&mut self, name: &str) -> String {
        let name = self.scopes.fresh(name);
        self.declared.insert(name.clone());
        name
    }

    /// Keeps a value in a variable of its own.
    fn spill(&mut self, name: &str, value: Value) -> Text {
        let value = Value { text: self.settled(value.clone()), ..value };
        let name = self.own_variable(name);
        self.line(Text::new("const auto ").add(Text::name(&name)).add(" = ").add(value.text).add(";"));
        Text::name(name)
    }
}

/// Marks those of the variables that nothing reads, and takes out labels to which nothing jumps, so that the GPU's compiler does
/// not warn.
fn mark_unread(text: Text, variables: &BTreeSet<String>) -> Text {
    /// How often each name occurs, and how often it is neither declared, nor written to, nor thrown away.
    fn count<'t>(text: &'t Text, counts: &mut BTreeMap<&'t str, (usize, usize)>) {
        for (index, piece) in text.pieces.iter().enumerate() {
            match piece {
                Piece::Name(name) if !is_part(&text.pieces, index) => {
                    let (all, reads) = counts.entry(name).or_default();
                    let is_read = !is_written(&text.pieces, index) && !is_discarded(&text.pieces, index);
                    *reads += usize::from(*all > 0 && is_read);
                    *all += 1;
                }
                // The base is read only where fields are left out, which the macro cannot see.
                Piece::Struct { fields, .. } => fields.iter().for_each(|(_, value)| count_reads(value, counts)),
                _ => {}
            }
        }
    }
    /// The same where nothing is declared.
    fn count_reads<'t>(text: &'t Text, counts: &mut BTreeMap<&'t str, (usize, usize)>) {
        for piece in &text.pieces {
            match piece {
                Piece::Name(name) => {
                    let (all, reads) = counts.entry(name).or_default();
                    (*all, *reads) = (*all + 1, *reads + 1);
                }
                Piece::Struct { fields, .. } => fields.iter().for_each(|(_, value)| count_reads(value, counts)),
                _ => {}
            }
        }
    }
    let mut counts = BTreeMap::new();
    count(&text, &mut counts);
    let mut declared = BTreeSet::new();
    let mut marked = Text::default();
    for (index, piece) in text.pieces.iter().enumerate() {
        match piece {
            Piece::Name(name) if !is_part(&text.pieces, index) => {
                let (all, reads) = counts.get(name.as_str()).copied().unwrap_or_default();
                let ends =
                    |piece: Option<&Piece>, end: &str| matches!(piece, Some(Piece::Text(text)) if text.ends_with(end));
                let before = index.checked_sub(1).and_then(|index| text.pieces.get(index));
                let label = matches!(text.pieces.get(index + 1), Some(Piece::Text(next)) if next.starts_with(":;"));
                if label && all == 1 {
                    continue;
                }
                marked.push(Text::of(piece.clone()));
                let first = declared.insert(name.as_str());
                if first && reads == 0 && variables.contains(name) && !ends(before, "[[maybe_unused]] auto ") {
                    marked.push(" [[maybe_unused]]");
                }
            }
            // What is left of a label.
            Piece::Text(next) if next.starts_with(":;") && ends_with_no_name(&marked) => {
                marked.push(next.strip_prefix(':').unwrap_or(next));
            }
            piece => marked.push(Text::of(piece.clone())),
        }
    }
    marked
}

/// Whether the last piece is none that a `:` could follow.
fn ends_with_no_name(text: &Text) -> bool {
    !matches!(text.pieces.last(), Some(Piece::Name(_)))
}

/// Whether a name is that of a field.
fn is_part(pieces: &[Piece], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|index| pieces.get(index));
    matches!(before, Some(Piece::Text(text)) if text.ends_with('.') || text.ends_with("->"))
}

/// Whether a variable is named to be thrown away, as `let _ = x` does: that reads nothing.
fn is_discarded(pieces: &[Piece], index: usize) -> bool {
    let before = index.checked_sub(1).and_then(|index| pieces.get(index));
    let after = pieces.get(index + 1);
    matches!(before, Some(Piece::Text(text)) if text.ends_with("static_cast<void>("))
        && matches!(after, Some(Piece::Text(text)) if text.starts_with(");"))
}

/// Whether a variable, or a part of it, is given a value.
fn is_written(pieces: &[Piece], index: usize) -> bool {
    let mut after = pieces.iter().skip(index + 1);
    loop {
        match after.next() {
            Some(Piece::Text(text)) if text == "." => {
                after.next();
            }
            Some(Piece::Text(text)) => return text.starts_with(" = "),
            _ => return false,
        }
    }
}
