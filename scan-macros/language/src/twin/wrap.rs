//! Wraps a value in a call of a function of `scan_runtime::__private::types`, or pairs it with a token: with the user's
//! own spans, so that rustc points there.

use crate::language::Group;
use proc_macro2::{Delimiter, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Expr, Path};

/// The settings of the twin of a function.
pub(super) struct Twin<'a> {
    pub(super) krate: &'a Path,
    /// Whether types are known only when it is used.
    pub(super) generic: bool,
}

impl Twin<'_> {
    /// The value, as an operand.
    pub(super) fn operand(&self, expr: &mut Expr) {
        if !is_plain(expr) {
            self.wrap(expr, "operand", None);
        }
    }

    /// The value, as the receiver of a method.
    pub(super) fn receiver(&self, expr: &mut Expr, group: Group) {
        if !matches!(expr, Expr::Lit(_)) {
            self.wrap(expr, "receiver", Some(group));
        }
    }

    /// The value, wrapped in the function `name`, or paired with a token of that name.
    pub(super) fn wrap(&self, expr: &mut Expr, name: &str, group: Option<Group>) {
        let ends = ends(&*expr);
        *expr = Expr::Verbatim(if self.generic {
            let token = self.token(name, group, ends);
            call(self.path(&["generic", "value"], ends), quote!(#token, #expr), ends)
        } else {
            let name = match group {
                Some(group) => group.name(),
                None => name,
            };
            call(self.path(&[name], ends), expr.to_token_stream(), ends)
        });
    }

    /// A reference to the value, by the same ways: it need not be copied, and places are not moved.
    pub(super) fn seen(&self, name: &str, expr: &impl ToTokens) -> TokenStream {
        let ends = ends(expr);
        let reference = quote_spanned!(ends.0=> &);
        if self.generic {
            let token = self.token(name, None, ends);
            call(self.path(&["generic", "seen"], ends), quote!(#token, #reference #expr), ends)
        } else {
            call(self.path(&[name], ends), quote!(#reference #expr), ends)
        }
    }

    /// What an index or a length is read of.
    pub(super) fn read(&self, expr: &mut Expr) {
        *expr = Expr::Verbatim(self.seen("indexed", expr));
    }

    /// A statement that looks at a place, which itself stays as it is: it is written to.
    pub(super) fn check(&self, name: &str, expr: &impl ToTokens) -> TokenStream {
        let seen = self.seen(name, expr);
        quote!(#seen;)
    }

    pub(super) fn token(&self, name: &str, group: Option<Group>, ends: Ends) -> TokenStream {
        let path = self.path(&["generic", name], ends);
        let group = group.map(|group| {
            let group = self.path(&[&format!("{group:?}")], ends);
            quote!(::<#group, _>)
        });
        let made = call(quote!(#path #group), TokenStream::new(), ends);
        quote!(const { #made })
    }

    /// A path into the runtime's module, from the first to the last token of what it is about: there rustc points.
    pub(super) fn path(&self, names: &[&str], (first, last): Ends) -> TokenStream {
        let krate = self.krate;
        let names = names.iter().map(|name| Ident::new(name, Span::call_site()));
        let mut tokens: Vec<TokenTree> = quote!(#krate::__private::types #(::#names)*).into_iter().collect();
        for token in &mut tokens {
            let span = match token {
                TokenTree::Ident(ident) => ident.span().located_at(first),
                _ => first,
            };
            token.set_span(span);
        }
        if let Some(token) = tokens.last_mut() {
            token.set_span(last);
        }
        tokens.into_iter().collect()
    }
}

/// The first and the last token of something.
pub(super) type Ends = (Span, Span);

pub(super) fn ends(tokens: &impl ToTokens) -> Ends {
    let tokens: Vec<TokenTree> = tokens.to_token_stream().into_iter().collect();
    let first = match tokens.first() {
        Some(TokenTree::Group(group)) => match group.delimiter() {
            Delimiter::None => ends(&group.stream()).0,
            _ => group.span_open(),
        },
        Some(token) => token.span(),
        None => Span::call_site(),
    };
    let last = match tokens.last() {
        Some(TokenTree::Group(group)) => match group.delimiter() {
            Delimiter::None => ends(&group.stream()).1,
            _ => group.span_close(),
        },
        Some(token) => token.span(),
        None => Span::call_site(),
    };
    (first, last)
}

/// `path(arguments)`, with a span that ends where the wrapped code ends.
pub(super) fn call(path: TokenStream, arguments: TokenStream, (_, last): Ends) -> TokenStream {
    let mut group = proc_macro2::Group::new(Delimiter::Parenthesis, arguments);
    group.set_span(last);
    quote!(#path #group)
}

/// Whether the value is a number or a truth value for certain, once its own operands are.
pub(super) fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) | Expr::Cast(_) | Expr::MethodCall(_) | Expr::Unary(_) => true,
        Expr::Binary(_) => true,
        Expr::Paren(inner) => is_plain(&inner.expr),
        Expr::Group(inner) => is_plain(&inner.expr),
        _ => false,
    }
}
