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
fn supported_code_has_no_error() {
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

#[test]
fn functions_follow_the_rules_of_operators() {
    let item: syn::ItemFn = syn::parse2(quote!(
        fn twice(a: u32) -> u32 {
            let r = &a;
            *r + *r
        }
    ))
    .unwrap();
    let function = Function { attributes: Vec::new(), signature: item.sig, block: *item.block };
    let mut errors = Errors::default();
    helper(&function, &mut errors);
    assert!(!errors.messages().is_empty());
}

#[test]
fn the_base_of_a_field_is_checked() {
    assert_eq!(body(quote!(self.limits.low)), Vec::<String>::new());
    assert_eq!(body(quote!(shifted(a?).low)).len(), 1);
}

#[test]
fn other_macros_are_refused_by_name() {
    for (written, told) in
        [("vec![a]", "an array"), ("panic!()", "assert!"), ("matches!(a, 1)", "match"), ("dbg!(a)", "dbg!")]
    {
        let errors = body(written.parse().unwrap());
        assert!(errors.len() == 1 && errors[0].contains(told), "{written}: {errors:?}");
    }
}

#[test]
fn an_operator_that_calls_itself_is_refused() {
    let errors = body(quote!(self.combine(a, b)));
    assert!(errors.len() == 1 && errors[0].contains("cannot call its own `combine`"), "{errors:?}");
}
