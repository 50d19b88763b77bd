//! What the operator language has: one small function per rule, each error at the tokens, with what to write instead.

use crate::attribute::Laws;
use crate::errors::Errors;
use crate::language::PRIMITIVES;
use crate::operator::{Function, Operator};
use crate::syntax::{asserted, is_primitive, method_of_type, range_of};
use crate::{depth, hygiene, language};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{BinOp, Block, Expr, ExprCall, ExprMethodCall, FnArg, Generics, Lit, Local, Pat, Safety, Stmt, UnOp};

/// Every rule, over every function of the operator. A function whose signature is not the trait's is taken out, so that
/// rustc does not say the same once more.
pub(crate) fn operator(operator: &mut Operator, errors: &mut Errors) {
    operator.functions.retain(|function| {
        let before = errors.count();
        signature(function, errors);
        errors.count() == before
    });
    laws(operator, errors);
    for function in &operator.functions {
        let body = hygiene::ungrouped(&function.block);
        depth::body(&body, errors);
        Body { errors, generics: &operator.generics, own_name: None }.visit_block(&body);
    }
}

/// Every rule, over a function that operators can call.
pub(crate) fn helper(function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    if let Some(token) = &signature.asyncness {
        errors.at(token, "a function that an operator calls is not `async`: remove the word");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.at(token, "an operator is safe code, and so is what it calls: remove the word");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a function that an operator calls has no `extern`: remove it");
    }
    for parameter in &signature.generics.params {
        if let syn::GenericParam::Lifetime(lifetime) = parameter {
            errors.at(lifetime, "elements are handed over by value: a lifetime has no place here");
        }
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                errors.at(receiver, "`#[scan_fn]` stands on a function outside of any `impl`: hand the value over");
            }
            FnArg::Typed(typed) => {
                value_type(&typed.ty, errors);
                pattern(&typed.pat, errors);
            }
        }
    }
    match &signature.output {
        syn::ReturnType::Default => {
            errors.at(&signature.ident, format!("`{}` must return a value: add `-> T`", signature.ident));
        }
        syn::ReturnType::Type(_, ty) => value_type(ty, errors),
    }
    let body = hygiene::ungrouped(&function.block);
    depth::body(&body, errors);
    Body { errors, generics: &signature.generics, own_name: Some(&signature.ident) }.visit_block(&body);
}

/// The type of a parameter, or of a result, of a function that operators can call.
fn value_type(ty: &syn::Type, errors: &mut Errors) {
    match ty {
        syn::Type::Reference(reference) => errors.at(reference, "elements are handed over by value: remove the `&`"),
        syn::Type::Tuple(tuple) if tuple.elems.is_empty() => errors.at(tuple, "a function must return a value"),
        syn::Type::Tuple(tuple) => {
            errors.at(tuple, "tuples are outside the operator language: make a `#[scan_element]` struct")
        }
        syn::Type::ImplTrait(ty) => errors.at(ty, "name the type: `fn f<T: Trait>(x: T)`, called as `f::<f32>(x)`"),
        syn::Type::Slice(_)
        | syn::Type::Ptr(_)
        | syn::Type::FnPtr(_)
        | syn::Type::TraitObject(_)
        | syn::Type::Never(_) => {
            errors.at(ty, "a function that an operator calls works on elements: numbers, arrays, and structs of these");
        }
        _ => {}
    }
}

/// The test of the laws needs a value of the operator, which only a struct without fields and parameters has by its name.
fn laws(operator: &Operator, errors: &mut Errors) {
    let Some(Laws { name, operator: None, .. }) = &operator.laws else { return };
    if !operator.generics.params.is_empty() {
        errors.at(
            name,
            format!(
                "a generic operator is checked for types of your choice: `laws(operator = {}::<…>…)`, or `laws::check` in \
                 tests of your own",
                operator.name
            ),
        );
    } else if !operator.fields.is_empty() {
        let message =
            format!("`{0}` has fields: say which value is checked, `laws(operator = {0} {{ … }})`", operator.name);
        errors.at(name, message);
    }
}

