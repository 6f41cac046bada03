//! Answers to a planner's requests, all asked together in one transaction.

use std::rc::Rc;

use idb::Query;
use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::IdbRequest;

use super::error::Thrown;
use super::text::JsText;
use super::transaction::{End, Transaction, error_of};
use super::value;
use crate::codec::key::{ById, Common, Key, Range, Store, Where};
use crate::codec::schema::{CHECKPOINT_BY_ID, CHECKPOINT_BY_LOOKUP, CHECKPOINT_BY_OPENS, CHECKPOINT_BY_TURN};
use crate::error::{Code, Error};
use crate::model::sorted::Map;
use crate::store::{Access, Answer, Op, Read, Request};

/// Why reading stopped.
#[derive(Debug)]
pub(super) enum Stop {
    /// The transaction ended first.
    Ended(End),
    /// The browser threw when asked. The transaction may still be open.
    Threw(String, Thrown),
    /// Another failure. The transaction may still be open.
    Failed(Error),
}

impl From<End> for Stop {
    fn from(end: End) -> Self {
        Stop::Ended(end)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(error)
    }
}

type Rows = Vec<Read<JsText>>;

/// Reads what a planner asked for.
///
/// # Errors
/// `Stop`, which says what became of the transaction.
pub(super) async fn read(
    transaction: &Transaction,
    access: Access,
    requests: Vec<Request>,
) -> Result<Vec<(Request, Answer<JsText>)>, Stop> {
    let mut asked = Vec::with_capacity(requests.len());
    for request in requests {
        check(access, store_of(&request))?;
        let raw =
            ask(transaction, &request).map_err(|thrown| Stop::Threw(format!("reading {}", words(&request)), thrown))?;
        asked.push((request, raw));
    }
    if let Some(last) = asked.iter().rev().find_map(|(_, raw)| raw.as_ref()) {
        transaction.answered(last).await?;
    }
    let mut answers = Vec::with_capacity(asked.len());
    for (request, raw) in asked {
        let answer = match &request {
            Request::Row(key) => Answer::Row(row(raw.as_ref(), key.store, &value::key(key), || key.to_string())),
            Request::ById(_) => {
                Answer::Row(row(raw.as_ref(), Store::Checkpoints, &JsValue::UNDEFINED, || words(&request)))
            }
            Request::Keys(range) => Answer::Keys(Rc::new(keys(raw.as_ref(), range)?)),
            Request::Where(those) => Answer::Rows(Rc::new(match raw {
                Some(raw) => having(transaction, those, &raw).await?,
                None => Vec::new(),
            })),
            Request::Rows { range, limit } => Answer::Rows(Rc::new(match raw {
                Some(raw) => rows(transaction, range, *limit, &raw).await?,
                None => Vec::new(),
            })),
        };
        answers.push((request, answer));
    }
    Ok(answers)
}

/// What is read, in words.
fn words(request: &Request) -> String {
    match request {
        Request::Row(key) => key.to_string(),
        Request::Rows { range, .. } => format!("records of {}", range.store.name()),
        Request::Keys(range) => format!("the keys of {}", range.store.name()),
        Request::Where(those) => format!("checkpoints [{:?}, {:?}]", those.scope, those.session),
        Request::ById(by_id) => format!("checkpoints [{:?}, {:?}, {:?}]", by_id.scope, by_id.session, by_id.id),
    }
}

/// Refuses a store that a command did not name.
///
/// # Errors
/// `Internal`.
pub(super) fn check(access: Access, store: Store) -> Result<(), Error> {
    if access.stores.contains(&store) {
        return Ok(());
    }
    Err(Error::new(Code::Internal, format!("a command touched the store \"{}\" without naming it", store.name())))
}

fn store_of(request: &Request) -> Store {
    match request {
        Request::Row(key) => key.store,
        Request::Rows { range, .. } | Request::Keys(range) => range.store,
        Request::ById(_) | Request::Where(_) => Store::Checkpoints,
    }
}

