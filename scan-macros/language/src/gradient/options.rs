//! What the user writes in `gradient(…)`.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::{Member, Token, Type};

/// What the user wrote in `gradient(…)`.
#[derive(Clone)]
pub(crate) struct Gradient {
    /// The word itself.
    pub(crate) name: Ident,
    /// `diagonal`: the Jacobian of a step with respect to the carry is.
    pub(super) diagonal: bool,
    /// `field: Type`: the operator's fields that have a gradient.
    pub(super) parameters: Vec<(Member, Type)>,
    /// `Op<f32>`: the instances of a generic item whose gradient is derived.
    pub(super) instances: Vec<Type>,
}

impl Gradient {
    /// The part after the word.
    pub(crate) fn parse(name: Ident, input: ParseStream) -> syn::Result<Self> {
        let mut gradient = Gradient { name, diagonal: false, parameters: Vec::new(), instances: Vec::new() };
        if !input.peek(syn::token::Paren) {
            return Ok(gradient);
        }
        let content;
        syn::parenthesized!(content in input);
        while !content.is_empty() {
            if content.peek2(Token![<]) || content.peek2(Token![::]) && content.peek(syn::Ident) {
                gradient.instances.push(content.parse()?);
                if !content.is_empty() {
                    content.parse::<Token![,]>()?;
                }
                continue;
            }
            let member: Member = content.parse()?;
            match &member {
                Member::Named(word) if word == "diagonal" && !content.peek(Token![:]) => gradient.diagonal = true,
                _ if content.peek(Token![:]) => {
                    content.parse::<Token![:]>()?;
                    gradient.parameters.push((member, content.parse()?));
                }
                _ => {
                    let message = "`gradient` takes the fields that have a gradient, with their types, and `diagonal`: \
                                   `gradient(decay: f64)`";
                    return Err(syn::Error::new_spanned(member, message));
                }
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(gradient)
    }

    /// Whether there is more than the word, which only operators have.
    pub(crate) fn has_options(&self) -> bool {
        self.diagonal || !self.parameters.is_empty()
    }

    /// The first instance of a generic item, which functions have none of.
    pub(crate) fn instance(&self) -> Option<&Type> {
        self.instances.first()
    }
}
