//! The item: an impl block or a function, to an [`Operator`].

use crate::advance;
use crate::attribute::Options;
use crate::errors::Errors;
use crate::groups;
use crate::hygiene;
use crate::language::{self, NO_OPTION_TYPE};
use crate::operator::{Declare, Function, Operator, is_of_trait};
use crate::stepped;
use crate::syntax::asserted;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, GenericParam, Ident, ImplItem, Item, ItemFn, ItemImpl, Member, Path, Type, parse_quote};

/// The outline of the operator, or `None` where the item has none.
pub(crate) fn operator(options: Options, item: TokenStream, errors: &mut Errors) -> Option<Operator> {
    match groups::item(item) {
        Ok(Item::Impl(item)) => impl_form(options, item, errors),
        Ok(Item::Fn(item)) => function_form(options, item, errors),
        Ok(item) => {
            errors.at(
                first_token(&item),
                "`#[scan_op]` stands on an `impl ScanOp for …` block, or on a function of two elements",
            );
            None
        }
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

fn first_token(item: &impl ToTokens) -> TokenStream {
    item.to_token_stream()
        .into_iter()
        .find(|token| !matches!(token, proc_macro2::TokenTree::Punct(_)))
        .into_iter()
        .collect()
}

fn impl_form(options: Options, mut item: ItemImpl, errors: &mut Errors) -> Option<Operator> {
    if let Some((name, _)) = &options.identity {
        errors.at(name, "in an impl, write the identity inside it: `const IDENTITY: T = …;`");
    }
    if let Some((name, _)) = &options.name {
        errors.at(name, "in an impl, the operator is the type that it is for, and has its name");
    }
    let trait_path = match &item.trait_ {
        Some((path, _)) if path.segments.last().is_some_and(|last| last.ident == "ScanOp") => path.clone(),
        Some((path, _)) => {
            errors.at(path, "`#[scan_op]` stands on an impl of `ScanOp`");
            return None;
        }
        None => {
            // The rest is checked as if it were there, so that the operator exists where it is used.
            errors.at(&item.self_ty, format!("name the trait: `impl ScanOp for {}`", item.self_ty.to_token_stream()));
            let krate = &options.krate;
            parse_quote!(#krate::ScanOp)
        }
    };
    for parameter in &item.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.at(lifetime, "an operator holds values, not borrows: a lifetime has no place in it");
        }
    }
    ElementIsState.visit_item_impl_mut(&mut item);

    let name = type_name(&item.self_ty, errors);
    let mut types: [Option<Type>; 5] = Default::default();
    let mut type_names: [Option<Ident>; 5] = Default::default();
    let mut identity = None;
    let mut start = None;
    let mut functions: Vec<Function> = Vec::new();
    for item in item.items {
        match item {
            ImplItem::Type(item) => {
                match ["Element", "Input", "State", "Output", "Carry"].iter().position(|name| item.ident == name) {
                    Some(index) => {
                        if is_option(&item.ty) {
                            errors.at(&item.ty, NO_OPTION_TYPE);
                        }
                        types[index] = Some(if is_option(&item.ty) { parse_quote!(bool) } else { item.ty });
                        type_names[index] = Some(item.ident);
                    }
                    None => errors.at(
                        &item.ident,
                        format!(
                            "no type `{}` in `ScanOp`: there are `Element`, or `Input`, `State` and `Output`",
                            item.ident
                        ),
                    ),
                }
            }
            ImplItem::Const(item) if item.ident == "IDENTITY" => identity = Some((item.ty, item.expr)),
            ImplItem::Const(item) if item.ident == "START" => start = Some((item.ident, item.ty, item.expr)),
            ImplItem::Const(item) => errors.at(
                &item.ident,
                "only `IDENTITY`, and `START` of a stepped operator, belong here: move other constants to an `impl` block of the type, or out of it",
            ),
            ImplItem::Fn(item) => {
                let ident = item.sig.ident.clone();
                if ident == "identity" {
                    errors.at(&ident, "write the identity as a constant: `const IDENTITY: T = …;`");
                } else if !is_of_trait(&ident.to_string()) {
                    errors.at(
                        &ident,
                        format!(
                            "no function `{ident}` in `ScanOp`: there are `combine`, `lift` and `project` where needed, and \
                             `append`, `prepend`, `apply`, `step` and `emit`, or `advance`"
                        ),
                    );
                } else if functions.iter().any(|function| function.signature.ident == ident) {
                    errors.at(&ident, format!("`{ident}` is here twice"));
                } else {
                    functions.push(Function { attributes: item.attrs, signature: item.sig, block: item.block });
                }
            }
            other => errors.at(other, "outside an operator: there are types, `IDENTITY`, and functions"),
        }
    }

    let advance = advance::split(&mut functions, errors);
    let [element, input, state, output, carry] = types;
    let [_, input_name, _, output_name, carry_name] = type_names;
    let self_ty = *item.self_ty;
    let carry_at = carry_name.clone();
    let typed = state.is_some() || element.is_some();
    if !typed {
        let written = stepped::Written {
            carry: carry_name.clone().zip(carry.clone()),
            start: start.take(),
            functions: &functions,
        };
        let of_element = || (self_ty.to_token_stream(), format!("what does `{name}` combine? Add `type Element = …;`"));
        let (at, message) = written.stateless(&name).unwrap_or_else(of_element);
        errors.at(at, message);
        // Any type will do from here on.
        identity = None;
        functions.clear();
    }
    let advance = advance.filter(|_| typed);
    let state = state.or_else(|| element.clone()).unwrap_or_else(|| parse_quote!(bool));
    let has = |name: &str| functions.iter().any(|function| function.signature.ident == name);
    let [input, output] =
        [input, output].map(|ty| ty.or_else(|| element.clone()).filter(|_| typed).unwrap_or_else(|| state.clone()));
    let written = stepped::Written { carry: carry_name.zip(carry), start, functions: &functions };
    let stepped = if typed { written.stepped(&name, identity.is_some(), &state, errors) } else { None };
    let same = |a: &Type, b: &Type| a.to_token_stream().to_string() == b.to_token_stream().to_string();
    if !same(&input, &state) && !has("lift") {
        errors.at(input_name.to_token_stream(), missing("Input", "State", "lift", &input, &state));
    }
    let (written_name, written) = match &stepped {
        Some(stepped) => ("Carry", &stepped.carry),
        None => ("State", &state),
    };
    if !same(&output, written) && !has("project") && !has("emit") {
        errors.at(
            output_name.or(carry_at).to_token_stream(),
            missing(written_name, "Output", "project", written, &output),
        );
    }
    if !has("combine") && typed && !has("step") {
        errors.at(&self_ty, format!("`{name}` has no `fn combine(a: {0}, b: {0}) -> {0}`", quote!(#state)));
    }
    let mut reads = Reads::default();
    functions.iter().for_each(|function| reads.visit_block(&hygiene::ungrouped(&function.block)));
    // One constant may be made of the other.
    identity.iter().for_each(|(_, value)| reads.visit_expr(value));
    stepped.iter().for_each(|stepped| reads.visit_expr(&stepped.start.1));
    Some(Operator {
        krate: options.krate,
        attributes: item.attrs,
        generics: item.generics,
        trait_path,
        self_ty,
        name,
        declare: None,
        input,
        state,
        output,
        stepped,
        identity,
        functions,
        advance,
        fields: reads.fields,
        names_identity: reads.identity,
        names_start: reads.start,
        laws: options.laws,
        gradient: options.gradient,
        vectorized: options.vectorized,
    })
}

/// Whether a type holds a value that may be missing. It is reported; any type will do in its place from there on.
fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if language::is_option(path))
}

fn missing(from: &str, to: &str, function: &str, from_ty: &Type, to_ty: &Type) -> String {
    format!(
        "`{from}` and `{to}` differ, so the operator needs `fn {function}(x: {}) -> {}`",
        from_ty.to_token_stream(),
        to_ty.to_token_stream()
    )
}

fn function_form(options: Options, item: ItemFn, errors: &mut Errors) -> Option<Operator> {
    let ident = item.sig.ident.clone();
    if !item.sig.generics.params.is_empty() {
        errors.at(
            &item.sig.generics,
            "a generic operator is written as an impl: `struct Op<T>(PhantomData<T>);` and `#[scan_op] impl<T> ScanOp for Op<T>`",
        );
        return None;
    }
    let syn::ReturnType::Type(_, state) = &item.sig.output else {
        errors.at(&ident, format!("an operator makes one element of two: `fn {ident}(a: T, b: T) -> T`"));
        return None;
    };
    let missing = is_option(state);
    let state = if missing { parse_quote!(bool) } else { (**state).clone() };
    let identity = options.identity.filter(|_| !missing).map(|(_, identity)| (state.clone(), identity));
    let declare = match options.name {
        Some((_, name)) if name == ident => {
            errors.at(&name, format!("the function is called `{ident}`: give its operator another name, such as `Op`"));
            return None;
        }
        None => Declare { attributes: item.attrs, visibility: item.vis, ident, function: None },
        Some((_, ident)) => {
            let attributes = item.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect();
            Declare { attributes, visibility: item.vis.clone(), ident, function: Some(item.clone()) }
        }
    };
    let ident = declare.ident.clone();
    let mut signature = item.sig;
    signature.ident = Ident::new("combine", signature.ident.span());
    if declare.function.is_some() {
        signature.constness = None;
    }
    let krate = options.krate;
    Some(Operator {
        trait_path: parse_quote!(#krate::ScanOp),
        krate,
        attributes: Vec::new(),
        generics: Default::default(),
        self_ty: parse_quote!(#ident),
        name: ident.to_string(),
        declare: Some(declare),
        input: state.clone(),
        output: state.clone(),
        state,
        stepped: None,
        identity,
        functions: vec![Function { attributes: Vec::new(), signature, block: *item.block }],
        advance: None,
        fields: Vec::new(),
        names_identity: false,
        names_start: false,
        laws: options.laws,
        gradient: options.gradient,
        vectorized: options.vectorized,
    })
}

fn type_name(ty: &Type, errors: &mut Errors) -> String {
    let name = match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        _ => {
            errors.at(ty, "implement `ScanOp` for a struct of your own");
            None
        }
    };
    name.unwrap_or_default()
}

/// `Self::Element` is the user's word; the trait has `State`, which is the same type.
struct ElementIsState;

impl VisitMut for ElementIsState {
    fn visit_path_mut(&mut self, path: &mut Path) {
        let mut segments = path.segments.iter_mut();
        if let (Some(first), Some(second)) = (segments.next(), segments.next())
            && first.ident == "Self"
            && second.ident == "Element"
        {
            second.ident = Ident::new("State", second.ident.span());
        }
        visit_mut::visit_path_mut(self, path);
    }
}

/// What the bodies read of the operator.
#[derive(Default)]
struct Reads {
    /// `self.field`
    fields: Vec<Member>,
    /// `Self::IDENTITY`
    identity: bool,
    /// `Self::START`
    start: bool,
}

impl<'ast> Visit<'ast> for Reads {
    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        match &*field.base {
            Expr::Path(path) if path.path.is_ident("self") => self.add(&field.member),
            _ => visit::visit_expr_field(self, field),
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<&Ident> = path.segments.iter().map(|segment| &segment.ident).collect();
        let names_own = |constant: &str| matches!(names.as_slice(), [own, name] if *own == "Self" && *name == constant);
        self.identity |= names_own("IDENTITY");
        self.start |= names_own("START");
        visit::visit_path(self, path);
    }
    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        if let Ok(condition) = asserted(mac) {
            Reads::visit_condition(self, &condition);
        }
    }
}

impl Reads {
    fn visit_condition(&mut self, condition: &Expr) {
        let mut inner = Reads::default();
        inner.visit_expr(condition);
        inner.fields.iter().for_each(|field| self.add(field));
        self.identity |= inner.identity;
        self.start |= inner.start;
    }

    fn add(&mut self, field: &Member) {
        if !self.fields.contains(field) {
            self.fields.push(field.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute;

    #[test]
    fn parameters_read_in_conditions_count_as_read() {
        let parsed = |body: TokenStream| {
            let mut errors = Errors::default();
            let options = attribute::options(quote!(), &[], &mut errors);
            let item = quote! {
                impl ScanOp for Op {
                    type Element = u32;
                    const IDENTITY: u32 = 0;
                    fn combine(&self, a: u32, b: u32) -> u32 { #body }
                }
            };
            let operator = operator(options, item, &mut errors).unwrap();
            assert!(errors.is_empty(), "{:?}", errors.messages());
            (operator.names_identity, operator.fields.len())
        };
        assert_eq!(parsed(quote!(a + b)), (false, 0));
        assert_eq!(parsed(quote!(assert!(a < self.limit); a + b)), (false, 1));
        assert_eq!(parsed(quote!(assert!(a != Self::IDENTITY); a + b)), (true, 0));
        assert_eq!(parsed(quote!(assert!(a < self.limit || b != Self::IDENTITY); assert!(a < b); a + b)), (true, 1));
    }

    #[test]
    fn constants_name_each_other() {
        let parsed = |identity: TokenStream, start: TokenStream| {
            let mut errors = Errors::default();
            let options = attribute::options(quote!(), &[], &mut errors);
            let item = quote! {
                impl ScanOp for Op {
                    type Element = u32;
                    type Carry = u32;
                    const IDENTITY: u32 = #identity;
                    const START: u32 = #start;
                    fn combine(a: u32, b: u32) -> u32 { a + b }
                    fn step(c: u32, x: u32) -> u32 { c + x }
                    fn apply(s: u32, c: u32) -> u32 { c + s }
                }
            };
            let operator = operator(options, item, &mut errors).unwrap();
            assert!(errors.is_empty(), "{:?}", errors.messages());
            (operator.names_identity, operator.names_start)
        };
        assert_eq!(parsed(quote!(0), quote!(0)), (false, false));
        assert_eq!(parsed(quote!(Self::START), quote!(0)), (false, true));
        assert_eq!(parsed(quote!(0), quote!(7 + Self::IDENTITY)), (true, false));
    }
}
