//! Negotiation: the client chooses options and an export.

use super::host::{Host, Security};
use super::input::Input;
use super::transmission::Transmission;
use super::{Entry, Step};
use crate::buffer::Buffer;
use crate::protocol::{
    MAX_STRING, Malformed, OPTION_BYTES, ReplyKind, decode_choice, decode_option, decode_queries, info, option,
    option_reply, rep,
};

/// Maximum length of an option's data; enough for many metadata context queries.
const MAX_OPTION: u32 = 64 << 10;

/// The only metadata context that the server offers.
const CONTEXT: &str = "base:allocation";
/// Query for all metadata contexts of the namespace `base`.
const NAMESPACE: &str = "base:";

/// Number that identifies the metadata context in replies.
pub(super) const CONTEXT_ID: u32 = 1;

/// Refusal of an option: type of the reply, and the reason as text.
struct Refusal(u32, String);

impl From<Malformed> for Refusal {
    fn from(Malformed(why): Malformed) -> Self {
        Self(rep::ERR_INVALID, why.to_owned())
    }
}

/// Results of the negotiation so far.
pub(super) struct Negotiation {
    /// True if the client supports replies to options.
    fixed: bool,
    no_zeroes: bool,
    kind: ReplyKind,
    /// Index of the export for which the client selected `base:allocation`; None if the client selected it for no
    /// export.
    context: Option<usize>,
    secure: bool,
}

impl Negotiation {
    pub fn new(fixed: bool, no_zeroes: bool) -> Self {
        Self { fixed, no_zeroes, kind: ReplyKind::Simple, context: None, secure: false }
    }

    /// Discards all results of the negotiation because TLS has started.
    pub fn secure(&mut self) {
        *self = Self { secure: true, ..Self::new(self.fixed, self.no_zeroes) };
    }

    /// Handles the next option that the client sends.
    pub fn step(&mut self, host: &Host, input: &mut Input, out: &mut Buffer) -> Step {
        let filled = input.filled();
        let Some(header) = filled.first_chunk() else { return Step::Short(OPTION_BYTES) };
        let Some((option, bytes)) = decode_option(*header) else { return Step::Close };
        if bytes > MAX_OPTION {
            input.consume(OPTION_BYTES);
            input.discard(bytes.into());
            return self.oversized(option, out);
        }
        let whole = OPTION_BYTES + bytes as usize;
        let Some(data) = filled.get(OPTION_BYTES..whole) else { return Step::Short(whole) };
        let step = self.option(host, option, data, out);
        input.consume(whole);
        step
    }

    fn oversized(&self, option: u32, out: &mut Buffer) -> Step {
        match option {
            option::EXPORT_NAME => return Step::Close,
            _ if !self.fixed => return Step::Close,
            option::ABORT => {
                option_reply(out, option, rep::ACK, &[]);
                return Step::Close;
            }
            option::LIST | option::STARTTLS..=option::EXTENDED_HEADERS => {
                let why = format!("the data of an option must not exceed {MAX_OPTION} bytes");
                option_reply(out, option, rep::ERR_TOO_BIG, &[why.as_bytes()]);
            }
            _ => option_reply(out, option, rep::ERR_UNSUP, &[]),
        }
        Step::Done
    }

    fn option(&mut self, host: &Host, option: u32, data: &[u8], out: &mut Buffer) -> Step {
        if option == option::EXPORT_NAME {
            return self.export_name(host, data, out).unwrap_or(Step::Close);
        }
        if !self.fixed {
            return Step::Close;
        }
        let done = match self.refuses_all(host, option) {
            Some(refusal) => Err(refusal),
            None => self.answer(host, option, data, out),
        };
        done.unwrap_or_else(|Refusal(kind, why)| {
            option_reply(out, option, kind, &[why.as_bytes()]);
            Step::Done
        })
    }

    /// Returns the reason for refusing the option if the server is being shut down, or if it requires TLS and the
    /// client does not use TLS yet; otherwise None. `ABORT` is never refused, and `STARTTLS` is not refused for lack of
    /// TLS.
    fn refuses_all(&self, host: &Host, option: u32) -> Option<Refusal> {
        if option == option::ABORT {
            None
        } else if host.is_stopping() {
            Some(Refusal(rep::ERR_SHUTDOWN, "the server is being shut down".to_owned()))
        } else if host.security == Security::Forced && !self.secure && option != option::STARTTLS {
            Some(Refusal(rep::ERR_TLS_REQD, "this server requires TLS".to_owned()))
        } else {
            None
        }
    }

