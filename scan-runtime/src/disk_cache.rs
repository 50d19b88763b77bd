//! Compiled kernels that outlive the process.
//!
//! An entry is a file of its own, named after the hash of all that its cubin was made of: the source, the options, the
//! architecture and NVRTC's version. It is written beside its place and renamed into it, so that nobody sees half of it, and
//! ends with a checksum over everything before it. Whatever is damaged, cut short, foreign or older is a miss, and is
//! written anew.

use std::{
    collections::BTreeSet,
    env,
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use etcetera::BaseStrategy;

/// The environment variable that moves the cache of compiled kernels to another folder, or turns it off (`off`).
pub const CACHE_VARIABLE: &str = "SCAN_CACHE";

/// How an entry begins; another format has another number.
const MAGIC: [u8; 8] = *b"SCANCUB1";
const HASH: usize = blake3::OUT_LEN;
/// What stands before the cubin: the magic, the entry's own name, the cubin's length.
const HEAD: usize = MAGIC.len() + HASH + 8;
/// Entries that are being written, or were when their process died.
const UNFINISHED: &str = ".unfinished-";
/// After this time nobody is still writing.
const ABANDONED: Duration = Duration::from_secs(60 * 60);
/// Entries are marked as used no more often than this.
const USED_ANEW: Duration = Duration::from_secs(60 * 60);

/// A folder of compiled kernels, which any number of threads and processes share.
///
/// A [`Scanner`](crate::Scanner) keeps one in the user's cache folder (`$XDG_CACHE_HOME/scan-runtime`, or
/// `~/.cache/scan-runtime`), unless `SCAN_CACHE` names another folder or says `off`, or
/// [`ScannerBuilder::cache`](crate::ScannerBuilder::cache) does. With its entries, a first scan needs no compiler.
///
/// The folder is made for its user alone. A checksum finds damage, not forgery: a folder, a link to one, or an entry that
/// belongs to another user, or that others may write to, is not used. A folder that cannot be used is no error: kernels are
/// compiled anew, and a warning says so, once a process.
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
#[derive(Debug)]
pub struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

/// The folders of which the user has been told that they cannot be used.
static WARNED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The name of an entry: the hash of what it was made of.
pub(crate) type Key = blake3::Hash;

impl DiskCache {
    /// The most bytes that a cache holds unless told otherwise.
    pub const DEFAULT_LIMIT: u64 = 256 << 20;

    /// A cache in this folder. It is made when the first entry is written.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        DiskCache { folder: folder.into(), limit: Self::DEFAULT_LIMIT }
    }

    /// The cache that `SCAN_CACHE` names, or else the one in the user's cache folder; `None` where the variable says `off`,
    /// or the user has no such folder.
    pub fn of_user() -> Option<Self> {
        match env::var_os(CACHE_VARIABLE) {
            Some(value) if value == "off" => None,
            Some(folder) if !folder.is_empty() => Some(Self::at(folder)),
            _ => Some(Self::at(etcetera::choose_base_strategy().ok()?.cache_dir().join("scan-runtime"))),
        }
    }

    /// Bounds the sum of its entries. Beyond it, what was used longest ago is removed.
    pub fn with_limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The most bytes that its entries have together.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many entries there are: compiled modules, and the versions of compilers.
    ///
    /// # Errors
    ///
    /// If the folder is there and cannot be read.
    pub fn entries(&self) -> io::Result<usize> {
        Ok(self.files()?.len())
    }

    /// Bytes of all entries.
    ///
    /// # Errors
    ///
    /// If the folder is there and cannot be read.
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.files()?.iter().map(|file| file.bytes).sum())
    }

    /// Removes every entry.
    ///
    /// # Errors
    ///
    /// If the folder is there and cannot be read, or an entry cannot be removed.
    pub fn clear(&self) -> io::Result<()> {
        for file in self.files()? {
            remove(&file.path)?;
        }
        Ok(())
    }

    /// What was stored under this name. Anything but a whole entry of this format and name is none.
    pub(crate) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.place(key);
        let file = open_to_read(&path).ok()?;
        self.check_folder().map_err(|reason| self.warn(&reason)).ok()?;
        // Between the two, the folder may have become another one.
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || check_owner(&metadata).is_err() {
            return None;
        }
        let mut entry = Vec::new();
        file.take(metadata.len()).read_to_end(&mut entry).ok()?;
        let cubin = open(&entry, key)?.to_vec();
        if metadata.modified().is_ok_and(|used| used.elapsed().is_ok_and(|time| time > USED_ANEW)) {
            // What cannot be marked is evicted a little early.
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some(cubin)
    }

    /// Stores a cubin, and removes what is then too much. Where that fails, the user is told once; whether it was stored.
    pub(crate) fn store(&self, key: &Key, cubin: &[u8]) -> bool {
        match self.try_store(key, cubin).and_then(|()| self.evict()) {
            Ok(()) => true,
            Err(error) => {
                self.warn(&error);
                false
            }
        }
    }

    fn try_store(&self, key: &Key, cubin: &[u8]) -> io::Result<()> {
        self.make_folder()?;
        self.check_folder()?;
        reached("the folder is there");
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        reached("the file is there");
        file.write_all(&seal(key, cubin))?;
        reached("the file is written");
        // Renaming replaces the damaged entry that may stand there.
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

    /// Whether nobody else can have put the entries there, nor the link that may lead there.
    fn check_folder(&self) -> io::Result<()> {
        let link = fs::symlink_metadata(&self.folder)?;
        if link.is_symlink() {
            // What a link's permissions say has no meaning.
            check_user(&link)?;
        }
        check_owner(&fs::metadata(&self.folder)?)
    }

    fn evict(&self) -> io::Result<()> {
        let mut files = self.files()?;
        let mut size: u64 = files.iter().map(|file| file.bytes).sum();
        if size <= self.limit {
            return Ok(());
        }
        files.sort_by_key(|file| file.used);
        for file in files {
            if size <= self.limit {
                break;
            }
            // Another process may be removing it too.
            remove(&file.path)?;
            reached("an entry is removed");
            size -= file.bytes;
        }
        Ok(())
    }

    /// Every entry; what dead processes left is removed on the way.
    fn files(&self) -> io::Result<Vec<EntryFile>> {
        let folder = match self.folder.read_dir() {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in folder {
            let entry = entry?;
            let Ok(metadata) = entry.metadata() else { continue }; // removed meanwhile
            let (name, path) = (entry.file_name(), entry.path());
            let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if name.to_string_lossy().starts_with(UNFINISHED) {
                if used.elapsed().is_ok_and(|time| time > ABANDONED) {
                    remove(&path)?;
                }
            } else if path.extension().is_some_and(|extension| extension == EXTENSION) {
                files.push(EntryFile { path, bytes: metadata.len(), used });
            }
        }
        Ok(files)
    }

    fn place(&self, key: &Key) -> PathBuf {
        self.folder.join(key.to_hex().as_str()).with_extension(EXTENSION)
    }

    fn warn(&self, reason: &io::Error) {
        if WARNED.lock().unwrap_or_else(PoisonError::into_inner).insert(self.folder.clone()) {
            tracing::warn!(
                folder = %self.folder.display(),
                %reason,
                "compiled kernels are not kept on disk; name another folder in {CACHE_VARIABLE}, or set it to `off`"
            );
        }
    }
}

const EXTENSION: &str = "cubin";

struct EntryFile {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Opens a file, and does not wait where a pipe stands in its place.
fn open_to_read(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.open(path)
}

/// An error if it is another user's.
fn check_user(metadata: &fs::Metadata) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::uid(metadata) != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
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

/// A place at which the tests end the process.
fn reached(_step: &str) {
    #[cfg(all(test, unix))]
    faults::end_at(_step);
}

/// Removes a file that may be gone already.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
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

/// The cubin of an entry that is whole and has this name.
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

    #[test]
    fn what_is_stored_is_loaded() {
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
    fn damage_is_a_miss_and_is_mended() {
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
    fn what_was_used_longest_ago_goes_first() {
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
    fn what_a_dead_process_left_is_removed_in_time() {
        let (_folder, cache) = cache();
        cache.store(&key("a"), CUBIN);
        for (name, hours_ago) in [("dead", 2), ("alive", 0)] {
            let path = cache.folder().join(format!("{UNFINISHED}{name}"));
            fs::write(&path, &seal(&key("b"), CUBIN)[..40]).unwrap();
            let file = File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(hours_ago * 3600)).unwrap();
        }
        cache.store(&key("c"), CUBIN);
        let names = names(&cache);
        assert!(names.contains(&format!("{UNFINISHED}alive")) && !names.contains(&format!("{UNFINISHED}dead")));
        assert_eq!(names.len(), 3, "{names:?}");
    }

    #[test]
    fn a_place_that_cannot_be_written_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        fs::write(&file, b"in the way").unwrap();
        for cache in [DiskCache::at(&file), DiskCache::at(file.join("below")), DiskCache::at("/proc/no/such")] {
            assert!(!cache.store(&key("a"), CUBIN));
            assert!(WARNED.lock().unwrap().contains(cache.folder()));
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
        assert!(!cache.store(&key("b"), CUBIN));
        assert!(WARNED.lock().unwrap().contains(cache.folder()));
    }

    #[test]
    fn threads_share_it() {
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
