//! Bad input on a device gets an error that says what is wrong, and nothing happens.

use scan_runtime::{
    Error, Scanner,
    cudarc::driver::{CudaSlice, result::device},
    ops,
};

use crate::{Trials, ensure};

pub(crate) fn add(trials: &mut Trials) {
    trials.add("a_device_index_without_a_device_is_refused", || {
        let count = device::get_count()? as usize;
        let error = Scanner::cuda(count).err();
        ensure(
            matches!(&error, Some(Error::DeviceIndex { index, count: known }) if *index == count && *known == count),
            || format!("{error:?}"),
        )
    });
    trials.add("an_output_of_another_length_is_refused", || {
        let scanner = Scanner::cuda(0)?;
        let stream = scanner.context().ok_or("no context")?.default_stream();
        let input = stream.clone_htod(&[1, 2, 3])?;
        let mut output = stream.clone_htod(&[7, 7])?;
        let error = scanner.scan(ops::sum::<i32>()).on(&stream).run_into(&input, &mut output).err();
        ensure(matches!(error, Some(Error::Length { what: "output", expected: 3, found: 2, .. })), || {
            format!("{error:?}")
        })?;
        ensure(stream.clone_dtoh(&output)? == [7, 7], || "the output was touched".to_owned())
    });
    trials.add_alone("alone_large_out_of_memory", || {
        let scanner = Scanner::cuda(0)?;
        let context = scanner.context().ok_or("no context")?;
        let stream = context.new_stream()?;
        let (free, _) = context.mem_get_info()?;
        // SAFETY: the memory is never read: the output, as large, does not fit beside it.
        let input: CudaSlice<u8> = unsafe { stream.alloc(free / 5 * 3)? };
        let error = scanner.scan(ops::sum::<u8>()).on(&stream).run(&input).err();
        ensure(matches!(error, Some(Error::OutOfDeviceMemory { .. })), || format!("{error:?}"))?;
        drop(input);
        let result = scanner.scan(ops::sum()).run(&[1_u8, 2, 3])?;
        ensure(result == [1, 3, 6], || "the scanner is unusable afterwards".to_owned())
    });
}
