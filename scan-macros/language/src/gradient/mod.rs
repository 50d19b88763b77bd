//! `gradient`: the backward pass of an operator, as an operator of its own.
//!
//! It is source to source. The tangents of the operator's functions ([`tangent`]) in the direction of each component
//! of the carry, the input and the parameters are the columns of the Jacobians; what comes out is an `impl ScanOp` in
//! the operator language, which goes through the passes like a user's. No later pass knows of gradients.

mod element;
mod function;
mod halves;
mod instances;
mod returns;
mod rules;
mod tangent;

pub(crate) use element::components;
pub(crate) use function::tangent_of;

use crate::attribute::Laws;
use crate::emit;
use crate::errors::Errors;
use crate::ir::Lowered;
use crate::operator::{Function, Operator};
use crate::passes;
use crate::syntax::is_primitive;
use halves::Halves;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use std::collections::BTreeMap;
use syn::parse::ParseStream;
use syn::spanned::Spanned;
use syn::visit_mut::VisitMut;
use syn::{Member, Token, Type};
use tangent::{Inlined, Known, Names, OwnSelf, Tangent, Tangents, member_name};

/// The most parameters of a function with a gradient.
pub(super) const MOST_PARAMETERS: usize = 6;

/// What the user wrote in `gradient(…)`.
#[derive(Clone)]
pub(crate) struct Gradient {
    /// The word itself.
    pub(crate) name: Ident,
    /// `diagonal`: the Jacobian of a step with respect to the carry is.
    diagonal: bool,
    /// `field: Type`: the operator's fields that have a gradient.
    parameters: Vec<(Member, Type)>,
    /// `Op<f32>`: the instances of a generic item whose gradient is derived.
    instances: Vec<Type>,
}

impl Gradient {
    /// The part after the word.
    pub(crate) fn parse(name: Ident, input: ParseStream) -> syn::Result<Self> {
        let mut gradient = Gradient { name, diagonal: false, parameters: Vec::new(), instances: Vec::new() };
        if !input.peek(syn::token::Paren) {
            return Ok(gradient);
        }
        let content;
        syn::parenthesized!(content in input);
        while !content.is_empty() {
            if content.peek2(Token![<]) || content.peek2(Token![::]) && content.peek(syn::Ident) {
                gradient.instances.push(content.parse()?);
                if !content.is_empty() {
                    content.parse::<Token![,]>()?;
                }
                continue;
            }
            let member: Member = content.parse()?;
            match &member {
                Member::Named(word) if word == "diagonal" && !content.peek(Token![:]) => gradient.diagonal = true,
                _ if content.peek(Token![:]) => {
                    content.parse::<Token![:]>()?;
                    gradient.parameters.push((member, content.parse()?));
                }
                _ => {
                    let message = "`gradient` takes the fields that have a gradient, with their types, and `diagonal`: \
                                   `gradient(decay: f64)`";
                    return Err(syn::Error::new_spanned(member, message));
                }
            }
            if !content.is_empty() {
                content.parse::<Token![,]>()?;
            }
        }
        Ok(gradient)
    }

    /// Whether there is more than the word, which only operators have.
    pub(crate) fn has_options(&self) -> bool {
        self.diagonal || !self.parameters.is_empty()
    }

    /// The first instance of a generic item, which functions have none of.
    pub(crate) fn instance(&self) -> Option<&Type> {
        self.instances.first()
    }
}