/// Sends one request; `None` when its answer is empty without asking.
fn ask(transaction: &Transaction, request: &Request) -> Result<Option<IdbRequest>, Thrown> {
    Ok(match request {
        Request::Row(key) => Some(ask_row(transaction, key)?),
        Request::ById(by_id) => {
            let index = transaction.store(Store::Checkpoints)?.index(CHECKPOINT_BY_ID)?;
            Some(index.get(index_key(by_id))?.into())
        }
        Request::Where(those) => {
            let index = transaction.store(Store::Checkpoints)?.index(index_of(those))?;
            Some(index.get_all(Some(Query::Key(where_key(those))), None)?.into())
        }
        Request::Keys(range) => match value::range(range)? {
            Some(query) => {
                Some(transaction.store(range.store)?.get_all_keys(Some(Query::KeyRange(query)), None)?.into())
            }
            None => None,
        },
        // IndexedDB takes a limit of 0 as no limit.
        Request::Rows { limit: Some(0), .. } => None,
        Request::Rows { range, limit } => match value::range(range)? {
            Some(query) => Some(transaction.store(range.store)?.get_all(Some(Query::KeyRange(query)), *limit)?.into()),
            None => None,
        },
    })
}

fn index_key(by_id: &ById) -> JsValue {
    let parts = [by_id.scope.as_str(), by_id.session.as_str(), by_id.id.as_str()];
    parts.iter().map(|part| JsValue::from_str(part)).collect::<Array>().into()
}

/// Asks for one record.
///
/// # Errors
/// What the browser threw.
pub(super) fn ask_row(transaction: &Transaction, key: &Key) -> Result<IdbRequest, Thrown> {
    Ok(transaction.store(key.store)?.get(value::key(key))?.into())
}

fn index_of(those: &Where) -> &'static str {
    match &those.what {
        Common::Lookup(_) => CHECKPOINT_BY_LOOKUP,
        Common::Turn(_) => CHECKPOINT_BY_TURN,
        Common::Opens(_) => CHECKPOINT_BY_OPENS,
    }
}

fn where_key(those: &Where) -> JsValue {
    let value = match &those.what {
        Common::Lookup(history) => history.to_hex(),
        Common::Turn(turn) => turn.to_string(),
        Common::Opens(id) => id.clone(),
    };
    let parts = [those.scope.as_str(), those.session.as_str(), &value];
    parts.iter().map(|part| JsValue::from_str(part)).collect::<Array>().into()
}

/// The checkpoints an index names. One that cannot be read hides no other.
async fn having(transaction: &Transaction, those: &Where, raw: &IdbRequest) -> Result<Rows, Stop> {
    let range = Range::checkpoints(&those.scope, &those.session);
    match result(raw) {
        Ok(found) => Ok(Array::from(&found)
            .iter()
            .map(|value| {
                decode(Store::Checkpoints, &JsValue::UNDEFINED, value, || words(&Request::Where(those.clone())))
            })
            .collect()),
        // The index cannot say which it was: the session's checkpoints are looked through one by one.
        Err(_) => one_by_one(transaction, &range, None).await,
    }
}

/// Stored values, as they are.
pub(super) type Stored = Map<Key, JsValue>;

/// Reads the stored values of the rows that are to be moved. One that the browser cannot give stays where it is.
///
/// # Errors
/// As [`read`].
pub(super) async fn stored(transaction: &Transaction, access: Access, writes: &[Op<JsText>]) -> Result<Stored, Stop> {
    let mut asked = Vec::new();
    for op in writes {
        if let Op::Move(key, _) = op {
            check(access, key.store)?;
            let threw = |thrown| Stop::Threw(format!("reading {key}"), thrown);
            asked.push((key.clone(), ask_row(transaction, key).map_err(threw)?));
        }
    }
    let mut found = Stored::new();
    if let Some((_, last)) = asked.last() {
        transaction.answered(last).await?;
        for (key, raw) in asked {
            if let Some(value) = brought(&raw).filter(|value| !value.is_undefined()) {
                found.insert(key, value);
            }
        }
    }
    Ok(found)
}

/// What a request brought, if it did not fail.
pub(super) fn brought(raw: &IdbRequest) -> Option<JsValue> {
    result(raw).ok()
}

/// What a request brought.
fn result(raw: &IdbRequest) -> Result<JsValue, Thrown> {
    match error_of(raw) {
        Some(thrown) => Err(thrown),
        None => raw.result().map_err(Thrown::from),
    }
}

