//! The ready operators, by name.

use std::{fmt, str::FromStr};

use scan_runtime::{Architecture, DeviceLimits, Error, ScanOp, Scanner, ops};

/// The names of the ready operators.
pub(crate) const OPERATORS: [&str; 9] = ["sum", "product", "max", "min", "bit_and", "bit_or", "bit_xor", "all", "any"];

/// The types that they work on.
pub(crate) const ELEMENTS: [&str; 15] =
    ["i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32", "f64", "bool"];

/// One of [`OPERATORS`].
#[derive(Clone, Copy)]
pub(crate) struct OperatorName(&'static str);

/// One of [`ELEMENTS`].
#[derive(Clone, Copy)]
pub(crate) struct Element(&'static str);

fn find(name: &str, names: &[&'static str]) -> Result<&'static str, String> {
    names.iter().find(|known| **known == name).copied().ok_or_else(|| format!("there is {}", names.join(", ")))
}

impl FromStr for OperatorName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find(name, &OPERATORS).map(OperatorName)
    }
}

impl FromStr for Element {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        find(name, &ELEMENTS).map(Element)
    }
}

/// A scan by a ready operator.
#[derive(clap::Args)]
pub(crate) struct What {
    /// The operator
    operator: OperatorName,
    /// The type of the elements; `all` and `any` are of `bool`
    #[arg(default_value = "f32")]
    element: Element,
    /// Exclusive, not inclusive
    #[arg(long)]
    exclusive: bool,
    /// For inputs of so many elements; the plan then tells the launches
    #[arg(long)]
    len: Option<usize>,
    /// For the devices of this architecture, such as sm_90, in place of the one that is here
    #[arg(long)]
    arch: Option<Architecture>,
}

/// How a scan would run.
pub(crate) struct Shown {
    pub(crate) plan: String,
    pub(crate) source: String,
}

/// Why there is nothing to show.
#[derive(Debug)]
pub(crate) enum NotShown {
    NoSuch { operator: &'static str, element: &'static str, on: &'static str },
    Scan(Error),
}

impl fmt::Display for NotShown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotShown::NoSuch { operator, element, on } => {
                write!(f, "there is no `{operator}` of {element}: it is an operator on {on}")
            }
            NotShown::Scan(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NotShown {}

/// What would run: on the architecture that is named, on the machine's device, or on the baseline's where there is none.
pub(crate) fn show(what: &What) -> Result<Shown, NotShown> {
    let &What { operator, element, .. } = what;
    let scanner = match what.arch {
        Some(architecture) => Scanner::cpu_for(DeviceLimits::of(architecture)),
        None => Scanner::new().map_err(NotShown::Scan)?,
    };
    macro_rules! of_types {
        ($on:literal: $make:ident of $($ty:ident)*) => {
            match element.0 {
                $(stringify!($ty) => of(&scanner, ops::$make::<$ty>(), what),)*
                element => Err(NotShown::NoSuch { operator: operator.0, element, on: $on }),
            }
        };
    }
    macro_rules! numbers {
        ($make:ident) => {
            of_types!("numbers": $make of i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64)
        };
    }
    macro_rules! bits {
        ($make:ident) => {
            of_types!("integers and bool": $make of i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize bool)
        };
    }
    match (operator.0, element.0) {
        ("sum", _) => numbers!(sum),
        ("product", _) => numbers!(product),
        ("max", _) => numbers!(max),
        ("min", _) => numbers!(min),
        ("bit_and", _) => bits!(bit_and),
        ("bit_or", _) => bits!(bit_or),
        ("bit_xor", _) => bits!(bit_xor),
        ("all", "bool") => of(&scanner, ops::all(), what),
        ("any", "bool") => of(&scanner, ops::any(), what),
        (operator, element) => Err(NotShown::NoSuch { operator, element, on: "bool" }),
    }
}

fn of<Op: ScanOp>(scanner: &Scanner, op: Op, what: &What) -> Result<Shown, NotShown> {
    let scan = scanner.scan(op);
    let scan = if what.exclusive { scan.exclusive() } else { scan };
    let plans = scan.plan().map_err(NotShown::Scan)?;
    let (plan, source) = match what.len {
        None => (plans.to_string(), scan.cuda_source()),
        Some(len) => {
            let plan = plans.for_len(len as u64);
            let schedule = plan.schedule(len as u64).map_err(|error| NotShown::Scan(error.into()))?;
            let launches = schedule.launches.iter().map(|launch| {
                format!("\n  launch    {}, {} blocks of {} threads", launch.kernel, launch.blocks, launch.threads)
            });
            let launches: String = launches.collect();
            (format!("{plan}{launches}"), scan.cuda_source_for(len))
        }
    };
    Ok(Shown { plan, source: source.map_err(NotShown::Scan)?.to_string() })
}
