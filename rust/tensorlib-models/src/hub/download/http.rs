//! Requests to the hub's server, and the errors that it answers with.

use crate::hub::HubName;
use crate::{Error, Result};
use std::path::PathBuf;
use std::time::Duration;
use ureq::config::RedirectAuthHeaders;
use ureq::http::Response;
use ureq::{Agent, Body, RequestBuilder};

/// The server, unless HF_ENDPOINT names another one.
const ENDPOINT: &str = "https://huggingface.co";
/// The longest time without an answer, and without a byte of a file.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// The most redirections that stay on the server: a repository that was renamed has one.
const REDIRECTIONS: usize = 5;

/// Whether HF_HUB_OFFLINE forbids to use the network.
pub fn is_offline() -> bool {
    let value = std::env::var("HF_HUB_OFFLINE").unwrap_or_default().to_ascii_lowercase();
    ["1", "true", "yes", "on"].contains(&value.as_str())
}

/// The server and the user's token for it.
pub struct Http {
    /// Follows no redirection: headers of the hub's own answer tell about a file that another host has.
    direct: Agent,
    /// Follows redirections; other hosts do not get the token.
    following: Agent,
    endpoint: String,
    token: Option<String>,
}

impl Http {
    /// The server that the environment names.
    pub fn of_environment() -> Result<Self> {
        let endpoint = std::env::var("HF_ENDPOINT").ok().filter(|text| !text.trim().is_empty());
        let endpoint = endpoint.unwrap_or_else(|| ENDPOINT.into());
        let agent = |redirects: u32| -> Agent {
            let config = Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(redirects)
                .max_redirects_will_error(false)
                .redirect_auth_headers(RedirectAuthHeaders::SameHost)
                .accept_encoding("identity")
                .user_agent(concat!("tensorlib/", env!("CARGO_PKG_VERSION")))
                .timeout_connect(Some(PATIENCE))
                .timeout_recv_response(Some(PATIENCE));
            config.build().into()
        };
        let endpoint = endpoint.trim().trim_end_matches('/').to_string();
        Ok(Http { direct: agent(0), following: agent(8), endpoint, token: token()? })
    }

    /// The JSON at a path of the server.
    pub fn json(&self, name: &HubName, path: &str) -> Result<serde_json::Value> {
        let request = self.authorised(self.following.get(format!("{}/{path}", self.endpoint)));
        let mut answer = self.checked(name, request.call())?;
        let text = answer.body_mut().read_to_vec().map_err(|e| self.unreachable(name, &e))?;
        serde_json::from_slice(&text).map_err(|e| super::odd_answer(name, e))
    }

    /// The server's own answer about a file, without its contents.
    pub fn head(&self, name: &HubName, path: &str) -> Result<Response<Body>> {
        let mut url = format!("{}/{path}", self.endpoint);
        for _ in 0..REDIRECTIONS {
            let answer = self.checked(name, self.authorised(self.direct.head(&url)).call())?;
            // A path on this server, not another host's address.
            let inside = header(&answer, "location").filter(|to| to.starts_with('/') && !to.starts_with("//"));
            match inside {
                Some(to) if answer.status().is_redirection() => url = format!("{}{to}", self.endpoint),
                _ => return Ok(answer),
            }
        }
        Err(super::odd_answer(name, "it redirects in a circle"))
    }

    /// The contents of a file from byte `at` on, or all of it if the server sends no parts.
    pub fn get(&self, name: &HubName, path: &str, at: u64) -> Result<Response<Body>> {
        let mut request = self.authorised(self.following.get(format!("{}/{path}", self.endpoint)));
        if at > 0 {
            request = request.header("range", format!("bytes={at}-"));
        }
        let answer = request.call();
        match answer {
            // The caller begins again.
            Ok(answer) if answer.status().as_u16() == 416 => Ok(answer),
            answer => self.checked(name, answer),
        }
    }

