//! Each operation, forward and backward, against loops of candle's own operations, finite differences and numbers. All
//! of it runs on the CPU, and with the feature `cuda` on the first GPU, too, where there is one.

#![allow(clippy::expect_used, reason = "a test that fails panics")]
#![allow(clippy::type_complexity, reason = "tables of names and functions")]

use std::{
    io::{self, Write as _},
    sync::Once,
};

use candle_core::{D, DType, Device, Error, Module, Result, Tensor, Var};
use candle_nn::{VarBuilder, VarMap};
use scan_candle::{
    GatedRecurrence, Read, TensorOp, cummax, cumprod, cumsum, logcumsumexp, recurrence, scan, scan_from, scan_no_bwd,
};
use scan_runtime::ops;

/// The CPU, and the first GPU where there is one.
fn devices() -> Vec<Device> {
    static SAID: Once = Once::new();
    if !cfg!(feature = "cuda") {
        return vec![Device::Cpu];
    }
    let gpu = Device::new_cuda(0);
    SAID.call_once(|| {
        // Not by `println!`, which tests hold back.
        let _ = match &gpu {
            Ok(device) => writeln!(io::stderr(), "on the CPU and {device:?}"),
            Err(error) => writeln!(io::stderr(), "on the CPU alone, there is no CUDA device: {error}"),
        };
    });
    [Device::Cpu].into_iter().chain(gpu.ok()).collect()
}

/// Numbers between −1 and 1, the same ones for a seed.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 30) - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn tensor(shape: &[usize], seed: u64, device: &Device) -> Result<Tensor> {
    Tensor::from_vec(numbers(shape.iter().product(), seed), shape, device)
}

fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

fn close(found: &Tensor, expected: &Tensor, tolerance: f64, what: &str) -> Result<()> {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    for (index, (found, expected)) in values(found)?.into_iter().zip(values(expected)?).enumerate() {
        let allowed = tolerance * expected.abs().max(1.0);
        assert!((found - expected).abs() <= allowed, "{what}: element {index} is {found}, not {expected}");
    }
    Ok(())
}

/// The loop over a dimension, of candle's own operations.
fn by_a_loop(
    xs: &[&Tensor],
    dim: usize,
    step: impl Fn(Option<&Tensor>, &[Tensor]) -> Result<Tensor>,
) -> Result<Tensor> {
    let (mut before, mut results) = (None, Vec::new());
    for t in 0..xs[0].dim(dim)? {
        let now = xs.iter().map(|x| x.narrow(dim, t, 1)).collect::<Result<Vec<_>>>()?;
        let result = step(before.as_ref(), &now)?;
        results.push(result.clone());
        before = Some(result);
    }
    Tensor::cat(&results, dim)
}

/// An operation of one tensor, and the step of the loop that computes the same.
struct Unary {
    name: &'static str,
    ours: fn(&Tensor, usize) -> Result<Tensor>,
    step: fn(&Tensor, &Tensor) -> Result<Tensor>,
}

const UNARY: [Unary; 4] = [
    Unary { name: "cumsum", ours: |x, dim| cumsum(x, dim), step: |y, x| y + x },
    Unary { name: "cumprod", ours: |x, dim| cumprod(x, dim), step: |y, x| y * x },
    Unary { name: "cummax", ours: |x, dim| cummax(x, dim), step: |y, x| y.maximum(x) },
    Unary {
        name: "logcumsumexp",
        ours: |x, dim| logcumsumexp(x, dim),
        step: |y, x| {
            let larger = y.maximum(x)?.detach();
            &larger + ((y - &larger)?.exp()? + (x - &larger)?.exp()?)?.log()?
        },
    },
];

impl Unary {
    fn by_a_loop(&self, x: &Tensor, dim: usize) -> Result<Tensor> {
        by_a_loop(&[x], dim, |y, x| match y {
            Some(y) => (self.step)(y, &x[0]),
            None => Ok(x[0].clone()),
        })
    }
}

/// The gradients of Σ w·y with respect to leaves.
fn gradients(y: &Tensor, leaves: &[&Var]) -> Result<Vec<Tensor>> {
    let weights = tensor(y.dims(), 99, y.device())?.to_dtype(y.dtype())?;
    let gradients = (y * weights)?.sum_all()?.backward()?;
    Ok(leaves.iter().map(|leaf| gradients.get(leaf).expect("a leaf has a gradient").clone()).collect())
}

