//! The tangents of operators and casts.

use super::tangent::Tangent::{self, Value, Zero};
use super::tangent::Tangents;
use super::zeros::{discrete, either, wrong};
use crate::syntax::is_primitive;
use quote::quote;
use syn::{BinOp, Expr, Type};

impl Tangents<'_> {
    pub(super) fn binary(&mut self, binary: &syn::ExprBinary, whole: &Expr) -> Tangent {
        let (left, right) = (&*binary.left, &*binary.right);
        match binary.op {
            BinOp::Add(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Value(b)) => Value(quote!((#a + #b))),
                (Value(a), Zero(_)) => Value(a),
                (Zero(_), Value(b)) => Value(b),
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Sub(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Value(b)) => Value(quote!((#a - #b))),
                (Value(a), Zero(_)) => Value(a),
                (Zero(_), Value(b)) => Value(quote!((-#b))),
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Mul(_) => {
                let (a, b) = (self.operand(left), self.operand(right));
                self.product((left, a), (right, b))
            }
            BinOp::Div(_) => match (self.operand(left), self.operand(right)) {
                (Value(a), Zero(_)) => {
                    let right = self.shared(right);
                    Value(quote!((#a / #right)))
                }
                (a, Value(b)) => {
                    let right = self.shared(right);
                    let quotient = match left {
                        Expr::Lit(_) => quote!(#left / #right),
                        _ => {
                            let left = self.shared(left);
                            quote!(#left / #right)
                        }
                    };
                    Value(match a {
                        Value(a) => quote!(((#a - #quotient * #b) / #right)),
                        Zero(_) => quote!((-(#quotient * #b) / #right)),
                    })
                }
                (Zero(a), Zero(b)) => Zero(either(a, b)),
            },
            BinOp::Rem(_) => match (self.operand(left), self.operand(right)) {
                (a, Value(b)) => {
                    let (left_value, right_value) = (self.shared(left), self.shared(right));
                    let steps = quote!((#left_value - #left_value % #right_value) / #right_value * #b);
                    Value(match a {
                        Value(a) => quote!((#a - #steps)),
                        Zero(_) => quote!((-(#steps))),
                    })
                }
                (a, Zero(_)) => a,
            },
            BinOp::And(_) | BinOp::Or(_) => Zero(Some(quote!(false))),
            BinOp::Eq(_) | BinOp::Ne(_) | BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => {
                Zero(Some(quote!(false)))
            }
            _ => discrete(whole),
        }
    }

    pub(super) fn product(&mut self, (left, a): (&Expr, Tangent), (right, b): (&Expr, Tangent)) -> Tangent {
        let of_left = match a {
            Value(a) => {
                let right = self.shared(right);
                Ok(quote!(#a * #right))
            }
            Zero(zero) => Err(zero),
        };
        let of_right = match b {
            Value(b) => {
                let left = self.shared(left);
                Ok(quote!(#left * #b))
            }
            Zero(zero) => Err(zero),
        };
        match (of_left, of_right) {
            (Ok(a), Ok(b)) => Value(quote!((#a + #b))),
            (Ok(one), Err(_)) | (Err(_), Ok(one)) => Value(quote!((#one))),
            (Err(a), Err(b)) => Zero(either(a, b)),
        }
    }

    pub(super) fn cast(&mut self, value: &Expr, ty: &Type, whole: &Expr) -> Tangent {
        let name = match ty {
            Type::Path(path) => path.path.segments.last().map(|last| last.ident.clone()),
            _ => None,
        };
        let zero = self.known.halves.zero(ty);
        match name.filter(is_primitive) {
            None => {
                self.errors.at(whole, "the gradient needs to know whether this is a float: name the primitive type");
                wrong()
            }
            Some(name) if matches!(name.to_string().as_str(), "f16" | "bf16" | "f32" | "f64") => {
                let ty = self.known.halves.ty(ty);
                match self.operand(value) {
                    Value(value) => Value(quote!((#value as #ty))),
                    Zero(_) => Zero(Some(zero)),
                }
            }
            // An integer is a step function.
            Some(_) => Zero(Some(zero)),
        }
    }
}
