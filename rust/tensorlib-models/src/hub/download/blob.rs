//! Downloads one file: `ETAG.incomplete` grows, is checked, and becomes `ETAG`.

use super::http::{escaped, header, Http, PATIENCE};
use super::listing::is_hash;
use super::odd_answer;
use crate::decoder::digits;
use crate::hub::HubName;
use crate::{Error, Result};
use fs4::{FileExt, TryLockError};
use sha2::{Digest, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The bytes that are received at a time.
const PIECE: usize = 1 << 18;
/// How often the caller is asked whether to go on.
const INTERVAL: Duration = Duration::from_millis(100);
/// The connections in a row that may bring nothing.
const ATTEMPTS: usize = 3;

/// A file as the server announces it.
pub struct Blob {
    /// Its name in the repository.
    pub file: String,
    /// The name of its contents: the SHA-256 of a large file, the hash that Git has for others.
    pub etag: String,
    /// The number of its bytes.
    pub size: u64,
    name: HubName,
    path: String,
}

impl Blob {
    /// Asks the server about a file.
    pub fn ask(http: &Http, name: &HubName, commit: &str, file: &str) -> Result<Self> {
        let path = format!("{}/resolve/{commit}/{}", name.repository(), escaped(file, true));
        let answer = http.head(name, &path)?;
        let of_file = |what: &str| odd_answer(name, format_args!("{file}: {what}"));
        let etag = header(&answer, "x-linked-etag").or_else(|| header(&answer, "etag")).unwrap_or_default();
        let etag = etag.trim_start_matches("W/").trim_matches('"');
        let size = header(&answer, "x-linked-size").or_else(|| header(&answer, "content-length"));
        let size = size.and_then(|text| text.parse().ok()).ok_or_else(|| of_file("it names no size"))?;
        match is_hash(etag) {
            true => Ok(Blob { file: file.into(), etag: etag.to_ascii_lowercase(), size, name: name.clone(), path }),
            false => Err(of_file("it names no hash")),
        }
    }

    /// Whether the name is the SHA-256 of the contents. Git's own hash is another one, which is not checked.
    fn has_sha256(&self) -> bool {
        self.etag.len() == 64
    }
}

/// The path of a file that is not complete.
pub fn incomplete(path: &Path) -> PathBuf {
    path.with_extension("incomplete")
}

/// A download.
pub struct Transfer<'a> {
    /// The server.
    pub http: &'a Http,
    /// The file.
    pub blob: &'a Blob,
    /// Where its contents go.
    pub path: PathBuf,
    /// The file that is locked meanwhile.
    pub lock: PathBuf,
}

/// A file that grows, and the hash of what it has.
struct Growing {
    file: File,
    path: PathBuf,
    len: u64,
    hash: Sha256,
}

