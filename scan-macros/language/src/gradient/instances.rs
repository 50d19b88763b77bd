//! The instances of generic operators and structs that have a gradient, each with its types in place of the parameters.
//!
//! The numbers of components are lengths of arrays, which stable Rust does not compute of type parameters. Of an
//! instance they are known.

use super::Gradient;
use crate::errors::Errors;
use crate::operator::{Function, Operator, Stepped};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::BTreeMap;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Expr, ExprLit, GenericArgument, GenericParam, Generics, ItemStruct, Lit, LitInt, Pat, Path, PathArguments, Type,
};

/// An operator whose gradient is derived: the operator itself, or an instance of it.
pub(super) fn of_operator(operator: &Operator, errors: &mut Errors) -> Vec<Operator> {
    let Some(gradient) = &operator.gradient else { return Vec::new() };
    let (generics, self_ty) = (&operator.generics, &operator.self_ty);
    let found = bindings(generics, self_ty, gradient, "operator", errors);
    let instances = found.into_iter().map(|(instance, mut to)| {
        let functions = operator.functions.iter().map(|function| {
            let (mut signature, mut block) = (function.signature.clone(), function.block.clone());
            to.visit_signature_mut(&mut signature);
            to.visit_block_mut(&mut block);
            Function { attributes: Vec::new(), signature, block }
        });
        let functions = functions.collect();
        let constant = |to: &mut Bindings, (ty, value): &(Type, Expr)| {
            let (ty, mut value) = (to.ty(ty), value.clone());
            to.visit_expr_mut(&mut value);
            (ty, value)
        };
        let parameters = gradient.parameters.iter().map(|(member, ty)| (member.clone(), to.ty(ty))).collect();
        Operator {
            krate: operator.krate.clone(),
            attributes: Vec::new(),
            generics: Generics::default(),
            trait_path: operator.trait_path.clone(),
            self_ty: instance,
            name: operator.name.clone(),
            declare: None,
            input: to.ty(&operator.input),
            state: to.ty(&operator.state),
            output: to.ty(&operator.output),
            stepped: operator
                .stepped
                .as_ref()
                .map(|stepped| Stepped { carry: to.ty(&stepped.carry), start: constant(&mut to, &stepped.start) }),
            identity: operator.identity.as_ref().map(|identity| constant(&mut to, identity)),
            functions,
            advance: None,
            fields: operator.fields.clone(),
            names_identity: operator.names_identity,
            names_start: operator.names_start,
            laws: None,
            gradient: Some(Gradient { parameters, instances: Vec::new(), ..gradient.clone() }),
            vectorized: None,
        }
    });
    instances.collect()
}

/// A struct whose changes are elements: the struct itself, or an instance of it, each with its type.
pub(super) fn of_struct(item: &ItemStruct, gradient: &Gradient, errors: &mut Errors) -> Vec<(Type, ItemStruct)> {
    let (ident, generics) = (&item.ident, &item.generics);
    let arguments = generics.split_for_impl().1;
    let self_ty: Type = syn::parse_quote!(#ident #arguments);
    let found = bindings(generics, &self_ty, gradient, "struct", errors);
    let instances = found.into_iter().map(|(instance, mut to)| {
        let mut item = item.clone();
        item.generics = Generics::default();
        item.fields.iter_mut().for_each(|field| to.visit_type_mut(&mut field.ty));
        (instance, item)
    });
    instances.collect()
}

/// The instances, each with its arguments for the parameters.
fn bindings(
    generics: &Generics,
    self_ty: &Type,
    gradient: &Gradient,
    kind: &str,
    errors: &mut Errors,
) -> Vec<(Type, Bindings)> {
    let name = self_ty.to_token_stream().to_string().replace(' ', "");
    match (generics.params.is_empty(), gradient.instances.as_slice()) {
        (true, []) => vec![(self_ty.clone(), Bindings::default())],
        (true, [first, ..]) => {
            errors.at(first, format!("`{name}` is not generic: remove this, and its gradient is derived"));
            Vec::new()
        }
        (false, []) => {
            let of = name.split('<').next().unwrap_or_default();
            errors.at(
                &gradient.name,
                format!(
                    "the gradient of a generic {kind} is derived for the types that you name: \
                     `gradient({of}<f32>, {of}<f64>)`"
                ),
            );
            Vec::new()
        }
        (false, instances) => instances
            .iter()
            .filter_map(|instance| {
                let found = Bindings::of(generics, self_ty, instance);
                if found.is_none() {
                    errors.at(
                        instance,
                        format!("this is not an instance of `{name}`: write it with a type for each parameter"),
                    );
                }
                Some((instance.clone(), found?))
            })
            .collect(),
    }
}

/// The arguments of an instance for the parameters of its item.
#[derive(Default)]
struct Bindings {
    arguments: BTreeMap<String, GenericArgument>,
    /// The types with arguments, by their names: a struct expression leaves the arguments out.
    spelled: BTreeMap<String, Path>,
}

impl Bindings {
    fn of(generics: &Generics, self_ty: &Type, instance: &Type) -> Option<Self> {
        let (written, found) = (last_arguments(self_ty)?, last_arguments(instance)?);
        if written.0 != found.0 || written.1.len() != found.1.len() {
            return None;
        }
        let mut arguments = BTreeMap::new();
        for (parameter, argument) in written.1.into_iter().zip(found.1) {
            match name_of(&parameter) {
                Some(name) => {
                    let argument = with_suffix(generics, &name, argument);
                    arguments.insert(name, argument);
                }
                None if parameter == argument => {}
                None => return None,
            }
        }
        let bound = |parameter: &GenericParam| match parameter {
            GenericParam::Type(parameter) => arguments.contains_key(&parameter.ident.to_string()),
            GenericParam::Const(parameter) => arguments.contains_key(&parameter.ident.to_string()),
            GenericParam::Lifetime(_) => false,
        };
        let all = generics.params.iter().all(bound);
        all.then_some(Bindings { arguments, spelled: BTreeMap::new() })
    }

    /// A type of the operator. Its structs with arguments are remembered.
    fn ty(&mut self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        self.visit_type_mut(&mut ty);
        ty
    }

    fn argument(&self, ident: &Ident) -> Option<&GenericArgument> {
        self.arguments.get(&ident.to_string())
    }

    /// The arguments of a struct whose expression leaves them out.
    fn complete(&self, path: &mut Path) {
        if let Some(last) = path.segments.last_mut()
            && last.arguments.is_none()
            && let Some(spelled) = self.spelled.get(&last.ident.to_string())
        {
            *path = spelled.clone();
        }
    }
}

/// The name of a type, and its arguments.
fn last_arguments(ty: &Type) -> Option<(String, Vec<GenericArgument>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(found) => Some((last.ident.to_string(), found.args.iter().cloned().collect())),
        _ => None,
    }
}

