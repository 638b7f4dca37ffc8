//! Accepts connections, within limits of number and time.

use crate::routes::App;
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// How long the server waits after an error of the system, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);
/// The most bytes of a request's line and headers.
const HEADER_BYTES: usize = 64 << 10;

/// Serves until `stop` is ready, then until the requests that were accepted are answered.
pub async fn serve(listener: TcpListener, router: Router, app: &App, stop: impl Future<Output = ()>) {
    let connections = Arc::new(Semaphore::new(app.options.connections));
    let open = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        let place = tokio::select! {
            place = connections.clone().acquire_owned() => place,
            () = &mut stop => break,
        };
        let Ok(place) = place else { break }; // the semaphore is never closed
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) if is_client(&error) => continue,
            Err(_) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (connected, time) = (app.metrics.connected(), app.options.client_time);
        let connection = open.watch(connection(stream, router.clone(), time));
        tokio::spawn(async move {
            // A client that sends no HTTP, or leaves, ends its connection alone.
            let _ = connection.await;
            drop((place, connected));
        });
    }
    drop(listener);
    app.is_draining.store(true, std::sync::atomic::Ordering::Relaxed);
    let limit = app.options.request_time.saturating_add(app.options.client_time);
    let _ = tokio::time::timeout(limit, open.shutdown()).await; // connections that are open then are cut
}

type Io = TokioIo<std::pin::Pin<Box<TimeoutStream<TcpStream>>>>;
type Connection = hyper::server::conn::http1::Connection<Io, TowerToHyperService<Router>>;

fn connection(stream: TcpStream, router: Router, time: Duration) -> Connection {
    let _ = stream.set_nodelay(true); // pieces of an answer are short, and slower without it
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(time));
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(time)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router))
}

/// Whether an error is one of the client that connected, and not of the system.
fn is_client(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(error.kind(), Kind::ConnectionRefused | Kind::ConnectionAborted | Kind::ConnectionReset)
}
