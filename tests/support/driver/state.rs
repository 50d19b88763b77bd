//! What the driver knows: memory, streams, modules, and the record.

use std::{
    alloc::{Layout, alloc_zeroed, dealloc},
    collections::{BTreeMap, HashMap},
    fmt::Write,
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::{
    compiler::Code,
    types::{self, Kernel},
};

static STATE: Mutex<State> = Mutex::new(State::new());

pub(super) fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory begins at multiples of this, like CUDA's.
const ALIGNMENT: usize = 512;

/// Bytes of an H100's memory.
pub(super) const DEVICE_BYTES: u64 = 80 << 30;

/// What memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Device,
    PageLocked,
    /// Host memory of the caller's that has been registered.
    Registered,
}

#[derive(Debug)]
struct Memory {
    bytes: u64,
    kind: Kind,
    /// Given at the first mention.
    name: Option<String>,
}

/// A stream, an event, a module or a graph.
#[derive(Debug, Default)]
struct Object {
    /// Given at the first mention.
    name: Option<String>,
    /// Whether what is enqueued goes into a graph.
    captures: bool,
    /// Of an event: the memory of the slice that it belongs to, and which of the slice's events it is.
    of: Option<(u64, &'static str)>,
}

/// A loaded module.
#[derive(Debug)]
struct Module {
    kernels: Vec<Kernel>,
    /// The variable that a panic writes.
    panicked: Option<u64>,
}

/// A kernel of a module.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) kernel: Kernel,
    /// Bytes of dynamic shared memory that a launch may ask for.
    pub(super) shared_bytes: u32,
}

#[derive(Debug)]
pub(super) struct State {
    /// Whether lines are kept.
    recording: bool,
    lines: String,
    /// Bytes of device memory that can be allocated.
    pub(super) device_bytes: u64,
    /// By their addresses.
    memory: BTreeMap<u64, Memory>,
    objects: BTreeMap<usize, Object>,
    /// How many names of each kind have been given.
    named: BTreeMap<&'static str, usize>,
    handles: usize,
    /// What has been allocated last, and the events created since, if nothing else has been done.
    since: Option<(u64, Vec<usize>)>,
    modules: BTreeMap<usize, Module>,
    functions: BTreeMap<usize, Function>,
    /// Programs of the compiler.
    pub(super) programs: BTreeMap<usize, Code>,
}

/// The null stream, and the one that means another stream on each thread.
const NULL: usize = 0;
const PER_THREAD: usize = 2;

impl State {
    const fn new() -> Self {
        State {
            recording: false,
            lines: String::new(),
            device_bytes: DEVICE_BYTES,
            memory: BTreeMap::new(),
            objects: BTreeMap::new(),
            named: BTreeMap::new(),
            handles: 0x1000,
            since: None,
            modules: BTreeMap::new(),
            functions: BTreeMap::new(),
            programs: BTreeMap::new(),
        }
    }

    /// Begins to record.
    pub(super) fn begin(&mut self) {
        self.recording = true;
        self.lines.clear();
    }

    pub(super) fn end(&mut self) -> String {
        self.recording = false;
        let lines = std::mem::take(&mut self.lines);
        // Of waits in a row, and of events recorded in a row, the order does not matter.
        let way = |line: &str| (line.contains(" waits for "), line.starts_with("record "));
        let lines: Vec<_> = lines.lines().collect();
        let rows = lines.chunk_by(|a, b| way(a) == way(b));
        let sorted = rows.flat_map(|row| {
            let mut row = row.to_vec();
            if way(row[0]) != (false, false) {
                row.sort_unstable();
            }
            row
        });
        sorted.map(|line| format!("{line}\n")).collect()
    }

    /// Forgets all names.
    pub(super) fn forget_names(&mut self) {
        self.named.clear();
        self.memory.values_mut().for_each(|memory| memory.name = None);
        self.objects.values_mut().for_each(|object| object.name = None);
    }

    /// Records a call.
    pub(super) fn say(&mut self, line: impl FnOnce(&mut State) -> String) {
        self.since = None;
        self.say_of_slice(line);
    }

    /// Records a call that may be one of those that make a slice.
    pub(super) fn say_of_slice(&mut self, line: impl FnOnce(&mut State) -> String) {
        if self.recording {
            let line = line(self);
            let _ = writeln!(self.lines, "{line}");
        }
    }

    pub(super) fn new_handle(&mut self) -> usize {
        self.handles += 0x10;
        self.handles
    }

    // ---- memory ---------------------------------------------------------------

