//! A cache of compiled kernels on disk, which outlives the process.
//!
//! Each entry is a file, named after the hash of everything that determines its cubin: the source, the options, the
//! architecture and NVRTC's version. It is written to a temporary file in the same folder and then renamed, so that no
//! process sees half of it. It ends with a checksum over everything before it. An entry that is damaged, cut short,
//! foreign or of an older format is a miss, and is written again.

mod folder;
mod turn;

use std::{
    collections::{BTreeMap, btree_map::Entry},
    env,
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use etcetera::BaseStrategy;
use folder::Folder;
pub(crate) use turn::Turn;

/// The environment variable that moves the cache of compiled kernels to another folder, or turns it off (`off`).
pub const CACHE_VARIABLE: &str = "SCAN_CACHE";

/// The first bytes of an entry; another format has another number.
const MAGIC: [u8; 8] = *b"SCANCUB1";
/// The first bytes of entries of every format.
const ANY_FORMAT: &[u8] = MAGIC.split_at(7).0;
const HASH: usize = blake3::OUT_LEN;
/// The length of the header before the cubin: the magic, the entry's own name, the cubin's length.
const HEAD: usize = MAGIC.len() + HASH + 8;
/// The name prefix of entries that are being written, or were when their process died. `RANDOM` random letters and
/// digits follow it.
const UNFINISHED: &str = ".unfinished-";
const RANDOM: usize = 6;
/// After this time no process is still writing the file.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// Entries are marked as used no more often than this.
const USED_ANEW: Duration = Duration::from_secs(60 * 60);

/// A folder of compiled kernels, which any number of threads and processes can share. Of processes that need the same
/// kernel at once, one compiles it, and the others wait for it.
///
/// A [`Scanner`](crate::Scanner) keeps one in the user's cache folder (`$XDG_CACHE_HOME/scan-runtime`, or
/// `~/.cache/scan-runtime`), unless `SCAN_CACHE` or [`ScannerBuilder::cache`](crate::ScannerBuilder::cache) names
/// another folder, or `SCAN_CACHE` is `off`. A first scan whose kernels are in the cache needs no compiler.
///
/// The folder is created with access for its user only. A checksum detects damage, not forgery: a folder, a link to
/// one, or an entry that belongs to another user (except root), or that others may write to, is not used. A folder that
/// cannot be used, or cannot be written to, is not an error: kernels are compiled again. A warning says so, once per
/// process, [`CacheStats::disk_problems`](crate::CacheStats::disk_problems) has the reason, and so has the program
/// `scan`.
///
/// A folder that the process can only read, such as one in a container's image, is read. Let root or the user of the
/// process own it, and let that user read it: `chmod -R a+rX,go-w` on the folder. A kernel that is not there is
/// compiled by each process, with the warning above. An entry is for one architecture and one version of NVRTC: fill
/// the folder where both are those of the machines that read it, by a run of the program with `SCAN_CACHE` set to the
/// folder. Kernels for machines without NVRTC are those of [`aot`](crate::aot).
///
/// The folder may contain other files. Only the cache's own files are counted and removed: regular files of this user,
/// not links, with the names and the first bytes of entries.
///
/// ```
/// use scan_runtime::DiskCache;
///
/// let folder = std::env::temp_dir().join("scan-runtime-example");
/// let cache = DiskCache::at(&folder).with_limit(64 << 20);
/// println!("{} holds {} bytes", cache.folder().display(), cache.size()?);
/// cache.clear()?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

/// The folders for which the user has been warned that they cannot be used, with the reasons.
static WARNED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());

/// A folder in which this process has not kept compiled kernels, although it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskProblem {
    /// The folder.
    pub folder: PathBuf,
    /// Why the folder is not used, or not written to.
    pub reason: String,
}

/// The problems that this process has had so far.
pub(crate) fn problems() -> Vec<DiskProblem> {
    let warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    warned.iter().map(|(folder, reason)| DiskProblem { folder: folder.clone(), reason: reason.clone() }).collect()
}

/// The name of an entry: the hash of everything that determines its contents.
pub(crate) type Key = blake3::Hash;

impl DiskCache {
    /// The default limit of a cache, in bytes.
    pub const DEFAULT_LIMIT: u64 = 256 << 20;

