//! The operator of the backward pass.

use super::along::Along;
use super::carried;
use super::halves;
use super::writer::{Direction, Writer};
use crate::errors::Errors;
use crate::operator::Operator;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

impl Writer<'_> {
    /// The operator of the backward pass.
    pub(super) fn gradient(&self, errors: &mut Errors) -> TokenStream {
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
    pub(super) fn lift(&self, errors: &mut Errors) -> TokenStream {
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
    pub(super) fn adjoint_step(&self, errors: &mut Errors) -> TokenStream {
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
    pub(super) fn emit(&self, errors: &mut Errors) -> TokenStream {
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
    pub(super) fn sum(
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
}
