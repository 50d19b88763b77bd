//! The options in the parentheses of the attributes.

use crate::errors::Errors;
use crate::gradient::Gradient;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Lit, Path, Token, UnOp, ext::IdentExt};

/// What the user wrote in `#[scan_op(…)]` or `#[scan_element(…)]`.
pub(crate) struct Options {
    /// Where `scan_runtime` is found.
    pub(crate) krate: Path,
    /// `identity = …`, of the function form.
    pub(crate) identity: Option<(Ident, Expr)>,
    /// `name = …`, of the function form: the operator's own name. The function stays a function then.
    pub(crate) name: Option<(Ident, Ident)>,
    /// `laws`, in one of its forms.
    pub(crate) laws: Option<Laws>,
    /// `gradient`, or `gradient(…)`.
    pub(crate) gradient: Option<Gradient>,
    /// `vectorized = …`: how the CPU applies the operator to several values at once. For the built-in operators only.
    pub(crate) vectorized: Option<Expr>,
}

/// An option of `scan_runtime::laws::Check` that takes a value.
struct OfCheck {
    name: &'static str,
    /// Whether it takes a literal.
    takes: fn(&Lit) -> bool,
    /// What it takes.
    expected: &'static str,
}

const CHECK: [OfCheck; 4] = [
    OfCheck {
        name: "tolerance",
        takes: |literal| matches!(literal, Lit::Float(_)),
        expected: "a float from 0.0 on, such as `1e-3`",
    },
    OfCheck { name: "longest_run", takes: is_count, expected: "a number of samples from 1 on, such as `9`" },
    OfCheck { name: "cases", takes: is_count, expected: "a number of cases from 1 on, such as `5_000`" },
    OfCheck {
        name: "seed",
        takes: |literal| integer(literal).is_some(),
        expected: "an integer from 0 on, such as `7`",
    },
];

fn integer(literal: &Lit) -> Option<u64> {
    match literal {
        Lit::Int(literal) => literal.base10_parse().ok(),
        _ => None,
    }
}

fn is_count(literal: &Lit) -> bool {
    integer(literal).is_some_and(|count| count > 0)
}

impl OfCheck {
    /// Whether it takes a value, as far as that is a literal. rustc would report others in tests only.
    fn takes(&self, value: &Expr) -> bool {
        match value {
            Expr::Lit(literal) => (self.takes)(&literal.lit),
            Expr::Unary(negative) => !matches!((&negative.op, &*negative.expr), (UnOp::Neg(_), Expr::Lit(_))),
            _ => true,
        }
    }
}

/// The test of the laws that the user asked for: `laws`, `laws = samples`, or `laws(…)`.
pub(crate) struct Laws {
    /// The word itself.
    pub(crate) name: Ident,
    /// `samples = …`; without them the runtime generates some.
    pub(crate) samples: Option<Expr>,
    /// `operator = …`: the value that is checked, where the type alone is none.
    pub(crate) operator: Option<Expr>,
    /// Options of `scan_runtime::laws::Check`, each with its argument: `tolerance = …`, `in_order`.
    pub(crate) check: Vec<(Ident, Option<Expr>)>,
    /// The error in the options in the parentheses; the other options of the attribute are read anyway.
    errors: Vec<syn::Error>,
}

