//! CUDA text in pieces, as it is made: the counterpart of the runtime's `Piece`, with Rust tokens where it has values.

use crate::syntax::is_primitive;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::Path;

/// A piece of CUDA text.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Literal text.
    Text(String),
    /// A local or a field, which is renamed if it is a word of C++.
    Name(String),
    /// A Rust type.
    Type(TokenStream),
    /// A Rust expression, evaluated by Rust, its name if it is a constant that has one, and what the user wrote.
    Constant { value: TokenStream, name: Option<String>, written: TokenStream },
    /// A struct expression; without a type, it has that of the field that it initializes.
    Struct { ty: Option<TokenStream>, fields: Vec<(String, Text)>, base: Option<Text> },
    /// A function that is called: the type that carries its text, and its path as the user wrote it.
    Call { callee: TokenStream, path: TokenStream },
    /// A divisor that is a parameter of the operator, or a part of one.
    Divisor(Text),
    /// The line in the user's file of the text that follows.
    Line(usize),
}

/// CUDA text in pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) pieces: Vec<Piece>,
}

impl Text {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Text { pieces: vec![Piece::Text(text.into())] }
    }

    pub(crate) fn name(name: impl Into<String>) -> Self {
        Text { pieces: vec![Piece::Name(name.into())] }
    }

    pub(crate) fn of(piece: Piece) -> Self {
        Text { pieces: vec![piece] }
    }

    pub(crate) fn add(mut self, text: impl Into<Text>) -> Self {
        self.push(text);
        self
    }

    pub(crate) fn push(&mut self, text: impl Into<Text>) {
        for piece in text.into().pieces {
            match (self.pieces.last_mut(), piece) {
                (Some(Piece::Text(last)), Piece::Text(next)) => last.push_str(&next),
                (_, piece) => self.pieces.push(piece),
            }
        }
    }

    /// The Rust expression of the pieces: a constant, so that an operator adds next to no code to the user's program.
    ///
    /// Text, names and lines next to each other are one literal with [marks](NAME): for rustc, expressions are what
    /// costs.
    pub(crate) fn to_tokens(&self, krate: &Path) -> TokenStream {
        let private = quote!(#krate::__private);
        let mut parts = Vec::new();
        let mut text = String::new();
        for piece in &self.pieces {
            if let Some(part) = piece.to_tokens(krate, &mut text) {
                parts.extend(part_of(&private, &mut text));
                parts.push(part);
            }
        }
        parts.extend(part_of(&private, &mut text));
        quote!(&[#(#parts),*])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::new(text)
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text::new(text)
    }
}

/// The character before and after a name in a literal, and that before and after the number of a line. No text has
/// these characters: it is made of tokens, none of which is a string or a character.
const NAME: &str = "\u{1}";
const LINE: &str = "\u{2}";

/// The part of the text so far, which is then empty; `None` if there is none.
fn part_of(private: &TokenStream, text: &mut String) -> Option<TokenStream> {
    let text = std::mem::take(text);
    (!text.is_empty()).then(|| quote!(#private::Part::Text(#text)))
}

/// Compiles only if the type has bytes, as each of C++ has: a statement of a constant. Nothing for a primitive.
pub(crate) fn not_empty(krate: &Path, ty: &TokenStream) -> TokenStream {
    let mut tokens = ty.clone().into_iter();
    let only = (tokens.next(), tokens.next());
    if matches!(&only, (Some(TokenTree::Ident(ident)), None) if is_primitive(ident)) {
        return TokenStream::new();
    }
    let private = quote!(#krate::__private);
    let span = only.0.map_or_else(Span::call_site, |first| Span::call_site().located_at(first.span()));
    quote_spanned! {span=>
        #private::assert!(#private::size_of::<#ty>() != 0, "a type without bytes is no element: C++ has none");
    }
}

impl Piece {
    /// The part that it is; `None` if it is a part of the literal `text`, to which it is added.
    fn to_tokens(&self, krate: &Path, text: &mut String) -> Option<TokenStream> {
        let private = quote!(#krate::__private);
        let part = quote!(#private::Part);
        Some(match self {
            Piece::Text(literal) => {
                text.push_str(literal);
                return None;
            }
            Piece::Name(name) => {
                text.extend([NAME, name, NAME]);
                return None;
            }
            Piece::Line(line) => {
                let line = u32::try_from(*line).unwrap_or(u32::MAX).to_string();
                text.extend([LINE, &line, LINE]);
                return None;
            }
            Piece::Type(ty) => {
                let checked = not_empty(krate, ty);
                quote!(#part::Type({ #checked <#ty as #private::ScanElement>::layout }))
            }
            Piece::Constant { value, name, .. } => {
                let name = match name {
                    Some(name) => quote!(#private::Some(#name)),
                    None => quote!(#private::None),
                };
                quote!(#part::Constant(|| #private::constant(#value, #name)))
            }
            Piece::Call { callee, .. } => quote!(#part::Call(<#callee as #private::ScanFn>::callee)),
            Piece::Struct { ty, fields, base } => {
                let fields = fields.iter().map(|(name, value)| {
                    let value = value.to_tokens(krate);
                    quote!((#name, #value))
                });
                let base = match base {
                    Some(base) => {
                        let base = base.to_tokens(krate);
                        quote!(#private::Some(#base))
                    }
                    None => quote!(#private::None),
                };
                let ty = match ty {
                    Some(ty) => quote!(#private::Some(<#ty as #private::ScanElement>::layout)),
                    None => quote!(#private::None),
                };
                quote!(#part::Struct { ty: #ty, fields: &[#(#fields),*], base: #base })
            }
            Piece::Divisor(value) => {
                let value = value.to_tokens(krate);
                quote!(#part::Divisor(#value))
            }
        })
    }
}
