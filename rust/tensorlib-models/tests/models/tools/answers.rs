//! Answers of each family, cut into pieces in many ways.

use super::partitions::{events, joined, parsed, segments};
use super::templates::{family, Family, FAMILIES};
use serde_json::{json, Value as Json};
use tensorlib_models::{AnswerEvent, AnswerParser, ParsedAnswer, Reasoning, Segment, ToolFormat, Tools};

pub fn tools() -> Tools {
    let function = |name: &str, parameters: Json| {
        let function = json!({"name": name, "parameters": parameters});
        json!({"type": "function", "function": function})
    };
    Tools::new(&[
        function("now", json!({"type": "object", "properties": {}})),
        function(
            "get",
            json!({"type": "object", "properties": {
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "exact": {"type": "boolean"},
                "note": {"type": ["string", "null"]},
                "list": {"$ref": "#/$defs/list"},
                "unit": {"enum": ["c", "f"]},
                "any": {},
            }, "$defs": {"list": {"type": "array"}}}),
        ),
    ])
    .unwrap()
}

/// An answer's content, reasoning, and calls as `name(arguments)`.
fn read(name: &str, reasoning: Reasoning, answer: &str) -> [String; 3] {
    let (events, whole) = parsed(family(name), reasoning, &tools(), answer);
    let calls: Vec<String> = whole.tool_calls.iter().map(|call| format!("{}({})", call.name, call.arguments)).collect();
    let ends = events.iter().filter(|event| matches!(event, AnswerEvent::CallEnd { .. })).count();
    assert_eq!(calls.len(), ends, "{answer:?}");
    for call in &whole.tool_calls {
        let arguments: Json = serde_json::from_str(&call.arguments).unwrap();
        assert!(arguments.is_object() && tools().get(&call.name).is_some(), "{answer:?}");
    }
    [whole.content, whole.reasoning, calls.join(" ")]
}

/// Checks answers: the content, the reasoning and the calls of each.
fn check(name: &str, reasoning: Reasoning, table: &[(&str, [&str; 3])]) {
    for (answer, wanted) in table {
        assert_eq!(&read(name, reasoning, answer), wanted, "{name}: {answer:?}");
    }
}

/// Answers that are all text.
fn check_text(name: &str, answers: &[&str]) {
    for answer in answers {
        assert_eq!(read(name, Reasoning::None, answer), [answer, "", ""], "{name}");
    }
}

const HERMES_GET: &str = "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"O}<\\\"/slo\"}}\n</tool_call>";
const HERMES_NOW: &str = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";

#[test]
fn hermes() {
    let get = "get({\"city\": \"O}<\\\"/slo\"})";
    check(
        "qwen2.5",
        Reasoning::None,
        &[
            (HERMES_GET, ["", "", get]),
            (&format!("Hi.\n\n{HERMES_GET}"), ["Hi.", "", get]),
            (&format!("Hi.\n{HERMES_GET}\n{HERMES_NOW}\n"), ["Hi.", "", &format!("{get} now({{}})")]),
            (&format!("{HERMES_NOW}{HERMES_NOW} bye"), [" bye", "", "now({}) now({})"]),
            // Variants that models write without a constraint.
            ("<tool_call>{\"name\":\"now\"}</tool_call>", ["", "", "now({})"]),
            ("<tool_call> {\"arguments\": {\"days\": 1}, \"name\": \"get\"}", ["", "", "get({\"days\": 1})"]),
            ("<tool_call>{\"name\": \"now\", \"arguments\": null}</tool_call>", ["", "", "now({})"]),
            ("<tool_call>{\"name\": \"now\", \"parameters\": {}}</tool_call>\n", ["", "", "now({})"]),
            ("<tool_call>{\"name\": \"get\", \"arguments\": \"{\\\"days\\\": 1}\"}", ["", "", "get({\"days\": 1})"]),
            ("<tool_call>{\"type\": \"function\", \"id\": 3, \"name\": \"n\\u006fw\"}", ["", "", "now({})"]),
            ("<tool_call>{\"name\": \"now\"}<tool_call>{\"name\": \"now\"}", ["", "", "now({}) now({})"]),
            // A call within a broken one.
            (&format!("<tool_call>\n{HERMES_NOW}"), ["<tool_call>", "", "now({})"]),
            (&format!("a <tool_call>{{\"name\": {HERMES_NOW}"), ["a <tool_call>{\"name\":", "", "now({})"]),
        ],
    );
    check_text(
        "qwen2.5",
        &[
            "",
            " \n",
            "  Hi.  \n",
            "a < b <tool_cal",
            "<tool_call",
            "<tool_call>",
            "<tool_call>\n{\"name\": \"none\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo",
            "x <tool_call>\n{\"name\": \"get\", \"arguments\": {name: 1}}\n</tool_call>",
            "<tool_call>{\"name\": \"get\", \"arguments\": [1]}",
            "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": 1e999}}",
            "<tool_call>{\"name\": \"get\", \"arguments\": {\"a\": \"\\ud800\"}} x",
            "<tool_call>{\"name\": \"get\", \"name\": \"now\"}",
            "<tool_call>{\"name\": \"get\", \"arguments\": {}, \"arguments\": {\"a\": 1}}",
            "<tool_call>{\"name\": \"get\", \"other\": 1}",
            "<tool_call>{\"name\": 3}",
            "<tool_call>{\"name\": \"get\",}",
            "<tool_call>{\"arguments\": {}}",
            "<tool_call>[]</tool_call>",
            "</tool_call> <think>x</think>",
        ],
    );
}