    /// A cache in this folder, which is created when the first entry is written.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        DiskCache { folder: folder.into(), limit: Self::DEFAULT_LIMIT }
    }

    /// The cache that `SCAN_CACHE` names, or else the one in the user's cache folder; `None` if the variable is `off`,
    /// or the user has no such folder.
    pub fn of_user() -> Option<Self> {
        match env::var_os(CACHE_VARIABLE) {
            Some(value) if value == "off" => None,
            Some(folder) if !folder.is_empty() => Some(Self::at(folder)),
            _ => Some(Self::at(etcetera::choose_base_strategy().ok()?.cache_dir().join("scan-runtime"))),
        }
    }

    /// Limits the total size of the entries. Beyond it, the least recently used entries are removed.
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The limit of the total size of the entries, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The number of entries: compiled modules, and the versions of compilers.
    ///
    /// # Errors
    ///
    /// If the folder exists but cannot be read, or is not the user's own.
    pub fn entries(&self) -> io::Result<usize> {
        Ok(self.files()?.1.len())
    }

    /// The total size of all entries, in bytes.
    ///
    /// # Errors
    ///
    /// If the folder exists but cannot be read, or is not the user's own.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.files()?.1.iter().map(|file| file.bytes).sum())
    }

    /// Whether the folder is there and this process cannot write to it: its entries are used, and none is added.
    pub fn is_read_only(&self) -> bool {
        Folder::open(&self.folder).is_ok_and(|folder| folder.is_read_only())
    }

    /// Removes every entry, and nothing else.
    ///
    /// # Errors
    ///
    /// If the folder exists but cannot be read, or is not the user's own; or if an entry cannot be removed, after all
    /// others are.
    pub fn clear(&self) -> io::Result<()> {
        let (Some(folder), files) = self.files()? else { return Ok(()) };
        // Every removal is tried before the first error is returned.
        let removed: Vec<io::Result<()>> = files.iter().map(|file| folder.remove(&file.name)).collect();
        removed.into_iter().collect()
    }

    /// The bytes stored under this name. For the project's own fuzzer.
    #[doc(hidden)]
    pub fn load_named(&self, name: [u8; 32]) -> Option<Vec<u8>> {
        self.load(&Key::from_bytes(name))
    }

    /// Stores bytes under a name, and returns whether they were stored. For the project's own fuzzer.
    #[doc(hidden)]
    pub fn store_named(&self, name: [u8; 32], cubin: &[u8]) -> bool {
        self.store(&Key::from_bytes(name), cubin)
    }

    /// The bytes stored under this name; `None` unless there is a complete entry of this format and name.
    pub(crate) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let folder = match Folder::open(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            folder => folder,
        };
        let checked = folder.and_then(|folder| folder.check().map(|()| folder));
        let folder = checked.map_err(|reason| self.warn(&reason)).ok()?;
        let (file, metadata) = folder.file(&name_of(key)).ok()??;
        check_owner(&metadata).ok()?;
        let mut entry = Vec::new();
        (&file).take(metadata.len()).read_to_end(&mut entry).ok()?;
        let cubin = open(&entry, key)?.to_vec();
        if metadata.modified().is_ok_and(|used| used.elapsed().is_ok_and(|time| time > USED_ANEW)) {
            // An entry that cannot be marked is evicted a little early.
            let _ = folder.mark_as_used(&name_of(key), &file);
        }
        Some(cubin)
    }

    /// Stores a cubin, removes entries beyond the limit, and returns whether both succeeded. The first failure warns
    /// the user.
    pub(crate) fn store(&self, key: &Key, cubin: &[u8]) -> bool {
        match self.try_store(key, cubin).and_then(|()| self.evict_all_before(key)) {
            Ok(()) => true,
            Err(error) => {
                self.warn(&error);
                false
            }
        }
    }

    /// Waits until no other process makes the entry of this name, and keeps the others waiting until the turn is
    /// dropped. `None` where the folder cannot be written to: nothing that this process makes would be read.
    pub(crate) fn turn(&self, key: &Key) -> Option<Turn> {
        self.make_folder().and_then(|()| Folder::open(&self.folder)?.check()).ok()?;
        Turn::of(&self.folder, key)
    }

    fn try_store(&self, key: &Key, cubin: &[u8]) -> io::Result<()> {
        self.make_folder()?;
        Folder::open(&self.folder)?.check()?;
        reached("the folder is there");
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).rand_bytes(RANDOM).tempfile_in(&self.folder)?;
        reached("the file is there");
        file.write_all(&seal(key, cubin))?;
        reached("the file is written");
        // Renaming replaces a damaged entry, if there is one.
        file.persist(self.place(key)).map_err(|error| error.error)?;
        reached("the entry is there");
        Ok(())
    }

    fn make_folder(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.folder)
    }

    /// Removes the least recently used entries until the rest is within the limit. The entry that has just been stored
    /// goes last, even if the clock's resolution does not separate it from older ones.
    fn evict_all_before(&self, stored: &Key) -> io::Result<()> {
        let (Some(folder), mut files) = self.files()? else { return Ok(()) };
        let mut size: u64 = files.iter().map(|file| file.bytes).sum();
        let mut removed = Ok(());
        let stored = name_of(stored);
        files.sort_by_key(|file| (file.name == stored, file.used));
        for file in files {
            if size <= self.limit {
                return Ok(());
            }
            // Another process may be removing it too. If it cannot be removed, the next one is removed instead.
            match folder.remove(&file.name) {
                Ok(()) => size -= file.bytes,
                error => removed = removed.and(error),
            }
            reached("an entry is removed");
        }
        removed
    }

    /// The folder, if there is one, and every entry in it. Files that dead processes left unfinished are removed.
    fn files(&self) -> io::Result<(Option<Folder>, Vec<EntryFile>)> {
        let folder = match Folder::open(&self.folder) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, Vec::new())),
            Err(error) => return Err(error),
        };
        folder.check()?;
        let mut files = Vec::new();
        for name in folder.names()? {
            let Some(kind) = Kind::of(&name) else { continue };
            // Not a regular file, or removed meanwhile.
            let Ok(Some((file, metadata))) = folder.file(&name) else { continue };
            if check_user(&metadata).is_err() || !kind.begins(&file) {
                continue;
            }
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            match kind {
                Kind::Entry => files.push(EntryFile { name, bytes: metadata.len(), used }),
                Kind::Unfinished if used.elapsed().is_ok_and(|time| time > ABANDONED) => {
                    // It is not an entry, so it does no harm if it stays.
                    let _ = folder.remove(&name);
                }
                Kind::Unfinished => {}
            }
        }
        Ok((Some(folder), files))
    }

    fn place(&self, key: &Key) -> PathBuf {
        self.folder.join(name_of(key))
    }

    fn warn(&self, reason: &io::Error) {
        let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Vacant(new) = warned.entry(self.folder.clone()) {
            new.insert(reason.to_string());
            drop(warned);
            tracing::warn!(
                folder = %self.folder.display(),
                %reason,
                "compiled kernels are not kept on disk; name another folder in {CACHE_VARIABLE}, or set it to `off`"
            );
        }
    }
}

