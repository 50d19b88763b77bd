//! The expressions that a `macro_rules!` was given as arguments, kept whole.
//!
//! rustc passes `$e` to a macro inside of an invisible group, and forgets such groups in what the macro returns: `$a * $b` with `x + 1`
//! for `$a` would become `x + 1 * $b`. Parentheses say the same.

use proc_macro2::{Span, TokenStream};
use syn::token::Paren;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprParen, Item};

/// The item, with parentheses for the invisible groups that keep an expression together.
pub(crate) fn item(tokens: TokenStream) -> syn::Result<Item> {
    let mut item = syn::parse2(tokens)?;
    Parentheses.visit_item_mut(&mut item);
    Ok(item)
}

struct Parentheses;

impl VisitMut for Parentheses {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        let Expr::Group(group) = expr else { return };
        let inner = std::mem::replace(&mut *group.expr, Expr::PLACEHOLDER);
        // The user has not written the parentheses: no lint may speak of them.
        let span = group.group_token.span.resolved_at(Span::mixed_site());
        *expr = match inner {
            // One token, or delimited by itself.
            Expr::Path(_) | Expr::Lit(_) | Expr::Paren(_) | Expr::Array(_) | Expr::Repeat(_) | Expr::Tuple(_) => inner,
            inner => Expr::Paren(ExprParen { attrs: Vec::new(), paren_token: Paren(span), expr: Box::new(inner) }),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proc_macro2::{Delimiter, Group, TokenTree};
    use quote::{ToTokens, quote};

    #[test]
    fn operands_keep_together() {
        let group = |tokens| TokenTree::Group(Group::new(Delimiter::None, tokens));
        let (sum, name) = (group(quote!(x + 1)), group(quote!(y)));
        let item = item(quote!(fn f() { #sum * #name })).unwrap();
        assert_eq!(
            item.into_token_stream().to_string(),
            quote!(
                fn f() {
                    (x + 1) * y
                }
            )
            .to_string()
        );
    }
}
