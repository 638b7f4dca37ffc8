//! A hub's server in this process: lists files, and sends them whole or in parts, with the faults that a test asks for.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What the server does wrong.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Answers each request with this status and this X-Error-Code.
    pub refuses: Option<(u16, &'static str)>,
    /// Closes the connection after this number of bytes of a file, as often as the second number says.
    pub breaks_after: Option<(usize, usize)>,
    /// Sends this number of bytes of a file, and then nothing.
    pub stalls_after: Option<usize>,
    /// Sends the contents with another first byte.
    pub is_damaged: bool,
    /// Sends no parts of files.
    pub has_no_ranges: bool,
    /// Wants this token.
    pub token: Option<&'static str>,
    /// Further names in the list of files.
    pub lists: Vec<String>,
    /// Answers with this text in place of the list.
    pub text: Option<&'static str>,
    /// The hash of every file.
    pub etag: Option<&'static str>,
}

/// The server, which ends with the process.
pub struct HubServer {
    pub address: String,
    shared: Arc<Shared>,
}

struct Shared {
    files: BTreeMap<String, Vec<u8>>,
    faults: Mutex<Faults>,
    /// The requests: method, path, and the range if there is one.
    requests: Mutex<Vec<String>>,
}

pub const COMMIT: &str = "89abcdef89abcdef89abcdef89abcdef89abcdef";

impl HubServer {
    pub fn new(files: &[(&str, &[u8])]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(name, contents)| (name.to_string(), contents.to_vec())).collect();
        let shared = Arc::new(Shared { files, faults: Mutex::default(), requests: Mutex::default() });
        let served = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = served.clone();
                std::thread::spawn(move || while shared.answer(&stream).is_some() {});
            }
        });
        HubServer { address, shared }
    }

    /// What the server does wrong from now on.
    pub fn fault(&self, faults: Faults) {
        *self.shared.faults.lock().unwrap() = faults;
    }

    /// The requests since the last call.
    pub fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.requests.lock().unwrap())
    }
}

impl Shared {
    /// Answers one request; `None` ends the connection.
    fn answer(&self, stream: &TcpStream) -> Option<()> {
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let first = lines.next()?;
        let mut words = first.split(' ');
        let (method, path) = (words.next()?.to_string(), words.next()?.to_string());
        let headers: BTreeMap<String, String> = lines
            .take_while(|line| !line.is_empty())
            .filter_map(|line| line.split_once(": ").map(|(k, v)| (k.to_ascii_lowercase(), v.to_string())))
            .collect();
        let range = headers.get("range").cloned();
        let said = format!("{method} {path} {}", range.clone().unwrap_or_default());
        self.requests.lock().unwrap().push(said.trim_end().to_string());
        let faults = self.faults.lock().unwrap().clone();
        if let Some((status, code)) = faults.refuses {
            return send(stream, status, &[("X-Error-Code", code)], b"no");
        }
        let given = headers.get("authorization").map(String::as_str);
        // The other host, which this address stands for, asks for none.
        let asks = !path.starts_with("/moved");
        if asks && faults.token.is_some_and(|token| given != Some(&format!("Bearer {token}"))) {
            return send(stream, 401, &[("X-Error-Code", "GatedRepo")], b"no");
        }
        if path.starts_with("/api/models/o/n/revision/") {
            return self.list(stream, &faults);
        }
        let name = path.strip_prefix("/moved").unwrap_or(&path).strip_prefix(&format!("/o/n/resolve/{COMMIT}/"));
        let Some((name, contents)) = name.and_then(|name| self.files.get_key_value(name)) else {
            return send(stream, 404, &[("X-Error-Code", if name.is_some() { "EntryNotFound" } else { "" })], b"");
        };
        match method.as_str() {
            // A large file is on another host, which this address stands for.
            "HEAD" => send_head(stream, &path, name, contents, &faults),
            _ if !path.starts_with("/moved") => {
                send(stream, 302, &[("Location", &format!("/moved{path}"))], b"elsewhere")
            }
            _ => self.send_file(stream, contents, range, &faults),
        }
    }

    fn list(&self, stream: &TcpStream, faults: &Faults) -> Option<()> {
        let names = self.files.keys().chain(&faults.lists);
        let siblings: Vec<_> = names.map(|name| serde_json::json!({ "rfilename": name })).collect();
        let text = serde_json::json!({ "sha": COMMIT, "siblings": siblings }).to_string();
        send(stream, 200, &[], faults.text.unwrap_or(&text).as_bytes())
    }

    fn send_file(&self, mut stream: &TcpStream, contents: &[u8], range: Option<String>, faults: &Faults) -> Option<()> {
        let mut contents = contents.to_vec();
        if faults.is_damaged {
            contents[0] ^= 1;
        }
        let at = range
            .filter(|_| !faults.has_no_ranges)
            .and_then(|r| r.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
        let (at, status): (usize, u16) = at.map_or((0, 200), |at| (at, 206));
        let part = &contents[at..];
        let said = format!("bytes {at}-{}/{}", contents.len() - 1, contents.len());
        if let Some((n, times)) = faults.breaks_after.filter(|(n, times)| *times > 0 && *n < part.len()) {
            self.faults.lock().unwrap().breaks_after = Some((n, times - 1));
            head(stream, status, &[("Content-Range", &said)], part.len())?;
            let _ = stream.write_all(&part[..n]);
            return None;
        }
        if let Some(n) = faults.stalls_after {
            head(stream, status, &[("Content-Range", &said)], part.len())?;
            stream.write_all(&part[..n]).ok()?;
            std::thread::sleep(std::time::Duration::from_secs(60));
        }
        send(stream, status, &[("Content-Range", &said)], part)
    }
}

fn send_head(stream: &TcpStream, path: &str, name: &str, contents: &[u8], faults: &Faults) -> Option<()> {
    let hash: String = Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect();
    let is_large = name.ends_with(".gguf") || name.ends_with(".safetensors");
    // Git's hash has 40 digits.
    let etag = format!("\"{}\"", faults.etag.unwrap_or(if is_large { &hash } else { &hash[..40] }));
    let size = contents.len().to_string();
    match is_large {
        true => {
            let address = format!("http://127.0.0.1:9/moved{path}");
            let headers =
                [("Location", address.as_str()), ("X-Linked-Etag", &etag), ("X-Linked-Size", &size), ("ETag", "\"x\"")];
            head(stream, 302, &headers, 0)
        }
        false => head(stream, 200, &[("ETag", &format!("W/{etag}"))], contents.len()),
    }
}

fn head(mut stream: &TcpStream, status: u16, headers: &[(&str, &str)], len: usize) -> Option<()> {
    let mut text = format!("HTTP/1.1 {status} X\r\nContent-Length: {len}\r\n");
    headers.iter().for_each(|(key, value)| text += &format!("{key}: {value}\r\n"));
    stream.write_all(format!("{text}\r\n").as_bytes()).ok()
}

fn send(mut stream: &TcpStream, status: u16, headers: &[(&str, &str)], body: &[u8]) -> Option<()> {
    head(stream, status, headers, body.len())?;
    stream.write_all(body).ok()
}
