//! The types that programs compute with, and where the numbers of a value lie in memory.

use crate::emulated::Random;
use scan_codegen::Primitive;

/// A type of the operator language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Primitive(Primitive),
    Array(Box<Type>, usize),
    /// One of the [`Types`], by its place there.
    Struct(usize),
    /// The two results of `advance`, which are a tuple that is written in place and lies in no memory.
    Results(Box<[Type; 2]>),
}

/// A struct of the generated crate.
#[derive(Clone, Debug)]
pub(super) struct Struct {
    pub(super) name: String,
    pub(super) fields: Vec<(String, Type)>,
    pub(super) tuple: bool,
}

/// A `#[scan_fn]` of the generated crate: of two values of a type it makes a third.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    pub(super) name: String,
    pub(super) ty: Type,
    /// Its text in Rust.
    pub(super) text: String,
}

/// What the programs of one crate share.
#[derive(Clone, Debug, Default)]
pub(super) struct Types {
    pub(super) structs: Vec<Struct>,
    /// Functions that the programs call; those that come later call earlier ones too.
    pub(super) helpers: Vec<Helper>,
}

/// Words of C++, of the prelude and of Rust's style, as names of fields.
const FIELDS: &[&str] = &["a", "b", "low", "high", "int", "class", "value", "items", "count", "union", "operator"];

pub(super) fn is_integer(primitive: Primitive) -> bool {
    !matches!(primitive, Primitive::Bool) && !is_float(primitive) && !is_half(primitive)
}

pub(super) fn is_float(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::F32 | Primitive::F64)
}

/// The numbers of the crate `half`, which have operators and methods, and neither literals nor casts.
pub(super) fn is_half(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::F16 | Primitive::Bf16)
}

pub(super) fn is_signed(primitive: Primitive) -> bool {
    primitive.name().starts_with('i')
}

/// The unsigned type of the same width.
pub(super) fn unsigned(primitive: Primitive) -> Primitive {
    use Primitive::*;
    match primitive {
        I8 => U8,
        I16 => U16,
        I32 => U32,
        I64 => U64,
        I128 => U128,
        Isize => Usize,
        other => other,
    }
}

impl Types {
    /// Some structs, those that come later made of earlier ones too.
    pub(super) fn random(random: &mut Random) -> Self {
        let mut types = Types::default();
        for index in 0..10 {
            let count = 1 + random.below(4);
            let tuple = random.one_in(3);
            let mut names: Vec<&str> = FIELDS.to_vec();
            let mut fields = Vec::new();
            for place in 0..count {
                let ty = types.field(random);
                let name = names.swap_remove(random.below(names.len()));
                fields.push((if tuple { place.to_string() } else { name.to_owned() }, ty));
            }
            types.structs.push(Struct { name: format!("Record{index}"), fields, tuple });
            if types.size(&Type::Struct(index)) > 128 {
                types.structs[index].fields = vec![("0".to_owned(), Type::Primitive(Primitive::I16))];
                types.structs[index].tuple = true;
            }
        }
        types
    }

    fn field(&self, random: &mut Random) -> Type {
        match random.below(8) {
            0 if !self.structs.is_empty() => Type::Struct(random.below(self.structs.len())),
            1 => Type::Array(Box::new(Type::Primitive(primitive(random))), 1 + random.below(3)),
            2 if random.one_in(2) => Type::Primitive(half(random)),
            _ => Type::Primitive(primitive(random)),
        }
    }

    /// A type for an element or a variable.
    pub(super) fn pick(&self, random: &mut Random) -> Type {
        match random.below(12) {
            0..3 => Type::Struct(random.below(self.structs.len())),
            3 => Type::Array(Box::new(Type::Primitive(primitive(random))), 1 + random.below(4)),
            4 if random.one_in(3) => {
                let item = match random.one_in(2) {
                    true => Type::Struct(random.below(self.structs.len())),
                    false => Type::Array(Box::new(Type::Primitive(primitive(random))), 1 + random.below(3)),
                };
                let max = 256 / self.size(&item).max(1);
                Type::Array(Box::new(item), 1 + random.below(max.min(3)))
            }
            5 if random.one_in(2) => Type::Primitive(half(random)),
            _ => Type::Primitive(primitive(random)),
        }
    }

