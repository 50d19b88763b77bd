//! Patterns.

use crate::errors::Errors;
use syn::Pat;

/// Patterns of `let` and of parameters: names, structs, and `_`.
pub(super) fn pattern(pat: &Pat, errors: &mut Errors) {
    match pat {
        Pat::Ident(ident) => {
            if let Some(by_ref) = &ident.by_ref {
                errors.at(by_ref, "there are no references in an operator: remove `ref`, values are copied");
            }
            if let Some((_, inner)) = &ident.subpat {
                pattern(inner, errors);
            }
        }
        Pat::Wild(_) | Pat::Rest(_) | Pat::Lit(_) | Pat::Path(_) | Pat::Range(_) => {}
        Pat::Type(typed) => pattern(&typed.pat, errors),
        Pat::Paren(paren) => pattern(&paren.pat, errors),
        Pat::Guard(guard) => pattern(&guard.pat, errors),
        Pat::Struct(fields) => fields.fields.iter().for_each(|field| pattern(&field.pat, errors)),
        Pat::TupleStruct(fields) => fields.elems.iter().for_each(|field| pattern(field, errors)),
        Pat::Tuple(fields) => fields.elems.iter().for_each(|field| pattern(field, errors)),
        Pat::Or(cases) => cases.cases.iter().for_each(|case| pattern(case, errors)),
        Pat::Reference(reference) => errors.at(reference, "there are no references in an operator: remove the `&`"),
        Pat::Slice(slice) => errors.at(slice, "take the items one by one: `let first = x[0];`"),
        other => errors.at(other, "outside the operator language: use a name, and compare with `if`"),
    }
}