    fn answer(&mut self, host: &Host, option: u32, data: &[u8], out: &mut Buffer) -> Result<Step, Refusal> {
        let empty = || match data {
            [] => Ok(()),
            _ => Err(Refusal(rep::ERR_INVALID, "this option must have no data".to_owned())),
        };
        let mut step = Step::Done;
        match option {
            option::ABORT => step = Step::Close,
            option::LIST => {
                empty()?;
                for Entry { name, export, .. } in host.visible(self.secure) {
                    let length = (name.len() as u32).to_be_bytes();
                    let description = export.description().as_bytes();
                    option_reply(out, option, rep::SERVER, &[&length, name.as_bytes(), description]);
                }
            }
            option::STARTTLS => {
                empty()?;
                if self.secure {
                    return Err(Refusal(rep::ERR_INVALID, "TLS has already started".to_owned()));
                }
                if host.security == Security::Plain {
                    return Err(Refusal(rep::ERR_POLICY, "TLS is off on this server".to_owned()));
                }
                step = Step::StartTls;
            }
            option::INFO | option::GO => {
                let (name, requests) = decode_choice(data)?;
                let export = self.find(host, name)?;
                let transmission = self.enter(host, export);
                describe(host, export, &transmission, option, &requests, out);
                if option == option::GO {
                    step = Step::Enter(transmission);
                }
            }
            option::STRUCTURED_REPLY => {
                empty()?;
                if self.kind == ReplyKind::Extended {
                    let why = "structured replies are replaced by the extended headers already negotiated".to_owned();
                    return Err(Refusal(rep::ERR_EXT_HEADER_REQD, why));
                }
                self.kind = ReplyKind::Structured;
            }
            option::EXTENDED_HEADERS => {
                empty()?;
                self.kind = ReplyKind::Extended;
            }
            option::LIST_META_CONTEXT => {
                let (name, queries) = decode_queries(data)?;
                self.find(host, name)?;
                let wanted = |query: &&[u8]| [CONTEXT.as_bytes(), NAMESPACE.as_bytes()].contains(query);
                if queries.is_empty() || queries.iter().any(wanted) {
                    option_reply(out, option, rep::META_CONTEXT, &[&0_u32.to_be_bytes(), CONTEXT.as_bytes()]);
                }
            }
            option::SET_META_CONTEXT => {
                self.context = None;
                if self.kind == ReplyKind::Simple {
                    let why = "negotiate structured replies before metadata contexts".to_owned();
                    return Err(Refusal(rep::ERR_INVALID, why));
                }
                let (name, queries) = decode_queries(data)?;
                let export = self.find(host, name)?;
                if queries.contains(&CONTEXT.as_bytes()) {
                    self.context = Some(export);
                    option_reply(out, option, rep::META_CONTEXT, &[&CONTEXT_ID.to_be_bytes(), CONTEXT.as_bytes()]);
                }
            }
            _ => return Err(Refusal(rep::ERR_UNSUP, "unknown option".to_owned())),
        }
        option_reply(out, option, rep::ACK, &[]);
        Ok(step)
    }

    /// Handles `EXPORT_NAME`, which cannot report errors; `None` closes the connection.
    fn export_name(&self, host: &Host, name: &[u8], out: &mut Buffer) -> Option<Step> {
        let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_STRING)?;
        // The specification forbids this option with extended headers.
        if self.kind == ReplyKind::Extended || self.refuses_all(host, option::EXPORT_NAME).is_some() {
            return None;
        }
        let export = host.find(name, self.secure).ok()?;
        let transmission = self.enter(host, export);
        out.extend(&transmission.size.to_be_bytes());
        out.extend(&transmission.flags().to_be_bytes());
        if !self.no_zeroes {
            out.extend(&[0; 124]);
        }
        Some(Step::Enter(transmission))
    }

    fn find(&self, host: &Host, name: &str) -> Result<usize, Refusal> {
        host.find(name, self.secure).map_err(|kind| {
            let why = if kind == rep::ERR_TLS_REQD { "requires TLS" } else { "does not exist" };
            Refusal(kind, format!("export {name:?} {why}"))
        })
    }

    fn enter(&self, host: &Host, export: usize) -> Transmission {
        Transmission::new(host.entries[export].export.clone(), self.kind, self.context == Some(export))
    }
}

/// Appends the mandatory and the requested information about an export.
fn describe(host: &Host, export: usize, seen: &Transmission, option: u32, requests: &[u16], out: &mut Buffer) {
    let entry = &host.entries[export];
    let mut append = |kind: u16, data: &[&[u8]]| {
        let kind = kind.to_be_bytes();
        let data: Vec<&[u8]> = std::iter::once(&kind[..]).chain(data.iter().copied()).collect();
        option_reply(out, option, rep::INFO, &data);
    };
    append(info::EXPORT, &[&seen.size.to_be_bytes(), &seen.flags().to_be_bytes()]);
    if requests.contains(&info::NAME) {
        append(info::NAME, &[entry.name.as_bytes()]);
    }
    if requests.contains(&info::DESCRIPTION) {
        append(info::DESCRIPTION, &[entry.export.description().as_bytes()]);
    }
    if requests.contains(&info::BLOCK_SIZE) {
        let sizes = entry.export.block_sizes();
        let [minimum, preferred, maximum] = [sizes.minimum, sizes.preferred, sizes.maximum].map(u32::to_be_bytes);
        append(info::BLOCK_SIZE, &[&minimum, &preferred, &maximum]);
    }
}