    /// The type in Rust.
    pub(super) fn name(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) => primitive.name().to_owned(),
            Type::Array(item, len) => format!("[{}; {len}]", self.name(item)),
            Type::Struct(index) => self.structs[*index].name.clone(),
            Type::Results(both) => format!("({}, {})", self.name(&both[0]), self.name(&both[1])),
        }
    }

    /// A value that can stand anywhere, in conditions too.
    pub(super) fn zero(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(Primitive::Bool) => "false".to_owned(),
            Type::Primitive(primitive) if is_half(*primitive) => format!("{}::ZERO", primitive.name()),
            Type::Primitive(primitive) if is_float(*primitive) => format!("0.0_{}", primitive.name()),
            Type::Primitive(primitive) => format!("0_{}", primitive.name()),
            Type::Array(item, len) => format!("[{}; {len}]", self.zero(item)),
            Type::Struct(index) => format!("ZERO_{}", self.structs[*index].name.to_uppercase()),
            Type::Results(both) => format!("({}, {})", self.zero(&both[0]), self.zero(&both[1])),
        }
    }

    /// The declarations in Rust.
    pub(super) fn declarations(&self) -> String {
        let mut text = String::new();
        for Struct { name, fields, tuple } in &self.structs {
            let derive = "#[scan_element]\n#[derive(Clone, Copy)]\n";
            let item = |(name, ty): &(String, Type)| match tuple {
                true => self.name(ty),
                false => format!("{name}: {}", self.name(ty)),
            };
            let zero = |(name, ty): &(String, Type)| format!("{name}: {}", self.zero(ty));
            let items: Vec<String> = fields.iter().map(item).collect();
            let zeros: Vec<String> = fields.iter().map(zero).collect();
            let items = items.join(", ");
            text += &match tuple {
                true => format!("{derive}struct {name}({items});\n"),
                false => format!("{derive}struct {name} {{ {items} }}\n"),
            };
            text += &format!("const ZERO_{}: {name} = {name} {{ {} }};\n", name.to_uppercase(), zeros.join(", "));
        }
        self.helpers.iter().for_each(|helper| text += &helper.text);
        text
    }

    pub(super) fn size(&self, ty: &Type) -> usize {
        match ty {
            Type::Primitive(primitive) => primitive.size(),
            Type::Array(item, len) => self.size(item) * len,
            Type::Struct(_) | Type::Results(_) => self.leaves_and_size(ty).1,
        }
    }

    fn align(&self, ty: &Type) -> usize {
        match ty {
            Type::Primitive(primitive) => primitive.size(),
            Type::Array(item, _) => self.align(item),
            Type::Struct(index) => {
                self.structs[*index].fields.iter().map(|(_, field)| self.align(field)).max().unwrap_or(1)
            }
            Type::Results(_) => 1,
        }
    }

    /// The numbers in a value: where each lies, what it is, and how to name it.
    pub(super) fn leaves(&self, ty: &Type) -> Vec<(usize, Primitive, String)> {
        self.leaves_and_size(ty).0
    }

    fn leaves_and_size(&self, ty: &Type) -> (Vec<(usize, Primitive, String)>, usize) {
        let mut leaves = Vec::new();
        let mut end = 0;
        let mut add = |part: &Type, name: String| {
            let start = usize::next_multiple_of(end, self.align(part));
            let (inner, size) = self.leaves_and_size(part);
            leaves.extend(inner.into_iter().map(|(at, leaf, path)| (start + at, leaf, format!("{name}{path}"))));
            end = start + size;
        };
        match ty {
            Type::Primitive(primitive) => return (vec![(0, *primitive, String::new())], primitive.size()),
            Type::Array(item, len) => (0..*len).for_each(|index| add(item, format!("[{index}]"))),
            Type::Struct(index) => {
                self.structs[*index].fields.iter().for_each(|(name, field)| add(field, format!(".{name}")))
            }
            Type::Results(_) => {}
        }
        (leaves, end.next_multiple_of(self.align(ty)))
    }
}

/// A primitive that Rust has by itself.
pub(super) fn primitive(random: &mut Random) -> Primitive {
    loop {
        let primitive = Primitive::ALL[random.below(Primitive::ALL.len())];
        if !is_half(primitive) {
            return primitive;
        }
    }
}

pub(super) fn half(random: &mut Random) -> Primitive {
    [Primitive::F16, Primitive::Bf16][random.below(2)]
}

pub(super) fn integer(random: &mut Random) -> Primitive {
    loop {
        let primitive = primitive(random);
        if is_integer(primitive) {
            return primitive;
        }
    }
}
