//! `Self` of an operator, in code that belongs to another type.

use std::collections::BTreeMap;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, Path, Type};

/// `Self` of the operator, in code that belongs to another type.
pub(super) struct OwnSelf<'a> {
    pub(super) self_ty: &'a Type,
    /// The types by their names in the trait.
    pub(super) types: &'a BTreeMap<&'static str, Type>,
}

impl VisitMut for OwnSelf<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Path(path) = ty
            && path.qself.is_none()
            && let Some(named) = self.named(&path.path)
        {
            *ty = named;
            return;
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::Path(path) = expr
            && path.qself.is_none()
            && path.path.segments.len() == 2
            && path.path.segments[0].ident == "Self"
        {
            let (ty, name) = (self.self_ty, &path.path.segments[1]);
            let span = path.span();
            *expr = syn::parse_quote_spanned!(span=> <#ty>::#name);
            return;
        }
        visit_mut::visit_expr_mut(self, expr);
    }

    fn visit_path_mut(&mut self, path: &mut Path) {
        // Of a struct expression.
        if let Some(Type::Path(named)) = self.named(path) {
            *path = named.path;
            return;
        }
        visit_mut::visit_path_mut(self, path);
    }
}

impl OwnSelf<'_> {
    fn named(&self, path: &Path) -> Option<Type> {
        let mut segments = path.segments.iter();
        match (segments.next(), segments.next(), segments.next()) {
            (Some(own), Some(name), None) if own.ident == "Self" => {
                self.types.get(name.ident.to_string().as_str()).cloned()
            }
            (Some(own), None, None) if own.ident == "Self" => Some(self.self_ty.clone()),
            _ => None,
        }
    }
}