    /// Zeroed, so that nothing depends on what was there before.
    pub(super) fn allocate(&mut self, bytes: usize, kind: Kind) -> Option<u64> {
        let used = self.memory.values().filter(|memory| memory.kind == kind).map(|memory| memory.bytes).sum::<u64>();
        if bytes as u64 > self.device_bytes.saturating_sub(used) {
            return None;
        }
        let layout = Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()?;
        // SAFETY: the layout has a size.
        let pointer = unsafe { alloc_zeroed(layout) } as u64;
        self.since = (kind == Kind::Device).then(|| (pointer, Vec::new()));
        (pointer != 0).then(|| {
            self.memory.insert(pointer, Memory { bytes: bytes as u64, kind, name: None });
            pointer
        })
    }

    pub(super) fn register(&mut self, pointer: u64, bytes: usize) {
        self.memory.insert(pointer, Memory { bytes: bytes as u64, kind: Kind::Registered, name: None });
    }

    /// Forgets memory, and frees it if it was allocated here. `false` if there is none of this kind.
    pub(super) fn free(&mut self, pointer: u64, kind: Kind) -> bool {
        if self.memory.get(&pointer).is_none_or(|memory| memory.kind != kind) {
            return false;
        }
        if let Some(memory) = self.memory.remove(&pointer)
            && kind != Kind::Registered
            && let Ok(layout) = Layout::from_size_align((memory.bytes as usize).max(1), ALIGNMENT)
        {
            // SAFETY: `allocate` has allocated it with this layout.
            unsafe { dealloc(pointer as *mut u8, layout) };
        }
        true
    }

    /// The memory that an address lies in, or is the end of.
    fn around(&mut self, address: u64) -> Option<(u64, &mut Memory)> {
        let (start, memory) = self.memory.range_mut(..=address).next_back()?;
        (address <= start + memory.bytes).then_some((*start, memory))
    }

    /// Whether these bytes lie in memory of this driver.
    pub(super) fn holds(&mut self, address: u64, bytes: usize) -> bool {
        self.around(address).is_some_and(|(start, memory)| address + bytes as u64 <= start + memory.bytes)
    }

    /// Copies within memory of this driver; nothing where an end lies outside.
    pub(super) fn copy(&mut self, from: u64, to: u64, bytes: usize) {
        if self.holds(from, bytes) && self.holds(to, bytes) {
            // SAFETY: the memory has these bytes, which only calls of the driver use.
            unsafe { ptr::copy(from as *const u8, to as *mut u8, bytes) };
        }
    }

    /// The number in memory of this driver, of up to eight bytes.
    pub(super) fn read(&mut self, from: u64, bytes: usize) -> Option<u64> {
        let mut word = [0_u8; 8];
        (bytes <= 8 && self.holds(from, bytes)).then(|| {
            // SAFETY: as above.
            unsafe { (from as *const u8).copy_to_nonoverlapping(word.as_mut_ptr(), bytes) };
            u64::from_le_bytes(word)
        })
    }

    /// Writes to memory of this driver; nothing where it lies outside.
    pub(super) fn write(&mut self, to: u64, bytes: &[u8]) {
        if self.holds(to, bytes.len()) {
            // SAFETY: as above.
            unsafe { bytes.as_ptr().copy_to_nonoverlapping(to as *mut u8, bytes.len()) };
        }
    }

    /// The page-locked memory that an address lies in: where it begins, and its length.
    pub(super) fn page_locked(&mut self, address: u64) -> Option<(u64, usize)> {
        let (start, memory) = self.around(address)?;
        (memory.kind != Kind::Device).then_some((start, memory.bytes as usize))
    }

    /// What is allocated, by kind.
    pub(super) fn count(&self, kind: Kind) -> usize {
        self.memory.values().filter(|memory| memory.kind == kind).count()
    }

    pub(super) fn name_memory(&mut self, address: u64, name: &str) {
        if let Some((_, memory)) = self.around(address) {
            memory.name = Some(name.to_owned());
        }
    }

    /// An address, as the record writes it: the name of the memory, and the distance from its beginning.
    pub(super) fn place(&mut self, address: u64) -> String {
        if address == 0 {
            return "null".to_owned();
        }
        let Some((start, Memory { kind, name, .. })) = self.around(address) else {
            return "?".to_owned();
        };
        let (offset, kind, name) = (address - start, *kind, name.clone());
        let name = name.unwrap_or_else(|| {
            let name = self.next_name(if kind == Kind::Device { "d" } else { "h" });
            if let Some((_, memory)) = self.around(address) {
                memory.name = Some(name.clone());
            }
            name
        });
        if offset == 0 { name } else { format!("{name}+{offset}") }
    }

