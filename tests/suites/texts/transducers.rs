//! Programs that give up to two results for an input, through NVRTC.

use scan_codegen::{
    ArrayKind::{self, Bits, Computed, NoMemory, Slice},
    ArrayKinds, Arrays, DeviceLimits, Overrides, ScanSpec, plan,
};
use scan_runtime::{Architecture, ScanOp};
use scan_tests::{
    checked::render,
    transducers::{Leb128, Utf16},
};

use super::nvrtc::{Sources, complaints};

fn sources(op: &impl ScanOp, second: ArrayKind, (major, minor): (u32, u32)) -> Sources {
    let (operator, architecture) = (op.source(), Architecture { major, minor });
    let spec = ScanSpec::inclusive().with_total().with_arrays(Arrays::PerField, Arrays::PerField);
    let spec = spec.with_kinds(ArrayKinds::new([Slice, second]), ArrayKinds::new([NoMemory, Computed]));
    let plans = plan(&operator, &spec, &DeviceLimits::of(architecture), &Overrides::default()).unwrap();
    plans
        .iter()
        .map(|plan| (plan.to_string(), render(&operator, plan, plans.device()).unwrap(), architecture))
        .collect()
}

#[test]
fn transducers_compile_without_warnings() {
    scan_tests::nvrtc().unwrap();
    for sources in [
        sources(&Utf16, Slice, (9, 0)),
        sources(&Utf16, Bits, (7, 5)),
        sources(&Leb128, NoMemory, (9, 0)),
        sources(&Leb128, NoMemory, (8, 0)),
    ] {
        assert_eq!(complaints(sources), Vec::<String>::new());
    }
}