const SHAPES: [(&[usize], usize); 9] = [
    (&[7], 0),
    (&[1], 0),
    (&[3, 5], 0),
    (&[3, 5], 1),
    (&[2, 1, 3], 1),
    (&[2, 6, 3], 1),
    (&[2, 3, 4, 5], 0),
    (&[2, 3, 4, 5], 2),
    (&[2, 300, 17], 1),
];

/// How a tensor lies in memory.
const VIEWS: [(&str, fn(&Tensor) -> Result<Tensor>); 4] = [
    ("contiguous", |x| Ok(x.clone())),
    ("transposed", |x| {
        let last = x.rank() - 1;
        x.transpose(0, last)?.contiguous()?.transpose(0, last)
    }),
    ("a part", |x| {
        let padded = x.pad_with_zeros(0, 2, 1)?.pad_with_zeros(D::Minus1, 1, 3)?;
        let x = x.dims();
        match x {
            [n] => padded.narrow(0, 3, *n),
            [first, .., last] => padded.narrow(0, 2, *first)?.narrow(D::Minus1, 1, *last),
            [] => Ok(padded),
        }
    }),
    ("broadcast", |x| x.narrow(0, 0, 1)?.broadcast_as(x.shape())),
];

#[test]
fn results_and_gradients_are_those_of_a_loop() -> Result<()> {
    for device in devices() {
        for (shape, dim) in SHAPES {
            for (view, lies) in VIEWS {
                for operation in &UNARY {
                    let what = format!("{} of {shape:?} along {dim}, {view}, {device:?}", operation.name);
                    if operation.name == "cummax" && view == "broadcast" && dim == 0 {
                        continue; // Equal elements: candle's `maximum` halves the gradient.
                    }
                    let x = Var::from_tensor(&tensor(shape, 1, &device)?)?;
                    let (ours, theirs) = ((operation.ours)(&lies(&x)?, dim)?, operation.by_a_loop(&lies(&x)?, dim)?);
                    close(&ours, &theirs, 1e-12, &what)?;
                    close(&gradients(&ours, &[&x])?[0], &gradients(&theirs, &[&x])?[0], 1e-11, &what)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn sums_are_those_of_the_matrix_product() -> Result<()> {
    for device in devices() {
        for (shape, dim) in SHAPES {
            let x = Var::from_tensor(&tensor(shape, 2, &device)?)?;
            // candle's refuses some transposed tensors.
            let theirs = x.transpose(dim, D::Minus1)?.contiguous()?.cumsum(D::Minus1)?.transpose(dim, D::Minus1)?;
            let ours = cumsum(&x, dim)?;
            close(&ours, &theirs, 1e-12, "cumsum")?;
            close(&gradients(&ours, &[&x])?[0], &gradients(&theirs, &[&x])?[0], 1e-12, "cumsum")?;
        }
    }
    Ok(())
}

fn recurrence_by_a_loop(a: &Tensor, x: &Tensor, first: Option<&Tensor>, dim: usize) -> Result<Tensor> {
    let first = first.map(|first| first.unsqueeze(dim)).transpose()?;
    by_a_loop(&[&a.broadcast_as(x.shape())?, x], dim, |before, now| match before.or(first.as_ref()) {
        Some(before) => (&now[0] * before)? + &now[1],
        None => Ok(now[1].clone()),
    })
}

fn without(shape: &[usize], dim: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape.remove(dim);
    shape
}

#[test]
fn recurrences_and_their_gradients_are_those_of_a_loop() -> Result<()> {
    for device in devices() {
        for (shape, dim) in SHAPES {
            for (view, lies) in VIEWS {
                let what = format!("{shape:?} along {dim}, {view}, {device:?}");
                let a = Var::from_tensor(&tensor(shape, 3, &device)?)?;
                let x = Var::from_tensor(&tensor(shape, 4, &device)?)?;
                let first = Var::from_tensor(&tensor(&without(shape, dim), 5, &device)?)?;
                let ours = recurrence(&lies(&a)?, &x, None, dim)?;
                let theirs = recurrence_by_a_loop(&lies(&a)?, &x, None, dim)?;
                close(&ours, &theirs, 1e-12, &what)?;
                let leaves = if shape[dim] == 1 { vec![&x] } else { vec![&a, &x] };
                for (ours, theirs) in gradients(&ours, &leaves)?.iter().zip(gradients(&theirs, &leaves)?) {
                    close(ours, &theirs, 1e-11, &what)?;
                }
                let ours = recurrence(&a, &lies(&x)?, Some(&first), dim)?;
                let theirs = recurrence_by_a_loop(&a, &lies(&x)?, Some(&first), dim)?;
                close(&ours, &theirs, 1e-12, &what)?;
                let leaves = [&a, &x, &first];
                for (ours, theirs) in gradients(&ours, &leaves)?.iter().zip(gradients(&theirs, &leaves)?) {
                    close(ours, &theirs, 1e-11, &what)?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_gate_of_a_head_has_the_sum_of_its_channels_gradients() -> Result<()> {
    for device in devices() {
        let (shape, of_gates) = ([2, 6, 3, 4], [2, 6, 3, 1]);
        let a = Var::from_tensor(&tensor(&of_gates, 6, &device)?)?;
        let x = Var::from_tensor(&tensor(&shape, 7, &device)?)?;
        let (ours, theirs) = (recurrence(&a, &x, None, 1)?, recurrence_by_a_loop(&a, &x, None, 1)?);
        close(&ours, &theirs, 1e-12, "a gate of a head")?;
        for (ours, theirs) in gradients(&ours, &[&a, &x])?.iter().zip(gradients(&theirs, &[&a, &x])?) {
            close(ours, &theirs, 1e-12, "a gate of a head")?;
        }
    }
    Ok(())
}

/// The derivative of Σ w·f(x) with respect to each element of x, by central differences.
fn by_differences(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    by_differences_of(x, |x| {
        let y = f(x)?;
        (&y * tensor(y.dims(), 99, y.device())?)?.sum_all()
    })
}

/// The derivative of a loss with respect to each element of x, by central differences.
fn by_differences_of(x: &Tensor, loss_of: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (shape, numbers, step) = (x.shape(), values(x)?, 1e-6);
    let loss = |index: usize, by: f64| {
        let mut moved = numbers.clone();
        moved[index] += by;
        loss_of(&Tensor::from_vec(moved, shape, x.device())?)?.to_scalar::<f64>()
    };
    let each = (0..numbers.len()).map(|index| Ok((loss(index, step)? - loss(index, -step)?) / (2.0 * step)));
    Tensor::from_vec(each.collect::<Result<Vec<f64>>>()?, shape, x.device())
}

#[test]
fn gradients_are_those_of_finite_differences() -> Result<()> {
    for device in devices() {
        let (shape, dim) = ([2, 9, 3], 1);
        let x = Var::from_tensor(&tensor(&shape, 8, &device)?)?;
        for operation in &UNARY {
            let found = gradients(&(operation.ours)(&x, dim)?, &[&x])?;
            close(&found[0], &by_differences(&x, |x| (operation.ours)(x, dim))?, 1e-7, operation.name)?;
        }
        let a = Var::from_tensor(&tensor(&shape, 9, &device)?)?;
        let first = Var::from_tensor(&tensor(&[2, 3], 10, &device)?)?;
        let found = gradients(&recurrence(&a, &x, Some(&first), dim)?, &[&a, &x, &first])?;
        close(&found[0], &by_differences(&a, |a| recurrence(a, &x, Some(&first), dim))?, 1e-7, "a")?;
        close(&found[1], &by_differences(&x, |x| recurrence(&a, x, Some(&first), dim))?, 1e-7, "x")?;
        close(&found[2], &by_differences(&first, |first| recurrence(&a, &x, Some(first), dim))?, 1e-7, "first")?;

        let max_plus = |a: &Tensor, x: &Tensor, first: &Tensor| scan_from(ops::max_plus::<f64>(), [a, x], first, dim);
        let found = gradients(&max_plus(&a, &x, &first)?, &[&a, &x, &first])?;
        close(&found[0], &by_differences(&a, |a| max_plus(a, &x, &first))?, 1e-7, "a of max-plus")?;
        close(&found[1], &by_differences(&x, |x| max_plus(&a, x, &first))?, 1e-7, "x of max-plus")?;
        close(&found[2], &by_differences(&first, |first| max_plus(&a, &x, first))?, 1e-7, "first of max-plus")?;
    }
    Ok(())
}

#[test]
fn initial_values_of_sums_products_maxima_and_logarithms_have_gradients() -> Result<()> {
    for device in devices() {
        let x = Var::from_tensor(&tensor(&[3, 4], 11, &device)?)?;
        let first = Var::from_tensor(&tensor(&[3], 12, &device)?)?;
        let operations: [(&str, fn(&Tensor, &Tensor) -> Result<Tensor>); 4] = [
            ("sum", |x, first| scan_from(ops::sum::<f64>(), [x], first, 1)),
            ("product", |x, first| scan_from(ops::product::<f64>(), [x], first, 1)),
            ("max", |x, first| scan_from(ops::max::<f64>(), [x], first, 1)),
            ("log", |x, first| scan_from(scan_candle::log_sum_exp::<f64, f64>(), [x], first, 1)),
        ];
        for (name, operation) in operations {
            let found = gradients(&operation(&x, &first)?, &[&x, &first])?;
            close(&found[0], &by_differences(&x, |x| operation(x, &first))?, 1e-7, name)?;
            close(&found[1], &by_differences(&first, |first| operation(&x, first))?, 1e-7, name)?;
        }
    }
    Ok(())
}

#[test]
fn a_product_has_the_gradients_of_its_zeros() -> Result<()> {
    for device in devices() {
        for numbers in [[2.0, 0.0, 3.0, 4.0], [0.0, 5.0, 0.0, 7.0], [0.0; 4]] {
            let x = Var::new(&numbers, &device)?;
            let found = gradients(&cumprod(&x, 0)?, &[&x])?;
            close(&found[0], &by_differences(&x, |x| cumprod(x, 0))?, 1e-8, "zeros")?;
        }
    }
    Ok(())
}

#[test]
fn the_last_of_equal_maxima_has_the_gradient() -> Result<()> {
    for device in devices() {
        let x = Var::new(&[1.0_f64, 3.0, 3.0, 2.0, 3.0, 1.0], &device)?;
        let gradients = cummax(&x, 0)?.sum_all()?.backward()?;
        // torch.cummax(torch.tensor([1., 3, 3, 2, 3, 1]), 0).indices is [0, 1, 2, 2, 4, 4].
        assert_eq!(values(gradients.get(&x).expect("a gradient"))?, [1.0, 1.0, 2.0, 0.0, 2.0, 0.0]);
    }
    Ok(())
}

#[test]
fn minus_infinity_adds_nothing_to_a_sum_of_exponentials() -> Result<()> {
    for device in devices() {
        let x = Var::new(&[f64::NEG_INFINITY, 1.0, f64::NEG_INFINITY, 800.0], &device)?;
        let y = logcumsumexp(&x, 0)?;
        assert_eq!(values(&y)?, [f64::NEG_INFINITY, 1.0, 1.0, 800.0]);
        let gradients = y.narrow(0, 1, 3)?.sum_all()?.backward()?;
        assert_eq!(values(gradients.get(&x).expect("a gradient"))?, [0.0, 2.0, 0.0, 1.0]);
    }
    Ok(())
}

#[test]
fn narrower_types_agree_with_f64() -> Result<()> {
    for device in devices() {
        for (dtype, tolerance) in [(DType::F32, 1e-5), (DType::F16, 4e-3), (DType::BF16, 3e-2)] {
            let shape = [2, 24, 3];
            let rounded = |seed| tensor(&shape, seed, &device)?.to_dtype(dtype)?.to_dtype(DType::F64);
            let (a, x) = (Var::from_tensor(&rounded(13)?)?, Var::from_tensor(&rounded(14)?)?);
            let narrow = |var: &Var| Var::from_tensor(&var.to_dtype(dtype)?);
            let (narrow_a, narrow_x) = (narrow(&a)?, narrow(&x)?);
            for operation in &UNARY {
                let (found, expected) = ((operation.ours)(&narrow_x, 1)?, (operation.ours)(&x, 1)?);
                assert_eq!(found.dtype(), dtype);
                let what = format!("{} of {dtype:?}, {device:?}", operation.name);
                close(&found, &expected, tolerance, &what)?;
                let ones = |y: &Tensor, x: &Var| Ok::<_, Error>(y.sum_all()?.backward()?.get(x).expect("one").clone());
                close(&ones(&found, &narrow_x)?, &ones(&expected, &x)?, 2.0 * tolerance, &what)?;
            }
            let (found, expected) = (recurrence(&narrow_a, &narrow_x, None, 1)?, recurrence(&a, &x, None, 1)?);
            close(&found, &expected, tolerance, &format!("recurrence of {dtype:?}"))?;
            let found = found.sum_all()?.backward()?;
            let expected = expected.sum_all()?.backward()?;
            for (narrow, wide) in [(&narrow_a, &a), (&narrow_x, &x)] {
                let (found, expected) = (found.get(narrow).expect("one"), expected.get(wide).expect("one"));
                close(found, expected, 2.0 * tolerance, &format!("gradients of {dtype:?}"))?;
            }
        }
    }
    Ok(())
}

#[test]
fn chunks_and_tokens_give_the_results_of_the_whole() -> Result<()> {
    for device in devices() {
        let a = tensor(&[2, 10, 3], 15, &device)?;
        let x = tensor(&[2, 10, 3], 16, &device)?;
        let first = tensor(&[2, 3], 17, &device)?;
        let whole = recurrence(&a, &x, Some(&first), 1)?;
        for len in [1, 3, 10] {
            let (mut state, mut parts) = (first.clone(), Vec::new());
            for start in (0..10).step_by(len) {
                let part = |tensor: &Tensor| tensor.narrow(1, start, len.min(10 - start));
                let (h, last) = scan_no_bwd(ops::recurrence::<f64>(), [&part(&a)?, &part(&x)?], Some(&state), 1)?;
                parts.push(h);
                state = last;
            }
            close(&Tensor::cat(&parts, 1)?, &whole, 1e-14, "chunks")?;
            close(&state, &whole.narrow(1, 9, 1)?.squeeze(1)?, 1e-14, "the last state")?;
        }
        // The state of bf16 is carried in f32: 256 + 1 is 256 in bf16.
        let ones = Tensor::ones((1, 300), DType::BF16, &device)?;
        let sums = ops::sum_in::<f32, scan_runtime::half::bf16>();
        let (_, state) = scan_no_bwd(sums, [&ones], None, 1)?;
        let (_, state) = scan_no_bwd(sums, [&ones], Some(&state), 1)?;
        assert_eq!(state.to_vec1::<f32>()?, [600.0]);
    }
    Ok(())
}

#[test]
fn tensors_without_elements_give_such_tensors() -> Result<()> {
    for device in devices() {
        for (shape, dim) in [(&[0_usize][..], 0), (&[3, 0], 1), (&[3, 0], 0), (&[2, 0, 4], 1)] {
            let x = Var::from_tensor(&tensor(shape, 18, &device)?)?;
            for operation in &UNARY {
                let y = (operation.ours)(&x, dim)?;
                assert_eq!(y.dims(), shape);
                let gradients = y.sum_all()?.backward()?;
                assert_eq!(gradients.get(&x).expect("a gradient").dims(), shape, "{}", operation.name);
            }
        }
        // No steps leave the state as it is.
        let (x, first) = (tensor(&[2, 0], 19, &device)?, Var::from_tensor(&tensor(&[2], 20, &device)?)?);
        let (h, last) = scan_no_bwd(ops::recurrence::<f64>(), [&x, &x], Some(&first), 1)?;
        assert_eq!(h.dims(), [2, 0]);
        close(&last, &first, 0.0, "the state")?;
        let none = scan_no_bwd(ops::recurrence::<f64>(), [&x, &x], None, 1);
        assert!(matches!(cause(none.unwrap_err()), Error::EmptyTensor { .. }));
    }
    Ok(())
}

/// An error without its backtrace.
fn cause(error: Error) -> Error {
    match error {
        Error::WithBacktrace { inner, .. } => cause(*inner),
        error => error,
    }
}

/// An operator whose `reads` contradicts its `Reads`.
struct Contradicts(Vec<Read>);

impl TensorOp<f64> for Contradicts {
    const NAME: &'static str = "contradicts";
    type Forward = ops::Sum<f64>;
    type Inputs = [f64; 1];
    type Backward = ops::Sum<f64>;
    type Reads = [f64; 1];
    fn forward(&self) -> ops::Sum<f64> {
        ops::sum()
    }
    fn backward(&self) -> ops::Sum<f64> {
        ops::sum()
    }
    fn reads(&self) -> Vec<Read> {
        self.0.clone()
    }
}

#[test]
fn an_operator_that_reads_what_there_is_not_is_an_error() -> Result<()> {
    for device in devices() {
        let x = Var::from_tensor(&tensor(&[2, 3], 27, &device)?)?;
        for reads in [vec![], vec![Read::Gradient, Read::Output], vec![Read::Input(1)]] {
            let y = scan(Contradicts(reads), [&x], 1)?;
            let error = y.sum_all()?.backward().unwrap_err().to_string();
            assert!(error.contains("`reads`"), "{error}");
        }
    }
    Ok(())
}

#[test]
fn bad_arguments_are_typed_errors() -> Result<()> {
    for device in devices() {
        let x = tensor(&[2, 3], 21, &device)?;
        for operation in &UNARY {
            let error = cause((operation.ours)(&x, 2).unwrap_err());
            assert!(matches!(error, Error::DimOutOfRange { dim: 2, .. }), "{}: {error}", operation.name);
            let scalar = Tensor::new(1.0_f64, &device)?;
            let error = cause((operation.ours)(&scalar, 0).unwrap_err());
            assert!(matches!(error, Error::DimOutOfRange { .. }), "{}: {error}", operation.name);
            let integers = Tensor::new(&[1_u32, 2], &device)?;
            let error = cause((operation.ours)(&integers, 0).unwrap_err());
            let is_typed = matches!(error, Error::UnsupportedDTypeForOp(DType::U32, name) if name == operation.name);
            assert!(is_typed, "{}: {error}", operation.name);
        }
        assert!(matches!(cause(cumsum(&x, D::Minus(3)).unwrap_err()), Error::DimOutOfRange { .. }));
        let (other, narrow) = (tensor(&[2, 4], 22, &device)?, x.to_dtype(DType::F32)?);
        let error = cause(scan(ops::recurrence::<f64>(), [&x, &other], 1).unwrap_err());
        assert!(matches!(error, Error::ShapeMismatchBinaryOp { .. }), "{error}");
        let error = cause(scan(ops::recurrence::<f64>(), [&x, &narrow], 1).unwrap_err());
        assert!(matches!(error, Error::UnexpectedDType { got: DType::F32, .. }), "{error}");
        let error = cause(recurrence(&other, &x, None, 1).unwrap_err());
        assert!(matches!(error, Error::BroadcastIncompatibleShapes { .. }), "{error}");
        let error = cause(recurrence(&x, &x, Some(&x), 1).unwrap_err());
        assert!(matches!(error, Error::UnexpectedShape { .. }), "{error}");
        let nine = tensor(&[1; 9], 23, &device)?;
        assert!(cumsum(&nine, 0).unwrap_err().to_string().contains("9 dimensions"));
    }
    Ok(())
}

#[test]
fn a_layer_streams_what_it_computes_at_once() -> Result<()> {
    for device in devices() {
        let vars = VarMap::new();
        let layer = GatedRecurrence::new(3, 5, 2, VarBuilder::from_varmap(&vars, DType::F64, &device))?;
        let x = tensor(&[2, 11, 3], 24, &device)?;
        let whole = layer.forward(&x)?;
        assert_eq!(whole.dims(), [2, 11, 2]);
        for len in [1, 4] {
            let (mut state, mut parts) = (None, Vec::new());
            for start in (0..11).step_by(len) {
                let (y, after) = layer.stream(&x.narrow(1, start, len.min(11 - start))?, state.as_ref())?;
                parts.push(y);
                state = Some(after);
            }
            close(&Tensor::cat(&parts, 1)?, &whole, 1e-14, "streamed")?;
        }
        // All of its weights, and the initial state, are trained.
        let first = Var::from_tensor(&tensor(&[2, 5], 25, &device)?)?;
        let y = layer.forward_from(&x, Some(&first))?;
        let gradients = y.sqr()?.sum_all()?.backward()?;
        for var in vars.all_vars().iter().chain([&first]) {
            let gradient = gradients.get(var).expect("a gradient");
            assert_eq!(gradient.dims(), var.dims());
            assert!(gradient.abs()?.max_all()?.to_scalar::<f64>()? > 0.0);
        }
        let found = gradients.get(&first).expect("a gradient");
        let by = by_differences_of(&first, |first| layer.forward_from(&x, Some(first))?.sqr()?.sum_all())?;
        close(found, &by, 1e-7, "the initial state")?;
        let vector = tensor(&[3], 26, &device)?;
        assert!(matches!(cause(layer.forward(&vector).unwrap_err()), Error::UnexpectedNumberOfDims { .. }));
    }
    Ok(())
}
