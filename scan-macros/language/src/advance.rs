//! `advance`: the carry after an input and the output for it, by one function. To the later passes it is two functions,
//! `step` and `emit`: the body with the first item of its results, and with the second.

use crate::errors::Errors;
use crate::lower::flow::has_effects;
use crate::operator::Function;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, FnArg, Ident, ReturnType, Signature, Stmt, Type, parse_quote};

pub(crate) const NAME: &str = "advance";
const WRITTEN: &str = "fn advance(c: Carry, x: Input) -> (Carry, Output)";
const HALVES: [&str; 2] = ["step", "emit"];

/// Puts `step` and `emit` in the place of `advance`, and returns `advance` as the user wrote it.
pub(crate) fn split(functions: &mut Vec<Function>, errors: &mut Errors) -> Option<Function> {
    let index = functions.iter().position(|function| function.signature.ident == NAME)?;
    let advance = functions.remove(index);
    let (halves, others): (Vec<_>, Vec<_>) = std::mem::take(functions).into_iter().partition(is_half);
    *functions = others;
    for half in &halves {
        let name = &half.signature.ident;
        errors.at(
            name,
            format!(
                "`advance` is `step` and `emit` in one: remove `{name}`, or write both of them in place of `advance`"
            ),
        );
    }
    let Some(types) = types(&advance.signature, errors) else {
        let span = advance.signature.ident.span();
        // Of the right types, so that nothing follows from the error.
        for (name, ty) in HALVES.into_iter().zip(["Carry", "Output"]) {
            let [name, ty] = [name, ty].map(|word| Ident::new(word, span));
            let signature = parse_quote!(fn #name(_: Self::Carry, _: Self::Input) -> Self::#ty);
            functions.push(Function { attributes: Vec::new(), signature, block: parse_quote!({ loop {} }) });
        }
        return None;
    };
    for (item, (name, ty)) in HALVES.into_iter().zip(types).enumerate() {
        functions.push(half(&advance, item, name, ty, errors));
    }
    Some(advance)
}

/// Whether it is one of those that `advance` gives.
pub(crate) fn is_half(function: &Function) -> bool {
    HALVES.iter().any(|half| function.signature.ident == half)
}

/// The functions as the user wrote them.
pub(crate) fn written<'a>(
    functions: &'a [Function],
    advance: Option<&'a Function>,
) -> impl Iterator<Item = &'a Function> {
    functions.iter().filter(move |function| advance.is_none() || !is_half(function)).chain(advance)
}

/// The types of the two items that it gives, if it takes a carry and an input, and gives two items.
fn types(signature: &Signature, errors: &mut Errors) -> Option<[Type; 2]> {
    if signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).count() != 2 {
        match signature.inputs.is_empty() {
            true => errors.at(&signature.ident, format!("takes 2 values: `{WRITTEN}`")),
            false => errors.at(&signature.inputs, format!("takes 2 values: `{WRITTEN}`")),
        }
        return None;
    }
    let message = format!("`advance` gives the carry after the input, and the output: `{WRITTEN}`");
    let ReturnType::Type(_, ty) = &signature.output else {
        errors.at(&signature.ident, message);
        return None;
    };
    let mut ty = &**ty;
    while let Type::Group(syn::TypeGroup { elem, .. }) | Type::Paren(syn::TypeParen { elem, .. }) = ty {
        ty = elem;
    }
    if let Type::Tuple(tuple) = ty
        && let [carry, output] = tuple.elems.iter().collect::<Vec<_>>().as_slice()
    {
        return Some([(*carry).clone(), (*output).clone()]);
    }
    errors.at(ty, message);
    None
}

/// The function that gives one of the two items.
fn half(advance: &Function, item: usize, name: &str, ty: Type, errors: &mut Errors) -> Function {
    let mut signature = advance.signature.clone();
    signature.ident = Ident::new(name, signature.ident.span());
    signature.output = parse_quote!(-> #ty);
    let mut block = advance.block.clone();
    Results { item, errors }.block(&mut block);
    Function { attributes: Vec::new(), signature, block }
}

/// Replaces each result, which is a tuple, by one of its items.
struct Results<'a> {
    item: usize,
    errors: &'a mut Errors,
}

impl Results<'_> {
    /// A block whose value is a result.
    fn block(&mut self, block: &mut Block) {
        let last = block.stmts.len().saturating_sub(1);
        for (index, statement) in block.stmts.iter_mut().enumerate() {
            match statement {
                Stmt::Expr(value, None) if index == last => self.result(value),
                statement => self.visit_stmt_mut(statement),
            }
        }
    }

    fn result(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Paren(inner) => self.result(&mut inner.expr),
            Expr::Group(inner) => self.result(&mut inner.expr),
            Expr::Block(block) => self.block(&mut block.block),
            Expr::If(branch) => {
                self.visit_expr_mut(&mut branch.cond);
                self.block(&mut branch.then_branch);
                if let Some((_, other)) = &mut branch.else_branch {
                    self.result(other);
                }
            }
            Expr::Match(matching) => {
                self.visit_expr_mut(&mut matching.expr);
                for arm in &mut matching.arms {
                    self.visit_pat_mut(&mut arm.pat);
                    self.result(&mut arm.body);
                }
            }
            // These have no value, or the rules of the language refuse them.
            Expr::Return(_)
            | Expr::Break(_)
            | Expr::Continue(_)
            | Expr::Loop(_)
            | Expr::While(_)
            | Expr::ForLoop(_)
            | Expr::Macro(_) => self.visit_expr_mut(expr),
            Expr::Tuple(tuple) if tuple.elems.len() == 2 => {
                // One of the items is left out, and with it its effects.
                if let Some(item) = tuple.elems.iter().find(|item| has_effects(item)) {
                    self.errors.at(
                        item,
                        "`step` and `emit` each compute one item of this tuple, so neither may assign or leave: bind \
                         the value by a `let` before it",
                    );
                }
                if let Some(item) = tuple.elems.iter().nth(self.item) {
                    *expr = item.clone();
                }
            }
            _ => {
                self.errors.at(
                    &*expr,
                    "`advance` gives its two results as a tuple that is written in place: `(carry, output)`, with a \
                     value for each",
                );
                *expr = parse_quote!(loop {});
            }
        }
    }
}

impl VisitMut for Results<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Return(syn::ExprReturn { expr: Some(value), .. }) => self.result(value),
            Expr::Break(leave) if matches!(leave.expr.as_deref(), Some(Expr::Tuple(_))) => {
                self.errors.at(&*leave, "leave the loop by `return (carry, output)`: a `break` has a single value");
                leave.expr = None;
            }
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }
}