/// Types that hold their values elsewhere.
const HEAP_TYPES: &[&str] =
    &["Box", "Vec", "String", "Rc", "Arc", "VecDeque", "HashMap", "HashSet", "BTreeMap", "BTreeSet", "Cow", "RefCell"];

fn signature(function: &Function, errors: &mut Errors) {
    let signature = &function.signature;
    let name = &signature.ident;
    if let Some(token) = &signature.asyncness {
        errors.at(token, "an operator is not `async`: remove the word");
    }
    if let Some(token) = &signature.constness {
        errors.at(token, "the trait's function is not `const`: remove the word");
    }
    if let Safety::Unsafe(token) = &signature.safety {
        errors.at(token, "an operator is safe code: remove the word");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "an operator has no `extern`: remove it");
    }
    if !signature.generics.params.is_empty() {
        errors.at(&signature.generics, "the trait's function has no generic parameters: put them on the impl");
    }
    let expected = if name == "combine" { 2 } else { 1 };
    let values: Vec<_> = signature.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).collect();
    if values.len() != expected {
        let instead = match name.to_string().as_str() {
            "lift" => "`fn lift(x: Input) -> State`",
            "project" => "`fn project(s: State) -> Output`",
            _ => "`fn combine(a: T, b: T) -> T`",
        };
        if signature.inputs.is_empty() {
            errors.at(name, format!("takes {expected} values: {instead}"));
        } else {
            errors.at(&signature.inputs, format!("takes {expected} values: {instead}"));
        }
    }
    for input in &signature.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                if !matches!(receiver.kind, syn::ReceiverKind::Reference(_, _, None)) {
                    errors.at(receiver, "an operator is read, never changed: `&self`, or no `self` at all");
                }
            }
            FnArg::Typed(typed) => {
                if let syn::Type::Reference(reference) = &*typed.ty {
                    errors.at(reference, "elements are handed over by value: remove the `&`");
                }
                pattern(&typed.pat, errors);
            }
        }
    }
    if matches!(signature.output, syn::ReturnType::Default) {
        errors.at(name, format!("`{name}` must return a value: add `-> T`"));
    }
}

/// Patterns of `let` and of parameters: names, structs, and `_`.
fn pattern(pat: &Pat, errors: &mut Errors) {
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

struct Body<'a> {
    errors: &'a mut Errors,
    generics: &'a Generics,
    /// The name of a function that must not call itself.
    own_name: Option<&'a syn::Ident>,
}