#[test]
fn reasoning() {
    let call = format!("<think>\nI call. <tool_call> {{\n\n</think>\n\n{HERMES_NOW}");
    check(
        "qwen3",
        Reasoning::Tagged,
        &[
            (&call, ["", "I call. <tool_call> {", "now({})"]),
            ("<think>\n\n</think>\n\nYes.", ["Yes.", "", ""]),
            ("\n<think>a\n b</think>Yes <think>no</think>", ["Yes <think>no</think>", "a\n b", ""]),
            ("<think>I thi", ["", "I thi", ""]),
            ("Yes. <think>no", ["Yes. <think>no", "", ""]),
            ("<thin", ["<thin", "", ""]),
            ("<think>a</thin", ["", "a</thin", ""]),
        ],
    );
    check(
        "qwen3.5",
        Reasoning::Open,
        &[("I think.\n</think>\n\n Yes. ", ["Yes. ", "I think.", ""]), ("I think", ["", "I think", ""])],
    );
    check("qwen3", Reasoning::None, &[("<think>a</think>b", ["<think>a</think>b", "", ""])]);
}

#[test]
fn qwen_xml() {
    let value = |key: &str, value: &str| format!("<parameter={key}>\n{value}\n</parameter>\n");
    let get = |values: &str| format!("<tool_call>\n<function=get>\n{values}</function>\n</tool_call>");
    let many = value("city", "a\n\"b\" <c>\n") + &value("days", "3") + &value("exact", "True") + &value("note", "null");
    let more = value("list", "[1, \"x\"]") + &value("unit", "f") + &value("any", "4.5") + &value("other", "{\"a\": 1}");
    check(
        "qwen3-coder",
        Reasoning::None,
        &[
            (&get(""), ["", "", "get({})"]),
            (&format!("I see.\n\n{}\n{}", get(""), get("")), ["I see.", "", "get({}) get({})"]),
            (
                &get(&many),
                ["", "", "get({\"city\": \"a\\n\\\"b\\\" <c>\\n\", \"days\": 3, \"exact\": true, \"note\": null})"],
            ),
            (
                &get(&more),
                ["", "", "get({\"list\": [1, \"x\"], \"unit\": \"f\", \"any\": 4.5, \"other\": {\"a\": 1}})"],
            ),
            // What is no JSON is a string; strings stay strings.
            (&get(&value("days", "three")), ["", "", "get({\"days\": \"three\"})"]),
            (&get(&value("city", "3")), ["", "", "get({\"city\": \"3\"})"]),
            (&get(&value("note", "x")), ["", "", "get({\"note\": \"x\"})"]),
            (&get(&value("any", "x y")), ["", "", "get({\"any\": \"x y\"})"]),
            (&get(&value("any", "\"q\"")), ["", "", "get({\"any\": \"\\\"q\\\"\"})"]),
            (&get(&value("city", "")), ["", "", "get({\"city\": \"\"})"]),
            (&get("<parameter=city></parameter>"), ["", "", "get({\"city\": \"\"})"]),
            (&get("<parameter=city>a</parameter>"), ["", "", "get({\"city\": \"a\"})"]),
            (&get(&value("city", "</param\n</parameter")), ["", "", "get({\"city\": \"</param\\n</parameter\"})"]),
            // In a string within JSON the end is none.
            (&get(&value("list", "[\"</parameter>\"]")), ["", "", "get({\"list\": [\"</parameter>\"]})"]),
            (&get(&value("a\"b\\", "1")), ["", "", "get({\"a\\\"b\\\\\": 1})"]),
            ("<tool_call><function=now></function>", ["", "", "now({})"]),
            ("<tool_call>\n<tool_call>\n<function=now></function>", ["<tool_call>", "", "now({})"]),
        ],
    );
    check_text(
        "qwen3-coder",
        &[
            "<function=now></function>",
            "<tool_call>\n<function=none>\n</function>\n</tool_call>",
            "<tool_call>\n<function=get>\n<parameter=city>\nOslo",
            "<tool_call>\n<function=get>\n<parameter=city>\nOslo\n</parameter>\n<parameter=city>\na",
            "<tool_call>\n<function=get>\n<parameter=ci\nty>",
            "<tool_call>\n<function=get>\nx</function>\n</tool_call>",
            "<tool_call>\n<function=g",
            "<tool_call>\n{\"name\": \"get\"}",
        ],
    );
}

