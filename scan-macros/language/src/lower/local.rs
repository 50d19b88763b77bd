//! `let`, and the names that patterns give to parts of a value.

use super::expression::field_name;
use super::{Lowerer, Sink, flow, settled};
use crate::ir::{Declared, Expression, Statement};
use crate::syntax::plain;
use syn::{Expr, Local, Pat, PatIdent, PatTuple, Type};

/// What is known of the value of a variable.
#[derive(Default)]
struct Known {
    /// Whether it is made of numbers that the compiler knows once loops are unrolled.
    counted: bool,
    /// Whether all elements share it.
    invariant: bool,
}

impl Lowerer<'_> {
    pub(super) fn local(&mut self, local: &Local) {
        let (pat, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pat => (pat, None),
        };
        let init = local.init.as_ref().map(|init| &*init.expr);
        match (pat, init) {
            (Pat::Ident(ident), init) if ident.subpat.is_none() => {
                let name = self.scopes.fresh(&plain(&ident.ident));
                let known = match (init, ty) {
                    (Some(init), ty) => self.declare(&name, ty, init),
                    (None, Some(ty)) => {
                        self.declare_own(&name, Declared::Type(Box::new(ty.clone())), None);
                        Known::default()
                    }
                    (None, None) => {
                        self.errors
                            .at(&local.pat, "the type of this is not known in the GPU's text: write it, `let x: f32;`");
                        Known::default()
                    }
                };
                if ident.mutability.is_none() {
                    if known.counted {
                        self.scopes.count(&name);
                    }
                    if known.invariant {
                        self.scopes.share(&name);
                    }
                }
                // Only now, because in the initial value the name may mean another local.
                self.scopes.bind(&ident.ident, Expression::Variable(name), true);
            }
            (Pat::Wild(_), Some(init)) => self.lower_to(init, &Sink::Discard, ty),
            (Pat::Wild(_), None) => {}
            (Pat::Tuple(tuple), Some(Expr::Tuple(values))) => self.tuple(tuple, values, ty),
            (Pat::Tuple(_), _) => {}
            (pat, None) => self.errors.at(pat, "give this pattern a value"),
            (pat, Some(init)) => {
                if let Some(value) = self.typed(init, ty) {
                    let whole = self.spill("value", value);
                    self.destructure(pat, &whole);
                }
            }
        }
    }

    /// `let (a, b) = (x, y);`
    fn tuple(&mut self, tuple: &PatTuple, values: &syn::ExprTuple, ty: Option<&Type>) {
        if values.elems.len() != tuple.elems.len() {
            self.errors.at(tuple, "names and values differ in number");
            return;
        }
        let types: Vec<Option<&Type>> = match ty {
            Some(Type::Tuple(types)) => types.elems.iter().map(Some).collect(),
            _ => Vec::new(),
        };
        let mut parts = Vec::new();
        for (index, (pat, value)) in tuple.elems.iter().zip(&values.elems).enumerate() {
            let name = match pat {
                Pat::Ident(ident) => self.scopes.fresh(&plain(&ident.ident)),
                _ => self.scopes.fresh("value"),
            };
            self.declare(&name, types.get(index).copied().flatten(), value);
            parts.push((pat, Expression::Variable(name)));
        }
        for (pat, place) in parts {
            match pat {
                // The variable was made for this name.
                Pat::Ident(ident) => self.bind_whole(ident, place),
                pat => self.destructure(pat, &place),
            }
        }
    }

    /// A variable of the user's; what is known of its value.
    fn declare(&mut self, name: &str, ty: Option<&Type>, value: &Expr) -> Known {
        let may_be_unread = name.starts_with('_');
        let declared = |ty: Declared, value: Option<Expression>| Statement::Declare {
            name: name.to_owned(),
            ty,
            value,
            may_be_unread,
        };
        let decides = matches!(value, Expr::If(_) | Expr::Match(_) | Expr::Loop(_));
        let lowered = match ty {
            Some(ty) if decides && !flow::diverges(value) => {
                let alone = self.alone(|this| this.expr(value, Some(ty)));
                if alone.is_none() {
                    self.emit(declared(Declared::Type(Box::new(ty.clone())), None));
                    self.lower_to(value, &Sink::Assign(Expression::Variable(name.to_owned())), Some(ty));
                }
                alone
            }
            ty => self.expr(value, ty),
        };
        let Some(lowered) = lowered else { return Known::default() };
        let known = Known { counted: self.scopes.is_counted(&lowered), invariant: self.scopes.is_invariant(&lowered) };
        match ty {
            Some(ty) => self.emit(declared(Declared::Type(Box::new(ty.clone())), Some(lowered))),
            None if lowered.is_typed() => self.emit(declared(Declared::Auto, Some(settled(lowered)))),
            None => self.errors.at(
                value,
                "the type of this is not known in the GPU's text: give it a suffix, or write `let x: f32 = …`",
            ),
        }
        known
    }

    /// Binds a name to the variable that was made for it, and the parts of its pattern.
    fn bind_whole(&mut self, ident: &PatIdent, place: Expression) {
        self.scopes.bind(&ident.ident, place.clone(), true);
        if let Some((_, inner)) = &ident.subpat {
            self.destructure(inner, &place);
        }
    }

    /// Binds the parts of a value that is in a variable.
    pub(super) fn destructure(&mut self, pat: &Pat, whole: &Expression) {
        let part = |name: String| Expression::Field(Box::new(whole.clone()), name);
        match pat {
            Pat::Wild(_) | Pat::Rest(_) => {}
            Pat::Type(typed) => self.destructure(&typed.pat, whole),
            Pat::Paren(paren) => self.destructure(&paren.pat, whole),
            Pat::Ident(ident) => {
                let name = self.scopes.fresh(&plain(&ident.ident));
                let (ty, value) = (Declared::Auto, Some(whole.clone()));
                self.emit(Statement::Declare { name: name.clone(), ty, value, may_be_unread: true });
                self.bind_whole(ident, Expression::Variable(name));
            }
            Pat::Struct(fields) => {
                for field in &fields.fields {
                    self.destructure(&field.pat, &part(field_name(&field.member)));
                }
            }
            Pat::TupleStruct(fields) => {
                for (index, field) in fields.elems.iter().enumerate() {
                    if let Pat::Rest(rest) = field
                        && index + 1 < fields.elems.len()
                    {
                        self.errors.at(rest, "`..` comes last: name the fields before it");
                        return;
                    }
                    self.destructure(field, &part(format!("_{index}")));
                }
            }
            other => self.errors.at(other, "outside the operator language: use a name, and compare with `if`"),
        }
    }
}