impl<'ast> Visit<'ast> for Body<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        self.errors.at(attribute, "attributes inside an operator are not carried to the GPU: remove it");
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for statement in &block.stmts {
            match statement {
                Stmt::Item(item) => {
                    self.errors.at(item, "items cannot stand inside an operator: move it out of the function");
                }
                Stmt::Macro(statement) => self.macro_call(&statement.mac),
                Stmt::Local(local) => self.visit_local(local),
                Stmt::Expr(expr, _) => self.visit_expr(expr),
            }
        }
    }

    fn visit_local(&mut self, local: &'ast Local) {
        local.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
        pattern(&local.pat, self.errors);
        if let Pat::Type(typed) = &local.pat {
            match (&*typed.ty, strip_type(&local.pat)) {
                (syn::Type::Tuple(types), Pat::Tuple(_)) => types.elems.iter().for_each(|ty| self.visit_type(ty)),
                (ty, _) => self.visit_type(ty),
            }
        }
        let Some(init) = &local.init else {
            if let Pat::Tuple(names) = strip_type(&local.pat) {
                self.errors.at(names, "declare the names one by one: `let x: f32;`");
            }
            return;
        };
        if let Some((token, _)) = &init.diverge {
            self.errors.at(token, "`let … else` is outside the operator language: use `if`");
        }
        match (strip_type(&local.pat), &*init.expr) {
            (Pat::Tuple(_), Expr::Tuple(tuple)) => tuple.elems.iter().for_each(|item| self.visit_expr(item)),
            (Pat::Tuple(pat), expr) => self.errors.at(
                expr,
                format!(
                    "a tuple can only be taken apart where it is written: `let {} = (…, …);`",
                    pat.to_token_stream()
                ),
            ),
            (_, expr) => self.visit_expr(expr),
        }
    }

    fn visit_expr(&mut self, expr: &'ast Expr) {
        let message = match expr {
            Expr::Reference(_) | Expr::RawAddr(_) => "there are no references in an operator: use the value itself",
            Expr::Unary(unary) if matches!(unary.op, UnOp::Deref(_)) => {
                "there are no references in an operator: remove the `*`"
            }
            Expr::Closure(_) => "closures are outside the operator language: write the expression in place",
            Expr::Unsafe(_) => "`unsafe` is outside the operator language: write it in safe Rust",
            Expr::Async(_) | Expr::Await(_) => {
                "`async` is outside the operator language: an operator is a plain computation"
            }
            Expr::Try(_) | Expr::TryBlock(_) => "`?` is outside the operator language: an operator always has a value",
            Expr::Yield(_) => "`yield` is outside the operator language",
            Expr::Const(_) => "move the constant out of the function, and name it here",
            Expr::Let(_) => "`if let` is outside the operator language: use `match`, or compare with `==`",
            Expr::Infer(_) => "`_` is no value here",
            Expr::Block(block) if block.label.is_some() => {
                self.errors
                    .at(&block.label, "labelled blocks are outside the operator language: use `if`, or a `loop`");
                return self.visit_block(&block.block);
            }
            Expr::Range(_) => "a range stands only in `for … in …`: compare with `<` instead",
            Expr::Tuple(tuple) if !tuple.elems.is_empty() => {
                "tuples are outside the operator language: make a struct with `#[scan_element]`, or use two `let`s"
            }
            Expr::Verbatim(_) => "outside the operator language",
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) | Lit::Byte(_) => return,
                Lit::Char(_) => "there is no `char` in an operator: use a byte, `b'x'`",
                _ => "there is no text in an operator: use numbers",
            },
            Expr::Macro(call) => return self.macro_call(&call.mac),
            Expr::Call(call) => return self.call(call),
            Expr::MethodCall(call) => return self.method_call(call),
            Expr::Path(path) => {
                if path.path.is_ident("self") {
                    "the operator's fields are read one by one: `self.field`"
                } else {
                    return;
                }
            }
            Expr::Field(field) if matches!(&*field.base, Expr::Path(path) if path.path.is_ident("self")) => return,
            Expr::ForLoop(for_loop) => {
                pattern(&for_loop.pat, self.errors);
                match range_of(&for_loop.expr) {
                    Some(range) => {
                        range.start.iter().chain(range.end.iter()).for_each(|bound| self.visit_expr(bound));
                        if range.end.is_none() || range.start.is_none() {
                            self.errors.at(range, "a `for` needs both ends of its range: `0..n`, or write `loop`");
                        }
                    }
                    None => self.errors.at(&for_loop.expr, "a `for` in an operator runs over a range: `for i in 0..n`"),
                }
                return self.visit_block(&for_loop.body);
            }
            Expr::Match(matching) => {
                match &*matching.expr {
                    Expr::Tuple(tuple) => tuple.elems.iter().for_each(|item| self.visit_expr(item)),
                    scrutinee => self.visit_expr(scrutinee),
                }
                for arm in &matching.arms {
                    arm.attrs.iter().for_each(|attribute| self.visit_attribute(attribute));
                    pattern(&arm.pat, self.errors);
                    if let Pat::Guard(guard) = &arm.pat {
                        self.visit_expr(&guard.guard);
                    }
                    self.visit_expr(&arm.body);
                }
                return;
            }
            Expr::Assign(assign) => {
                match &*assign.left {
                    Expr::Infer(_) => {}
                    Expr::Tuple(tuple) => self.errors.at(tuple, "assign one by one, through a `let` where they swap"),
                    place => self.visit_expr(place),
                }
                return self.visit_expr(&assign.right);
            }
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_) | BinOp::Or(_)) => {
                return visit::visit_expr(self, expr);
            }
            _ => return visit::visit_expr(self, expr),
        };
        self.errors.at(expr, message);
    }

    fn visit_type(&mut self, ty: &'ast syn::Type) {
        match ty {
            syn::Type::Infer(_) => self.errors.at(ty, "write the type out: the GPU's text needs it"),
            syn::Type::Reference(_) | syn::Type::Ptr(_) => {
                self.errors.at(ty, "there are no references in an operator: use the value's type");
            }
            syn::Type::TraitObject(_) | syn::Type::ImplTrait(_) | syn::Type::FnPtr(_) => {
                self.errors
                    .at(ty, "an operator calls what it names: there are no trait objects and no function pointers");
            }
            syn::Type::Tuple(_) => {
                self.errors.at(ty, "tuples are outside the operator language: make a `#[scan_element]` struct")
            }
            syn::Type::Slice(_) => {
                self.errors.at(ty, "an operator's values have a fixed size: use an array, `[f32; 4]`")
            }
            syn::Type::Path(path)
                if path.path.segments.last().is_some_and(|last| HEAP_TYPES.iter().any(|heap| last.ident == heap)) =>
            {
                self.errors
                    .at(ty, "there is no heap on the GPU: use an array, `[f32; 4]`, or a `#[scan_element]` struct");
            }
            _ => visit::visit_type(self, ty),
        }
    }
}

