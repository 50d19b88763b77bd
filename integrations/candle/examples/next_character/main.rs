//! Trains a small model of two gated recurrences to predict the next character of this repository's Rust, and draws the
//! loss.
//!
//! ```console
//! $ cargo run --release --example next_character                          # trains, and writes loss.svg
//! $ cargo run --release --example next_character -- --compare             # times of a step, compared with candle's operations
//! $ cargo run --release --features cuda --example next_character          # on a GPU, where there is one
//! ```

use std::{
    env, error, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use candle_core::{D, DType, Device, Error, IndexOp, Module, Result, Tensor};
use candle_nn::{AdamW, Embedding, Init, Linear, Optimizer, ParamsAdamW, VarBuilder, VarMap, embedding, linear, loss};
use scan_candle::{GatedRecurrence, recurrence};
use scan_runtime::{Axis, Scanner, arrays, ops};

mod chart;

const CHARACTERS: usize = 128;
const WIDTH: usize = 64;
const LAYERS: usize = 2;
const BATCH: usize = 2;
const STEPS: usize = 1024;
const TRAINING_STEPS: usize = 300;

/// How the recurrence is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    /// One scan.
    Scan,
    /// candle's own operations, step by step.
    Loop,
    /// candle's own operations, in rounds over all steps that double how far a state reaches back.
    Doubling,
}

impl By {
    fn states(self, gates: &Tensor, added: &Tensor) -> Result<Tensor> {
        let steps = added.dim(1)?;
        match self {
            By::Scan => recurrence(gates, added, None, 1),
            By::Loop => {
                let mut states = vec![added.narrow(1, 0, 1)?];
                for t in 1..steps {
                    let kept = (gates.narrow(1, t, 1)? * &states[t - 1])?;
                    states.push((kept + added.narrow(1, t, 1)?)?);
                }
                Tensor::cat(&states, 1)
            }
            By::Doubling => {
                let (mut gates, mut states, mut distance) = (gates.clone(), added.clone(), 1);
                while distance < steps {
                    let rest = steps - distance;
                    let before = states.narrow(1, 0, rest)?.pad_with_zeros(1, distance, 0)?;
                    states = (states + (&gates * before)?)?;
                    gates = (&gates * gates.narrow(1, 0, rest)?.pad_with_zeros(1, distance, 0)?)?;
                    distance *= 2;
                }
                Ok(states)
            }
        }
    }
}

struct Model {
    characters: Embedding,
    layers: Vec<GatedRecurrence>,
    logits: Linear,
}

impl Model {
    fn new(vb: VarBuilder<'_>) -> Result<Self> {
        let layer = |number| GatedRecurrence::new(WIDTH, WIDTH, WIDTH, vb.pp(format!("layer{number}")));
        Ok(Model {
            characters: embedding(CHARACTERS, WIDTH, vb.pp("characters"))?,
            layers: (0..LAYERS).map(layer).collect::<Result<_>>()?,
            logits: linear(WIDTH, CHARACTERS, vb.pp("logits"))?,
        })
    }

    /// The logits of the character after each one.
    fn forward(&self, text: &Tensor, by: By) -> Result<Tensor> {
        let mut x = self.characters.forward(text)?;
        for layer in &self.layers {
            let (gates, added) = layer.steps(&x)?;
            x = (&x + layer.outputs(&by.states(&gates, &added)?)?.silu()?)?;
        }
        self.logits.forward(&x)
    }

    /// The same of a single character, with the states of the layers before and after it.
    fn stream(&self, character: &Tensor, states: &mut [Option<Tensor>]) -> Result<Tensor> {
        let mut x = self.characters.forward(character)?;
        for (layer, state) in self.layers.iter().zip(states) {
            let (y, after) = layer.stream(&x, state.as_ref())?;
            *state = Some(after);
            x = (&x + y.silu()?)?;
        }
        self.logits.forward(&x)
    }

    /// Nats per character.
    fn loss(&self, text: &Tensor, by: By) -> Result<Tensor> {
        let steps = text.dim(1)? - 1;
        let logits = self.forward(&text.narrow(1, 0, steps)?, by)?.flatten_to(1)?;
        loss::cross_entropy(&logits, &text.narrow(1, 1, steps)?.flatten_all()?)
    }
}

/// The Rust of the runtime, as one text.
fn repository() -> std::io::Result<Vec<u8>> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scan-runtime/src")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "rs") => files.push(path),
                false => {}
            }
        }
    }
    files.sort();
    let mut text = Vec::new();
    for file in files {
        text.extend(fs::read(file)?);
    }
    text.retain(|&byte| usize::from(byte) < CHARACTERS);
    Ok(text)
}

/// Excerpts of a text: as many as the batch, of as many characters as the steps and one more.
fn excerpts(text: &[u8], number: u64, device: &Device) -> Result<Tensor> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut characters: Vec<u32> = Vec::new();
    for _ in 0..BATCH {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let start = (state >> 33) as usize % (text.len() - STEPS);
        characters.extend(text[start..=start + STEPS].iter().map(|&byte| u32::from(byte)));
    }
    Tensor::from_vec(characters, (BATCH, STEPS + 1), device)
}

/// What a model knows that only counts characters: its nats per character.
fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; CHARACTERS];
    text.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let shares = counts.iter().filter(|&&count| count > 0).map(|&count| f64::from(count) / text.len() as f64);
    shares.map(|share| -share * share.ln()).sum()
}

struct Training {
    model: Model,
    optimizer: AdamW,
}

impl Training {
    fn new(device: &Device) -> Result<Self> {
        let weights = VarMap::new();
        let model = Model::new(VarBuilder::from_varmap(&weights, DType::F32, device))?;
        let parameters = ParamsAdamW { lr: 4e-3, weight_decay: 0.01, ..ParamsAdamW::default() };
        Ok(Training { model, optimizer: AdamW::new(weights.all_vars(), parameters)? })
    }

