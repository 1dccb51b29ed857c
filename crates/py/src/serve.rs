//! Binding to the server that lets other programs use a drive.

use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_encode};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ssdlab_nbd::{Address, Ending, Entry, Options, Server, ServerError, Sockets, Tls};
use ssdlab_serve::{OpenError, ServeOptions, Served, open};
use ssdlab_sim::States;

use crate::columns::{buckets, by_op};
use crate::config::Config;
use crate::errors::{ConfigError, OrRaise, Raise, SsdlabError, detached, drive_error, no_thread};
use crate::memory;
use crate::requests::Requests;
use crate::run::PythonMonitor;

/// Interval at which a waiting thread checks if the server has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A drive served to NBD clients until it is stopped.
#[pyclass(frozen, module = "ssdlab._ssdlab")]
pub struct DriveServer {
    drive: Arc<Served>,
    server: ssdlab_nbd::Handle,
    addresses: Vec<Address>,
    is_encrypted: bool,
    running: Mutex<Option<JoinHandle<Result<Ending, ServerError>>>>,
}

fn open_error(error: OpenError, file: Option<&Path>) -> PyErr {
    match error {
        OpenError::Options(error) => ConfigError::new_err(error.to_string()),
        OpenError::Time(error) => error.exception(),
        OpenError::File(error) => error.exception(),
        OpenError::Drive(error) => drive_error(&error, file),
        OpenError::Thread(_) => PyOSError::new_err(error.to_string()),
    }
}

/// Characters that must be percent-encoded in a path within the query of a URI (RFC 3986).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

fn encoded(path: &Path) -> PercentEncode<'_> {
    percent_encode(path.as_os_str().as_bytes(), ENCODED)
}