impl Laws {
    /// The part after the word.
    fn parse(name: Ident, input: ParseStream) -> syn::Result<Self> {
        let mut laws = Laws { name, samples: None, operator: None, check: Vec::new(), errors: Vec::new() };
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            laws.samples = Some(input.parse()?);
        } else if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            while !content.is_empty() {
                laws.option(&content)?;
                if !content.is_empty() {
                    content.parse::<Token![,]>()?;
                }
            }
        }
        Ok(laws)
    }

    fn option(&mut self, input: ParseStream) -> syn::Result<()> {
        let name: Ident = input.call(Ident::parse_any)?;
        if let Some(known) = CHECK.iter().find(|known| name == known.name) {
            return self.value(name, known, input);
        }
        let value = match name.to_string().as_str() {
            "in_order" => {
                self.check.push((name, None));
                return Ok(());
            }
            "samples" => &mut self.samples,
            "operator" => &mut self.operator,
            _ => {
                let message = format!(
                    "unknown option `{name}` of `laws`: there is `samples = …`, `operator = …`, {} and `in_order`",
                    CHECK.map(|known| format!("`{} = …`", known.name)).join(", ")
                );
                self.errors.push(syn::Error::new_spanned(&name, message));
                if input.peek(Token![=]) {
                    input.parse::<Token![=]>()?;
                    input.parse::<Expr>()?;
                }
                return Ok(());
            }
        };
        input.parse::<Token![=]>()?;
        *value = Some(input.parse()?);
        Ok(())
    }

    /// An option of the check that takes a value.
    fn value(&mut self, name: Ident, option: &OfCheck, input: ParseStream) -> syn::Result<()> {
        let expected = option.expected;
        let twice = self.check.iter().any(|(known, _)| *known == name);
        let mut error = |at: &dyn ToTokens, message| self.errors.push(syn::Error::new_spanned(at, message));
        if twice {
            error(&name, format!("`{name}` is here twice"));
        }
        if !input.peek(Token![=]) {
            error(&name, format!("`{name}` takes a value: {expected}"));
            return Ok(());
        }
        input.parse::<Token![=]>()?;
        let value: Expr = input.parse()?;
        if !option.takes(&value) {
            error(&value, format!("`{name}` is {expected}"));
        }
        self.check.push((name, Some(value)));
        Ok(())
    }
}

struct Entry {
    name: Ident,
    value: Value,
}

enum Value {
    Crate(Path),
    Identity(Expr),
    Name(Ident),
    Laws(Box<Laws>),
    Gradient(Gradient),
    Vectorized(Expr),
    Unknown,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let name = input.call(Ident::parse_any)?;
        if name == "laws" {
            let value = Value::Laws(Box::new(Laws::parse(name.clone(), input)?));
            return Ok(Entry { name, value });
        }
        if name == "gradient" {
            let value = Value::Gradient(Gradient::parse(name.clone(), input)?);
            return Ok(Entry { name, value });
        }
        if input.is_empty() || input.peek(Token![,]) {
            return Ok(Entry { name, value: Value::Unknown });
        }
        input.parse::<Token![=]>()?;
        let value = if name == "crate" {
            Value::Crate(input.call(Path::parse_mod_style)?)
        } else if name == "identity" {
            Value::Identity(input.parse()?)
        } else if name == "name" {
            Value::Name(input.parse()?)
        } else if name == "vectorized" {
            Value::Vectorized(input.parse()?)
        } else {
            input.parse::<Expr>()?;
            Value::Unknown
        };
        Ok(Entry { name, value })
    }
}

/// Reads the options; `known` are those that this attribute has.
pub(crate) fn options(tokens: TokenStream, known: &[&str], errors: &mut Errors) -> Options {
    let mut options = Options {
        krate: syn::parse_quote!(::scan_runtime),
        identity: None,
        name: None,
        laws: None,
        gradient: None,
        vectorized: None,
    };
    let entries = match Punctuated::<Entry, Token![,]>::parse_terminated.parse2(tokens) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(error);
            return options;
        }
    };
    for Entry { name, value } in entries {
        match value {
            Value::Crate(path) => options.krate = path,
            Value::Identity(expr) if known.contains(&"identity") => options.identity = Some((name, expr)),
            Value::Name(ident) if known.contains(&"name") => options.name = Some((name, ident)),
            Value::Laws(mut laws) if known.contains(&"laws") => {
                laws.errors.drain(..).for_each(|error| errors.push(error));
                options.laws = Some(*laws);
            }
            Value::Gradient(gradient) if gradient.has_options() && !known.contains(&"laws") => {
                errors.at(&name, "only an operator's `gradient` has options: write `gradient`")
            }
            Value::Gradient(gradient) if known.contains(&"gradient") => options.gradient = Some(gradient),
            // Undocumented, since only this project's operators can use it.
            Value::Vectorized(expr) if known.contains(&"laws") => options.vectorized = Some(expr),
            _ => errors.at(&name, format!("unknown option `{name}`: there is {}", list(known))),
        }
    }
    options
}

/// `a = …`, `b` and `c = …`
fn list(known: &[&str]) -> String {
    let show = |name: &&str| {
        if matches!(*name, "laws" | "gradient") { format!("`{name}`") } else { format!("`{name} = …`") }
    };
    let mut names: Vec<String> = known.iter().map(show).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
