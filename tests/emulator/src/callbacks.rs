//! What compiled kernels call: the table of functions, mirrored by `Host` in the host prelude.
//!
//! The functions run on the stack of the thread that calls. Where a thread has to wait, its coroutine is suspended there;
//! after a fault it is never resumed.

use std::{
    cell::Cell,
    ffi::{CStr, c_char, c_void},
    ptr, slice,
};

use super::{
    fault::{Access, FaultKind},
    machine::{Load, Machine, State},
    memory::Request,
};

/// What is known of a value's past: how many applications of the operator deep it is, and the event of the trace that
/// brought it forth.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Origin {
    pub(super) depth: u32,
    pub(super) event: u32,
}

/// A pointer argument of a kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Handle {
    pub(super) buffer: u32,
    pub(super) offset: i64,
}

/// A bulk copy, and the barrier that it arrives at (buffer 0 for none).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Copy {
    pub(super) to_buffer: u32,
    pub(super) from_buffer: u32,
    pub(super) barrier_buffer: u32,
    pub(super) bytes: u32,
    pub(super) to: i64,
    pub(super) from: i64,
    pub(super) barrier: i64,
}

/// The table.
#[repr(C)]
pub(super) struct Host {
    thread_index: extern "C" fn() -> u32,
    block_index: extern "C" fn() -> u32,
    block_size: extern "C" fn() -> u32,
    grid_size: extern "C" fn() -> u32,
    read: unsafe extern "C" fn(u32, i64, u32, u32, u32, *mut c_void, *mut Origin),
    write: unsafe extern "C" fn(u32, i64, u32, u32, u32, *const c_void, *const Origin),
    atomic: unsafe extern "C" fn(u32, u32, i64, u32, u32, *mut c_void),
    fence: extern "C" fn(u32),
    pause: extern "C" fn(u32),
    has_waited_long: extern "C" fn() -> bool,
    barrier: extern "C" fn(u32),
    exchange: unsafe extern "C" fn(u32, u32, u32, u32, *mut c_void),
    apply: unsafe extern "C" fn(u32, u32, *const c_void, *const c_void, *const Origin, *const Origin, *mut Origin),
    lift: unsafe extern "C" fn(u32, u32, u32, *const c_void, *mut Origin),
    shared: unsafe extern "C" fn(u32, *const c_char, u64, u32, u32) -> u32,
    address: extern "C" fn(u32, i64) -> u64,
    trap: extern "C" fn(u32),
    outside_own_array: extern "C" fn(u64, u32),
    shifted_too_far: extern "C" fn(u64, u32),
    launched_shared: extern "C" fn() -> u32,
    init_barrier: extern "C" fn(u32, i64, u32, u32),
    arrive: extern "C" fn(u32, i64, u32, u32),
    wait: extern "C" fn(u32, i64, u32, u32),
    copy_in: unsafe extern "C" fn(*const Copy, u32),
    copy_out: unsafe extern "C" fn(*const Copy, u32),
    wait_for_bulk_stores: extern "C" fn(u32),
    fence_for_copies: extern "C" fn(),
    tell: unsafe extern "C" fn(*const Copy, *const c_void, u32, u32),
    arrive_in_cluster: extern "C" fn(u32),
    wait_for_cluster: extern "C" fn(u32),
    wait_for_previous_launch: extern "C" fn(),
    cp_async: unsafe extern "C" fn(u32, i64, u32, u32, *const c_void),
    cp_async_commit_group: extern "C" fn(),
    cp_async_wait_group: extern "C" fn(u32),
    place: extern "C" fn(u32, i64) -> u64,
    item: extern "C" fn(u64, u32),
}

pub(super) static HOST: Host = Host {
    thread_index,
    block_index,
    block_size,
    grid_size,
    read,
    write,
    atomic,
    fence,
    pause,
    has_waited_long,
    barrier,
    exchange,
    apply,
    lift,
    shared,
    address,
    trap,
    outside_own_array,
    shifted_too_far,
    launched_shared,
    init_barrier,
    arrive,
    wait,
    copy_in: begin_copy,
    copy_out: begin_copy,
    wait_for_bulk_stores,
    fence_for_copies,
    tell,
    arrive_in_cluster,
    wait_for_cluster,
    wait_for_previous_launch,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    place,
    item,
};

// The numbers of the atomic operations. Also in the host prelude.
const LOAD_RELAXED: u32 = 0;
const LOAD_ACQUIRE: u32 = 1;
const STORE_RELAXED: u32 = 2;
const STORE_RELEASE: u32 = 3;
const ADD: u32 = 4;