/// An integer for a constant, with the type of the constant: in a body it may be the only one that has a type.
fn with_suffix(generics: &Generics, name: &str, argument: GenericArgument) -> GenericArgument {
    let parameter = generics.const_params().find(|parameter| parameter.ident == name);
    match (&argument, parameter) {
        (GenericArgument::Const(Expr::Lit(ExprLit { lit: Lit::Int(number), .. })), Some(parameter))
            if number.suffix().is_empty() =>
        {
            let digits = format!("{}_{}", number.base10_digits(), parameter.ty.to_token_stream());
            let number = LitInt::new(&digits, number.span());
            GenericArgument::Const(syn::parse_quote!(#number))
        }
        _ => argument,
    }
}

/// The name of a parameter that is an argument: `T`, or `N`.
fn name_of(argument: &GenericArgument) -> Option<String> {
    let path = match argument {
        GenericArgument::Type(Type::Path(path)) if path.qself.is_none() => &path.path,
        GenericArgument::Const(Expr::Path(path)) => &path.path,
        _ => return None,
    };
    path.get_ident().map(Ident::to_string)
}

impl VisitMut for Bindings {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Path(path) = ty
            && path.qself.is_none()
            && let Some(name) = path.path.get_ident()
            && let Some(argument) = self.argument(name)
        {
            let argument = argument.clone();
            if let Ok(bound) = syn::parse2(argument.to_token_stream()) {
                *ty = bound;
            }
            return;
        }
        visit_mut::visit_type_mut(self, ty);
        if let Type::Path(path) = ty
            && path.qself.is_none()
            && let Some(last) = path.path.segments.last()
            && matches!(last.arguments, PathArguments::AngleBracketed(_))
        {
            let mut spelled = path.path.clone();
            if let Some(last) = spelled.segments.last_mut()
                && let PathArguments::AngleBracketed(arguments) = &mut last.arguments
            {
                arguments.colon2_token = Some(Default::default());
            }
            self.spelled.insert(last.ident.to_string(), spelled);
        }
    }

    fn visit_generic_argument_mut(&mut self, argument: &mut GenericArgument) {
        // The parser takes the name of a constant for a type.
        if let Some(bound) = name_of(argument).and_then(|name| self.arguments.get(&name)) {
            *argument = bound.clone();
            return;
        }
        visit_mut::visit_generic_argument_mut(self, argument);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Path(path) if path.qself.is_none() => {
                if let Some(bound) = path.path.get_ident().and_then(|name| self.argument(name)) {
                    let tokens: TokenStream = bound.to_token_stream();
                    *expr = syn::parse_quote!(#tokens);
                }
            }
            Expr::Struct(literal) => self.complete(&mut literal.path),
            _ => {}
        }
    }

    fn visit_pat_mut(&mut self, pat: &mut Pat) {
        visit_mut::visit_pat_mut(self, pat);
        match pat {
            Pat::Struct(fields) => self.complete(&mut fields.path),
            Pat::TupleStruct(fields) => self.complete(&mut fields.path),
            _ => {}
        }
    }

    /// `T::ONE`
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        if path.segments.len() == 2
            && let Some(GenericArgument::Type(Type::Path(bound))) = self.argument(&path.segments[0].ident)
            && bound.qself.is_none()
        {
            let (owner, last) = (&bound.path, &path.segments[1]);
            *path = syn::parse_quote!(#owner::#last);
        }
    }

    fn visit_expr_call_mut(&mut self, call: &mut syn::ExprCall) {
        visit_mut::visit_expr_call_mut(self, call);
        // A struct of fields without names.
        if let Expr::Path(function) = &mut *call.func
            && function.path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
        {
            self.complete(&mut function.path);
        }
    }
}

/// Traits whose methods generic code calls, and an instance by the name alone.
pub(super) fn scope(krate: &Path) -> TokenStream {
    quote!(use #krate::ops::Number as _;)
}