    fn authorised<T>(&self, request: RequestBuilder<T>) -> RequestBuilder<T> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn checked(
        &self,
        name: &HubName,
        answer: std::result::Result<Response<Body>, ureq::Error>,
    ) -> Result<Response<Body>> {
        let answer = answer.map_err(|e| self.unreachable(name, &e))?;
        match answer.status() {
            status if status.is_success() || status.is_redirection() => Ok(answer),
            status => Err(self.refused(name, status.as_u16(), header(&answer, "x-error-code").unwrap_or_default())),
        }
    }

    fn refused(&self, name: &HubName, status: u16, code: &str) -> Error {
        let (repository, endpoint) = (name.repository(), &self.endpoint);
        let token = match self.token {
            Some(_) => "the token of HF_TOKEN or of its file",
            None => "a token, which HF_TOKEN or the file $HF_HOME/token has; `hf auth login` writes it",
        };
        let (message, hint) = match (status, code) {
            (401 | 403, "GatedRepo") => (
                format!("{name}: the repository is gated: its owner gives access to those who ask for it ({status})"),
                format!("ask for access on its page, {endpoint}/{repository}; downloading it takes {token}"),
            ),
            (401 | 403, _) => (
                format!("{name}: {endpoint} refuses the repository: there is none of that name, or it is private ({status})"),
                format!("look for a typing mistake; a private repository takes {token}"),
            ),
            (404, "RevisionNotFound") => (
                format!("{name}: the repository has no revision '{}'", name.revision().unwrap_or("main")),
                format!("its page, {endpoint}/{repository}, lists branches and tags"),
            ),
            (404, "EntryNotFound") => (
                format!("{name}: the repository has no such file"),
                format!("its page, {endpoint}/{repository}, lists the files"),
            ),
            (404, _) => (
                format!("{name}: {endpoint} has no such repository"),
                "look for a typing mistake: OWNER/NAME is valid, as the address of its page ends".into(),
            ),
            (429 | 500..=599, _) => {
                (format!("{name}: {endpoint} answers with status {status}"), "try again later".into())
            }
            _ => (format!("{name}: {endpoint} answers with status {status}"), "HF_ENDPOINT names another server".into()),
        };
        Error::no_file(message).with_hint(hint)
    }

    fn unreachable(&self, name: &HubName, error: &ureq::Error) -> Error {
        let message = format!("{name}: the cache lacks it, and {} cannot be reached: {error}", self.endpoint);
        Error::no_file(message).with_hint("look at the network; HF_ENDPOINT names another server")
    }
}

/// A header of an answer.
pub fn header<'a>(answer: &'a Response<Body>, name: &str) -> Option<&'a str> {
    answer.headers().get(name)?.to_str().ok()
}

/// A path in a URL: each byte outside of the unreserved ones becomes `%XX`, and so does `/` unless `slashes` stay.
pub fn escaped(path: &str, slashes: bool) -> String {
    let plain = |c: u8| c.is_ascii_alphanumeric() || b"-._~".contains(&c) || slashes && c == b'/';
    path.bytes().map(|c| if plain(c) { char::from(c).to_string() } else { format!("%{c:02X}") }).collect()
}

/// The user's token, from the environment or a file.
fn token() -> Result<Option<String>> {
    let value = |key: &str| std::env::var(key).ok().filter(|text| !text.trim().is_empty());
    let of_home = || Some(PathBuf::from(value("HF_HOME")?).join("token"));
    let of_cache = || Some(PathBuf::from(value("XDG_CACHE_HOME")?).join("huggingface/token"));
    let of_user =
        || Some(PathBuf::from(value("HOME").or_else(|| value("USERPROFILE"))?).join(".cache/huggingface/token"));
    let file = || value("HF_TOKEN_PATH").map(PathBuf::from).or_else(of_home).or_else(of_cache).or_else(of_user);
    let text = value("HF_TOKEN").or_else(|| file().and_then(|path| std::fs::read_to_string(path).ok()));
    let Some(token) = text.map(|text| text.trim().to_string()).filter(|token| !token.is_empty()) else {
        return Ok(None);
    };
    match token.bytes().all(|c| c.is_ascii_graphic()) {
        true => Ok(Some(token)),
        false => {
            Err(Error::invalid("the token of HF_TOKEN or of its file is none: it has blanks or control characters"))
        }
    }
}