thread_local! {
    /// The machine that executes on this thread of the host.
    static MACHINE: Cell<*mut Machine> = const { Cell::new(ptr::null_mut()) };
}

/// Makes a machine the one that kernels on this thread of the host talk to, until the guard is dropped.
pub(super) struct Active;

impl Active {
    /// The machine must stay where it is, and nothing else may touch it while a kernel executes.
    pub(super) fn new(machine: *mut Machine) -> Self {
        MACHINE.set(machine);
        Active
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        MACHINE.set(ptr::null_mut());
    }
}

/// The machine, for as long as an action on it takes.
pub(super) fn machine<R>(action: impl FnOnce(&mut Machine) -> R) -> R {
    // SAFETY: kernels execute only while a machine is active, and the scheduler holds no reference to it meanwhile. No
    // action suspends, so there is one reference at a time.
    action(unsafe { &mut *MACHINE.get() })
}

/// Lets other threads go on, until this one is resumed.
fn suspend() {
    let yielder = machine(|machine| machine.current().yielder);
    // SAFETY: the yielder lives on the stack of the coroutine that executes this.
    unsafe { (*yielder).suspend(()) };
}

/// Ends the run: the thread is never resumed.
fn fail(kind: FaultKind, line: u32) {
    machine(|machine| {
        let line = if line == 0 { machine.current().line } else { line };
        let place = machine.place(line);
        machine.fault = Some((kind, place));
    });
    loop {
        suspend();
    }
}

fn check<T>(result: Result<T, FaultKind>, line: u32) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(kind) => {
            fail(kind, line);
            None
        }
    }
}

/// Suspends the thread as one that can go on, if that is due.
fn interrupt(due: impl FnOnce(&mut Machine) -> bool) {
    let interrupted = machine(|machine| {
        let due = due(machine);
        if due {
            let thread = (machine.slot, machine.thread);
            machine.woken.push(thread);
        }
        due
    });
    if interrupted {
        suspend();
    }
}

fn interrupt_access() {
    interrupt(|machine| machine.interrupt > 0 && machine.random.one_in(machine.interrupt));
}

extern "C" fn thread_index() -> u32 {
    machine(|machine| machine.thread as u32)
}

extern "C" fn block_index() -> u32 {
    machine(|machine| machine.block().index)
}

extern "C" fn block_size() -> u32 {
    machine(|machine| machine.shape.threads)
}

extern "C" fn grid_size() -> u32 {
    machine(|machine| machine.shape.blocks)
}

/// # Safety
///
/// `to` is valid for writes of `size` bytes; `origin` is null or valid for a write.
unsafe extern "C" fn read(
    buffer: u32,
    offset: i64,
    size: u32,
    align: u32,
    line: u32,
    to: *mut c_void,
    origin: *mut Origin,
) {
    if buffer == 0 {
        return fail(FaultKind::Uninitialised { spot: None }, line);
    }
    interrupt_access();
    let request = Request { access: Access::Read, atomic: false, offset, size, align, line };
    // SAFETY: the caller vouches for the place.
    let to = unsafe { slice::from_raw_parts_mut(to.cast(), size as usize) };
    let result = machine(|machine| machine.read(buffer, &request, to, !origin.is_null()));
    if let Some(read) = check(result, line)
        && !origin.is_null()
    {
        // SAFETY: as above.
        unsafe { origin.write(read) };
    }
}

/// # Safety
///
/// `from` is valid for reads of `size` bytes; `origin` is null or valid for a read.
unsafe extern "C" fn write(
    buffer: u32,
    offset: i64,
    size: u32,
    align: u32,
    line: u32,
    from: *const c_void,
    origin: *const Origin,
) {
    interrupt_access();
    let request = Request { access: Access::Write, atomic: false, offset, size, align, line };
    // SAFETY: the caller vouches for the places.
    let (from, origin) = unsafe { (slice::from_raw_parts(from.cast(), size as usize), origin.as_ref().copied()) };
    check(machine(|machine| machine.write(buffer, &request, from, origin)), line);
}

