//! The names of tangents and of other generated variables.

use super::halves::Halves;
use crate::syntax::{is_constant, letters};
use proc_macro2::{Ident, TokenStream};
use quote::format_ident;
use std::collections::BTreeSet;
use syn::Pat;
use syn::visit_mut::{self, VisitMut};

/// Names that differ from all of the user's.
#[derive(Clone)]
pub(super) struct Names {
    /// The end of a tangent's name.
    suffix: String,
    /// The beginning of the other names.
    prefix: String,
}

impl Names {
    pub(super) fn beside(tokens: impl IntoIterator<Item = TokenStream>) -> Self {
        let mut used = BTreeSet::new();
        tokens.into_iter().for_each(|tokens| collect(tokens, &mut used));
        let (mut suffix, mut prefix) = ("_t".to_owned(), "scan_".to_owned());
        while used.iter().any(|name| name.ends_with(&suffix)) {
            suffix.push('t');
        }
        while used.iter().any(|name| name.starts_with(&prefix)) {
            prefix.push('_');
        }
        Names { suffix, prefix }
    }

    /// A variable of the generated code.
    pub(super) fn own(&self, name: &str) -> Ident {
        format_ident!("{}{name}", self.prefix)
    }

    /// The tangent of a variable.
    pub(super) fn tangent(&self, of: &Ident) -> Ident {
        Ident::new(&format!("{}{}", letters(of), self.suffix), of.span())
    }
}

fn collect(tokens: TokenStream, used: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Ident(ident) => drop(used.insert(letters(&ident))),
            proc_macro2::TokenTree::Group(group) => collect(group.stream(), used),
            _ => {}
        }
    }
}

/// Replaces the names in a pattern by the names of their tangents.
pub(super) struct Rename<'a> {
    pub(super) names: &'a Names,
    pub(super) halves: Halves<'a>,
    pub(super) found: Vec<(Ident, Ident)>,
}

impl VisitMut for Rename<'_> {
    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        visit_mut::visit_pat_mut(self, pat);
        if !self.halves.named {
            return;
        }
        match pat {
            Pat::Struct(fields) => {
                let path = self.halves.literal(&fields.path);
                fields.path = syn::parse_quote!(#path);
            }
            // A constructor is named by its struct, not by another name of its type.
            Pat::TupleStruct(fields) => {
                let (path, members) =
                    (self.halves.literal(&fields.path), (0..fields.elems.len()).map(syn::Index::from));
                let elems = fields.elems.iter();
                *pat = syn::parse_quote!(#path { #(#members: #elems),* });
            }
            _ => {}
        }
    }

    fn visit_field_pat_mut(&mut self, field: &mut syn::FieldPat) {
        if field.colon_token.is_none() {
            field.colon_token = Some(Default::default());
        }
        visit_mut::visit_field_pat_mut(self, field);
    }

    fn visit_pat_ident_mut(&mut self, pat: &mut syn::PatIdent) {
        if !is_constant(&pat.ident) {
            let new = self.names.tangent(&pat.ident);
            self.found.push((pat.ident.clone(), new.clone()));
            pat.ident = new;
        }
        visit_mut::visit_pat_ident_mut(self, pat);
    }
}