fn strip_type(pat: &Pat) -> &Pat {
    match pat {
        Pat::Type(typed) => strip_type(&typed.pat),
        Pat::Paren(paren) => strip_type(&paren.pat),
        pat => pat,
    }
}

impl Body<'_> {
    fn macro_call(&mut self, mac: &syn::Macro) {
        if mac.path.is_ident("assert") || mac.path.is_ident("debug_assert") {
            match asserted(mac) {
                Ok(condition) => self.visit_expr(&condition),
                Err(error) => self.errors.push(error),
            }
            return;
        }
        let name = mac.path.to_token_stream().to_string().replace(' ', "");
        let instead = match name.as_str() {
            "assert_eq" => "`assert!(a == b)`",
            "assert_ne" => "`assert!(a != b)`",
            "panic" | "unreachable" | "todo" | "unimplemented" => "`assert!(condition)` before the value",
            "matches" => "`match x { … => true, _ => false }`",
            "vec" => "an array, `[a, b]`",
            _ => {
                let message = format!(
                    "`{name}!` is outside the operator language: the only macros are `assert!` and `debug_assert!`"
                );
                self.errors.at(&mac.path, message);
                return;
            }
        };
        self.errors.at(&mac.path, format!("`{name}!` is outside the operator language: write {instead}"));
    }

    fn method_call(&mut self, call: &ExprMethodCall) {
        self.visit_expr(&call.receiver);
        call.args.iter().for_each(|argument| self.visit_expr(argument));
        let name = call.method.to_string();
        if name == "len" && call.args.is_empty() {
            return;
        }
        match language::find(&name) {
            None => self.errors.at(&call.method, language::unknown(&name)),
            Some(method) if method.arguments != call.args.len() => {
                let takes = method.arguments;
                self.errors.at(&call.method, format!("`{name}` takes {takes} {}", plural(takes)));
            }
            Some(_) => {
                if let Some(turbofish) = &call.turbofish {
                    self.errors.at(turbofish, "numeric methods have no type arguments: remove them");
                }
            }
        }
    }

    fn call(&mut self, call: &ExprCall) {
        call.args.iter().for_each(|argument| self.visit_expr(argument));
        let Expr::Path(function) = &*call.func else {
            self.errors.at(&call.func, "outside the operator language: a function is called by its name");
            return;
        };
        let path = &function.path;
        let Some(last) = path.segments.last() else { return };
        let name = last.ident.to_string();
        let of_type = match path.segments.first() {
            Some(first) if path.segments.len() == 3 && first.ident == "half" => is_primitive(&path.segments[1].ident),
            Some(first) if path.segments.len() == 2 => {
                is_primitive(&first.ident)
                    || self.generics.type_params().any(|parameter| parameter.ident == first.ident)
            }
            _ => false,
        };
        if of_type && language::conversion(&name).is_some() && call.args.len() == 1 {
            return;
        }
        match method_of_type(path) {
            Some(method) if of_type => {
                let takes = method.arguments + 1;
                if call.args.len() != takes {
                    self.errors.at(&call.args, format!("`{name}` takes {takes} values"));
                }
            }
            _ if of_type => self.errors.at(&last.ident, language::unknown(&name)),
            _ if name.starts_with(|first: char| first.is_uppercase()) => {}
            _ => self.helper_call(function, &name),
        }
    }

    fn helper_call(&mut self, function: &syn::ExprPath, name: &str) {
        let path = &function.path;
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let of_library = path.leading_colon.is_none() && matches!(segments[0].as_str(), "std" | "core" | "alloc");
        let of_type =
            segments.len() > 1 && segments[segments.len() - 2].starts_with(|first: char| first.is_uppercase());
        let message = if function.qself.is_some() {
            "outside the operator language: call a method on its value, `a.max(b)`".to_owned()
        } else if let [_, .., owner, _] = segments.as_slice()
            && PRIMITIVES.contains(&owner.as_str())
        {
            format!("write `{owner}::{name}`, without a path before it")
        } else if of_library && language::find(name).is_some() {
            format!("an operator cannot call the standard library's functions: write the method, `a.{name}(…)`")
        } else if of_library {
            "an operator cannot call the standard library's functions: write the arithmetic out".to_owned()
        } else if of_type && HEAP_TYPES.contains(&segments[segments.len() - 2].as_str()) {
            "there is no heap on the GPU: use an array, `[0.0_f32; 4]`, or a `#[scan_element]` struct".to_owned()
        } else if of_type {
            format!(
                "functions of a type are outside the operator language: make `{name}` a function of its own, marked `#[scan_fn]`"
            )
        } else if segments.len() == 1 && self.own_name.is_some_and(|own| own == name) {
            "a function on the GPU cannot call itself: write a loop".to_owned()
        } else {
            return;
        };
        self.errors.at(path, message);
    }
}