#[test]
fn llama3() {
    check(
        "llama3",
        Reasoning::None,
        &[
            ("{\"name\": \"now\", \"parameters\": {}}", ["", "", "now({})"]),
            (" {\"name\": \"get\", \"parameters\": {\"days\": 3}}\n", ["", "", "get({\"days\": 3})"]),
            ("<|python_tag|>{\"name\": \"now\", \"parameters\": {}}", ["", "", "now({})"]),
            ("{\"type\": \"function\", \"name\": \"now\", \"parameters\": {}} x", [" x", "", "now({})"]),
            ("<|python_tag|>print(1)", ["<|python_tag|>print(1)", "", ""]),
        ],
    );
    check_text(
        "llama3",
        &[
            "{",
            "{}",
            "{\"title\": \"x\"}",
            "{\"name\": \"Bob\", \"age\": 3}",
            "{\"name\": \"now\", \"age\": 3}",
            "It is {\"name\": \"now\", \"parameters\": {}}",
            "{\"name\": \"now\", \"parameters\": {",
        ],
    );
}

#[test]
fn mistral() {
    let one = "[TOOL_CALLS][{\"name\": \"get\", \"arguments\": {\"city\": \"]\"}}]";
    let two =
        "[TOOL_CALLS] [{\"name\": \"get\", \"arguments\": {}}, {\"name\": \"now\", \"arguments\": {}, \"id\": \"1\"}]";
    check(
        "mistral",
        Reasoning::None,
        &[
            (one, ["", "", "get({\"city\": \"]\"})"]),
            (&format!("Hi. {two}"), ["Hi.", "", "get({}) now({})"]),
            (&two[..two.len() - 1], ["", "", "get({}) now({})"]),
            ("[TOOL_CALLS]{\"name\": \"now\"}", ["", "", "now({})"]),
            ("[TOOL_CALLS]x", ["[TOOL_CALLS]x", "", ""]),
            ("[TOOL_CALLS][", ["[TOOL_CALLS][", "", ""]),
            ("[TOOL_CALLS][]", ["[TOOL_CALLS][]", "", ""]),
            ("[TOOL_CALLS][{\"name\": \"now\"}, x", [", x", "", "now({})"]),
            ("[TOOL_CALLS][{\"name\": \"now\"}, {\"name\": ", [", {\"name\": ", "", "now({})"]),
        ],
    );
    check_text("mistral", &["[TOOL_CALL", "[1, 2]"]);
}

