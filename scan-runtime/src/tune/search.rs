//! The search for the fastest kernel shape of a user's own scan on the user's own device.

use std::{fmt, sync::Arc, time::Duration};

use cudarc::driver::{CudaSlice, CudaStream, sys::CUevent_flags};
use scan_codegen::{Overrides, Plan, Tuned};

use super::progress::{Counter, TuningProgress, TuningStep};
use crate::{
    Error, Scan, ScanOp,
    call::Task,
    call::Totals,
    cpu::try_map,
    cuda::{driver_error, milliseconds_between},
    scanner::Engine,
    telemetry::{Caller, allocated_on_device, copied},
};

/// The result of a [search](Scan::tune): the time of every shape, the fastest first.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// Elements of the input.
    pub len: usize,
    /// The measured shapes: first the fastest few, timed several times, in the order of their medians; then those that
    /// were eliminated after one measurement.
    pub shapes: Vec<TimedShape>,
    /// Shapes that could not be compiled or run, each with its error.
    pub failures: Vec<(Overrides, Error)>,
    /// Whether the fastest shape is kept for other processes: it is if the scanner has a cache that can be written.
    pub kept: bool,
}

/// A shape and its time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TimedShape {
    /// The shape, for [`Scan::overrides`].
    pub overrides: Overrides,
    /// Its plan.
    pub plan: Plan,
    /// The time of a scan, run back to back with others of this shape.
    pub time: Duration,
    /// Whether this shape would have run without the search.
    pub default: bool,
}

impl fmt::Display for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(best) = self.shapes.first() else {
            return write!(f, "{} elements: no shape could be measured", self.len);
        };
        writeln!(
            f,
            "{} elements: {} shapes measured, {} could not run",
            self.len,
            self.shapes.len(),
            self.failures.len()
        )?;
        writeln!(f, "{}", best.plan)?;
        write!(f, "  takes     {:.2} µs", microseconds(best.time))?;
        if let Some(default) = self.shapes.iter().find(|shape| shape.default) {
            write!(f, ", where the default takes {:.2} µs", microseconds(default.time))?;
        }
        Ok(())
    }
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The number of samples of each finalist.
const SAMPLES: usize = 9;
/// The number of shapes that are measured again.
const FINALISTS: usize = 8;
/// The approximate duration of a sample.
const SAMPLE: Duration = Duration::from_micros(400);