#[pymethods]
impl DriveServer {
    /// Opens the drive of a configuration and listens at `socket` or at `listen`, an address with a port. Clients can
    /// connect once this function returns. With `tls`, a folder of certificates, they must use TLS; with
    /// `verify_clients`, they also need a certificate signed by the CA in that folder. Requests and replies take at most
    /// `memory` bytes. `scale` is the wall time of a simulated second; None sends replies at once.
    ///
    /// A new drive can be preconditioned as for a run (`precondition`; `kept` has the same meaning as in `simulate`),
    /// or continue from the saved drive in the file `state`.
    #[new]
    #[pyo3(signature = (
        config, name, *, file, socket, listen, tls, verify_clients, memory, scale, record, precondition, state, kept
    ))]
    #[expect(clippy::too_many_arguments, reason = "the only caller passes arguments by name")]
    fn new(
        py: Python<'_>,
        config: &Config,
        name: &str,
        file: Option<PathBuf>,
        socket: Option<PathBuf>,
        listen: Option<&str>,
        tls: Option<PathBuf>,
        verify_clients: bool,
        memory: usize,
        scale: Option<f64>,
        record: bool,
        precondition: bool,
        state: Option<PathBuf>,
        kept: Option<PathBuf>,
    ) -> PyResult<Self> {
        config.require_built_in()?;
        let setup = config.inner.settings(None).or_raise()?.setup;
        memory::require_drive(&config.inner, &setup, file.is_some())?;
        let mut addresses: Vec<_> = socket.map(Address::Unix).into_iter().collect();
        if let Some(listen) = listen {
            let address: SocketAddr = listen.parse().map_err(|_| {
                ConfigError::new_err(format!("{listen} is not an IP address with a port; use 127.0.0.1:10809"))
            })?;
            addresses.push(Address::Tcp(address));
        }
        let tls = tls.map(|folder| Tls::load(&folder, true, verify_clients)).transpose();
        let tls = tls.map_err(|error| PyOSError::new_err(error.to_string()))?;
        // The address is bound first, because creating the drive may take long and leaves a file behind.
        let sockets = Sockets::bind(&addresses).map_err(|error| PyOSError::new_err(error.to_string()))?;
        let settings = config.inner.drive_settings();
        let states = States { from: state.as_deref(), cache: kept.as_deref(), save: None };
        let start = (precondition || state.is_some()).then_some(states);
        let options = ServeOptions { file: file.as_deref(), start, scale, record };
        let toml = config.inner.to_toml();
        let mut monitor = PythonMonitor::new(None);
        let drive = detached(py, Some(&toml), || open(&setup, &settings, options, &mut monitor))?;
        if let Some(error) = monitor.error {
            return Err(error);
        }
        let drive = drive.map_err(|error| open_error(error, file.as_deref()))?;
        let entry = Entry::new(name, Arc::clone(&drive) as _);
        let is_encrypted = tls.is_some();
        let server = Server::new(sockets, vec![entry], Options { tls, memory, ..Options::default() });
        let (addresses, handle) = (server.addresses(), server.handle());
        let running =
            thread::Builder::new().name("nbd server".into()).spawn(move || server.run()).map_err(|_| no_thread())?;
        Ok(Self { drive, server: handle, addresses, is_encrypted, running: Mutex::new(Some(running)) })
    }

    /// Returns URIs for clients to connect to, without the export name.
    fn addresses(&self) -> Vec<String> {
        let written = |address: &Address| match (address, self.is_encrypted) {
            (Address::Unix(path), false) => format!("nbd+unix:///?socket={}", encoded(path)),
            // TLS clients check the host name in the certificate, so the URI contains a host name.
            (Address::Unix(path), true) => format!("nbds+unix://localhost/?socket={}", encoded(path)),
            (Address::Tcp(address), false) => format!("nbd://{address}"),
            (Address::Tcp(address), true) => format!("nbds://{address}"),
        };
        self.addresses.iter().map(written).collect()
    }

    /// Waits up to `seconds`, if positive. Returns None if the server is still running, otherwise how it was stopped:
    /// "graceful" or "at once".
    fn wait(&self, py: Python<'_>, seconds: f64) -> PyResult<Option<&'static str>> {
        // If the time exceeds the range of the clock, there is no deadline.
        let most = Duration::try_from_secs_f64(seconds.max(0.0)).ok();
        let until = most.and_then(|most| Instant::now().checked_add(most));
        let ended = loop {
            let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(thread) = running.take_if(|thread| thread.is_finished()) {
                break Some(thread.join());
            }
            drop(running);
            if until.is_some_and(|until| Instant::now() >= until) {
                break None;
            }
            py.detach(|| thread::sleep(LOOK_EVERY));
            py.check_signals()?;
        };
        match ended {
            None => Ok(None),
            Some(Ok(Ok(Ending::Graceful))) => {
                let shut_down = detached(py, None, || self.drive.shut_down())?;
                shut_down.map_err(|error| SsdlabError::new_err(error.to_string()))?;
                Ok(Some("graceful"))
            }
            Some(Ok(Ok(Ending::AtOnce))) => Ok(Some("at once")),
            Some(Ok(Err(error))) => {
                let lost = if self.is_volatile() { "; unflushed writes may be lost" } else { "" };
                let why = self.drive.fault().map_or_else(String::new, |why| format!(": {why}"));
                Err(SsdlabError::new_err(format!("{error}{why}{lost}")))
            }
            Some(Err(panic)) => detached(py, None, || std::panic::resume_unwind(panic)),
        }
    }

    /// Stops the server: gracefully on the first call, at once on the second.
    fn stop(&self) {
        self.server.stop();
    }

    /// Returns the number of connections that the server closed at shutdown because their clients read replies too
    /// slowly.
    fn cut_off(&self) -> usize {
        self.server.cut_off()
    }

    /// True if a power loss would lose buffered writes.
    fn is_volatile(&self) -> bool {
        self.drive.is_volatile()
    }

    fn connections(&self) -> usize {
        self.server.connections()
    }

    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let report = detached(py, None, || self.drive.report(self.server.lag()))?;
        serde_json::to_string(&report).or_raise()
    }

    /// Returns simulated response times: (lower_ns, upper_ns, count) per operation, with one entry per non-empty
    /// bucket. None if replies are sent at once.
    fn latency<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let latency = self.drive.latency();
        latency.map(|latency| by_op(py, &latency, |histogram| buckets(py, histogram))).transpose()
    }

    /// Returns the client requests that were recorded since the last call.
    fn take_record(&self, py: Python<'_>) -> PyResult<Requests> {
        Ok(Requests { inner: detached(py, None, || self.drive.take_record())? })
    }
}
