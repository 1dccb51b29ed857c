//! One connection, on a thread of its own.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::Shared;
use super::sender::Sender;
use super::wire::{Receiver, Wire};
use crate::session::{Next, Session};

/// Serves a client until it leaves.
pub(super) fn serve(wire: &Arc<Wire>, shared: &Arc<Shared>) -> io::Result<()> {
    let mut session = Session::new(Arc::clone(&shared.host));
    let mut receiver = Receiver::new(wire);
    let mut sender = Sender::new(wire, shared);
    let deadline = Instant::now() + shared.options.negotiation;
    let mut is_limited = true;
    loop {
        let next = session.advance();
        if is_limited {
            is_limited = session.is_negotiating();
            wire.limit(is_limited.then_some(deadline))?;
        }
        sender.send(session.output())?;
        match next {
            Next::Continue => {}
            Next::Receive => match receiver.receive(session.space())? {
                0 => break,
                bytes => session.received(bytes),
            },
            Next::StartTls => {
                // Only a host with certificates lets a session get here.
                let tls = shared.options.tls.as_ref().ok_or(io::ErrorKind::Unsupported)?;
                wire.start_tls(Arc::clone(&tls.config), deadline)?;
                session.tls_started();
            }
            Next::Close => break,
        }
    }
    sender.finish()
}