#[test]
fn harmony() {
    let think = "<|channel|>analysis<|message|>I call.<|end|><|start|>assistant";
    let get = "to=functions.get <|constrain|>json<|message|>{\"city\": \"}\"}<|call|>";
    let say = "<|channel|>final<|message|>Yes.\n<|return|>";
    check(
        "gpt-oss",
        Reasoning::None,
        &[
            (&format!("{think}<|channel|>commentary {get}"), ["", "I call.", "get({\"city\": \"}\"})"]),
            (&format!("{think}{say}"), ["Yes.\n", "I call.", ""]),
            (say, ["Yes.\n", "", ""]),
            (
                &format!("{think}{think}<|channel|>commentary<|message|>Hm.<|end|><|start|>assistant{say}"),
                ["Hm.\n\nYes.\n", "I call.\n\nI call.", ""],
            ),
            (" to=functions.get<|channel|>commentary json<|message|> {\"days\": 2} ", ["", "", "get({\"days\": 2})"]),
            (&format!("{think} to=functions.now<|channel|>commentary<|message|><|call|>"), ["", "I call.", "now({})"]),
            (&format!("<|channel|>commentary {get}<|start|>assistant{say}"), ["Yes.\n", "", "get({\"city\": \"}\"})"]),
            ("plain", ["plain", "", ""]),
            (" to=func", [" to=func", "", ""]),
            (" to=nobody", [" to=nobody", "", ""]),
            ("<|channel|>ana", ["", "", ""]),
            ("<|channel|>analysis<|message|>ab", ["", "ab", ""]),
            (
                "<|channel|>analysis to=browser.search<|message|>{}<|call|>",
                ["<|channel|>analysis to=browser.search<|message|>{}", "", ""],
            ),
            (
                "<|channel|>commentary to=functions.none <|constrain|>json<|message|>{}<|call|>",
                ["<|channel|>commentary to=functions.none <|constrain|>json<|message|>{}", "", ""],
            ),
            (
                "<|channel|>commentary to=functions.get<|message|>{\"a\"<|call|>",
                ["<|channel|>commentary to=functions.get<|message|>{\"a\"", "", ""],
            ),
            (
                "<|channel|>commentary to=functions.get<|message|>{} {}<|call|>",
                ["<|channel|>commentary to=functions.get<|message|>{} {}", "", ""],
            ),
        ],
    );
}

#[test]
fn gemma4() {
    let get = "<|tool_call>call:get{city:<|\"|>O}\"<,\nslo<|\"|>,days:2}<tool_call|>";
    let got = "get({\"city\": \"O}\\\"<,\\nslo\", \"days\": 2})";
    let thought = "<|channel>thought\nI call.\n<channel|>";
    check(
        "gemma4",
        Reasoning::Channel,
        &[
            (get, ["", "", got]),
            ("<|tool_call>call:now{}<tool_call|>", ["", "", "now({})"]),
            ("<|tool_call>call:now{}", ["", "", "now({})"]),
            (&format!("{get}{get}<|tool_call>call:now{{}}<tool_call|>"), ["", "", &format!("{got} {got} now({{}})")]),
            (&format!("{thought}{get}"), ["", "I call.", got]),
            (&format!("{thought}Hi. {thought}{get}"), ["Hi.", "I call.\nI call.", got]),
            ("<|channel>thought\n<channel|>Yes.", ["Yes.", "", ""]),
            ("<|channel>thought<channel|>Yes.", ["Yes.", "", ""]),
            ("<|channel>thought\nI th", ["", "I th", ""]),
            ("<|channel>thou", ["", "", ""]),
            ("a <|channel>thought\nb<channel|> c", ["a c", "b", ""]),
            // Nested values, keys between quotes, and spaces.
            (
                "<|tool_call> call:get{any:{a:[1,-2.5e3,true,null,<|\"|><|\"|>],b:{}},list:[]}<tool_call|>",
                ["", "", "get({\"any\": {\"a\": [1, -2.5e3, true, null, \"\"], \"b\": {}}, \"list\": []})"],
            ),
            (
                "<|tool_call>call:get{ <|\"|>a b<|\"|> : 1 ,\n days : 3 }<tool_call|> bye",
                [" bye", "", "get({\"a b\": 1, \"days\": 3})"],
            ),
        ],
    );
    for broken in [
        "<|tool_call>",
        "<|tool_call>call:none{}<tool_call|>",
        "<|tool_call>now{}<tool_call|>",
        "<|tool_call>call:get{city:Oslo}<tool_call|>",
        "<|tool_call>call:get{city:<|\"|>Oslo",
        "<|tool_call>call:get{city:<|\"|>Oslo<|\"|>",
        "<|tool_call>call:get{days:1,days:2}<tool_call|>",
        "<|tool_call>call:get{days:1,}<tool_call|>",
        "<|tool_call>call:get{days}<tool_call|>",
        "<|tool_call>call:get{days:}<tool_call|>",
        "<|tool_call>call:get{days:1e999}<tool_call|>",
        "<|tool_call>call:get{days:01}<tool_call|>",
        "<|tool_call>call:get{list:[1}<tool_call|>",
        "<|tool_call>call:get{list:[1,]}<tool_call|>",
        "<|tool_call>call:get{a\"b:1}<tool_call|>",
        "<|tool_call>call:get{\"a\":1}<tool_call|>",
    ] {
        // Where the vocabulary has the marks as control tokens, those after a broken call are not shown.
        let shown = broken.trim_end_matches("<tool_call|>");
        assert_eq!(read("gemma4", Reasoning::Channel, broken), [shown, "", ""]);
    }
    let texts = Family { controls: &[], texts: &[], ..*family("gemma4") };
    let (_, whole) = parsed(&texts, Reasoning::Channel, &tools(), &format!("{thought}{get} <|\"|>"));
    assert_eq!((whole.content.as_str(), whole.reasoning.as_str(), whole.tool_calls.len()), (" <|\"|>", "I call.", 1));
}

