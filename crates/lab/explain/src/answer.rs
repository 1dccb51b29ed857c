//! JSON interface of the recorder. The input describes a drive and its requests; the output is the recording.

use serde::{Deserialize, Serialize};

use crate::{Drive, Frame, Recording, record};

/// Operation of a host request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The host writes pages.
    Write,
    /// The host reads pages.
    Read,
    /// The host trims pages.
    Trim,
}

/// A host request to consecutive logical pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Operation of the request.
    pub op: Op,
    /// First logical page that the request covers.
    pub page: u32,
    /// Number of logical pages.
    pub count: u32,
}

#[derive(Deserialize)]
struct Question {
    drive: Drive,
    /// Requests that the drive serves before the recording begins, as text.
    before: String,
    requests: String,
    /// If set to `(first, last)`, the answer contains pictures instead of the recording: one picture of the drive after
    /// each number of steps from `first` to `last`.
    #[serde(default)]
    frames: Option<(usize, usize)>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Recording(Box<Recording>),
    Frames(Vec<Frame>),
    Error(String),
}

/// Answers `{"drive": ..., "before": "0-15", "requests": "4 r5"}` with `{"recording": ...}`, or with
/// `{"error": "..."}`. If the question has `"frames": [3, 7]`, the answer is `{"frames": [...]}`.
pub fn answer(question: &str) -> String {
    let answer = serde_json::from_str(question).map_err(|error| error.to_string()).and_then(
        |Question { drive, before, requests, frames }| {
            let [before, requests] = [(before, "before"), (requests, "requests")]
                .map(|(text, name)| parse(&text).map_err(|why| format!("{name}: {why}")));
            let (before, requests) = (before?, requests?);
            if requests.is_empty() {
                return Err("no requests; enter pages to write, such as 0 4 8-11".into());
            }
            let recording = record(&drive, &before, &requests)?;
            let Some((first, last)) = frames else { return Ok(Answer::Recording(Box::new(recording))) };
            let steps = recording.steps.len();
            if first > last || last > steps {
                return Err(format!("frames {first} to {last} do not exist; choose frames from 0 to {steps}"));
            }
            Ok(Answer::Frames(recording.frames(first, last)))
        },
    );
    let answer = answer.unwrap_or_else(Answer::Error);
    serde_json::to_string(&answer).expect("an answer is always valid JSON")
}

/// Parses the text of requests. A page or page range such as `5` or `4-7` is a write; with the prefix `r` it is a read,
/// with `t` a trim.
fn parse(text: &str) -> Result<Vec<Request>, String> {
    text.split([' ', ',', '\n', '\t']).filter(|word| !word.is_empty()).map(request).collect()
}

fn request(word: &str) -> Result<Request, String> {
    let (op, pages) = match word.split_at_checked(1) {
        Some(("r", pages)) => (Op::Read, pages),
        Some(("t", pages)) => (Op::Trim, pages),
        Some(("w", pages)) => (Op::Write, pages),
        _ => (Op::Write, word),
    };
    let (first, last) = pages.split_once('-').unwrap_or((pages, pages));
    let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
        return Err(format!("{word} is not a request; enter 5 or 4-7 to write pages, r5 to read, t5 to trim"));
    };
    let count = last.checked_sub(first).and_then(|more| more.checked_add(1));
    let count = count.ok_or_else(|| format!("the page range {word} is reversed; enter {last}-{first}"))?;
    Ok(Request { op, page: first, count })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_parsed() {
        let request = |op, page, count| Request { op, page, count };
        let expected = [
            request(Op::Write, 5, 1),
            request(Op::Write, 4, 4),
            request(Op::Read, 5, 1),
            request(Op::Trim, 0, 3),
            request(Op::Write, 1, 1),
        ];
        assert_eq!(parse(" 5, 4-7\nr5 t0-2 w1 "), Ok(expected.to_vec()));
        assert!(parse("5 x4").unwrap_err().starts_with("x4 is not a request"));
        assert!(parse("7-4").unwrap_err().ends_with("enter 4-7"));
        assert!(parse("0-4294967295").is_err() && parse("-1").is_err() && parse("é").is_err());
    }
}