const EXTENSION: &str = ".cubin";

/// The name of an entry's file.
fn name_of(key: &Key) -> OsString {
    format!("{}{EXTENSION}", key.to_hex()).into()
}

struct EntryFile {
    name: OsString,
    bytes: u64,
    used: SystemTime,
}

/// The kinds of files of this cache.
#[derive(Clone, Copy)]
enum Kind {
    Entry,
    Unfinished,
}

impl Kind {
    /// The kind of a file by its name; `None` for a name that this cache does not use.
    fn of(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if let Some(hash) = name.strip_suffix(EXTENSION) {
            return (hash.len() == 2 * HASH && hash.bytes().all(is_hex)).then_some(Kind::Entry);
        }
        let random = name.strip_prefix(UNFINISHED)?;
        (random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(Kind::Unfinished)
    }

    /// Whether a file has the first bytes of this cache's files; an unfinished one may be shorter than those.
    fn begins(self, mut file: &File) -> bool {
        let mut start = Vec::new();
        if Read::take(&mut file, ANY_FORMAT.len() as u64).read_to_end(&mut start).is_err() {
            return false;
        }
        match self {
            Kind::Entry => start == ANY_FORMAT,
            Kind::Unfinished => ANY_FORMAT.starts_with(&start),
        }
    }
}

/// Whether a process of this user trusts what this owner has written. Whatever belongs to root can be trusted as far as
/// the system itself.
#[cfg(unix)]
fn is_trusted(owner: u32, user: u32) -> bool {
    owner == user || owner == rustix::process::Uid::ROOT.as_raw()
}

/// An error if it is another user's.
fn check_user(metadata: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        let owner = std::os::unix::fs::MetadataExt::uid(metadata);
        if !is_trusted(owner, rustix::process::geteuid().as_raw()) {
            return Err(io::Error::other("it belongs to another user"));
        }
    }
    #[cfg(not(unix))]
    let _ = metadata;
    Ok(())
}