#[test]
fn markers_that_are_control_tokens_are_not_text() {
    // In a vocabulary where <tool_call> is a control token, its text is text.
    let controls =
        Family { controls: &["<tool_call>", "</tool_call>", "<think>", "</think>"], texts: &[], ..FAMILIES[2] };
    let tokenizer = controls.tokenizer();
    let parse = |segments: &[Segment]| {
        let mut parser = AnswerParser::new(&tokenizer, Some(ToolFormat::Hermes), &tools(), Reasoning::Tagged);
        let mut whole = ParsedAnswer::default();
        whole.extend(events(&mut parser, &[segments.to_vec()]));
        (whole.content, whole.reasoning, whole.tool_calls.len())
    };
    let (text, control) = (|text: &str| Segment::Text(text.into()), |text: &str| Segment::Control(text.into()));
    assert_eq!(parse(&[text(HERMES_NOW)]), (HERMES_NOW.into(), String::new(), 0));
    let call = text("\n{\"name\": \"now\", \"arguments\": {}}\n");
    let answer = [control("<think>"), text("a</think>"), control("</think>"), control("<tool_call>"), call];
    assert_eq!(parse(&answer), (String::new(), "a</think>".into(), 1));
    let (events, _) = parsed(&controls, Reasoning::Tagged, &tools(), &format!("<think>a</think>{HERMES_NOW}x"));
    assert!(
        events.contains(&AnswerEvent::CallEnd { index: 0 }) && events.last() == Some(&AnswerEvent::Content("x".into()))
    );
    // In a vocabulary without control tokens, their text counts.
    let texts = Family { controls: &[], texts: &[], ..*family("gpt-oss") };
    let answer = "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b <|channel|>c";
    let (_, whole) = parsed(&texts, Reasoning::None, &tools(), answer);
    assert_eq!((whole.content.as_str(), whole.reasoning.as_str()), ("b <|channel|>c", "a"));
}

#[test]
fn without_tools_there_are_no_calls() {
    for (name, answer, wanted) in [
        ("qwen2.5", HERMES_NOW, HERMES_NOW),
        ("llama3", "{\"name\": \"now\", \"parameters\": {}}", "{\"name\": \"now\", \"parameters\": {}}"),
        (
            "gpt-oss",
            "<|channel|>commentary to=functions.now<|message|>{}",
            "<|channel|>commentary to=functions.now<|message|>{}",
        ),
    ] {
        let (events, _) = parsed(family(name), Reasoning::None, &Tools::default(), answer);
        assert_eq!(events, [AnswerEvent::Content(wanted.into())], "{name}");
    }
}

#[test]
fn arguments_come_as_they_are_written() {
    let hermes = "<tool_call>{\"name\": \"get\", \"arguments\": {\"city\": \"Oslo";
    let xml = "<tool_call><function=get><parameter=city>\nOslo";
    for (name, answer, wanted) in [
        ("qwen2.5", hermes, "{\"city\": \"Oslo"),
        ("qwen3-coder", xml, "{\"city\": \"Oslo"),
        ("gpt-oss", "<|channel|>commentary to=functions.get<|message|>{\"city\": \"Oslo", "{\"city\": \"Oslo"),
        ("gemma4", "<|tool_call>call:get{city:<|\"|>Oslo", "{\"city\": \"Oslo"),
    ] {
        let family = family(name);
        let tokenizer = family.tokenizer();
        let mut parser = AnswerParser::new(&tokenizer, Some(family.format), &tools(), Reasoning::None);
        let events = joined(parser.push(&segments(&tokenizer, family, answer)));
        let text = wanted.to_string();
        assert_eq!(
            events,
            [AnswerEvent::CallStart { index: 0, name: "get".into() }, AnswerEvent::CallArguments { index: 0, text }]
        );
        // The end is missing.
        assert_eq!(parser.finish(), [AnswerEvent::CallBroken { index: 0, text: answer.into() }]);
    }
}
