//! The writer of an operator's backward pass: its names, types and constants.

use super::halves::Halves;
use super::names::Names;
use super::own_self::OwnSelf;
use super::{Gradient, carried};
use crate::operator::{Function, Operator};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::collections::BTreeMap;
use syn::visit_mut::VisitMut;
use syn::{Member, Type};

pub(super) struct Writer<'a> {
    pub(super) operator: &'a Operator,
    pub(super) gradient: &'a Gradient,
    pub(super) halves: Halves<'a>,
    pub(super) names: Names,
    /// The names of the two operators.
    pub(super) operators: [Ident; 2],
    /// The name of the struct of the parameters.
    pub(super) parameters: Ident,
    /// The operator's functions, with its types in place of `Self`'s.
    pub(super) functions: Vec<Function>,
    pub(super) types: BTreeMap<&'static str, Type>,
}

/// A component by which values change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Carry,
    Input,
    Parameter,
}

impl<'a> Writer<'a> {
    pub(super) fn new(operator: &'a Operator, gradient: &'a Gradient) -> Self {
        let span = gradient.name.span();
        let named = |of: &str| Ident::new(&format!("{}{of}", operator.name), span);
        let Operator { input, state, output, .. } = operator;
        let of_trait = [("Input", input), ("State", state), ("Output", output), ("Carry", carried(operator))];
        let types: BTreeMap<_, _> = of_trait.into_iter().map(|(name, ty)| (name, ty.clone())).collect();
        let mut functions: Vec<Function> = Vec::new();
        for function in &operator.functions {
            let mut own = OwnSelf { self_ty: &operator.self_ty, types: &types };
            let (mut signature, mut block) = (function.signature.clone(), function.block.clone());
            own.visit_signature_mut(&mut signature);
            own.visit_block_mut(&mut block);
            functions.push(Function { attributes: Vec::new(), signature, block });
        }
        let tokens = functions.iter().map(|function| {
            let (signature, block) = (&function.signature, &function.block);
            quote!(#signature #block)
        });
        let tokens: Vec<TokenStream> = tokens.collect();
        let spelled = types.values().chain(gradient.parameters.iter().map(|(_, ty)| ty)).map(ToTokens::to_token_stream);
        let halves = Halves::new(&operator.krate, tokens.iter().cloned().chain(spelled));
        let names = Names::beside(tokens);
        let (operators, parameters) = ([named("Gradient"), named("States")], named("Parameters"));
        Writer { operator, gradient, halves, names, operators, parameters, functions, types }
    }
}

impl Writer<'_> {
    pub(super) fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.signature.ident == name)
    }

    /// The operator whose outputs are the carries.
    pub(super) fn states(&self) -> TokenStream {
        let Operator { trait_path, self_ty, input, state, identity, stepped, .. } = self.operator;
        let name = &self.operators[1];
        let carry = carried(self.operator);
        let mut own = OwnSelf { self_ty, types: &self.types };
        let mut constant = |name: &str, (ty, value): &(Type, syn::Expr)| {
            let (name, mut ty, mut value) = (format_ident!("{name}"), ty.clone(), value.clone());
            own.visit_type_mut(&mut ty);
            own.visit_expr_mut(&mut value);
            quote!(const #name: #ty = #value;)
        };
        let identity = identity.as_ref().map(|identity| constant("IDENTITY", identity));
        let start = stepped.as_ref().map(|stepped| constant("START", &stepped.start));
        let stepped = stepped.as_ref().map(|_| quote!(type Carry = #carry;));
        let functions = self.functions.iter().filter(|function| {
            let name = function.signature.ident.to_string();
            name != "emit" && name != "project"
        });
        let functions = functions.map(|Function { signature, block, .. }| quote!(#signature #block));
        quote! {
            impl #trait_path for #name<#self_ty> {
                type Input = #input;
                type State = #state;
                #stepped
                type Output = #carry;
                #identity
                #start
                #(#functions)*
            }
        }
    }

    /// The struct of the parameters.
    pub(super) fn parameters(&self) -> TokenStream {
        let krate = &self.operator.krate;
        let name = &self.parameters;
        let fields = self.gradient.parameters.iter().map(|(member, ty)| {
            let (field, ty) = (field_of(member), self.halves.ty(ty));
            quote!(pub #field: #ty)
        });
        let item = quote! {
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub struct #name {
                #(#fields),*
            }
        };
        crate::element::scan_element(quote!(crate = #krate, gradient), item)
    }

    pub(super) fn count(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::COUNT)
    }

    pub(super) fn zero(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::ZERO)
    }

    pub(super) fn scalar(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::Scalar)
    }

    pub(super) fn private(&self) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(#krate::gradient::private)
    }

    /// The type of what steps make of an adjoint.
    pub(super) fn map_type(&self) -> TokenStream {
        let (carry, krate) = (carried(self.operator), &self.operator.krate);
        let count = self.count(carry);
        match self.gradient.diagonal {
            false => quote!(#krate::gradient::AdjointMap<#carry, { #count }>),
            true => quote!(#krate::gradient::DiagonalMap<#carry>),
        }
    }

    /// The parts of an input of the backward pass, under their names.
    pub(super) fn items(&self) -> TokenStream {
        let [item, before, input, gradient] = ["item", "before", "input", "gradient"].map(|name| self.names.own(name));
        let of_output = self.halves.widened(&self.operator.output, quote!(#item.gradient));
        quote!(let #before = #item.before; let #input = #item.x; let #gradient = #of_output;)
    }

    pub(super) fn direction_name(&self, direction: Direction) -> Ident {
        self.names.own(match direction {
            Direction::Carry => "of_before",
            Direction::Input => "of_input",
            Direction::Parameter => "of_parameters",
        })
    }

    /// The element whose component of this index is 1.
    pub(super) fn direction(&self, ty: &impl ToTokens, index: &Ident) -> TokenStream {
        let (private, zero, scalar, krate) = (self.private(), self.zero(ty), self.scalar(ty), &self.operator.krate);
        quote!(#private::add_at::<#ty>(#zero, #index, <#scalar as #krate::ops::Number>::ONE))
    }
}

/// The field of a parameter in the struct of their gradients.
pub(super) fn field_of(member: &Member) -> Ident {
    match member {
        Member::Named(ident) => ident.clone(),
        Member::Unnamed(index) => format_ident!("p{}", index.index),
    }
}