/// An error if it is another user's, or others may write there.
fn check_owner(metadata: &fs::Metadata) -> io::Result<()> {
    check_user(metadata)?;
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::mode(metadata) & 0o022 != 0 {
        return Err(io::Error::other("others may write to it: `chmod go-w` it"));
    }
    Ok(())
}

/// A step at which the tests end the process.
fn reached(_step: &str) {
    #[cfg(all(test, unix))]
    faults::end_at(_step);
}

/// An entry's bytes: magic, name, length, cubin, checksum over all of that.
fn seal(key: &Key, cubin: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(HEAD + cubin.len() + HASH);
    entry.extend_from_slice(&MAGIC);
    entry.extend_from_slice(key.as_bytes());
    entry.extend_from_slice(&(cubin.len() as u64).to_le_bytes());
    entry.extend_from_slice(cubin);
    let checksum = blake3::hash(&entry);
    entry.extend_from_slice(checksum.as_bytes());
    entry
}

/// The cubin of an entry, if it is complete and has this name.
fn open<'a>(entry: &'a [u8], key: &Key) -> Option<&'a [u8]> {
    let (sealed, checksum) = entry.split_at_checked(entry.len().checked_sub(HASH)?)?;
    let head = sealed.get(..HEAD)?;
    let (magic, rest) = head.split_at(MAGIC.len());
    let (name, length) = rest.split_at(HASH);
    let cubin = &sealed[HEAD..];
    let whole = magic == MAGIC
        && name == key.as_bytes()
        && length == (cubin.len() as u64).to_le_bytes()
        && blake3::hash(sealed).as_bytes() == checksum;
    whole.then_some(cubin)
}

#[cfg(all(test, unix))]
mod faults;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that fails panics")]
mod tests {
    use super::*;

    const CUBIN: &[u8] = b"some machine code";

    fn key(of: &str) -> Key {
        blake3::hash(of.as_bytes())
    }

    fn cache() -> (tempfile::TempDir, DiskCache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::at(folder.path().join("a/b"));
        (folder, cache)
    }