/// The answer to a request for one record.
fn row(raw: Option<&IdbRequest>, store: Store, key: &JsValue, name: impl FnOnce() -> String) -> Option<Read<JsText>> {
    match result(raw?) {
        Ok(value) if value.is_undefined() => None,
        Ok(value) => Some(decode(store, key, value, name)),
        Err(thrown) => Some(Read::Unreadable(unreadable(&name(), &thrown))),
    }
}

fn decode(store: Store, key: &JsValue, value: JsValue, name: impl FnOnce() -> String) -> Read<JsText> {
    match value::decode(store, key, value) {
        Ok(row) => Read::Row(Rc::new(row)),
        Err(why) => Read::Unreadable(Error::unreadable(name(), why)),
    }
}

fn unreadable(record: &str, thrown: &Thrown) -> Error {
    Error::unreadable(record, "the browser failed to read it").caused_by(thrown.cause())
}

fn keys(raw: Option<&IdbRequest>, range: &Range) -> Result<Vec<Key>, Error> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    let found =
        result(raw).map_err(|thrown| unreadable(&format!("list of keys of {}", range.store.name()), &thrown))?;
    Ok(Array::from(&found).iter().filter_map(|key| value::read_key(range.store, &key)).collect())
}

/// The rows of a range. The usual way is one `getAll`; only when a record is bad are the keys read too.
async fn rows(transaction: &Transaction, range: &Range, limit: Option<u32>, raw: &IdbRequest) -> Result<Rows, Stop> {
    let found = match result(raw) {
        Ok(found) => Array::from(&found),
        Err(_) => return one_by_one(transaction, range, limit).await,
    };
    let mut bad = false;
    let rows: Vec<_> = found
        .iter()
        .map(|value| {
            let row = value::decode(range.store, &JsValue::UNDEFINED, value);
            bad |= row.is_err();
            row
        })
        .collect();
    let names = if bad { Some(key_array(transaction, range, limit).await?) } else { None };
    Ok(rows
        .into_iter()
        .zip(0..)
        .map(|(row, at)| match row {
            Ok(row) => Read::Row(Rc::new(row)),
            Err(why) => {
                let key = names.as_ref().map_or(JsValue::UNDEFINED, |names| names.get(at));
                Read::Unreadable(Error::unreadable(value::key_in_words(range.store, &key), why))
            }
        })
        .collect())
}

/// One bad record makes the browser fail the whole `getAll`. Asked for one at a time, only that record fails.
async fn one_by_one(transaction: &Transaction, range: &Range, limit: Option<u32>) -> Result<Rows, Stop> {
    let keys = key_array(transaction, range, limit).await?;
    let threw = |thrown| Stop::Threw(format!("reading the records of {} one by one", range.store.name()), thrown);
    let store = transaction.store(range.store).map_err(threw)?;
    let mut asked = Vec::new();
    for key in keys.iter() {
        let raw: IdbRequest = store.get(key.clone()).map_err(|error| threw(error.into()))?.into();
        asked.push((key, raw));
    }
    if let Some((_, last)) = asked.last() {
        transaction.answered(last).await?;
    }
    Ok(asked
        .iter()
        .filter_map(|(key, raw)| row(Some(raw), range.store, key, || value::key_in_words(range.store, key)))
        .collect())
}

async fn key_array(transaction: &Transaction, range: &Range, limit: Option<u32>) -> Result<Array, Stop> {
    let threw = |thrown| Stop::Threw(format!("reading the keys of {}", range.store.name()), thrown);
    let Some(query) = value::range(range).map_err(threw)? else { return Ok(Array::new()) };
    let store = transaction.store(range.store).map_err(threw)?;
    let raw: IdbRequest =
        store.get_all_keys(Some(Query::KeyRange(query)), limit).map_err(|error| threw(error.into()))?.into();
    transaction.answered(&raw).await?;
    match result(&raw) {
        Ok(keys) => Ok(Array::from(&keys).unchecked_into()),
        Err(thrown) => Err(unreadable(&format!("list of keys of {}", range.store.name()), &thrown).into()),
    }
}