/// # Safety
///
/// `value` is valid for reads and writes of `size` bytes.
unsafe extern "C" fn atomic(what: u32, buffer: u32, offset: i64, size: u32, line: u32, value: *mut c_void) {
    if buffer == 0 {
        return fail(FaultKind::Uninitialised { spot: None }, line);
    }
    // SAFETY: the caller vouches for the place.
    let value: &mut [u8] = unsafe { slice::from_raw_parts_mut(value.cast(), size as usize) };
    let loads = matches!(what, LOAD_RELAXED | LOAD_ACQUIRE);
    if loads && machine(|machine| machine.waits_at_load((buffer, offset), line)) {
        suspend();
    } else {
        interrupt(|_| true);
    }
    let access = if loads { Access::Read } else { Access::Write };
    let request = Request { access, atomic: true, offset, size, align: size, line };
    let result = machine(|machine| match what {
        LOAD_RELAXED => machine.load(buffer, &request, false, value),
        LOAD_ACQUIRE => machine.load(buffer, &request, true, value),
        STORE_RELAXED => machine.store(buffer, &request, false, value),
        STORE_RELEASE => machine.store(buffer, &request, true, value),
        ADD => machine.modify(buffer, &request, value, |old, value| old.wrapping_add(value)),
        _ => machine.modify(buffer, &request, value, |old, value| old | value),
    });
    check(result, line);
}

extern "C" fn fence(_line: u32) {
    machine(Machine::fence);
}

extern "C" fn has_waited_long() -> bool {
    machine(|machine| machine.has_waited_long())
}

extern "C" fn pause(line: u32) {
    machine(|machine| machine.pause(line));
    suspend();
}

extern "C" fn barrier(line: u32) {
    if check(machine(|machine| machine.barrier(line)), line).is_some() {
        suspend();
    }
}

/// # Safety
///
/// `value` is valid for reads and writes of `size` bytes until the warp has executed the instruction.
unsafe extern "C" fn exchange(what: u32, argument: u32, size: u32, line: u32, value: *mut c_void) {
    if check(machine(|machine| machine.exchange(what, argument, size, line, value.cast())), line).is_some() {
        suspend();
    }
}

/// # Safety
///
/// The operands are valid for reads of `size` bytes, the origins for reads, and `origin` for a write.
unsafe extern "C" fn apply(
    line: u32,
    size: u32,
    left: *const c_void,
    right: *const c_void,
    left_origin: *const Origin,
    right_origin: *const Origin,
    origin: *mut Origin,
) {
    // SAFETY: the caller vouches for the places.
    let (operands, left, right) = unsafe {
        let bytes = |operand: *const c_void| slice::from_raw_parts(operand.cast::<u8>(), size as usize);
        ((bytes(left), bytes(right)), left_origin.read(), right_origin.read())
    };
    if let Some(applied) = check(machine(|machine| machine.apply(line, operands, left, right)), line) {
        // SAFETY: as above.
        unsafe { origin.write(applied) };
    }
}

/// # Safety
///
/// `state` is valid for reads of `size` bytes, and `origin` for a read and a write.
unsafe extern "C" fn lift(line: u32, input_size: u32, size: u32, state: *const c_void, origin: *mut Origin) {
    // SAFETY: the caller vouches for the places.
    let (state, input) = unsafe { (slice::from_raw_parts(state.cast::<u8>(), size as usize), origin.read()) };
    let lifted = machine(|machine| machine.lift(line, (input, input_size), state));
    // SAFETY: as above.
    unsafe { origin.write(lifted) };
}

/// # Safety
///
/// `name` is a string that ends in zero.
unsafe extern "C" fn shared(declaration: u32, name: *const c_char, bytes: u64, align: u32, _line: u32) -> u32 {
    // SAFETY: the caller vouches for the string.
    let name = unsafe { CStr::from_ptr(name) };
    machine(|machine| machine.shared(declaration, name, bytes, align))
}

extern "C" fn address(buffer: u32, offset: i64) -> u64 {
    machine(|machine| machine.address(buffer, offset))
}

extern "C" fn place(buffer: u32, offset: i64) -> u64 {
    machine(|machine| machine.place_of(buffer, offset))
}

extern "C" fn item(place: u64, bytes: u32) {
    let Some((buffer, offset)) = machine(|machine| machine.shared_at(place)) else { return };
    interrupt_access();
    let request = Request { access: Access::Read, atomic: false, offset, size: bytes, align: 1, line: 0 };
    let result = machine(|machine| {
        let line = machine.current().line;
        machine.read(buffer, &Request { line, ..request }, &mut vec![0; bytes as usize], false)
    });
    check(result, 0);
}

extern "C" fn trap(line: u32) {
    fail(FaultKind::Trap, line);
}

extern "C" fn outside_own_array(index: u64, line: u32) {
    fail(FaultKind::OwnArray { index }, line);
}

extern "C" fn shifted_too_far(by: u64, line: u32) {
    fail(FaultKind::Shift { by }, line);
}

extern "C" fn launched_shared() -> u32 {
    machine(Machine::launched_shared)
}