    /// A place in host memory, which need not be known.
    pub(super) fn host_place(&mut self, address: u64) -> String {
        if self.around(address).is_some() { self.place(address) } else { "host".to_owned() }
    }

    fn next_name(&mut self, kind: &'static str) -> String {
        let count = self.named.entry(kind).or_default();
        *count += 1;
        format!("{kind}{}", *count - 1)
    }

    // ---- streams, events, graphs ------------------------------------------------

    pub(super) fn new_object(&mut self) -> usize {
        let handle = self.new_handle();
        self.objects.insert(handle, Object::default());
        handle
    }

    /// An event. cudarc creates two behind the allocation of a slice, for its reads and its writes.
    pub(super) fn new_event(&mut self) -> usize {
        let handle = self.new_object();
        let Some((address, events)) = &mut self.since else { return handle };
        events.push(handle);
        if let [read, write] = events[..] {
            let address = *address;
            self.since = None;
            for (event, which) in [(read, "read"), (write, "write")] {
                self.objects.entry(event).or_default().of = Some((address, which));
            }
        }
        handle
    }

    pub(super) fn forget_object(&mut self, handle: usize) -> bool {
        self.objects.remove(&handle).is_some()
    }

    pub(super) fn name_object(&mut self, handle: usize, name: &str) {
        self.objects.entry(handle).or_default().name = Some(name.to_owned());
    }

    /// The name of an object of a kind: `s` of a stream, `e` of an event, `g` of a graph, `m` of a module.
    pub(super) fn object(&mut self, handle: usize, kind: &'static str) -> String {
        match (kind, handle, self.objects.get(&handle)) {
            ("s", NULL, _) => "the null stream".to_owned(),
            ("s", PER_THREAD, _) => "the thread's stream".to_owned(),
            (_, _, None) => "?".to_owned(),
            (_, _, Some(Object { name: Some(name), .. })) => name.clone(),
            (_, _, Some(Object { of: Some((address, which)), .. })) => {
                let (address, which) = (*address, *which);
                format!("{}.{which}", self.place(address))
            }
            _ => {
                let name = self.next_name(kind);
                self.name_object(handle, &name);
                name
            }
        }
    }

    pub(super) fn set_capturing(&mut self, stream: usize, captures: bool) {
        self.objects.entry(stream).or_default().captures = captures;
    }

    pub(super) fn is_capturing(&self, stream: usize) -> bool {
        self.objects.get(&stream).is_some_and(|stream| stream.captures)
    }

    /// Whether a graph is being captured, which forbids some calls.
    pub(super) fn captures(&self) -> bool {
        self.objects.values().any(|object| object.captures)
    }

    // ---- modules ------------------------------------------------------------------

    pub(super) fn load(&mut self, text: &str) -> usize {
        // Most texts are loaded by many tests.
        static PARSED: Mutex<Option<HashMap<blake3::Hash, Vec<Kernel>>>> = Mutex::new(None);
        let mut parsed = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        let parsed = parsed.get_or_insert_default().entry(blake3::hash(text.as_bytes()));
        let kernels = parsed.or_insert_with(|| types::kernels(text)).clone();
        let panicked = text.contains("scan_panicked").then(|| self.allocate(8, Kind::Device)).flatten();
        let handle = self.new_object();
        self.modules.insert(handle, Module { kernels, panicked });
        handle
    }

    pub(super) fn unload(&mut self, module: usize) -> bool {
        self.forget_object(module);
        let Some(Module { panicked, .. }) = self.modules.remove(&module) else { return false };
        panicked.is_none_or(|address| self.free(address, Kind::Device))
    }

    pub(super) fn kernel_names(&self, module: usize) -> Vec<String> {
        let kernels = self.modules.get(&module).into_iter().flat_map(|module| &module.kernels);
        kernels.map(|kernel| kernel.name.clone()).collect()
    }

    /// The address of the variable with this name.
    pub(super) fn variable(&mut self, module: usize, name: &str) -> Option<u64> {
        self.modules.get(&module)?.panicked.filter(|_| name == "scan_panicked")
    }

    pub(super) fn find_function(&mut self, module: usize, name: &str) -> Option<usize> {
        let kernel = self.modules.get(&module)?.kernels.iter().find(|kernel| kernel.name == name)?.clone();
        let handle = self.new_handle();
        // What every device allows.
        self.functions.insert(handle, Function { kernel, shared_bytes: 48 << 10 });
        Some(handle)
    }

    pub(super) fn function(&mut self, handle: usize) -> Option<&mut Function> {
        self.functions.get_mut(&handle)
    }
}