    /// One step, and the loss before it.
    fn step(&mut self, text: &Tensor, by: By) -> Result<f32> {
        let loss = self.model.loss(text, by)?;
        self.optimizer.backward_step(&loss)?;
        loss.to_scalar()
    }
}

fn main() -> std::result::Result<(), Box<dyn error::Error>> {
    let device = Device::cuda_if_available(0).unwrap_or(Device::Cpu);
    let text = repository()?;
    let (training, held_out) = text.split_at(text.len() / 10 * 9);
    match env::args().nth(1).as_deref() {
        Some("--compare") => compare(training, &device)?,
        _ => train(training, held_out, &device)?,
    }
    Ok(())
}

fn train(text: &[u8], held_out: &[u8], device: &Device) -> std::result::Result<(), Box<dyn error::Error>> {
    let frequencies = entropy(text);
    println!("{} characters on {device:?}; by their frequencies alone {frequencies:.2} nats each", text.len());
    let mut training = Training::new(device)?;
    let (start, mut losses) = (Instant::now(), Vec::new());
    for step in 0..TRAINING_STEPS {
        losses.push(f64::from(training.step(&excerpts(text, step as u64, device)?, By::Scan)?));
        if step % 50 == 49 {
            let recent = losses[step - 9..].iter().sum::<f64>() / 10.0;
            println!("step {:>3}: {recent:.2} nats per character, {:.1} s", step + 1, start.elapsed().as_secs_f64());
        }
    }
    let mut others = 0.0;
    for number in 0..8 {
        let loss = training.model.loss(&excerpts(held_out, 1_000_000 + number, device)?, By::Scan)?;
        others += f64::from(loss.to_scalar::<f32>()?) / 8.0;
    }
    println!("held out: {others:.2} nats per character");
    println!("{}", continuation(&training.model, "/// The number of ", 60, device)?);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("loss.svg");
    fs::write(&file, chart::loss(&losses, frequencies))?;
    println!("{}", file.display());
    Ok(())
}

/// A text and the most likely characters after it, one after the other, with carried states.
fn continuation(model: &Model, text: &str, count: usize, device: &Device) -> Result<String> {
    let (mut states, mut written) = (vec![None; LAYERS], text.as_bytes().to_vec());
    let mut next = 0;
    for position in 0..text.len() + count {
        if position >= text.len() {
            written.push(next);
        }
        let character = Tensor::new(&[[u32::from(written[position])]], device)?;
        let logits = model.stream(&character, &mut states)?;
        next = logits.i((0, 0))?.argmax(D::Minus1)?.to_scalar::<u32>()? as u8;
    }
    Ok(String::from_utf8_lossy(&written).into_owned())
}

/// Times of training steps, of the recurrence alone, and of both ways to give the two gradients of its backward pass.
fn compare(text: &[u8], device: &Device) -> std::result::Result<(), Box<dyn error::Error>> {
    println!("a training step: {BATCH} × {STEPS} characters, {LAYERS} layers of {WIDTH} channels, on {device:?}");
    let mut scan = None;
    for by in [By::Scan, By::Doubling, By::Loop] {
        let mut training = Training::new(device)?;
        report(&format!("{by:?}"), &mut scan, |number| {
            training.step(&excerpts(text, number, device)?, by)?;
            Ok(())
        })?;
    }

    println!("the recurrence alone, forward and backward");
    let vars = VarMap::new();
    let vb = VarBuilder::from_varmap(&vars, DType::F32, device);
    let shape = (BATCH, STEPS, WIDTH);
    let gates = vb.get_with_hints(shape, "a", Init::Uniform { lo: 0.5, up: 1.0 })?;
    let added = vb.get_with_hints(shape, "x", Init::Uniform { lo: -1.0, up: 1.0 })?;
    let mut scan = None;
    for by in [By::Scan, By::Doubling, By::Loop] {
        report(&format!("{by:?}"), &mut scan, |_| {
            let gradients = by.states(&gates, &added)?.sqr()?.sum_all()?.backward()?;
            // Waits for a GPU.
            gradients.get(&gates).map(|gradient| gradient.i((0, 0, 0))?.to_scalar::<f32>()).transpose()?;
            Ok(())
        })?;
    }

    println!("its backward pass on the CPU, 8 × 4096 × 256");
    let axis = || Axis::of(&[8, 4096, 256], 1);
    let input = vec![0.5_f32; axis()?.len()];
    let (mut da, mut dx) = (vec![0.0_f32; input.len()], vec![0.0_f32; input.len()]);
    let backward = Scanner::cpu().scan(ops::recurrence::<f32>().gradient()).reverse();
    let run = backward.along(axis()?);
    let mut one = None;
    report("one scan with two results", &mut one, |_| {
        run.run_into((&input, &input, &input), (&mut da, &mut dx)).map_err(Error::wrap)
    })?;
    report("two scans with one each", &mut one, |_| {
        run.run_into((&input, &input, &input), (&mut da, arrays::discard())).map_err(Error::wrap)?;
        run.run_into((&input, &input, &input), (arrays::discard(), &mut dx)).map_err(Error::wrap)
    })?;
    Ok(())
}

/// Prints the median time of a run, and its ratio to the first one's.
fn report(name: &str, first: &mut Option<f64>, mut run: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut times = Vec::new();
    for number in 0..12 {
        let start = Instant::now();
        run(number)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[times.len() / 2];
    let ratio = median / *first.get_or_insert(median);
    println!("  {name}: {:.2} ms, {ratio:.1} times the first", median * 1e3);
    Ok(())
}