impl<Op: ScanOp> Scan<Op> {
    /// Searches for the kernel shape that scans these elements fastest on this scanner's device, and keeps it. From
    /// then on, scans with this operator and these options, of half as many to twice as many elements, run in that
    /// shape: in this process and, if the scanner has a [disk cache](crate::DiskCache), in later ones. Removing the
    /// cache's entries undoes that.
    ///
    /// It takes from seconds to a few minutes, since it compiles many kernels. [`tune_with`](Scan::tune_with) reports
    /// its progress.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let input = vec![1.0_f32; 1 << 24];
    /// let tuning = scanner.scan(ops::sum()).tune(&input)?;
    /// println!("{tuning}");
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotCuda`] on a CPU scanner, [`Error::EmptyInput`] without elements, [`Error::ShapeChosen`] if the
    /// scan's options already choose its shape, [`Error::OutOfDeviceMemory`]; the first error of a shape, if none could
    /// run.
    pub fn tune(&self, input: &[Op::Input]) -> Result<Tuning, Error> {
        self.tune_with(input, |_| ())
    }

    /// As [`tune`](Scan::tune), and calls `progress` whenever a shape has been compiled or measured. The calls come one
    /// at a time, in the order of `done`; those of [`TuningStep::Compiling`] come from this thread and rayon's.
    ///
    /// ```no_run
    /// use scan_runtime::{Scanner, ops};
    ///
    /// let scanner = Scanner::cuda(0)?;
    /// let input = vec![1.0_f32; 1 << 24];
    /// let tuning = scanner.scan(ops::sum()).tune_with(&input, |progress| eprint!("\r{progress}  "))?;
    /// println!("\n{tuning}");
    /// # Ok::<(), scan_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`tune`](Scan::tune).
    pub fn tune_with(&self, input: &[Op::Input], progress: impl FnMut(TuningProgress) + Send) -> Result<Tuning, Error> {
        let Engine::Cuda(device) = self.options.scanner.engine() else {
            return Err(Error::NotCuda { backend: self.options.scanner.backend().to_string() });
        };
        if input.is_empty() {
            return Err(Error::EmptyInput);
        }
        if self.options.overrides.is_some() {
            return Err(Error::ShapeChosen);
        }
        let len = input.len() as u64;
        let (operator, spec) = (self.options.op.source(), self.host_call().call(Totals::None).spec());
        let plans = scan_codegen::plan(&operator, &spec, &device.limits, &Overrides::default())?;
        let by_default = plans.for_len(len);
        let mut shapes = vec![Overrides::default()];
        shapes.extend(scan_codegen::shapes(&operator, &spec, &device.limits, len));

        let progress = Counter::new(progress);
        progress.begin(TuningStep::Compiling, shapes.len());
        let task = |overrides| Task::Scan(spec.clone(), overrides);
        let caller = Caller::new();
        let compiled = try_map(shapes.len(), |index| {
            let kernels = caller.help(|| device.kernels(&*self.options.op, &task(shapes[index]), len));
            progress.one_more();
            Ok::<_, Error>((shapes[index], kernels.err()))
        })?;
        drop(caller);

        progress.begin(TuningStep::Measuring, compiled.len());
        let stream = device.context.new_stream().map_err(driver_error("making a stream"))?;
        let device_input = stream.clone_htod(input).map_err(driver_error("copying to the device"))?;
        allocated_on_device(size_of_val(input) as u64);
        copied(size_of_val(input));
        let mut output = self.on(&stream).run(&device_input)?;
        let (mut rough, mut failures) = (Vec::new(), Vec::new());
        for (overrides, error) in compiled {
            let scan = self.clone().overrides(overrides);
            let time = match error {
                None => scan.warm_and_time(&stream, &device_input, &mut output),
                Some(error) => Err(error),
            };
            progress.one_more();
            match time {
                Ok(time) => rough.push((time, overrides)),
                Err(error) => failures.push((overrides, error)),
            }
        }
        rough.sort_by_key(|(time, _)| *time);
        let mut finalists: Vec<_> =
            rough.iter().take(FINALISTS).map(|&(_, overrides)| (overrides, Vec::new())).collect();
        if let Some(&(_, default)) =
            rough.iter().skip(FINALISTS).find(|(_, overrides)| *overrides == Overrides::default())
        {
            finalists.push((default, Vec::new()));
        }
        progress.begin(TuningStep::Comparing, SAMPLES * finalists.len());
        // The samples alternate between the shapes, so that a temporary slowdown of the device affects all of them.
        for _ in 0..SAMPLES {
            for (overrides, times) in &mut finalists {
                times.push(self.clone().overrides(*overrides).time(&stream, &device_input, &mut output)?);
                progress.one_more();
            }
        }

        let is_finalist = |overrides: &Overrides| finalists.iter().any(|(finalist, _)| finalist == overrides);
        rough.retain(|(_, overrides)| !is_finalist(overrides));
        let median = |times: &mut Vec<Duration>| {
            times.sort_unstable();
            times[times.len() / 2]
        };
        let mut order: Vec<_> = finalists.iter_mut().map(|(overrides, times)| (median(times), *overrides)).collect();
        order.sort_by_key(|(time, _)| *time);
        order.extend(rough);
        let mut timed = Vec::new();
        for (time, overrides) in order {
            let default = overrides == Overrides::default();
            let plan = match default {
                true => by_default.clone(),
                false => scan_codegen::plan(&operator, &spec, &device.limits, &overrides)?.for_len(len).clone(),
            };
            timed.push(TimedShape { overrides, plan, time, default });
        }
        if timed.is_empty() && !failures.is_empty() {
            return Err(failures.swap_remove(0).1);
        }
        // The slower shapes are not needed any more.
        for shape in shapes.iter().filter(|shape| **shape != Overrides::default()) {
            device.forget(&*self.options.op, &task(*shape));
        }
        let kept = match timed.first() {
            Some(best) if !best.default => {
                let tuned = Tuned { from: len.div_ceil(2), to: len.saturating_mul(2), overrides: best.overrides };
                device.keep_tuned(&*self.options.op, &spec, tuned)
            }
            _ => false,
        };
        Ok(Tuning { len: input.len(), shapes: timed, failures, kept })
    }

    /// Runs the scan once, which finds its errors, and then times it.
    fn warm_and_time(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<Op::Input>,
        output: &mut CudaSlice<Op::Output>,
    ) -> Result<Duration, Error> {
        self.on(stream).run_into(input, &mut *output)?;
        stream.synchronize().map_err(driver_error("scanning"))?;
        self.time(stream, input, output)
    }

    /// The mean time of several scans, run one after the other.
    fn time(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaSlice<Op::Input>,
        output: &mut CudaSlice<Op::Output>,
    ) -> Result<Duration, Error> {
        let mut scans = 1_u32;
        loop {
            let event = || {
                stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver_error("recording an event"))
            };
            let start = event()?;
            for _ in 0..scans {
                self.on(stream).run_into(input, &mut *output)?;
            }
            let end = event()?;
            let milliseconds = milliseconds_between(&start, &end)?;
            let time = Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3);
            if time >= SAMPLE / 2 || scans >= 256 {
                return Ok(time / scans);
            }
            scans *= 4;
        }
    }
}
