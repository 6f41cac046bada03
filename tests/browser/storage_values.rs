//! Texts and rows as JavaScript values.

use js_sys::{Array, JsString, Reflect, Uint8Array};
use turnmark::browser::JsText;
use turnmark::codec::key::{Key, Range, Store};
use turnmark::codec::row::{Content, Messages, Object, Row, Write};
use turnmark::ids::{CheckpointId, DeviceId, LogId, ScopeId, SessionId, TaskId, TurnId};
use turnmark::model::body::Text;
use turnmark::model::checkpoint::{Action, Checkpoint, Kind, Operation, Source, Turn, Usage};
use turnmark::model::session::{Session, State};
use turnmark::model::tree::Node;
use turnmark::store::{Access, Op, Plan, Storage};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

use super::support::*;

fn scope() -> ScopeId {
    ScopeId::parse("scope").unwrap()
}

/// A checkpoint with something in every field.
pub(crate) fn checkpoint(session: &str, seq: u32, id: &str) -> Op<JsText> {
    let session = SessionId::parse(session).unwrap();
    let device = DeviceId::parse("d1").unwrap();
    let turn = |id: &str| TurnId::parse(id).unwrap();
    let checkpoint = Checkpoint {
        scope: scope(),
        session: session.clone(),
        seq,
        id: CheckpointId::parse(id).unwrap(),
        parent: Some(CheckpointId::parse("cp_0").unwrap()),
        kind: Kind::TurnAfter,
        source: Source::ToolExecution,
        writes: vec!["append".into()],
        forked_from: None,
        extra: vec![("k".into(), JsText::from_utf8("\"v\""))],
        name: Some("a name \u{1f600}".into()),
        at: 1_700_000_000_123,
        epoch: 1_700_000_000_123_001,
        vector: [(device, 12)].into(),
        state: State { listed: true, size: 77, history: hash(3), ..State::default() },
        operation: Operation { action: Action::Append, before: None, undo: Some(1), redo: None },
        usage: Some(Usage { total: [("tokens".into(), 1.5)].into(), delta: Default::default() }),
        turn: Some(Turn { id: turn("tn_1"), seq: 3, version: turn("tn_2") }),
        commit: Some("c0ffee".into()),
        prompt: Some(hash(5)),
        lookup: Some(hash(6)),
        opens: Some(JsText::from_utf8("message-1")),
        pinned: true,
        provisional: false,
        sealed: false,
        forks: 0,
        pending: 2,
    };
    Op::Put(Key::checkpoint(&scope(), &session, seq), Row::Checkpoint(checkpoint))
}

fn messages(from: u32, count: u32, length: usize) -> Messages<JsText> {
    let mut run = Messages::empty(from);
    for n in 0..count {
        run.hashes.push(hash(u8::try_from(n % 256).unwrap()));
        run.sizes.push(u32::try_from(length).unwrap());
        run.ids.push(Some(JsText::from_utf8(&format!("message-{}", from + n))));
        run.roles.push(if n % 3 == 0 { None } else { Some(JsText::from_utf8("assistant")) });
        run.texts.push(Some(JsText::from_utf8(&format!("{n:>length$}"))));
    }
    run.refs.push((1, vec![hash(9)]));
    run
}

pub(crate) fn rows_of_every_kind() -> Vec<(Key, Row<JsText>)> {
    let session = SessionId::parse("s1").unwrap();
    let log = LogId::parse("l1").unwrap();
    let mut out = vec![
        (
            Key::session(&scope(), &session),
            Row::Session(Session::new(scope(), session.clone(), log.clone(), 1_700_000_000_000)),
        ),
        (Key::messages(&log, 3), Row::Messages(messages(3, 5, 10))),
        (
            Key::object(hash(1), 0),
            Row::Object(Object {
                of: 2,
                refs: vec![hash(2)],
                content: Content::Text(JsText::from_utf8("\u{e9}\u{1f600}\0")),
            }),
        ),
        (
            Key::object(hash(1), 1),
            Row::Object(Object { of: 2, refs: vec![], content: Content::Bytes(vec![0, 1, 255].into()) }),
        ),
        (
            Key::object(hash(2), 0),
            Row::Object(Object {
                of: 1,
                refs: vec![],
                content: Content::Node(Node {
                    level: 1,
                    keys: vec!["a".into(), "b".into()],
                    hashes: vec![hash(1), hash(2)],
                }),
            }),
        ),
        (
            Key::write(&scope(), &session, 4, &TaskId::parse("t").unwrap(), -1),
            Row::Write(Write { channel: "c".into(), hash: hash(5), text: Some(JsText::from_utf8("null")) }),
        ),
        (
            Key::write(&scope(), &session, 4, &TaskId::parse("t").unwrap(), 2),
            Row::Write(Write { channel: "c".into(), hash: hash(5), text: None }),
        ),
    ];
    if let Op::Put(key, row) = checkpoint("s1", 1, "cp_1") {
        out.push((key, row));
    }
    out
}

#[wasm_bindgen_test]
async fn every_kind_of_row_comes_back_equal() {
    let storage = open(&fresh("kinds")).await;
    let all = rows_of_every_kind();
    write(&storage, all.iter().map(|(key, row)| Op::Put(key.clone(), row.clone())).collect()).await.unwrap();
    for (key, row) in &all {
        assert_eq!(&*read(&storage, key).await.unwrap().unwrap(), row, "{key}");
        let found = rows(&storage, &Range { prefix: key.pieces.clone(), ..Range::all(key.store) }, None).await.unwrap();
        assert_eq!(&**found[0].row().unwrap(), row);
    }
}