impl Transfer<'_> {
    /// Downloads what is missing. `tell` is told the bytes so far, and returns whether to go on.
    pub fn run(&self, tell: &mut dyn FnMut(u64) -> bool) -> Result<()> {
        let _locked = self.locked(tell)?;
        let size = self.blob.size;
        if std::fs::metadata(&self.path).is_ok_and(|info| info.len() == size) {
            return self.go_on(tell(size), size);
        }
        let mut growing = Growing::open(incomplete(&self.path))?;
        if growing.len > size {
            growing.restart()?;
        }
        let mut failures = 0;
        while growing.len < size {
            let before = growing.len;
            let received = self.receive(&mut growing, tell)?;
            failures = if growing.len > before { 0 } else { failures + 1 };
            match received {
                Some(error) if failures >= ATTEMPTS => return Err(self.broken(&growing, &error)),
                _ => {}
            }
        }
        self.finish(growing)
    }

    /// Waits until no other process downloads this file.
    fn locked(&self, tell: &mut dyn FnMut(u64) -> bool) -> Result<File> {
        let about = |e| Error::io(&self.lock, "locked", &e);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&self.lock).map_err(about)?;
        loop {
            match FileExt::try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => {
                    self.go_on(tell(0), 0)?;
                    std::thread::sleep(INTERVAL);
                }
                Err(TryLockError::Error(e)) => return Err(about(e)),
            }
        }
    }

    /// Receives from one connection as long as it brings something. Returns what ended it too early.
    fn receive(&self, growing: &mut Growing, tell: &mut dyn FnMut(u64) -> bool) -> Result<Option<String>> {
        let answer = self.http.get(&self.blob.name, &self.blob.path, growing.len)?;
        let range = header(&answer, "content-range").unwrap_or_default();
        let goes_on = answer.status().as_u16() == 206 && range.starts_with(&format!("bytes {}-", growing.len));
        if growing.len > 0 && !goes_on {
            growing.restart()?;
        }
        if !answer.status().is_success() {
            return Ok(Some(format!("status {}", answer.status().as_u16())));
        }
        let pieces = pieces_of(answer.into_body().into_reader());
        let mut last = Instant::now();
        while growing.len < self.blob.size {
            match pieces.recv_timeout(INTERVAL) {
                Ok(Ok(piece)) => {
                    last = Instant::now();
                    // No more than was announced: the hash tells whether these are the right bytes.
                    let n = piece.len().min(usize::try_from(self.blob.size - growing.len).unwrap_or(usize::MAX));
                    growing.append(&piece[..n]).map_err(|e| self.full(growing, &e))?;
                }
                Ok(Err(e)) => return Ok(Some(e.to_string())),
                Err(RecvTimeoutError::Disconnected) => return Ok(Some("the connection ended".into())),
                Err(RecvTimeoutError::Timeout) if last.elapsed() > PATIENCE => {
                    return Ok(Some(format!("nothing came for {} seconds", PATIENCE.as_secs())))
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.go_on(tell(growing.len), growing.len)?;
        }
        Ok(None)
    }

    /// Checks the hash, and gives the contents their name.
    fn finish(&self, mut growing: Growing) -> Result<()> {
        let found = digits(std::mem::take(&mut growing.hash));
        if self.blob.has_sha256() && found != self.blob.etag {
            let _ = std::fs::remove_file(&growing.path); // else the next download fails in the same way
            let message = format!(
                "{}: {} arrived with the SHA-256 {found}, and {} was announced",
                self.blob.name, self.blob.file, self.blob.etag
            );
            return Err(Error::no_file(message).with_hint("it was damaged on its way, and removed: try again"));
        }
        let stored = growing.file.sync_all().and_then(|()| std::fs::rename(&growing.path, &self.path));
        stored.map_err(|e| Error::io(&self.path, "written", &e))
    }

    fn go_on(&self, go_on: bool, kept: u64) -> Result<()> {
        match go_on {
            true => Ok(()),
            false => Err(Error::no_file(format!(
                "{}: interrupted: {kept} bytes of {} are kept",
                self.blob.name, self.blob.file
            ))
            .with_hint("the next download goes on after them")),
        }
    }

    fn broken(&self, growing: &Growing, error: &str) -> Error {
        let (name, file, size) = (&self.blob.name, &self.blob.file, self.blob.size);
        let message =
            format!("{name}: the download of {file} broke off after {} of {size} bytes: {error}", growing.len);
        Error::no_file(message).with_hint("these bytes are kept: try again, and the download goes on after them")
    }

    fn full(&self, growing: &Growing, error: &io::Error) -> Error {
        if !matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) {
            return Error::io(&growing.path, "written", error);
        }
        let missing = self.blob.size - growing.len;
        let message = format!("{}: the disk is full: {missing} bytes are missing", growing.path.display());
        Error::no_file(message).with_hint(
            "free some, and the download goes on after those that are there; HF_HUB_CACHE names a cache on another disk",
        )
    }
}

impl Growing {
    fn open(path: PathBuf) -> Result<Self> {
        let about = |e| Error::io(&path, "written", &e);
        let file = OpenOptions::new().read(true).append(true).create(true).open(&path).map_err(about)?;
        let len = file.metadata().map_err(about)?.len();
        let mut growing = Growing { file, path, len, hash: Sha256::new() };
        let hashed = growing.hash_contents();
        hashed.map_err(|e| Error::io(&growing.path, "read", &e))?;
        Ok(growing)
    }

    fn hash_contents(&mut self) -> io::Result<()> {
        let mut piece = vec![0; PIECE];
        let mut left = self.len;
        self.file.seek(SeekFrom::Start(0))?;
        while left > 0 {
            let n = self.file.read(&mut piece[..PIECE.min(usize::try_from(left).unwrap_or(PIECE))])?;
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.hash.update(&piece[..n]);
            left -= n as u64;
        }
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.file.set_len(0).map_err(|e| Error::io(&self.path, "written", &e))?;
        (self.len, self.hash) = (0, Sha256::new());
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }
}

/// Reads in a thread of its own, so that a server that sends nothing keeps nobody from ending the download. The thread
/// ends with the connection, or when nobody receives any more.
fn pieces_of(mut reader: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(4);
    std::thread::spawn(move || loop {
        let mut piece = vec![0; PIECE];
        let read = reader.read(&mut piece);
        let ended = !matches!(read, Ok(n) if n > 0);
        let sent = match read {
            Ok(0) => return,
            Ok(n) => {
                piece.truncate(n);
                sender.send(Ok(piece))
            }
            Err(e) => sender.send(Err(e)),
        };
        if sent.is_err() || ended {
            return;
        }
    });
    receiver
}