fn plural(arguments: usize) -> &'static str {
    if arguments == 1 { "argument" } else { "arguments" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{attribute, parse};
    use quote::quote;

    fn messages(item: proc_macro2::TokenStream) -> Vec<String> {
        let mut errors = Errors::default();
        let options = attribute::options(quote!(), &[], &mut errors);
        if let Some(mut parsed) = parse::operator(options, item, &mut errors) {
            operator(&mut parsed, &mut errors);
        }
        errors.messages()
    }

    fn body(body: proc_macro2::TokenStream) -> Vec<String> {
        messages(quote! {
            impl<T: Number> ScanOp for Op<T> {
                type Element = T;
                const IDENTITY: T = T::ZERO;
                fn combine(a: T, b: T) -> T { #body }
            }
        })
    }

    #[test]
    fn what_the_language_has_is_no_error() {
        let fine = body(quote! {
            let (x, y): (T, u32) = (a, 3);
            let P { p, .. } = x;
            assert!(p < b, "{}", b);
            for i in (0..y).rev() { if i == 3 { continue; } }
            let z = f32::max(T::from(p), 2.0) as u8;
            match (z, y) { (0..=3, n) if n > 1 => a, _ => module::Tuple(b).0 }
        });
        assert_eq!(fine, Vec::<String>::new());
    }

    #[test]
    fn all_errors_come_at_once() {
        let errors = body(quote! {
            let r = &a;
            let s = a.sqr();
            helper(b)?
        });
        assert_eq!(errors.len(), 3, "{errors:?}");
    }

    #[test]
    fn every_part_that_is_missing_is_named() {
        let errors = messages(quote! {
            impl ScanOp for Op { type Input = u8; type State = u32; }
        });
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].contains("fn lift(x: u8) -> u32"));
        assert!(errors[1].contains("fn combine(a: u32, b: u32) -> u32"));
    }

    #[test]
    fn a_method_of_the_wrong_arity() {
        assert_eq!(body(quote!(a.clamp(b))), ["`clamp` takes 2 arguments"]);
        assert_eq!(body(quote!(f32::max(a))), ["`max` takes 2 values"]);
    }
}
