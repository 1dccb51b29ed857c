//! A connection to a client, served by its own thread.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::budget::{Account, Counted, SHORT};
use super::sender::Sender;
use super::wire::{Receiver, Wire};
use super::{ConnectionGuard, Shared};
use crate::session::{Next, Session};

/// Serves a client until it disconnects.
pub(super) fn serve(wire: &Arc<Wire>, shared: &Arc<Shared>, guard: &ConnectionGuard) -> io::Result<()> {
    let mut session = Session::new(Arc::clone(&shared.host));
    session.ask_beyond(SHORT);
    let mut receiver = Receiver::new(wire);
    let deadline = Instant::now() + shared.options.negotiation;
    wire.limit(deadline)?;
    loop {
        let next = session.advance();
        if !session.is_negotiating() {
            let account = guard.take().ok_or(io::ErrorKind::ConnectionRefused)?;
            wire.admit(&account, shared.options.stall)?;
            return transmit(wire, shared, &account, (session, receiver), next);
        }
        wire.send(session.output().bytes())?;
        session.output().clear();
        match next {
            Next::Receive => {
                wire.limit(deadline)?;
                match receiver.receive(session.space(), false)? {
                    0 => break,
                    bytes => session.received(bytes),
                }
            }
            Next::StartTls => {
                // A host without certificates refuses TLS, so sessions of this host never return `StartTls`.
                let tls = shared.options.tls.as_ref().ok_or(io::ErrorKind::Unsupported)?;
                wire.start_tls(Arc::clone(&tls.config), deadline)?;
                session.tls_started();
            }
            Next::Continue | Next::Room(_) | Next::Close => {}
        }
    }
    wire.end_tls()
}

/// Serves a client that has chosen an export; `next` is the first action.
fn transmit(
    wire: &Arc<Wire>,
    shared: &Arc<Shared>,
    account: &Arc<Account>,
    (mut session, mut receiver): (Session, Receiver),
    mut next: Next,
) -> io::Result<()> {
    let mut sender = Sender::new(wire, shared, account);
    let mut buffers = Counted::new(account);
    let mut room = None;
    loop {
        buffers.set(session.memory());
        // The memory of a long request is freed together with its reply.
        let done = if session.needs_room() { None } else { room.take() };
        sender.send(session.output(), done)?;
        match next {
            Next::Continue | Next::StartTls => {}
            Next::Room(bytes) => {
                room = Some(account.long_room(bytes)?);
                session.grant(bytes);
            }
            Next::Receive => {
                let holds_room = session.needs_room();
                match receiver.receive(session.space(), holds_room)? {
                    0 => break,
                    bytes => session.received(bytes),
                }
            }
            Next::Close => break,
        }
        next = session.advance();
    }
    sender.finish()
}
