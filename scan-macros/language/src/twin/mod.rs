//! The twin of a body: the same statements in a closure that nothing calls, in which rustc checks the types.
//!
//! The macro sees tokens, not types. `a * b` may be a product of numbers, or a user's `impl Mul`, which the CUDA text does not
//! have. In the twin every operand, receiver and comparison passes through a function of `scan_runtime::__private::types`, which
//! takes only types whose operation is the same in both. All else is as the user wrote it, spans included: so types are
//! inferred as in the body, and rustc reports an error of both only once.
//!
//! In an item with type parameters the types are known when it is used. There a value comes with a token, made in a constant,
//! which rustc evaluates when it instantiates the twin.

mod wrap;

use crate::language::{self, Conversion};
use crate::operator::Function;
use crate::syntax::{asserted, is_assignment, is_constant, is_of_type, method_of_type};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{BinOp, Expr, ExprBinary, ExprMethodCall, FnArg, Generics, Pat, Path, Stmt, Type, UnOp};
use wrap::{Twin, call, ends, is_plain};

/// Whether functions have twins.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Twins {
    Compared,
    /// Those of code that was derived: rustc compares the types in what the user wrote, of which it was made.
    LeftOut,
}

impl Twins {
    /// The statement that holds the twins of some functions of an item. It compiles to nothing.
    pub(crate) fn statement<'a>(
        self,
        krate: &Path,
        generics: &Generics,
        functions: impl IntoIterator<Item = &'a Function>,
    ) -> TokenStream {
        match self {
            Twins::Compared => statement(krate, generics, functions),
            Twins::LeftOut => TokenStream::new(),
        }
    }
}