extern "C" fn init_barrier(buffer: u32, offset: i64, arrivals: u32, line: u32) {
    if buffer == 0 {
        return fail(FaultKind::Uninitialised { spot: None }, line);
    }
    machine(|machine| machine.init_barrier((buffer, offset), arrivals));
}

extern "C" fn arrive(buffer: u32, offset: i64, bytes: u32, line: u32) {
    if buffer == 0 {
        return fail(FaultKind::Uninitialised { spot: None }, line);
    }
    interrupt(|_| true);
    check(machine(|machine| machine.arrive((buffer, offset), bytes)), line);
}

extern "C" fn wait(buffer: u32, offset: i64, parity: u32, line: u32) {
    if buffer == 0 {
        return fail(FaultKind::Uninitialised { spot: None }, line);
    }
    interrupt_access();
    if check(machine(|machine| machine.wait((buffer, offset), parity, line)), line) == Some(false) {
        suspend();
    }
    machine(|machine| machine.record_wait((buffer, offset), line));
}

/// # Safety
///
/// `copy` is valid for a read.
unsafe extern "C" fn begin_copy(copy: *const Copy, line: u32) {
    interrupt_access();
    // SAFETY: the caller vouches for the place.
    let copy = unsafe { copy.read() };
    check(machine(|machine| machine.begin_copy(&copy, line)), line);
}

extern "C" fn wait_for_bulk_stores(line: u32) {
    if !machine(|machine| machine.wait_for_bulk_stores(line)) {
        suspend();
    }
}

extern "C" fn fence_for_copies() {
    machine(Machine::fence_for_copies);
}

/// # Safety
///
/// `copy` is valid for a read, and `value` for reads of as many bytes as it has.
unsafe extern "C" fn tell(copy: *const Copy, value: *const c_void, block: u32, line: u32) {
    interrupt_access();
    // SAFETY: the caller vouches for the places.
    let (copy, value) = unsafe {
        let copy = copy.read();
        (copy, slice::from_raw_parts(value.cast::<u8>(), copy.bytes as usize))
    };
    check(machine(|machine| machine.tell(&copy, value, block, line)), line);
}

extern "C" fn arrive_in_cluster(line: u32) {
    if check(machine(Machine::arrive_in_cluster), line).is_some() {
        interrupt(|_| true);
    }
}

extern "C" fn wait_for_cluster(line: u32) {
    while check(machine(|machine| machine.wait_for_cluster(line)), line) == Some(false) {
        suspend();
    }
}

extern "C" fn wait_for_previous_launch() {
    interrupt_access();
    machine(Machine::wait_for_previous_launch);
}

/// Executes the thread that the coroutine is made for: remembers how to suspend it, and notes its end.
///
/// # Safety
///
/// The machine is active, and the arguments are those that the kernel takes.
pub(super) unsafe fn execute(
    yielder: &corosensei::Yielder<(), ()>,
    entry: unsafe extern "C" fn(*const *const c_void),
    arguments: *const *const c_void,
) {
    machine(|machine| machine.current().yielder = yielder);
    // SAFETY: the caller vouches for the arguments.
    unsafe { entry(arguments) };
    machine(|machine| {
        debug_assert_eq!(machine.current().state, State::Ready);
        machine.finish();
    });
}

/// # Safety
///
/// `from` is valid for reads of `size` bytes.
unsafe extern "C" fn cp_async(buffer: u32, offset: i64, size: u32, line: u32, from: *const c_void) {
    // SAFETY: the caller vouches for the place.
    let bytes = unsafe { slice::from_raw_parts(from.cast::<u8>(), size as usize) }.to_vec();
    machine(|machine| {
        let thread = machine.current();
        let group = thread.load_groups;
        thread.loads_begun.push(Load { buffer, offset, line, bytes, group });
    });
}

extern "C" fn cp_async_commit_group() {
    machine(|machine| machine.current().load_groups += 1);
}

/// Writes what loads have read: of all, or of the groups before the last ones that have been committed.
extern "C" fn cp_async_wait_group(pending: u32) {
    let arrived: Vec<_> = machine(|machine| {
        let thread = machine.current();
        let groups = thread.load_groups;
        thread.loads_begun.extract_if(.., |load| pending == 0 || load.group + pending < groups).collect()
    });
    for load in arrived {
        interrupt_access();
        let (access, size) = (Access::Write, load.bytes.len() as u32);
        let request = Request { access, atomic: false, offset: load.offset, size, align: size, line: load.line };
        check(machine(|machine| machine.write(load.buffer, &request, &load.bytes, None)), load.line);
    }
}