#[wasm_bindgen_test]
async fn rows_are_stored_as_plain_values_that_an_inspector_shows_well() {
    let name = fresh("plain");
    let storage = open(&name).await;
    let all = rows_of_every_kind();
    write(&storage, all.iter().map(|(key, row)| Op::Put(key.clone(), row.clone())).collect()).await.unwrap();
    let get = |value: &JsValue, field: &str| Reflect::get(value, &field.into()).unwrap();
    let key = |parts: &[JsValue]| JsValue::from(parts.iter().collect::<Array>());

    let run = raw_get(&name, Store::Messages, &key(&["l1".into(), 3.into()])).await;
    assert!(get(&run, "hashes").is_instance_of::<Uint8Array>(), "hashes are one run of bytes");
    assert_eq!(get(&get(&run, "ids"), "0"), JsValue::from_str("message-3"));
    assert!(get(&run, "Messages").is_undefined(), "no tag is stored");

    let header = raw_get(&name, Store::Checkpoints, &key(&["scope".into(), "s1".into(), 1.into()])).await;
    assert_eq!(get(&header, "epoch").as_f64(), Some(1_700_000_000_123_001.0), "64-bit numbers are plain numbers");
    assert_eq!(get(&get(&header, "vector"), "d1").as_f64(), Some(12.0), "maps are plain objects");

    let piece = raw_get(&name, Store::Objects, &key(&[hash(1).to_hex().as_str().into(), 1.into()])).await;
    assert!(get(&get(&piece, "content"), "bytes").is_instance_of::<Uint8Array>(), "binary is binary");
}

#[wasm_bindgen_test]
fn texts_are_equal_by_their_characters() {
    let a = JsText::from_utf8("caf\u{e9} \u{1f600}");
    let b = JsText::from(JsString::from("caf\u{e9} \u{1f600}"));
    assert_eq!(a, b);
    assert_ne!(a, JsText::from_utf8("cafe"));
    assert_eq!(a.utf8(), "caf\u{e9} \u{1f600}");
    assert_eq!(JsValue::from(a), JsValue::from_str("caf\u{e9} \u{1f600}"));
}

#[wasm_bindgen_test]
async fn texts_pass_through_unchanged_even_when_rust_could_not_hold_them() {
    // Lone surrogates. A text that went through a Rust String would come back changed.
    let storage = open(&fresh("surrogate")).await;
    let half = JsString::from_char_code1(0xD83D);
    let object = Row::Object(Object { of: 1, refs: vec![], content: Content::Text(JsText::from(half.clone())) });
    write(&storage, vec![Op::Put(key(0), object)]).await.unwrap();
    match &*read(&storage, &key(0)).await.unwrap().unwrap() {
        Row::Object(Object { content: Content::Text(text), .. }) => {
            assert_eq!((text.as_js().length(), text.as_js().char_code_at(0)), (1, f64::from(0xD83D)));
        }
        other => panic!("{other:?}"),
    }
}

/// Times are printed (`--nocapture`), and only an absurd one fails: machines differ, and a debug build is slow.
#[wasm_bindgen_test]
async fn a_thousand_messages_are_read_nearly_as_fast_as_the_platform_reads_them() {
    let name = fresh("speed");
    let storage = open(&name).await;
    let log = LogId::parse("l1").unwrap();
    let runs =
        (0..25).map(|n| Op::Put(Key::messages(&log, n * 40), Row::Messages(messages(n * 40, 40, 1000)))).collect();
    write(&storage, runs).await.unwrap();
    let mut best = f64::MAX;
    for _ in 0..10 {
        let start = clock();
        assert_eq!(rows(&storage, &Range::log(&log), None).await.unwrap().len(), 25);
        best = best.min(clock() - start);
    }
    let bare = raw_read_time(&name, Store::Messages).await;
    console_log!("read 1,000 messages of 1 KB: {best:.2} ms, the bare platform {bare:.2} ms");
    assert!(best < 20.0 * bare + 200.0, "{best} against {bare}");
}

#[wasm_bindgen_test]
async fn a_small_command_costs_little_more_than_its_transaction() {
    let name = fresh("cost");
    let storage = open(&name).await;
    write(&storage, puts(3)).await.unwrap();
    let js_key: JsValue = [JsValue::from_str(&hash(0).to_hex()), 0.into()].iter().collect::<Array>().into();
    let value = raw_get(&name, Store::Objects, &js_key).await;
    let (mut ours, mut bare) = (f64::MAX, f64::MAX);
    // In turns, and the better of each: a machine that is busy is busy for both.
    for _ in 0..4 {
        let mut times = Vec::new();
        for _ in 0..50 {
            let start = clock();
            storage
                .run(Access::write(&[Store::Objects]), |view| {
                    view.row(key(0))?;
                    Ok(Plan { writes: puts(3), answer: () })
                })
                .await
                .unwrap();
            times.push(clock() - start);
        }
        times.sort_by(f64::total_cmp);
        ours = ours.min(times[25]);
        bare = bare.min(raw_write_time(&name, Store::Objects, &js_key, &value).await);
    }
    console_log!("one read and three puts, strict: {ours:.2} ms, the bare platform {bare:.2} ms");
    assert!(ours < 20.0 * bare + 50.0, "{ours} against {bare}");
}