fn statement<'a>(krate: &Path, generics: &Generics, functions: impl IntoIterator<Item = &'a Function>) -> TokenStream {
    let generic = generics.type_params().next().is_some();
    let types = quote!(#krate::__private::types);
    let twins = functions.into_iter().map(|function| {
        let closure = closure(krate, generic, function);
        if generic { quote!(#types::generic::instantiate(#closure);) } else { quote!(let _ = #closure;) }
    });
    quote! {
        #[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
        if false {
            #(#twins)*
        }
    }
}

/// The parameters are a tuple, so that there may be any number of them.
fn closure(krate: &Path, generic: bool, function: &Function) -> TokenStream {
    let parameters = function.signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some((&typed.pat, &typed.ty)),
        FnArg::Receiver(_) => None,
    });
    let (patterns, types): (Vec<_>, Vec<_>) = parameters.unzip();
    let mut body = function.block.clone();
    Twin { krate, generic }.visit_block_mut(&mut body);
    let output = &function.signature.output;
    quote!(|(#(#patterns,)*): (#(#types,)*)| #output #body)
}

impl VisitMut for Twin<'_> {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        match expr {
            Expr::Binary(binary) => {
                let checks = if is_assignment(&binary.op) {
                    self.place(&mut binary.left)
                } else {
                    self.visit_expr_mut(&mut binary.left);
                    Vec::new()
                };
                self.visit_expr_mut(&mut binary.right);
                *expr = with(checks, self.binary(binary));
            }
            Expr::Unary(unary) => {
                self.visit_expr_mut(&mut unary.expr);
                if matches!(unary.op, UnOp::Neg(_) | UnOp::Not(_)) && !is_plain(&unary.expr) {
                    // The type expected of the whole must not be expected of the operand.
                    let operand = self.seen("only_operand", &unary.expr);
                    *unary.expr = Expr::Verbatim(quote!(*#operand));
                }
            }
            Expr::MethodCall(call) => {
                visit_mut::visit_expr_method_call_mut(self, call);
                self.method_call(call);
            }
            Expr::Call(call) => {
                visit_mut::visit_expr_call_mut(self, call);
                self.call(expr);
            }
            Expr::Index(at) => {
                visit_mut::visit_expr_index_mut(self, at);
                self.read(&mut at.expr);
            }
            Expr::Assign(assign) => {
                self.visit_expr_mut(&mut assign.right);
                let checks = self.place(&mut assign.left);
                *expr = with(checks, expr.clone());
            }
            // A length is a constant.
            Expr::Repeat(repeat) => self.visit_expr_mut(&mut repeat.expr),
            Expr::Macro(call) => *expr = self.assertion(&call.mac),
            _ => visit_mut::visit_expr_mut(self, expr),
        }
    }

    fn visit_stmt_mut(&mut self, statement: &mut Stmt) {
        match statement {
            Stmt::Macro(call) => {
                let assertion = self.assertion(&call.mac);
                *statement = Stmt::Expr(assertion, Some(Default::default()));
            }
            _ => visit_mut::visit_stmt_mut(self, statement),
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        let mut constants = Vec::new();
        constants_of(&arm.pat, &mut constants);
        let checks: Vec<TokenStream> = constants.into_iter().map(|constant| self.check("matched", &constant)).collect();
        if let Pat::Guard(guarded) = &mut arm.pat {
            self.visit_expr_mut(&mut guarded.guard);
        }
        self.visit_expr_mut(&mut arm.body);
        *arm.body = with(checks, (*arm.body).clone());
    }

    // Constants in types and patterns are evaluated by rustc.
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_path_mut(&mut self, _: &mut Path) {}
    fn visit_angle_bracketed_generic_arguments_mut(&mut self, _: &mut syn::AngleBracketedGenericArguments) {}
}

impl Twin<'_> {
    fn binary(&self, binary: &ExprBinary) -> Expr {
        let mut binary = binary.clone();
        match &binary.op {
            BinOp::And(_) | BinOp::Or(_) => Expr::Binary(binary),
            BinOp::Eq(_) | BinOp::Ne(_) => self.comparison("equal", binary),
            BinOp::Lt(_) | BinOp::Le(_) | BinOp::Gt(_) | BinOp::Ge(_) => self.comparison("ordered", binary),
            op => {
                let assigned = is_assignment(op);
                self.operand(&mut binary.right);
                if assigned {
                    let check = self.check("only_operand", &binary.left);
                    with(vec![check], Expr::Binary(binary))
                } else {
                    self.operand(&mut binary.left);
                    Expr::Binary(binary)
                }
            }
        }
    }

    /// Both sides, each tied to the other's type; a side compared with a number must be comparable with it.
    fn comparison(&self, name: &str, mut binary: ExprBinary) -> Expr {
        if is_plain(&binary.left) || is_plain(&binary.right) {
            for side in [&mut binary.left, &mut binary.right] {
                if !is_plain(side) {
                    self.wrap(side, "scalar", None);
                }
            }
            return Expr::Binary(binary);
        }
        let whole = ends(&binary);
        let sides = Ident::new("sides", Span::mixed_site());
        let made =
            if self.generic { self.token(name, None, whole) } else { call(self.path(&[name], whole), quote!(), whole) };
        for (side, of) in [("left", &mut binary.left), ("right", &mut binary.right)] {
            let ends = ends(&*of);
            let path = self.path(if self.generic { &["generic", "side"] } else { std::slice::from_ref(&side) }, ends);
            **of = Expr::Verbatim(call(path, quote!(&#sides, #of), ends));
        }
        Expr::Verbatim(quote!((match #made { #sides => #binary })))
    }

    fn method_call(&self, call: &mut ExprMethodCall) {
        let name = call.method.to_string();
        match language::find(&name) {
            Some(method) => self.receiver(&mut call.receiver, method.group),
            None if name == "len" => self.read(&mut call.receiver),
            None => {}
        }
    }

    /// A function of a primitive, or of a type parameter.
    fn call(&self, expr: &mut Expr) {
        let Expr::Call(call) = expr else { return };
        let Expr::Path(function) = &*call.func else { return };
        if !is_of_type(&function.path) {
            return;
        }
        let Some(last) = function.path.segments.last() else { return };
        match language::conversion(&last.ident.to_string()) {
            Some(Conversion::From) => {
                call.args.iter_mut().for_each(|argument| self.operand(argument));
                self.wrap(expr, "operand", None);
            }
            Some(Conversion::Function(_, group)) => self.receiver(expr, group),
            None => {
                if let (Some(method), Some(first)) = (method_of_type(&function.path), call.args.first_mut()) {
                    self.receiver(first, method.group);
                }
            }
        }
    }

    /// A place that is written to: what is read on the way to it, and the checks to make before.
    fn place(&mut self, expr: &mut Expr) -> Vec<TokenStream> {
        match expr {
            Expr::Paren(inner) => self.place(&mut inner.expr),
            Expr::Group(inner) => self.place(&mut inner.expr),
            Expr::Field(field) => self.place(&mut field.base),
            Expr::Index(at) => {
                self.visit_expr_mut(&mut at.index);
                let mut checks = self.place(&mut at.expr);
                checks.push(self.check("indexed", &at.expr));
                checks
            }
            Expr::Path(_) | Expr::Infer(_) => Vec::new(),
            other => {
                self.visit_expr_mut(other);
                Vec::new()
            }
        }
    }

    /// The condition alone: the body has the message.
    fn assertion(&mut self, mac: &syn::Macro) -> Expr {
        match asserted(mac) {
            Ok(mut condition) => {
                self.visit_expr_mut(&mut condition);
                self.operand(&mut condition);
                Expr::Verbatim(quote!(::core::assert!(#condition)))
            }
            Err(_) => Expr::Verbatim(quote!(())),
        }
    }
}

/// The expression, after some statements.
fn with(checks: Vec<TokenStream>, expr: Expr) -> Expr {
    if checks.is_empty() { expr } else { Expr::Verbatim(quote!({ #(#checks)* #expr })) }
}

/// The constants that a pattern names, and the variants of enums.
fn constants_of(pat: &Pat, found: &mut Vec<TokenStream>) {
    match pat {
        Pat::Path(path) => found.push(path.to_token_stream()),
        Pat::Ident(ident) => match &ident.subpat {
            Some((_, inner)) => constants_of(inner, found),
            None if is_constant(&ident.ident) => found.push(ident.ident.to_token_stream()),
            None => {}
        },
        Pat::Guard(guarded) => constants_of(&guarded.pat, found),
        Pat::Paren(paren) => constants_of(&paren.pat, found),
        Pat::Or(or) => or.cases.iter().for_each(|case| constants_of(case, found)),
        Pat::Tuple(tuple) => tuple.elems.iter().for_each(|item| constants_of(item, found)),
        Pat::TupleStruct(fields) => fields.elems.iter().for_each(|field| constants_of(field, found)),
        Pat::Struct(fields) => fields.fields.iter().for_each(|field| constants_of(&field.pat, found)),
        _ => {}
    }
}
