//! The options in the parentheses of the attributes.

use crate::errors::Errors;
use proc_macro2::TokenStream;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Path, Token, ext::IdentExt};

/// What the user wrote in `#[scan_op(…)]` or `#[scan_element(…)]`.
pub(crate) struct Options {
    /// Where `scan_runtime` is found.
    pub(crate) krate: Path,
    /// `identity = …`, of the function form.
    pub(crate) identity: Option<(Ident, Expr)>,
}

struct Entry {
    name: Ident,
    value: Value,
}

enum Value {
    Crate(Path),
    Identity(Expr),
    Unknown,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(Entry { name, value: Value::Unknown });
        }
        input.parse::<Token![=]>()?;
        let value = if name == "crate" {
            Value::Crate(input.call(Path::parse_mod_style)?)
        } else if name == "identity" {
            Value::Identity(input.parse()?)
        } else {
            input.parse::<Expr>()?;
            Value::Unknown
        };
        Ok(Entry { name, value })
    }
}

/// Reads the options; `known` are those that this attribute has.
pub(crate) fn options(tokens: TokenStream, known: &[&str], errors: &mut Errors) -> Options {
    let mut options = Options { krate: syn::parse_quote!(::scan_runtime), identity: None };
    let entries = match Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(error);
            return options;
        }
    };
    for Entry { name, value } in entries {
        match value {
            Value::Crate(path) => options.krate = path,
            Value::Identity(expr) if known.contains(&"identity") => options.identity = Some((name, expr)),
            _ => {
                let known = known.iter().map(|known| format!("`{known} = …`")).collect::<Vec<_>>().join(" and ");
                errors.at(&name, format!("unknown option `{name}`: there is {known}"));
            }
        }
    }
    options
}
