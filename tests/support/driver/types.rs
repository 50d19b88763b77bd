//! The types of kernel parameters, read from the text of a kernel: their sizes, and the values of their fields.
//!
//! Understands as much of C++ as generated texts declare their parameters with: numbers, pointers, arrays, structs and
//! templates of them, aliases, enumerations, and constants.

use std::collections::HashMap;

/// A type with its layout.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) bytes: usize,
    align: usize,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Unsigned,
    Signed,
    Float,
    /// Bits without a meaning here.
    Bits,
    /// To items of so many bytes; `None` where they are of no known type.
    Pointer(Option<usize>),
    Array(Box<Type>),
    /// Fields with their offsets.
    Struct(Vec<(String, usize, Type)>),
}

/// Memory that a pointer leads to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) at: u64,
    /// Bytes of an item.
    pub(super) item: usize,
}

/// A kernel and its parameters, each with its name.
#[derive(Clone, Debug)]
pub(super) struct Kernel {
    pub(super) name: String,
    pub(super) parameters: Vec<(String, Result<Type, String>)>,
}

impl Type {
    fn scalar(bytes: usize, kind: Kind) -> Self {
        Type { bytes, align: bytes, kind }
    }

    fn array(item: Type, len: usize) -> Self {
        Type { bytes: item.bytes * len, align: item.align, kind: Kind::Array(Box::new(item)) }
    }