/// The operators next to an operator that asks for its gradient, and the implementations that name them.
pub(crate) fn operator(operator: &Operator, errors: &mut Errors) -> TokenStream {
    let instances = instances::of_operator(operator, errors);
    let test = match (&operator.laws, instances.first()) {
        (Some(laws), Some(first)) => Some(test_of_gradient(first, laws)),
        _ => None,
    };
    let derived = instances.iter().map(|instance| derived(instance, !operator.generics.params.is_empty(), errors));
    let derived: Vec<TokenStream> = derived.collect();
    quote!(#test #(#derived)*)
}

/// The gradient of an operator without parameters of its own.
fn derived(operator: &Operator, is_instance: bool, errors: &mut Errors) -> TokenStream {
    let Some(written) = written(operator, errors) else { return TokenStream::new() };
    let Operator { krate, self_ty, .. } = operator;
    let Written { names: [gradient, states], parameters, scope, items } = &written;
    let expanded = items.iter().map(|item| passes::scan_op(quote!(crate = #krate), item.clone()));
    let structs = [gradient, states].map(|name| {
        quote! {
            #[derive(Clone, Copy, Debug, Default)]
            pub struct #name<O> {
                scan_operator: O,
            }
            impl<O> ::core::ops::Deref for #name<O> {
                type Target = O;
                #[inline(always)]
                fn deref(&self) -> &O {
                    &self.scan_operator
                }
            }
        }
    });
    let floats = [("carry", carried(operator)), ("output", &operator.output)].map(|(of, ty)| {
        let message = format!("`{}` has no gradient: there is no float in its {of}", operator.name);
        quote_spanned! {ty.span()=>
            const _: () = ::core::assert!(<#ty as #krate::gradient::Components>::COUNT > 0, #message);
        }
    });
    let named = scope.is_some();
    let checks = [("carry", carried(operator)), ("values", &operator.input), ("values", &operator.output)];
    let checks = checks.into_iter().filter(|(of, ty)| halves::may_hold(ty) && (*of == "carry" || !named));
    let checks = checks.map(|(of, ty)| {
        let check = format_ident!("{}", if of == "carry" { "carry_of_wide_floats" } else { "no_halves" });
        let private = quote!(#krate::gradient::private);
        quote_spanned! {ty.span()=>
            const _: () = #private::#check::<#private::Whole<{ <#ty as #krate::gradient::Components>::WHOLE }>>();
        }
    });
    let generic = is_instance.then(|| instances::scope(krate));
    quote! {
        #[allow(unused, non_local_definitions, missing_docs, unreachable_pub, non_camel_case_types, clippy::all)]
        const _: () = {
            #generic
            #scope
            #(#floats)*
            #(#checks)*
            #parameters
            #(#structs)*
            #(#expanded)*
            impl #krate::gradient::Differentiable for #self_ty {
                type Gradient = #gradient<#self_ty>;
                type States = #states<#self_ty>;
                fn gradient(self) -> Self::Gradient {
                    #gradient { scan_operator: self }
                }
                fn states(self) -> Self::States {
                    #states { scan_operator: self }
                }
            }
        };
    }
}

/// A test that fails with the counterexample.
fn test_of_gradient(operator: &Operator, laws: &Laws) -> TokenStream {
    let Operator { krate, self_ty, .. } = operator;
    let name = emit::name_of_test("gradient_of", self_ty, laws);
    let value = emit::value_of_test(self_ty, laws);
    // The other options are those of the laws, whose tolerance is one of rounding.
    let run = match &laws.samples {
        Some(samples) => quote!(.gradient(&#value, #samples)),
        None => quote!(.gradient_on_default_samples(&#value)),
    };
    quote! {
        #[cfg(test)]
        #[::core::prelude::v1::test]
        #[allow(non_snake_case)]
        fn #name() -> #krate::__private::LawsResult {
            #krate::__private::gradient_holds(&#krate::laws::Check::new()#run?)
        }
    }
}

/// The code of the operators beside an operator.
struct Written {
    names: [Ident; 2],
    /// The struct of the parameters, with what is implemented for it.
    parameters: Option<TokenStream>,
    /// What the impl blocks need in scope.
    scope: Option<TokenStream>,
    /// The impl blocks.
    items: [TokenStream; 2],
}

/// The code of the operators beside an operator that asks for its gradient; `None` of another, and after an error.
fn written(operator: &Operator, errors: &mut Errors) -> Option<Written> {
    let gradient = operator.gradient.as_ref()?;
    let before = errors.count();
    for (of, ty) in [("carry", carried(operator)), ("output", &operator.output)] {
        if function::is_discrete(ty) {
            errors.at(ty, format!("`{}` has no gradient: there is no float in its {of}", operator.name));
        }
    }
    if halves::is_half(carried(operator)) {
        errors.at(carried(operator), halves::CARRY);
    }
    for (member, ty) in &gradient.parameters {
        if !operator.fields.contains(member) {
            errors.at(member, format!("no function of the operator reads `self.{}`", member.to_token_stream()));
        }
        if let Type::Path(path) = ty
            && path.path.get_ident().is_some_and(|name| is_primitive(name) && !name.to_string().contains('f'))
        {
            errors.at(ty, "only floats have a gradient: leave this parameter out, so that it is a constant");
        }
    }
    if errors.count() > before {
        return None;
    }
    let writer = Writer::new(operator, gradient);
    let items = [writer.gradient(errors), writer.states()];
    let parameters = (!gradient.parameters.is_empty()).then(|| writer.parameters());
    let scope = writer.halves.scope();
    (errors.count() == before).then_some(Written { names: writer.operators.clone(), parameters, scope, items })
}

/// The operator of the backward pass after the passes before `print`, where one is asked for.
pub(crate) fn backward(operator: &Operator, errors: &mut Errors) -> Option<(Operator, Vec<Lowered>)> {
    let operator = instances::of_operator(operator, errors).into_iter().next()?;
    let [item, _] = written(&operator, errors)?.items;
    let krate = &operator.krate;
    passes::lowered(quote!(crate = #krate), item, errors)
}

fn carried(operator: &Operator) -> &Type {
    operator.machine.as_ref().map_or(&operator.state, |machine| &machine.carry)
}

struct Writer<'a> {
    operator: &'a Operator,
    gradient: &'a Gradient,
    halves: Halves<'a>,
    names: Names,
    /// The names of the two operators.
    operators: [Ident; 2],
    /// The name of the struct of the parameters.
    parameters: Ident,
    /// The operator's functions, with its own types for those of `Self`.
    functions: Vec<Function>,
    types: BTreeMap<&'static str, Type>,
}

/// A component by which values change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Carry,
    Input,
    Parameter,
}

impl<'a> Writer<'a> {
    fn new(operator: &'a Operator, gradient: &'a Gradient) -> Self {
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

    fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.signature.ident == name)
    }

    /// The operator whose outputs are the carries.
    fn states(&self) -> TokenStream {
        let Operator { trait_path, self_ty, input, state, identity, machine, .. } = self.operator;
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
        let start = machine.as_ref().map(|machine| constant("START", &machine.start));
        let machine = machine.as_ref().map(|_| quote!(type Carry = #carry;));
        let functions = self.functions.iter().filter(|function| {
            let name = function.signature.ident.to_string();
            name != "emit" && name != "project"
        });
        let functions = functions.map(|Function { signature, block, .. }| quote!(#signature #block));
        quote! {
            impl #trait_path for #name<#self_ty> {
                type Input = #input;
                type State = #state;
                #machine
                type Output = #carry;
                #identity
                #start
                #(#functions)*
            }
        }
    }

    /// The struct of the parameters.
    fn parameters(&self) -> TokenStream {
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

    fn count(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::COUNT)
    }

    fn zero(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::ZERO)
    }

    fn scalar(&self, ty: &impl ToTokens) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(<#ty as #krate::gradient::Components>::Scalar)
    }

    fn private(&self) -> TokenStream {
        let krate = &self.operator.krate;
        quote!(#krate::gradient::private)
    }

    /// The operator of the backward pass.
    fn gradient(&self, errors: &mut Errors) -> TokenStream {
        let Operator { krate, trait_path, self_ty, input, output, .. } = self.operator;
        let name = &self.operators[0];
        let carry = carried(self.operator);
        let (private, module) = (self.private(), quote!(#krate::gradient));
        let count = self.count(carry);
        let own = |name: &str| self.names.own(name);
        let [item, adjoint, f, g] = ["item", "adjoint", "f", "g"].map(own);
        let item_type = quote!(#module::Backward<#carry, #input, #output>);
        let diagonal = self.gradient.diagonal;
        let map = self.map_type();
        let (identity, composed, applied) = match diagonal {
            false => (
                quote!(#private::identity::<#carry, { #count }>()),
                quote!(#private::composed::<#carry, { #count }>),
                quote!(#private::applied::<#carry, { #count }>),
            ),
            true => {
                let zero = self.zero(carry);
                (
                    quote!(#module::DiagonalMap { factors: <#carry as #module::Components>::ONES, shift: #zero }),
                    quote!(#private::composed_diagonally::<#carry>),
                    quote!(#private::applied_diagonally::<#carry>),
                )
            }
        };
        let lift = self.lift(errors);
        let step = self.adjoint_step(errors);
        let emit = self.emit(errors);
        let zero = self.zero(carry);
        if self.gradient.parameters.is_empty() {
            return quote! {
                impl #trait_path for #name<#self_ty> {
                    type Input = #item_type;
                    type State = #map;
                    type Carry = #carry;
                    type Output = #input;
                    const IDENTITY: #map = #identity;
                    const START: #carry = #zero;
                    fn lift(&self, #item: #item_type) -> #map { #lift }
                    fn combine(#f: #map, #g: #map) -> #map { #composed(#f, #g) }
                    fn apply(#f: #map, #adjoint: #carry) -> #carry { #applied(#f, #adjoint) }
                    fn step(&self, #adjoint: #carry, #item: #item_type) -> #carry { #step }
                    fn emit(&self, #adjoint: #carry, #item: #item_type) -> #input { #emit }
                }
            };
        }
        // The gradient of the parameters rides in the carry: what a step adds to it is affine in the adjoint.
        let parameters = &self.parameters;
        let (own_count, own_zero, own_scalar) =
            (self.count(parameters), self.zero(parameters), self.scalar(parameters));
        let whole = quote!(#module::ParametersMap<#map, #carry, #parameters, { #own_count }>);
        let whole_value = quote!(#module::ParametersMap::<#map, #carry, #parameters, { #own_count }>);
        let with = quote!(#module::WithParameters<#carry, #parameters>);
        let with_value = quote!(#module::WithParameters::<#carry, #parameters>);
        let [row, rows, sum, moved] = ["row", "rows", "sum", "moved"].map(own);
        let one = quote!(<#own_scalar as #krate::ops::Number>::ONE);
        let joined = match diagonal {
            false => quote!(
                #private::product::<#carry, { #count }, { #own_count }>(#g.rows, #f.state.rows)
            ),
            true => quote!({
                let mut #moved = #g.rows;
                for #row in 0..#own_count {
                    #moved[#row] = #private::multiply::<#carry>(#g.rows[#row], #f.state.factors);
                }
                #moved
            }),
        };
        let carry_one = quote!(<<#carry as #module::Components>::Scalar as #krate::ops::Number>::ONE);
        quote! {
            impl #trait_path for #name<#self_ty> {
                type Input = #item_type;
                type State = #whole;
                type Carry = #with;
                type Output = #input;
                const IDENTITY: #whole = #module::ParametersMap {
                    state: #identity,
                    rows: [#zero; #own_count],
                    shift: #own_zero,
                };
                const START: #with = #module::WithParameters { state: #zero, parameters: #own_zero };
                fn lift(&self, #item: #item_type) -> #whole { #lift }
                fn combine(#f: #whole, #g: #whole) -> #whole {
                    let #moved: [#carry; { #own_count }] = #joined;
                    let mut #rows = #f.rows;
                    let mut #sum = #private::add_scaled::<#parameters>(#f.shift, #g.shift, #one);
                    for #row in 0..#own_count {
                        #rows[#row] = #private::add_scaled::<#carry>(#rows[#row], #moved[#row], #carry_one);
                        #sum = #private::add_at::<#parameters>(
                            #sum,
                            #row,
                            #private::dot::<#carry>(#g.rows[#row], #f.state.shift) as #own_scalar,
                        );
                    }
                    #whole_value { state: #composed(#f.state, #g.state), rows: #rows, shift: #sum }
                }
                fn apply(#f: #whole, #adjoint: #with) -> #with {
                    let mut #sum = #private::add_scaled::<#parameters>(#adjoint.parameters, #f.shift, #one);
                    for #row in 0..#own_count {
                        #sum = #private::add_at::<#parameters>(
                            #sum,
                            #row,
                            #private::dot::<#carry>(#f.rows[#row], #adjoint.state) as #own_scalar,
                        );
                    }
                    #with_value { state: #applied(#f.state, #adjoint.state), parameters: #sum }
                }
                fn step(&self, #adjoint: #with, #item: #item_type) -> #with { #step }
                fn emit(&self, #adjoint: #with, #item: #item_type) -> #input { #emit }
            }
        }
    }

    /// The map of a step: its rows are what the state does in each direction.
    fn lift(&self, errors: &mut Errors) -> TokenStream {
        let Operator { krate, output, .. } = self.operator;
        let output = self.halves.ty(output);
        let carry = carried(self.operator);
        let (private, module, count) = (self.private(), quote!(#krate::gradient), self.count(carry));
        let (scalar, zero) = (self.scalar(carry), self.zero(carry));
        let own = |name: &str| self.names.own(name);
        let [index, rows, shift, gradient] = ["index", "rows", "shift", "gradient"].map(own);
        let [state_rows, state_shift] = ["state_rows", "state_shift"].map(own);
        let items = self.items();
        let along = self.along(Direction::Carry, errors);
        let Along { stmts, state, result } = &along;
        let row = state.as_ref().map(|state| quote!(#rows[#index] = #state;));
        let add = result.as_ref().map(|result| {
            quote!(
                #shift = #private::add_at::<#carry>(
                    #shift,
                    #index,
                    #private::dot::<#output>(#result, #gradient) as #scalar,
                );
            )
        });
        let map_type = self.map_type();
        let (declared, row, map) = match self.gradient.diagonal {
            false => (
                quote!(let mut #rows = [#zero; #count];),
                row,
                quote!(#module::AdjointMap::<#carry, { #count }> { rows: #rows, shift: #shift }),
            ),
            true => {
                // The tangent in all directions at once has each one's own share.
                let all = self.along_in(Direction::Carry, quote!(<#carry as #module::Components>::ONES), errors);
                let stmts = &all.stmts;
                let factors = all.state.map_or(zero.clone(), |state| state.to_token_stream());
                (
                    quote!(let #rows: #carry = { #stmts #factors };),
                    None,
                    quote!(#module::DiagonalMap::<#carry> { factors: #rows, shift: #shift }),
                )
            }
        };
        let looped = (row.is_some() || add.is_some()).then(|| {
            let direction = self.direction(carry, &index);
            let bound = self.direction_name(Direction::Carry);
            quote!(for #index in 0..#count { let #bound = #direction; #stmts #row #add })
        });
        let state = quote!(#declared let mut #shift = #zero; #looped);
        if self.gradient.parameters.is_empty() {
            return quote!(#items #state #map);
        }
        let parameters = &self.parameters;
        let (own_count, own_zero, own_scalar) =
            (self.count(parameters), self.zero(parameters), self.scalar(parameters));
        let Along { stmts, state: after, result } = self.along(Direction::Parameter, errors);
        let row = after.map(|after| quote!(#rows[#index] = #after;));
        let add = result.map(|result| {
            quote!(
                #shift = #private::add_at::<#parameters>(
                    #shift,
                    #index,
                    #private::dot::<#output>(#result, #gradient) as #own_scalar,
                );
            )
        });
        let direction = self.direction(parameters, &index);
        let bound = self.direction_name(Direction::Parameter);
        let made = own("made");
        quote! {
            #items
            #state
            let #made = #map;
            let mut #state_rows = [#zero; #own_count];
            let mut #state_shift = #own_zero;
            {
                let mut #rows = [#zero; #own_count];
                let mut #shift = #own_zero;
                for #index in 0..#own_count { let #bound = #direction; #stmts #row #add }
                #state_rows = #rows;
                #state_shift = #shift;
            }
            #module::ParametersMap::<#map_type, #carry, #parameters, { #own_count }> {
                state: #made,
                rows: #state_rows,
                shift: #state_shift,
            }
        }
    }

    /// The step of the adjoint, by the same products.
    fn adjoint_step(&self, errors: &mut Errors) -> TokenStream {
        let krate = &self.operator.krate;
        let carry = carried(self.operator);
        let (items, adjoint) = (self.items(), self.names.own("adjoint"));
        let with_parameters = !self.gradient.parameters.is_empty();
        let adjoint_state = if with_parameters { quote!(#adjoint.state) } else { quote!(#adjoint) };
        let zero = self.zero(carry);
        let sum = self.sum(Direction::Carry, carry, &adjoint_state, &zero, errors);
        if !with_parameters {
            return quote!(#items #sum);
        }
        let parameters = &self.parameters;
        let [state, of_parameters] = ["state", "parameters"].map(|name| self.names.own(name));
        let more = self.sum(Direction::Parameter, parameters, &adjoint_state, &quote!(#adjoint.parameters), errors);
        quote! {
            #items
            let #state: #carry = { #sum };
            let #of_parameters: #parameters = { #more };
            #krate::gradient::WithParameters::<#carry, #parameters> { state: #state, parameters: #of_parameters }
        }
    }

    /// The gradient of the input.
    fn emit(&self, errors: &mut Errors) -> TokenStream {
        let (input, changes) = (&self.operator.input, self.halves.ty(&self.operator.input));
        let (items, adjoint) = (self.items(), self.names.own("adjoint"));
        let adjoint_state = if self.gradient.parameters.is_empty() { quote!(#adjoint) } else { quote!(#adjoint.state) };
        let sum = self.sum(Direction::Input, &changes, &adjoint_state, &self.zero(&changes), errors);
        let rounded = self.halves.narrowed(input, quote!({ #sum }));
        let name = self.names.own("rounded");
        match self.halves.named && halves::may_hold(input) {
            true => quote!(#items let #name: #input = #rounded; #name),
            false => quote!(#items #sum),
        }
    }

    /// The products of the columns of the Jacobians with the adjoint and with the output's gradient, from `first` on.
    fn sum(
        &self,
        direction: Direction,
        ty: &impl ToTokens,
        adjoint: &TokenStream,
        first: &TokenStream,
        errors: &mut Errors,
    ) -> TokenStream {
        let (private, count, scalar) = (self.private(), self.count(ty), self.scalar(ty));
        let (carry, output) = (carried(self.operator), self.halves.ty(&self.operator.output));
        let [index, sum, gradient] = ["index", "sum", "gradient"].map(|name| self.names.own(name));
        let Along { stmts, state, result } = self.along(direction, errors);
        let of_state = state.map(|state| {
            quote!(
                #sum = #private::add_at::<#ty>(#sum, #index, #private::dot::<#carry>(#state, #adjoint) as #scalar);
            )
        });
        let of_result = result.map(|result| {
            quote!(
                #sum = #private::add_at::<#ty>(#sum, #index, #private::dot::<#output>(#result, #gradient) as #scalar);
            )
        });
        if of_state.is_none() && of_result.is_none() {
            return first.clone();
        }
        let unit = self.direction(ty, &index);
        let bound = self.direction_name(direction);
        quote! {
            let mut #sum: #ty = #first;
            for #index in 0..#count { let #bound = #unit; #stmts #of_state #of_result }
            #sum
        }
    }

    /// The type of what steps make of an adjoint.
    fn map_type(&self) -> TokenStream {
        let (carry, krate) = (carried(self.operator), &self.operator.krate);
        let count = self.count(carry);
        match self.gradient.diagonal {
            false => quote!(#krate::gradient::AdjointMap<#carry, { #count }>),
            true => quote!(#krate::gradient::DiagonalMap<#carry>),
        }
    }

    /// The parts of an input of the backward pass, under their names.
    fn items(&self) -> TokenStream {
        let [item, before, input, gradient] = ["item", "before", "input", "gradient"].map(|name| self.names.own(name));
        let of_output = self.halves.widened(&self.operator.output, quote!(#item.gradient));
        quote!(let #before = #item.before; let #input = #item.x; let #gradient = #of_output;)
    }

    fn direction_name(&self, direction: Direction) -> Ident {
        self.names.own(match direction {
            Direction::Carry => "of_before",
            Direction::Input => "of_input",
            Direction::Parameter => "of_parameters",
        })
    }

    /// The element whose component of this index is 1.
    fn direction(&self, ty: &impl ToTokens, index: &Ident) -> TokenStream {
        let (private, zero, scalar, krate) = (self.private(), self.zero(ty), self.scalar(ty), &self.operator.krate);
        quote!(#private::add_at::<#ty>(#zero, #index, <#scalar as #krate::ops::Number>::ONE))
    }

    fn along(&self, direction: Direction, errors: &mut Errors) -> Along {
        self.along_of(direction, None, errors)
    }

    /// The same along a direction that is written in place.
    fn along_in(&self, direction: Direction, value: TokenStream, errors: &mut Errors) -> Along {
        self.along_of(direction, Some(value), errors)
    }

    /// How the state after a step and the output change.
    fn along_of(&self, direction: Direction, value: Option<TokenStream>, errors: &mut Errors) -> Along {
        let Operator { krate, input, state, output, .. } = self.operator;
        let carry = carried(self.operator);
        let own = |name: &str| self.names.own(name);
        let [before, input_name, after, lifted] = ["before", "input", "after", "lifted"].map(own);
        let [after_t, lifted_t, result_t] = ["after_change", "lifted_change", "result_change"].map(own);
        let value = value.unwrap_or_else(|| self.direction_name(direction).to_token_stream());
        let tangent = |of: Direction, ty: &Type| match of == direction {
            true => Tangent::Value(value.clone()),
            false => Tangent::Zero(Some(self.halves.zero(ty))),
        };
        let fields = self.gradient.parameters.iter().map(|(member, ty)| {
            let field = field_of(member);
            let tangent = match direction {
                Direction::Parameter => Tangent::Value(quote!(#value.#field)),
                _ => Tangent::Zero(Some(self.halves.zero(ty))),
            };
            (member_name(member), tangent)
        });
        let known = Known {
            krate,
            halves: self.halves,
            names: self.names.clone(),
            constants: BTreeMap::from([("IDENTITY", state.clone()), ("START", carry.clone())]),
            fields: fields.collect(),
        };
        // Most errors are the same in each direction.
        let mut found = Errors::default();
        let mut tangents = Tangents::new(&known, &mut found);
        let mut stmts = TokenStream::new();
        let mut inline = |name: &str, arguments: &[(TokenStream, Tangent)]| -> Option<Inlined> {
            let function = self.function(name)?;
            Some(tangents.inline(&function.signature.inputs, &function.block, arguments))
        };
        let of_before = (before.to_token_stream(), tangent(Direction::Carry, carry));
        let of_input = (input_name.to_token_stream(), tangent(Direction::Input, input));
        let arguments = [of_before.clone(), of_input.clone()];
        let moved = if self.operator.machine.is_some() { "step" } else { "append" };
        let moved = inline(moved, &arguments).or_else(|| {
            let of_lifted = match inline("lift", std::slice::from_ref(&of_input)) {
                Some(inlined) => {
                    let value = &inlined.value;
                    stmts.extend(quote!(let #lifted: #state = #value;));
                    let tangent = named(inlined.tangent, &lifted_t, &self.halves.ty(state), &mut stmts);
                    (lifted.to_token_stream(), tangent)
                }
                None => of_input.clone(),
            };
            inline("combine", &[of_before.clone(), of_lifted])
        });
        let Some(Inlined { value, tangent: moved }) = moved else {
            return Along { stmts, state: None, result: None };
        };
        let moved = match moved {
            Tangent::Zero(_) => Tangent::Zero(Some(self.zero(carry))),
            value => named(value, &after_t, &quote!(#carry), &mut stmts),
        };
        let output = self.halves.ty(output);
        let result = match inline("emit", &arguments) {
            Some(inlined) => named(inlined.tangent, &result_t, &output, &mut stmts),
            None if self.function("project").is_some() => {
                stmts.extend(quote!(let #after: #carry = #value;));
                match inline("project", &[(after.to_token_stream(), moved.clone())]) {
                    Some(inlined) => named(inlined.tangent, &result_t, &output, &mut stmts),
                    None => Tangent::Zero(None),
                }
            }
            None => moved.clone(),
        };
        errors.add_new(found);
        let name = |tangent| match tangent {
            Tangent::Value(name) => Some(name),
            Tangent::Zero(_) => None,
        };
        Along { stmts, state: name(moved), result: name(result) }
    }
}

/// The changes in one direction: statements, and the names of the changes of the state and of the output, where there
/// are.
struct Along {
    stmts: TokenStream,
    state: Option<TokenStream>,
    result: Option<TokenStream>,
}

/// Gives a tangent a name.
fn named(tangent: Tangent, name: &Ident, ty: &TokenStream, stmts: &mut TokenStream) -> Tangent {
    match tangent {
        Tangent::Value(value) => {
            stmts.extend(quote!(let #name: #ty = #value;));
            Tangent::Value(name.to_token_stream())
        }
        zero => zero,
    }
}

/// The field of a parameter in the struct of their gradients.
fn field_of(member: &Member) -> Ident {
    match member {
        Member::Named(ident) => ident.clone(),
        Member::Unnamed(index) => format_ident!("p{}", index.index),
    }
}
