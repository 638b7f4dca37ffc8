//! An HTTP client that sends exactly what it is told to.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything a test waits for.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Clone)]
pub struct Client {
    address: SocketAddr,
    headers: Vec<(String, String)>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &value[..])
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The JSON of an answer that says that all went well.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The message of a failure with this status.
    pub fn failure(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text());
        let error = &self.json()["error"];
        assert!(error["type"].is_string() && error["code"].is_string(), "{error}");
        error["message"].as_str().unwrap().into()
    }

    /// The chunks of a streamed answer, and whether it is complete.
    pub fn events(&self) -> (Vec<Value>, bool) {
        let mut events = Vec::new();
        for event in self.text().split("\n\n").filter_map(|event| event.strip_prefix("data: ")) {
            if event == "[DONE]" {
                return (events, true);
            }
            events.push(serde_json::from_str(event).unwrap());
        }
        (events, false)
    }
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Client { address, headers: vec![("Host".into(), address.to_string())] }
    }

    /// Replaces or adds a header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
        self
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send(&self.request("GET", path, None)).unwrap()
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, &body.to_string())
    }

    pub fn post_text(&self, path: &str, body: &str) -> Answer {
        self.send(&self.request("POST", path, Some(body))).unwrap()
    }

    /// The bytes of a request on a connection of its own.
    pub fn request(&self, method: &str, path: &str, body: Option<&str>) -> Vec<u8> {
        let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        if let Some(body) = body {
            let has_type = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
            if !has_type {
                text += "Content-Type: application/json\r\n";
            }
            text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        } else {
            text += "\r\n";
        }
        text.into_bytes()
    }

    /// Sends bytes and reads an answer, if one comes.
    pub fn send(&self, bytes: &[u8]) -> std::io::Result<Answer> {
        let mut stream = self.connect();
        // A server may answer and close before it has read everything.
        let sent = stream.write_all(bytes);
        read(&mut BufReader::new(stream)).or_else(|e| sent.and(Err(e)))
    }

    /// Begins a request whose answer is read piece by piece, or not at all.
    pub fn begin(&self, path: &str, body: &Value) -> BufReader<TcpStream> {
        let mut stream = self.connect();
        stream.write_all(&self.request("POST", path, Some(&body.to_string()))).unwrap();
        BufReader::new(stream)
    }
}

/// Reads an answer to its end.
pub fn read(stream: &mut impl BufRead) -> std::io::Result<Answer> {
    let wrong = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_string());
    let (status, headers) = read_head(stream)?;
    let header = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.clone());
    let mut body = Vec::new();
    if header("transfer-encoding").as_deref() == Some("chunked") {
        loop {
            let mut line = String::new();
            stream.read_line(&mut line)?;
            let n = usize::from_str_radix(line.trim(), 16).map_err(|_| wrong(&line))?;
            let begin = body.len();
            body.resize(begin + n, 0);
            stream.read_exact(&mut body[begin..])?;
            line.clear();
            stream.read_line(&mut line)?;
            if n == 0 {
                break;
            }
        }
    } else if let Some(n) = header("content-length") {
        body.resize(n.parse().map_err(|_| wrong(&n))?, 0);
        stream.read_exact(&mut body)?;
    } else {
        stream.read_to_end(&mut body)?;
    }
    Ok(Answer { status, headers, body })
}

/// Reads the status and the headers of an answer.
pub fn read_head(stream: &mut impl BufRead) -> std::io::Result<(u16, Vec<(String, String)>)> {
    let wrong = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, what.to_string());
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok()).ok_or_else(|| wrong(&line))?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_lowercase(), value.trim().to_string())),
            None => return Ok((status, headers)),
        }
    }
}