    /// The arrays that a value leads to: of a pointer, or of a struct's fields that are pointers, but for places, which
    /// tell where others go.
    pub(super) fn arrays(&self, bytes: &[u8]) -> Vec<Array> {
        match &self.kind {
            Kind::Pointer(Some(item)) => {
                let address = bytes.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
                address.map(|at| Array { at, item: *item }).into_iter().collect()
            }
            Kind::Struct(fields) => {
                let is_array = |(name, _, ty): &&(String, usize, Type)| {
                    matches!(ty.kind, Kind::Pointer(_)) && !name.starts_with("place")
                };
                let pointers = fields.iter().filter(is_array);
                pointers.flat_map(|(_, offset, ty)| ty.arrays(&bytes[*offset..][..ty.bytes])).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Writes a value. `pointer` writes addresses.
    pub(super) fn show(&self, bytes: &[u8], pointer: &mut dyn FnMut(u64) -> String) -> String {
        let mut word = [0; 16];
        let shown = &bytes[..self.bytes.min(16)];
        word[..shown.len()].copy_from_slice(shown);
        let word = u128::from_le_bytes(word);
        match &self.kind {
            Kind::Pointer(_) => pointer(word as u64),
            Kind::Unsigned => word.to_string(),
            Kind::Signed => {
                let unused = 128 - 8 * self.bytes as u32;
                (((word << unused) as i128) >> unused).to_string()
            }
            Kind::Float if self.bytes == 4 => format!("{:?}", f32::from_bits(word as u32)),
            Kind::Float => format!("{:?}", f64::from_bits(word as u64)),
            Kind::Bits => format!("{word:#x}"),
            Kind::Array(item) => {
                let items = bytes.chunks_exact(item.bytes.max(1));
                let mut items: Vec<_> = items.map(|bytes| item.show(bytes, pointer)).collect();
                // Most arrays have room for more than is used.
                while items.last().is_some_and(|last| last == "0") {
                    items.pop();
                }
                format!("[{}]", items.join(", "))
            }
            Kind::Struct(fields) => {
                let mut show = |(name, offset, ty): &(String, usize, Type)| {
                    (name.clone(), ty.show(&bytes[*offset..][..ty.bytes], pointer))
                };
                match &fields[..] {
                    [only] if only.0 == "value" => show(only).1,
                    fields => {
                        let fields = fields.iter().map(|field| {
                            let (name, value) = show(field);
                            format!("{name}: {value}")
                        });
                        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
                    }
                }
            }
        }
    }
}

/// The kernels of a text.
pub(super) fn kernels(text: &str) -> Vec<Kernel> {
    Declarations::of(&tokens(text)).kernels()
}

fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let bytes = text.as_bytes();
    let mut i = 0;
    let mut line_begins = true;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    while let Some(&byte) = bytes.get(i) {
        let rest = &text[i..];
        let line = rest.find('\n').unwrap_or(rest.len());
        match byte {
            b'\n' => {
                line_begins = true;
                i += 1;
                continue;
            }
            _ if byte.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            b'#' if line_begins => i += line,
            b'/' if rest.starts_with("//") => i += line,
            b'/' if rest.starts_with("/*") => i += rest.find("*/").map_or(rest.len(), |end| end + 2),
            b'"' | b'\'' => {
                let mut end = i + 1;
                while bytes.get(end).is_some_and(|&b| b != byte) {
                    end += if bytes[end] == b'\\' { 2 } else { 1 };
                }
                i = end + 1;
            }
            _ if is_word(byte) => {
                let end = rest.bytes().position(|b| !is_word(b)).unwrap_or(rest.len());
                tokens.push(rest[..end].to_owned());
                i += end;
            }
            _ => {
                let token =
                    if rest.starts_with("::") { "::" } else { &rest[..rest.chars().next().map_or(1, char::len_utf8)] };
                tokens.push(token.to_owned());
                i += token.len();
            }
        }
        line_begins = false;
    }
    tokens
}

type Tokens<'t> = &'t [String];

/// What follows the bracket that closes the one at `open`.
fn after_closing(tokens: Tokens<'_>, open: usize) -> usize {
    let (mut depth, opening) = (0, tokens[open].as_str());
    let closing = match opening {
        "(" => ")",
        "{" => "}",
        "[" => "]",
        _ => ">",
    };
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            token if token == opening => depth += 1,
            token if token == closing => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

/// The parts between commas that no bracket encloses.
fn parts(tokens: Tokens<'_>) -> Vec<Tokens<'_>> {
    let (mut parts, mut start, mut i) = (Vec::new(), 0, 0);
    while i < tokens.len() {
        match tokens[i].as_str() {
            "(" | "{" | "[" | "<" => {
                i = after_closing(tokens, i);
                continue;
            }
            "," => {
                parts.push(&tokens[start..i]);
                start = i + 1;
            }
            _ => (),
        }
        i += 1;
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn position(tokens: Tokens<'_>, of: &str) -> Option<usize> {
    tokens.iter().position(|token| token == of)
}

struct Struct<'t> {
    template: Vec<&'t str>,
    body: Tokens<'t>,
    is_union: bool,
}

#[derive(Default)]
struct Declarations<'t> {
    structs: HashMap<&'t str, Struct<'t>>,
    aliases: HashMap<&'t str, Tokens<'t>>,
    constants: HashMap<&'t str, Tokens<'t>>,
    /// Sizes that the text asserts.
    sizes: HashMap<&'t str, usize>,
    kernels: Vec<(&'t str, Tokens<'t>)>,
}

/// What names mean within a struct: parameters of its template, and its own aliases.
#[derive(Default)]
struct Scope<'t> {
    types: HashMap<&'t str, Type>,
    numbers: HashMap<&'t str, u64>,
    aliases: HashMap<&'t str, Tokens<'t>>,
}

impl<'t> Declarations<'t> {
    fn of(tokens: Tokens<'t>) -> Self {
        let mut found = Declarations::default();
        let mut template = Vec::new();
        let mut i = 0;
        while i < tokens.len() {
            match tokens[i].as_str() {
                "template" => {
                    let end = after_closing(tokens, i + 1);
                    template = parts(&tokens[i + 2..end - 1])
                        .into_iter()
                        .filter_map(|parameter| parameter.iter().rev().find(|token| is_name(token)))
                        .map(String::as_str)
                        .collect();
                    i = end;
                    continue;
                }
                keyword @ ("struct" | "union") => {
                    let brace = (i..tokens.len()).find(|at| matches!(tokens[*at].as_str(), "{" | ";" | "("));
                    if let Some(brace) = brace.filter(|at| tokens[*at] == "{") {
                        let end = after_closing(tokens, brace);
                        let body = &tokens[brace + 1..end - 1];
                        let template = std::mem::take(&mut template);
                        let is_union = keyword == "union";
                        found.structs.insert(&tokens[i + 1], Struct { template, body, is_union });
                        i = end;
                        continue;
                    }
                }
                "enum" => {
                    let name = if tokens[i + 1] == "class" { i + 2 } else { i + 1 };
                    if let Some(brace) = position(&tokens[name..], "{").map(|at| name + at) {
                        let underlying = if tokens[name + 1] == ":" { &tokens[name + 2..brace] } else { &[] };
                        found.aliases.insert(&tokens[name], underlying);
                        i = after_closing(tokens, brace);
                        continue;
                    }
                }
                "using" if tokens.get(i + 2).is_some_and(|token| token == "=") => {
                    let end = i + position(&tokens[i..], ";").unwrap_or(0);
                    found.aliases.insert(&tokens[i + 1], &tokens[i + 3..end.max(i + 3)]);
                    template.clear();
                }
                "constexpr" => {
                    let end = i + position(&tokens[i..], ";").unwrap_or(0);
                    let equals = position(&tokens[i..end.max(i)], "=").map(|at| i + at);
                    let is_function = position(&tokens[i..equals.unwrap_or(i)], "(").is_some();
                    if let Some(equals) = equals.filter(|_| !is_function) {
                        found.constants.insert(&tokens[equals - 1], &tokens[equals + 1..end]);
                        i = end;
                        continue;
                    }
                }
                "static_assert" => {
                    let end = after_closing(tokens, i + 1);
                    if let ["(", "sizeof", "(", name, ")", "=", "=", bytes, ..] =
                        &tokens[i + 1..end].iter().map(String::as_str).collect::<Vec<_>>()[..]
                        && let Ok(bytes) = bytes.parse()
                    {
                        found.sizes.insert(name, bytes);
                    }
                    i = end;
                    continue;
                }
                "__global__" => {
                    let mut at = i + 1;
                    while at + 1 < tokens.len() && tokens[at] != "{" {
                        if tokens[at + 1] == "(" {
                            let end = after_closing(tokens, at + 1);
                            if tokens.get(end).is_some_and(|token| token == "{") {
                                found.kernels.push((&tokens[at], &tokens[at + 2..end - 1]));
                            }
                            at = end;
                        } else {
                            at += 1;
                        }
                    }
                    i = at;
                    continue;
                }
                // The declarations within are of this scope, too.
                "{" if i > 0 && tokens[i - 1] == "extern" => (),
                "{" => {
                    template.clear();
                    i = after_closing(tokens, i);
                    continue;
                }
                ";" => template.clear(),
                _ => (),
            }
            i += 1;
        }
        found
    }

    fn kernels(&self) -> Vec<Kernel> {
        let scope = Scope::default();
        let parameter = |tokens: Tokens<'t>| {
            let name = tokens.last().cloned().unwrap_or_default();
            (name, self.resolve(&tokens[..tokens.len().saturating_sub(1)], &scope))
        };
        let kernel = |(name, parameters): &(&str, Tokens<'t>)| Kernel {
            name: (*name).to_owned(),
            parameters: parts(parameters).into_iter().map(parameter).collect(),
        };
        self.kernels.iter().map(kernel).collect()
    }

    /// The type that these tokens name.
    fn resolve(&self, tokens: Tokens<'t>, scope: &Scope<'t>) -> Result<Type, String> {
        const QUALIFIERS: [&str; 7] =
            ["const", "volatile", "typename", "struct", "__restrict__", "__grid_constant__", "mutable"];
        let words: Vec<&'t str> =
            tokens.iter().map(String::as_str).filter(|token| !QUALIFIERS.contains(token)).collect();
        if words.last() == Some(&"*") {
            let star = tokens.iter().rposition(|token| token == "*").unwrap_or(0);
            let item = self.resolve(&tokens[..star], scope).ok().map(|item| item.bytes);
            return Ok(Type::scalar(8, Kind::Pointer(item)));
        }
        let unsigned = |bytes| Ok(Type::scalar(bytes, Kind::Unsigned));
        let signed = |bytes| Ok(Type::scalar(bytes, Kind::Signed));
        match words[..] {
            ["bool" | "unsigned" | "unsigned char" | "uint8_t"] | ["unsigned", "char" | "short" | "int"] => {
                unsigned(match words[..] {
                    ["bool" | "uint8_t"] | [_, "char"] => 1,
                    [_, "short"] => 2,
                    _ => 4,
                })
            }
            ["unsigned", "long"] | ["unsigned", "long", "long"] | ["size_t"] => unsigned(8),
            ["unsigned", "__int128"] => unsigned(16),
            ["char"] | ["signed", "char"] => signed(1),
            ["short"] => signed(2),
            ["int"] | [] => signed(4),
            ["long"] | ["long", "long"] => signed(8),
            ["__int128"] => signed(16),
            ["float"] => Ok(Type::scalar(4, Kind::Float)),
            ["double"] => Ok(Type::scalar(8, Kind::Float)),
            ["__half" | "__nv_bfloat16"] => Ok(Type::scalar(2, Kind::Bits)),
            [name] => {
                if let Some(bound) = scope.types.get(name) {
                    Ok(bound.clone())
                } else if let Some(alias) = scope.aliases.get(name) {
                    self.resolve(alias, scope)
                } else if let Some(alias) = self.aliases.get(name) {
                    self.resolve(alias, &Scope::default())
                } else {
                    self.layout(name, Scope::default())
                }
            }
            [name, "<", ..] => {
                let start = position(tokens, "<").unwrap_or(0) + 1;
                let arguments = parts(&tokens[start..tokens.len() - 1]);
                let template = &self.structs.get(name).ok_or_else(|| format!("no struct `{name}`"))?.template;
                let mut inner = Scope::default();
                for (parameter, argument) in template.iter().zip(arguments) {
                    match self.resolve(argument, scope) {
                        Ok(ty) => drop(inner.types.insert(parameter, ty)),
                        Err(_) => drop(inner.numbers.insert(parameter, self.number(argument, scope)?)),
                    }
                }
                self.layout(name, inner)
            }
            _ => Err(format!("the type `{}`", words.join(" "))),
        }
    }

    fn layout(&self, name: &str, mut scope: Scope<'t>) -> Result<Type, String> {
        let Struct { body, is_union, .. } = self.structs.get(name).ok_or_else(|| format!("no struct `{name}`"))?;
        let statements = statements(body);
        for statement in &statements {
            if let [using, alias, equals, ty @ ..] = statement
                && (using.as_str(), equals.as_str()) == ("using", "=")
            {
                scope.aliases.insert(alias, ty);
            }
        }
        let (mut fields, mut bytes, mut align) = (Vec::new(), 0_usize, 1);
        for statement in statements {
            for (name, ty) in self.fields(statement, &scope)? {
                let offset = if *is_union { 0 } else { bytes.next_multiple_of(ty.align) };
                bytes = bytes.max(offset + ty.bytes);
                align = align.max(ty.align);
                fields.push((name, offset, ty));
            }
        }
        let bytes = bytes.max(1).next_multiple_of(align);
        match self.sizes.get(name) {
            Some(asserted) if *asserted != bytes => Err(format!("`{name}` of {bytes} bytes, not {asserted}")),
            _ => Ok(Type { bytes, align, kind: Kind::Struct(fields) }),
        }
    }

    /// The fields that a statement of a struct declares.
    fn fields(&self, statement: Tokens<'t>, scope: &Scope<'t>) -> Result<Vec<(String, Type)>, String> {
        const OTHERS: [&str; 9] =
            ["using", "static", "friend", "typedef", "constexpr", "template", "static_assert", "struct", "enum"];
        let is_other = |first: &String| OTHERS.contains(&first.as_str());
        if statement.first().is_none_or(is_other) || is_function(statement) {
            return Ok(Vec::new());
        }
        let mut fields = Vec::new();
        let mut base: Option<Tokens<'t>> = None;
        for part in parts(statement) {
            let part = &part[..position(part, "=").unwrap_or(part.len())];
            let bracket = position(part, "[").unwrap_or(part.len());
            let Some(name) = bracket.checked_sub(1) else { continue };
            let ty = self.resolve(base.unwrap_or(&part[..name]), scope)?;
            base = base.or(Some(&part[..name]));
            let mut lengths = Vec::new();
            let mut at = bracket;
            while at < part.len() {
                let end = after_closing(part, at);
                lengths.push(self.number(&part[at + 1..end - 1], scope)?);
                at = end;
            }
            let ty = lengths.into_iter().rev().fold(ty, |item, len| Type::array(item, len as usize));
            fields.push((part[name].clone(), ty));
        }
        Ok(fields)
    }

    /// The value of a constant expression.
    fn number(&self, tokens: Tokens<'t>, scope: &Scope<'t>) -> Result<u64, String> {
        let mut at = 0;
        let value = self.sum(tokens, &mut at, scope)?;
        if at == tokens.len() { Ok(value) } else { Err(format!("the number `{}`", tokens.join(" "))) }
    }

    fn sum(&self, tokens: Tokens<'t>, at: &mut usize, scope: &Scope<'t>) -> Result<u64, String> {
        let mut value = self.product(tokens, at, scope)?;
        while let Some(operator @ ("+" | "-")) = tokens.get(*at).map(String::as_str) {
            *at += 1;
            let right = self.product(tokens, at, scope)?;
            value = if operator == "+" { value + right } else { value.saturating_sub(right) };
        }
        Ok(value)
    }

    fn product(&self, tokens: Tokens<'t>, at: &mut usize, scope: &Scope<'t>) -> Result<u64, String> {
        let mut value = self.factor(tokens, at, scope)?;
        while let Some(operator @ ("*" | "/")) = tokens.get(*at).map(String::as_str) {
            *at += 1;
            let right = self.factor(tokens, at, scope)?;
            value = if operator == "*" { value * right } else { value / right.max(1) };
        }
        Ok(value)
    }

    fn factor(&self, tokens: Tokens<'t>, at: &mut usize, scope: &Scope<'t>) -> Result<u64, String> {
        let unknown = || format!("the number `{}`", tokens.join(" "));
        let token = tokens.get(*at).ok_or_else(unknown)?.as_str();
        match token {
            "(" | "sizeof" => {
                let open = *at + usize::from(token == "sizeof");
                let end = after_closing(tokens, open);
                *at = end;
                let inner = &tokens[open + 1..end - 1];
                if token == "(" { self.number(inner, scope) } else { Ok(self.resolve(inner, scope)?.bytes as u64) }
            }
            _ => {
                *at += 1;
                if let Some(number) = scope.numbers.get(token) {
                    return Ok(*number);
                }
                if let Some(constant) = self.constants.get(token) {
                    return self.number(constant, &Scope::default());
                }
                match token {
                    "true" => Ok(1),
                    "false" => Ok(0),
                    token => token.trim_end_matches(['u', 'l', 'U', 'L']).parse().map_err(|_| unknown()),
                }
            }
        }
    }
}

/// Whether a statement of a struct declares a function.
fn is_function(statement: Tokens<'_>) -> bool {
    let assigned = position(statement, "=").unwrap_or(statement.len());
    let bracket = position(statement, "[").unwrap_or(statement.len());
    position(statement, "(").is_some_and(|at| at < assigned.min(bracket))
}

/// The statements of a struct's body, without the bodies of its functions.
fn statements(body: Tokens<'_>) -> Vec<Tokens<'_>> {
    let (mut statements, mut start, mut i) = (Vec::new(), 0, 0);
    while i < body.len() {
        match body[i].as_str() {
            ";" => {
                statements.push(&body[start..i]);
                start = i + 1;
            }
            "{" => {
                let end = after_closing(body, i);
                // Behind a function no semicolon follows.
                if is_function(&body[start..i]) {
                    start = end;
                }
                i = end;
                continue;
            }
            _ => (),
        }
        i += 1;
    }
    statements
}