    fn names(cache: &DiskCache) -> Vec<String> {
        let entries = cache.folder().read_dir().unwrap();
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    /// What the user has been warned of.
    fn problem_of(cache: &DiskCache) -> Option<String> {
        let problems = crate::Scanner::cpu().cache_stats().disk_problems;
        problems.into_iter().find(|problem| problem.folder == cache.folder()).map(|problem| problem.reason)
    }

    #[test]
    fn a_stored_entry_is_loaded() {
        let (_folder, cache) = cache();
        assert_eq!(cache.load(&key("a")), None);
        assert!(cache.store(&key("a"), CUBIN) && cache.store(&key("b"), b""));
        assert_eq!(cache.load(&key("a")).unwrap(), CUBIN);
        assert_eq!(cache.load(&key("b")).unwrap(), b"");
        assert_eq!(cache.size().unwrap(), (2 * (HEAD + HASH) + CUBIN.len()) as u64);
        cache.clear().unwrap();
        assert_eq!((cache.load(&key("a")), cache.size().unwrap()), (None, 0));
    }

    #[test]
    fn a_damaged_entry_is_a_miss_and_is_replaced() {
        let (_folder, cache) = cache();
        cache.store(&key("a"), CUBIN);
        let whole = fs::read(cache.place(&key("a"))).unwrap();
        let damaged = |entry: &[u8]| {
            fs::write(cache.place(&key("a")), entry).unwrap();
            assert_eq!(cache.load(&key("a")), None, "{entry:?}");
        };
        for byte in 0..whole.len() {
            for bit in 0..8 {
                let mut entry = whole.clone();
                entry[byte] ^= 1 << bit;
                damaged(&entry);
            }
            damaged(&whole[..byte]);
        }
        damaged(&[&whole[..], b"x"].concat());
        cache.store(&key("a"), CUBIN);
        assert_eq!(cache.load(&key("a")).unwrap(), CUBIN);
    }

    #[test]
    fn another_entry_under_this_name_is_a_miss() {
        let (_folder, cache) = cache();
        cache.store(&key("a"), CUBIN);
        fs::copy(cache.place(&key("a")), cache.place(&key("b"))).unwrap();
        assert_eq!(cache.load(&key("b")), None);
        // Whole, but of another format.
        let mut entry = fs::read(cache.place(&key("a"))).unwrap();
        entry[MAGIC.len() - 1] += 1;
        let end = entry.len() - HASH;
        let checksum = blake3::hash(&entry[..end]);
        entry[end..].copy_from_slice(checksum.as_bytes());
        fs::write(cache.place(&key("a")), entry).unwrap();
        assert_eq!(cache.load(&key("a")), None);
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
        let (_folder, cache) = cache();
        let entry = (HEAD + CUBIN.len() + HASH) as u64;
        let cache = cache.with_limit(3 * entry);
        for (name, hours_ago) in [("a", 30), ("b", 20), ("c", 10)] {
            cache.store(&key(name), CUBIN);
            let file = File::options().append(true).open(cache.place(&key(name))).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours_ago * 3600)).unwrap();
        }
        cache.load(&key("a")).unwrap(); // and is used anew
        cache.store(&key("d"), CUBIN);
        let there = ["a", "b", "c", "d"].map(|name| cache.load(&key(name)).is_some());
        assert_eq!(there, [true, false, true, true]);
        assert!(cache.size().unwrap() <= 3 * entry);
    }

    #[test]
    fn a_new_entry_stays_whatever_the_clock_says() {
        let (_folder, cache) = cache();
        let cache = cache.with_limit((HEAD + CUBIN.len() + HASH) as u64);
        cache.store(&key("a"), CUBIN);
        let file = File::options().append(true).open(cache.place(&key("a"))).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
        assert!(cache.store(&key("b"), CUBIN));
        assert_eq!((cache.load(&key("a")), cache.load(&key("b")).as_deref()), (None, Some(CUBIN)));
    }

    #[test]
    fn temporary_files_of_dead_processes_are_removed() {
        let (_folder, cache) = cache();
        cache.store(&key("a"), CUBIN);
        for (name, hours_ago) in [("dead00", 2), ("alive0", 0)] {
            let path = cache.folder().join(format!("{UNFINISHED}{name}"));
            fs::write(&path, &seal(&key("b"), CUBIN)[..40]).unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours_ago * 3600)).unwrap();
        }
        cache.store(&key("c"), CUBIN);
        let names = names(&cache);
        assert!(names.contains(&format!("{UNFINISHED}alive0")) && !names.contains(&format!("{UNFINISHED}dead00")));
        assert_eq!(names.len(), 3, "{names:?}");
    }

    /// Files that another program put there, under names of every kind.
    fn foreign(cache: &DiskCache) -> Vec<PathBuf> {
        let hash = |of: &str| key(of).to_hex().to_string();
        let entry = seal(&key("b"), CUBIN);
        let cut = &entry[..entry.len() / 2];
        let files: [(String, &[u8]); 12] = [
            ("kernel.cubin".to_owned(), b"somebody's machine code"),
            ("kernel2.cubin".to_owned(), &entry),
            (format!("{}.cubin", hash("foreign")), b"\x7fELF of somebody"),
            (format!("{}.cubin", hash("short")), b"SCAN"),
            (format!("{}.cubin", hash("upper").to_uppercase()), cut),
            (format!("{}.cubin.old", hash("old")), cut),
            (format!(".{}.cubin", hash("hidden")), cut),
            (format!("{}x.cubin", &hash("letter")[1..]), cut),
            (format!("{UNFINISHED}thesis"), b"somebody's work"),
            (format!("{UNFINISHED}a-thesis"), cut),
            (".cubin".to_owned(), cut),
            ("notes".to_owned(), b""),
        ];
        let place = |(name, bytes): &(String, &[u8])| {
            let path = cache.folder().join(name);
            fs::write(&path, bytes).unwrap();
            let long_ago = SystemTime::now() - Duration::from_secs(100 * 3600);
            File::options().append(true).open(&path).unwrap().set_modified(long_ago).unwrap();
            path
        };
        files.iter().map(place).collect()
    }

    #[test]
    fn nothing_but_entries_is_counted_or_removed() {
        let (_folder, cache) = cache();
        let entry = (HEAD + CUBIN.len() + HASH) as u64;
        assert!(cache.store(&key("a"), CUBIN));
        let files = foreign(&cache);
        let there = || files.iter().map(|file| fs::read(file).unwrap()).collect::<Vec<_>>();
        let before = there();
        assert_eq!((cache.entries().unwrap(), cache.size().unwrap()), (1, entry));
        // Evicted by a cache with room for one entry; those of others are older.
        let small = DiskCache::at(cache.folder()).with_limit(entry);
        assert!(small.store(&key("c"), CUBIN));
        assert_eq!((small.load(&key("a")), small.load(&key("c")).as_deref()), (None, Some(CUBIN)));
        assert_eq!(there(), before);
        cache.clear().unwrap();
        assert_eq!((there(), cache.entries().unwrap()), (before, 0));
        assert_eq!(names(&cache).len(), files.len());
    }

    #[test]
    fn a_folder_with_the_name_of_an_entry_is_left_where_it_is() {
        let (_folder, cache) = cache();
        let cache = cache.with_limit((HEAD + CUBIN.len() + HASH) as u64);
        assert!(cache.store(&key("a"), CUBIN));
        let folders =
            ["0.cubin".to_owned(), format!("{}.cubin", key("folder").to_hex()), format!("{UNFINISHED}abcdef")];
        for name in &folders {
            fs::create_dir(cache.folder().join(name)).unwrap();
        }
        assert!(cache.store(&key("b"), CUBIN) && cache.load(&key("a")).is_none());
        cache.clear().unwrap();
        assert!(cache.load(&key("b")).is_none() && folders.iter().all(|name| cache.folder().join(name).is_dir()));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_not_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        fs::write(&file, b"in the way").unwrap();
        for cache in [DiskCache::at(&file), DiskCache::at(file.join("below")), DiskCache::at("/proc/no/such")] {
            assert!(!cache.store(&key("a"), CUBIN));
            assert!(problem_of(&cache).is_some());
            assert_eq!(cache.load(&key("a")), None);
        }
        assert_eq!(fs::read(&file).unwrap(), b"in the way");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_may_write_to_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let (_folder, cache) = cache();
        cache.store(&key("a"), CUBIN);
        assert_eq!(fs::metadata(cache.folder()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(cache.load(&key("a")), None);
        // Before anything is stored.
        assert!(problem_of(&cache).unwrap().contains("others may write to it"));
        assert!(!cache.store(&key("b"), CUBIN));
        assert_eq!(names(&cache).len(), 1, "nothing is added");
    }

    #[cfg(unix)]
    #[test]
    fn a_user_trusts_its_own_files_and_those_of_root_alone() {
        let trusted = |(owner, user): (u32, u32)| is_trusted(owner, user);
        assert_eq!([(0, 0), (7, 7), (0, 7)].map(trusted), [true; 3]);
        assert_eq!([(8, 7), (7, 0), (u32::MAX, 7)].map(trusted), [false; 3]);
    }

    /// A thread of a process of root, or of another user in its own folder, that can read a folder and not write to it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_can_only_be_read_is_read() {
        use rustix::{
            process::{Uid, geteuid},
            thread::set_thread_res_uid,
        };
        use std::os::unix::fs::PermissionsExt;
        let (folder, cache) = cache();
        assert!(cache.store(&key("a"), CUBIN) && !cache.is_read_only());
        let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let parent = cache.folder().parent().unwrap();
        set_mode(folder.path(), 0o755);
        set_mode(parent, 0o755);
        set_mode(cache.folder(), 0o555);
        set_mode(&cache.place(&key("a")), 0o444);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                if geteuid() == Uid::ROOT {
                    let nobody = Uid::from_raw(65_534);
                    set_thread_res_uid(nobody, nobody, nobody).unwrap();
                }
                assert_eq!(cache.load(&key("a")).as_deref(), Some(CUBIN));
                assert!(cache.is_read_only() && cache.entries().unwrap() == 1);
                assert_eq!(problem_of(&cache), None);
                assert!(!cache.store(&key("b"), CUBIN));
                assert!(problem_of(&cache).unwrap().contains("Permission denied"));
            });
        });
        set_mode(cache.folder(), 0o755);
    }

    #[test]
    fn threads_share_a_cache() {
        let (_folder, cache) = cache();
        let cache = cache.with_limit(10 * (HEAD + CUBIN.len() + HASH) as u64);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..100 {
                        let name = key(&format!("{}", (thread + round) % 16));
                        assert!(cache.store(&name, name.as_bytes()));
                        // Evicted meanwhile, or whole.
                        assert!(cache.load(&name).is_none_or(|found| found == name.as_bytes()));
                    }
                });
            }
        });
        assert!(!names(&cache).iter().any(|name| name.starts_with(UNFINISHED)));
    }
}
