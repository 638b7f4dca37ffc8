//! Constraints of calls: what they allow.

use super::partitions::segments;
use super::templates::{family, Family, FAMILIES};
use crate::common::tokenizers::byte_character;
use serde_json::{json, Value as Json};
use tensorlib_models::tokenizer::Tokenizer;
use tensorlib_models::{
    AnswerParser, CallOptions, Chat, ChatOptions, Constraint, ErrorKind, Logits, LogitsProcessor, Message,
    ParsedAnswer, Reasoning, Result, Sampler, SamplerOptions, ToolCall, ToolChoice, ToolFormat, Tools,
};

fn function(name: &str, parameters: Json) -> Json {
    json!({"type": "function", "function": {"name": name, "parameters": parameters}})
}

pub fn tools() -> Tools {
    let get = json!({"type": "object", "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 4, "description": "Where."},
        "days": {"type": "integer", "minimum": 1, "maximum": 9},
        "unit": {"type": "string", "enum": ["c", "f", "</param"]},
        "exact": {"type": "boolean"},
        "note": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]},
        "level": {"anyOf": [{"enum": ["low", "null", "high"]}, {"type": "null"}]},
        "list": {"type": "array", "items": {"$ref": "#/$defs/item"}, "maxItems": 2},
        "map": {"type": "object", "properties": {"a": {"const": "</parameter>"}}, "additionalProperties": false},
    }, "required": ["days", "city"], "$defs": {"item": {"type": ["number", "null"], "minimum": 0, "maximum": 2}}});
    let now = json!({"type": "function", "function": {"name": "now"}});
    let set = json!({"type": "object", "properties": {"x": {"enum": [1, "a", null]}}, "required": ["x"]});
    Tools::new(&[function("get-weather", get), now, function("set_x", set)]).unwrap()
}

/// Leaves one token.
struct Only(std::collections::VecDeque<u32>);

impl LogitsProcessor for Only {
    fn apply(&mut self, _: &[u32], logits: &mut Logits) -> Result<()> {
        let token = self.0.pop_front();
        logits.retain(|candidate| Some(candidate.token) == token);
        Ok(())
    }
}

/// How many of these tokens a constraint allows in their order, and why not more.
fn allowed(constraint: &Constraint, n_tokens: usize, tokens: &[u32]) -> (usize, String) {
    let mut sampler = Sampler::new(SamplerOptions::default()).unwrap();
    sampler.set_constraint(Some(constraint.clone()));
    sampler.add(Only(tokens.iter().copied().collect()));
    sampler.begin(&[]);
    let logits = vec![0.0; n_tokens];
    let refused = tokens.iter().enumerate().find_map(|(i, _)| Some((i, sampler.next(&logits).err()?)));
    refused.map_or((tokens.len(), String::new()), |(i, error)| (i, error.to_string()))
}

/// Whether a constraint allows an answer, and its end.
fn accepts(tokenizer: &Tokenizer, constraint: &Constraint, answer: &str) -> bool {
    let tokens = tokenizer.encode(answer, false, true).unwrap();
    accepts_tokens(tokenizer, constraint, tokens)
}

fn accepts_tokens(tokenizer: &Tokenizer, constraint: &Constraint, mut tokens: Vec<u32>) -> bool {
    let n = tokens.len();
    tokens.push(tokenizer.eos().unwrap());
    let (allowed, why) = allowed(constraint, tokenizer.n_tokens(), &tokens);
    // A call that is complete needs no end.
    allowed == n + 1 || (allowed == n && why.contains("is complete"))
}

/// As `accepts`, with the text up to the first call byte by byte. Under a constraint, text that must follow has one way
/// to be written.
fn accepts_bytes(tokenizer: &Tokenizer, constraint: &Constraint, answer: &str) -> bool {
    let marker = if answer.contains("<|tool_call>") { "<|tool_call>" } else { "<tool_call>" };
    let (free, rest) = answer.split_at(answer.find(marker).map_or(answer.len(), |at| at + marker.len()));
    let bytes = |id: u32| match tokenizer.is_control(id) {
        true => vec![id],
        false => {
            let text = tokenizer.decode(&[id], false);
            text.bytes().map(|byte| tokenizer.id(&byte_character(byte).to_string()).unwrap()).collect()
        }
    };
    let mut tokens: Vec<u32> = tokenizer.encode(free, false, true).unwrap().into_iter().flat_map(bytes).collect();
    tokens.extend(tokenizer.encode(rest, false, true).unwrap());
    accepts_tokens(tokenizer, constraint, tokens)
}

pub fn constraint(family: &Family, tokenizer: &Tokenizer, options: &CallOptions) -> Constraint {
    Constraint::tools(tokenizer, family.format, &tools(), options).unwrap_or_else(|e| panic!("{}: {e}", family.name))
}

/// The family without the tokens of its own.
pub fn bare(family: &Family) -> Family {
    Family { controls: &[], texts: &[], ..*family }
}

/// Calls of `now`, then `get-weather`, as each family writes them.
fn calls(format: ToolFormat) -> [&'static str; 2] {
    match format {
        ToolFormat::Hermes => [
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>",
            "<tool_call>\n{\"name\": \"get-weather\", \"arguments\": {\"city\": \"}é\", \"days\": 3}}\n</tool_call>",
        ],
        ToolFormat::QwenXml => [
            "<tool_call>\n<function=now>\n</function>\n</tool_call>",
            "<tool_call>\n<function=get-weather>\n<parameter=city>\n}é\n</parameter>\n\
             <parameter=days>\n3\n</parameter>\n\
             </function>\n</tool_call>",
        ],
        ToolFormat::Llama3 => [
            "{\"name\": \"now\", \"parameters\": {}}",
            "{\"name\": \"get-weather\", \"parameters\": {\"city\": \"}é\", \"days\": 3}}",
        ],
        ToolFormat::Mistral => [
            "[TOOL_CALLS][{\"name\": \"now\", \"arguments\": {}}]",
            "[TOOL_CALLS][{\"name\": \"get-weather\", \"arguments\": {\"city\": \"}é\", \"days\": 3}}]",
        ],
        ToolFormat::Harmony => [
            "<|channel|>commentary to=functions.now <|constrain|>json<|message|>{}",
            "<|channel|>commentary to=functions.get-weather <|constrain|>json<|message|>\
             {\"city\": \"}é\", \"days\": 3}",
        ],
        ToolFormat::Gemma4 => [
            "<|tool_call>call:now{}<tool_call|>",
            "<|tool_call>call:get-weather{city:<|\"|>}é<|\"|>,days:3}<tool_call|>",
        ],
    }
}

const TEXTS: &[&str] = &[
    "",
    "Hi.",
    " \n{\"title\": 3}",
    "{\"nam",
    "a < b <tool <tool_cal",
    "[1, 2] [TOOL_CALL",
    "```json\n{}\n```\né \u{4e16}",
    "</tool_call><function=now>",
];

#[test]
fn text_is_free_up_to_a_call() {
    for whole in FAMILIES {
        for family in [bare(&whole), whole] {
            let tokenizer = family.tokenizer();
            let auto = constraint(&family, &tokenizer, &CallOptions::default());
            let [now, get] = calls(family.format);
            let (before, say) = match family.format {
                ToolFormat::Harmony => {
                    ("<|channel|>analysis<|message|>I call.<|end|><|start|>assistant", "<|channel|>final<|message|>")
                }
                ToolFormat::Llama3 => ("", ""),
                _ => ("I call.\n\n", ""),
            };
            for text in TEXTS {
                let answer = format!("{say}{text}");
                assert!(accepts(&tokenizer, &auto, &answer), "{}: {answer:?}", family.name);
                assert!(accepts_bytes(&tokenizer, &auto, &answer), "{}: {answer:?}", family.name);
            }
            // Where the vocabulary has no token for the end of a call, its text is a part of the call.
            let is_text = family.format == ToolFormat::Harmony && family.controls.is_empty();
            for call in [now, get].map(|call| if is_text { format!("{call}<|call|>") } else { call.into() }) {
                let call = call.as_str();
                assert!(accepts(&tokenizer, &auto, call), "{}: {call:?}", family.name);
                let answer = format!("{before}{call}");
                assert!(accepts(&tokenizer, &auto, &answer), "{}: {answer:?}", family.name);
                if matches!(family.format, ToolFormat::Hermes | ToolFormat::QwenXml | ToolFormat::Gemma4) {
                    assert!(accepts_bytes(&tokenizer, &auto, &answer), "{}: {answer:?}", family.name);
                }
                // What is no call of a tool, and arguments that are not valid.
                for (from, to) in
                    [("now", "nothing"), ("get-weather", "get"), ("3", "30"), ("days", "dayz"), ("}é", "abcde")]
                {
                    let broken = answer.replace(from, to);
                    assert!(broken == answer || !accepts(&tokenizer, &auto, &broken), "{}: {broken:?}", family.name);
                }
                assert!(!accepts(&tokenizer, &auto, &answer[..answer.len() - 1]), "{}: {answer:?}", family.name);
            }
        }
    }
}

#[test]
fn calls_are_one_or_several() {
    for family in FAMILIES {
        let tokenizer = family.tokenizer();
        let [now, get] = calls(family.format);
        let both = match family.format {
            ToolFormat::Hermes | ToolFormat::QwenXml => format!("{now}\n{get}"),
            ToolFormat::Mistral => format!("{}, {}", &now[..now.len() - 1], &get["[TOOL_CALLS][".len()..]),
            ToolFormat::Llama3 => format!("{now};{get}"),
            ToolFormat::Gemma4 => format!("{now}{get}"),
            ToolFormat::Harmony => format!("{now}<|call|><|start|>assistant{get}"),
        };
        let has_several = !matches!(family.format, ToolFormat::Llama3 | ToolFormat::Harmony);
        for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::Function("now".into())] {
            for parallel in [false, true] {
                let options = CallOptions { choice: choice.clone(), parallel, ..CallOptions::default() };
                let constraint = constraint(&family, &tokenizer, &options);
                let name = family.name;
                let is_one = matches!(choice, ToolChoice::Function(_));
                assert!(accepts(&tokenizer, &constraint, now), "{name} {options:?}");
                assert_eq!(accepts(&tokenizer, &constraint, get), !is_one, "{name} {options:?}");
                let wanted = has_several && parallel && !is_one;
                assert_eq!(accepts(&tokenizer, &constraint, &both), wanted, "{name} {options:?}");
                let text = if family.format == ToolFormat::Harmony { "<|channel|>final<|message|>x" } else { "x" };
                let is_auto = choice == ToolChoice::Auto;
                assert_eq!(accepts(&tokenizer, &constraint, text), is_auto, "{name} {options:?}");
            }
        }
    }
}

#[test]
fn reasoning_comes_first() {
    let tags: &[&str] = &["<think>", "</think>", "<tool_call>", "</tool_call>"];
    for name in ["qwen3", "qwen3.5", "mistral", "llama3"] {
        let whole = family(name);
        let marks = Family { controls: tags, texts: &[], ..*whole };
        for family in [bare(whole), *whole, marks] {
            let tokenizer = family.tokenizer();
            let [_, call] = calls(family.format);
            for (reasoning, begin) in [(Reasoning::Tagged, "<think>"), (Reasoning::Open, "")] {
                let of = |choice: ToolChoice| {
                    let options = CallOptions { choice, reasoning, ..CallOptions::default() };
                    constraint(&family, &tokenizer, &options)
                };
                let (auto, required) = (of(ToolChoice::Auto), of(ToolChoice::Required));
                // A call's marker in reasoning is text, unless it is a control token.
                let marker = if family.controls == tags { "" } else { "<tool_call>" };
                let think = format!("{begin}\nI see {{\"name\": a b {marker}\n</think>\n\n");
                for (answer, wanted) in [
                    (format!("{think}{call}"), [true, true]),
                    (format!("{think}Hi."), [true, false]),
                    (format!("{begin}I think"), [true, false]),
                    (call.to_string(), [reasoning == Reasoning::Tagged; 2]),
                    (format!("{think}{}", call.replace("3", "30")), [false, false]),
                ] {
                    // What is not yet known to be reasoning is text.
                    if reasoning == Reasoning::Open && answer == call {
                        continue;
                    }
                    let found = [&auto, &required].map(|constraint| accepts(&tokenizer, constraint, &answer));
                    assert_eq!(found, wanted, "{name} {reasoning:?}: {answer:?}");
                }
            }
        }
    }
}

#[test]
fn gemma_reasons_in_a_channel() {
    let whole = family("gemma4");
    let [now, call] = calls(whole.format);
    let thought = "<|channel>thought\nI see call:{<channel|>";
    for (family, has_tokens) in [(*whole, true), (bare(whole), false)] {
        let tokenizer = family.tokenizer();
        let of = |choice: ToolChoice| {
            let options = CallOptions { choice, reasoning: Reasoning::Channel, ..CallOptions::default() };
            constraint(&family, &tokenizer, &options)
        };
        let (auto, required) = (of(ToolChoice::Auto), of(ToolChoice::Required));
        for (answer, wanted) in [
            (format!("{thought}{call}"), [true, true]),
            (format!("{thought}{now}{call}"), [true, true]),
            (format!("{thought}Hi."), [true, false]),
            ("<|channel>thought\nI".to_string(), [true, false]),
            (format!("Hi.{thought}Ho.{call}"), [true, false]),
            (format!("{thought}Hi.{thought}{call}"), [has_tokens, false]),
            (call.to_string(), [true, true]),
            (format!("{thought}{}", call.replace('3', "30")), [false, false]),
        ] {
            let found = [&auto, &required].map(|constraint| accepts(&tokenizer, constraint, &answer));
            // In text that is all text, a second thought is text before a call.
            let wanted = if has_tokens { wanted } else { [found[0] || wanted[0], wanted[1]] };
            assert_eq!(found, wanted, "{has_tokens}: {answer:?}");
        }
    }
}

#[test]
fn gemma_writes_every_kind_of_value() {
    let parameters = json!({"type": "object", "properties": {
        "any": {},
        "a b": {"type": "integer"},
        "tree": {"$ref": "#/$defs/tree"},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
        "free": {"type": "object"},
        "pair": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2},
        "none": {"type": "array", "maxItems": 0},
        "const": {"const": {"x": [1, "a", null]}},
        "one": {"oneOf": [{"type": "string", "maxLength": 1}, {"type": ["integer", "null"]}]},
        "bounds": {"minimum": 2, "exclusiveMaximum": 3},
    }, "$defs": {"tree": {"type": "object", "properties": {
        "name": {"type": "string", "minLength": 1},
        "all": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
    }, "required": ["name"], "additionalProperties": false}}});
    let tools = Tools::new(&[function("f", parameters.clone())]).unwrap();
    let validator = jsonschema::validator_for(&parameters).unwrap();
    for family in [*family("gemma4"), bare(family("gemma4"))] {
        let tokenizer = family.tokenizer();
        let options = CallOptions { choice: ToolChoice::Required, ..CallOptions::default() };
        let constraint = Constraint::tools(&tokenizer, family.format, &tools, &options).unwrap();
        for (arguments, is_valid) in [
            ("", true),
            ("any:'x'", true),
            ("any:''", true),
            ("any:[1,'a',null,{k:[],l:{}}]", true),
            ("any:-1.5e3,'a b':7", true),
            ("'a b':7.5", false),
            ("tree:{name:'x'}", true),
            ("tree:{name:'x',all:[{name:'y',all:[]},{name:'z'}]}", true),
            ("tree:{name:'x',all:[{name:''}]}", false),
            ("tree:{all:[]}", false),
            ("tree:{name:'x',more:1}", false),
            ("map:{a:1,b:2.5}", true),
            ("map:{a:'1'}", false),
            ("free:{a:1,b:{c:[true]}}", true),
            ("pair:[true,false]", true),
            ("pair:[true]", false),
            ("pair:[true,true,true]", false),
            ("none:[]", true),
            ("none:[1]", false),
            ("const:{x:[1,'a',null]}", true),
            ("const:{x:[1,'b',null]}", false),
            ("one:'a'", true),
            ("one:'ab'", false),
            ("one:12", true),
            ("one:null", true),
            ("one:1.5", false),
            ("bounds:2.5", true),
            ("bounds:3", false),
            ("any:1,bounds:2", true),
            ("other:1", false),
            ("any:1,", false),
            ("any:", false),
        ] {
            let answer = format!("<|tool_call>call:f{{{}}}<tool_call|>", arguments.replace('\'', "<|\"|>"));
            assert_eq!(accepts(&tokenizer, &constraint, &answer), is_valid, "{answer:?}");
            let mut parser = AnswerParser::new(&tokenizer, Some(family.format), &tools, Reasoning::Channel);
            let mut parsed = ParsedAnswer::default();
            parsed.extend(parser.push(&segments(&tokenizer, &family, &answer)));
            parsed.extend(parser.finish());
            if is_valid {
                let found: Json = serde_json::from_str(&parsed.tool_calls[0].arguments).unwrap();
                assert!(parsed.content.is_empty() && validator.is_valid(&found), "{answer:?}: {found}");
            }
        }
    }
}

#[test]
fn templates_write_calls_that_are_allowed() {
    for family in FAMILIES {
        let tokenizer = family.tokenizer();
        let chat = Chat::new(&tokenizer).unwrap();
        // Otherwise Gemma's prompt has an empty channel, which its earlier answers lack.
        let variables = json!({ "enable_thinking": true }).as_object().unwrap().clone();
        let variables = if family.format == ToolFormat::Gemma4 { variables } else { Default::default() };
        let options = ChatOptions { tools: tools(), variables, ..ChatOptions::default() };
        let arguments = json!({"city": "Oslo", "days": 3, "list": [1, null], "map": {}});
        let call = ToolCall::new(Some("123456789".into()), "get-weather", &arguments.to_string()).unwrap();
        let user = Message::user("Weather?");
        let prompt = chat.prompt(&tokenizer, std::slice::from_ref(&user), &options).unwrap();
        let before = chat.text(std::slice::from_ref(&user), &options).unwrap();
        let without = ChatOptions { add_generation_prompt: false, ..options.clone() };
        let after = chat.text(&[user, Message::calls(vec![call])], &without).unwrap();
        let answer = after.strip_prefix(&before).unwrap_or_else(|| panic!("{}: {after}", family.name));
        let end = ["<|im_end|>", "<|eot_id|>", "<|call|>", "<|tool_response>", "<|endoftext|>"]
            .into_iter()
            .find_map(|end| answer.find(end));
        let answer = &answer[..end.unwrap()];
        let mut parser = AnswerParser::new(&tokenizer, Some(family.format), &tools(), prompt.reasoning);
        let mut parsed = ParsedAnswer::default();
        parsed.extend(parser.push(&segments(&tokenizer, &family, answer)));
        parsed.extend(parser.finish());
        assert_eq!((parsed.content.as_str(), parsed.tool_calls.len()), ("", 1), "{}: {answer}", family.name);
        let found: Json = serde_json::from_str(&parsed.tool_calls[0].arguments).unwrap();
        assert_eq!((parsed.tool_calls[0].name.as_str(), &found), ("get-weather", &arguments), "{}", family.name);
        // Mistral's template writes ids, which are not the model's to choose.
        if family.format != ToolFormat::Mistral {
            for choice in [ToolChoice::Auto, ToolChoice::Required] {
                let options = CallOptions { choice, parallel: true, reasoning: prompt.reasoning };
                let constraint = constraint(&family, &tokenizer, &options);
                assert!(accepts(&tokenizer, &constraint, answer.trim_end()), "{}: {answer:?}", family.name);
            }
        }
    }
}

#[test]
fn what_cannot_be_enforced_is_refused() {
    let object = |properties: Json| json!({"type": "object", "properties": properties});
    let tokenizer = family("qwen3-coder").tokenizer();
    let error = |format: ToolFormat, parameters: &Json| {
        let tools = Tools::new(&[function("ok", json!({})), function("f", parameters.clone())]).unwrap();
        let error = Constraint::tools(&tokenizer, format, &tools, &CallOptions::default()).err();
        error.map(|error| {
            let text = error.to_string();
            assert!(text.contains("tool f: ") && !text.contains('\n') && error.kind() != ErrorKind::Internal, "{text}");
            text
        })
    };
    for (parameters, words) in [
        (json!({"type": "object", "not": {}}), "#/not: cannot be enforced"),
        (object(json!({"a": {"type": "string", "patern": "x"}})), "#/properties/a/patern"),
        (object(json!({"a": {"type": "integer", "minimum": 3, "maximum": 2}})), "JSON schema: "),
        (object(json!({"a": {"$ref": "#/$defs/none"}})), "JSON schema: "),
        (json!({"type": "object", "required": ["a", "b"], "maxProperties": 1}), "JSON schema: "),
    ] {
        for format in [ToolFormat::Hermes, ToolFormat::Llama3, ToolFormat::Mistral, ToolFormat::Harmony] {
            // Optional properties that nothing satisfies are left out.
            let found = error(format, &parameters);
            let is_optional = parameters["properties"]["a"]["minimum"].is_number();
            assert!(found.as_ref().map_or(is_optional, |e| e.contains(words)), "{format}: {parameters}: {found:?}");
        }
    }
    for (parameters, words) in [
        (object(json!({"a": {"type": "string", "pattern": "x"}})), "#/properties/a: pattern cannot be enforced"),
        (object(json!({"a": {"type": "string", "format": "date"}})), "format cannot be enforced"),
        (object(json!({"a": {"minLength": 3, "pattern": "x"}})), "pattern cannot be enforced"),
        (object(json!({"a": {"type": "string", "enum": ["a"], "minLength": 3}})), "enum or const with other"),
        (object(json!({"a": {"type": "string", "enum": ["</parameter>"]}})), "has no value that can be written"),
        (object(json!({"a": {"type": "string", "minLength": 3, "maxLength": 2}})), "minLength above maxLength"),
        (object(json!({"a>": {}})), "cannot be the name of a parameter"),
        (json!({"type": "object", "required": ["a"]}), "\"a\" has no schema in properties"),
        (json!({"type": "object", "anyOf": []}), "#/anyOf: cannot be enforced"),
        (json!({"type": "object", "patternProperties": {}}), "#/patternProperties: cannot be enforced"),
        (json!({"type": "object", "minProperties": 1, "additionalProperties": false}), "#/minProperties"),
    ] {
        let found = error(ToolFormat::QwenXml, &parameters);
        assert!(found.as_ref().is_some_and(|e| e.contains(words)), "{parameters}: {found:?}");
    }
    for (parameters, words) in [
        (object(json!({"a": {"type": "string", "pattern": "x"}})), "#/properties/a: pattern next to type cannot be"),
        (object(json!({"a": {"type": "string", "minLength": 3, "maxLength": 2}})), "minLength above maxLength"),
        (object(json!({"a": {"type": "array", "minItems": 3, "maxItems": 2}})), "minItems above maxItems"),
        (object(json!({"a": {"type": "array", "prefixItems": []}})), "prefixItems next to type"),
        (object(json!({"a": {"enum": ["<|\"|>"]}})), "a text with <|\"|> cannot be"),
        (object(json!({"a": {"enum": [1], "type": "string"}})), "a schema that accepts nothing"),
        (object(json!({"a": false})), "a schema that accepts nothing"),
        (object(json!({"a": {"oneOf": [{"type": "integer"}, {"type": "number"}]}})), "oneOf with branches"),
        (object(json!({"a": {"anyOf": []}})), "an empty anyOf"),
        (object(json!({"a": {"properties": {"b": {}}, "additionalProperties": true}})), "additionalProperties next to"),
        (object(json!({"a": {"$ref": "#/properties/a"}})), "this reference cannot be"),
        (object(json!({"a": {"$ref": "#/$defs/none"}})), "this reference cannot be"),
        (json!({"type": "object", "required": ["a"]}), "\"a\" has no schema in properties"),
        (json!({"type": "object", "patternProperties": {}}), "patternProperties next to type cannot be"),
    ] {
        let found = error(ToolFormat::Gemma4, &parameters);
        assert!(found.as_ref().is_some_and(|e| e.contains(words)), "{parameters}: {found:?}");
    }
    let of = |tools: &Tools, choice: ToolChoice| {
        let options = CallOptions { choice, ..CallOptions::default() };
        Constraint::tools(&tokenizer, ToolFormat::Hermes, tools, &options).unwrap_err().to_string()
    };
    assert!(of(&Tools::default(), ToolChoice::Auto).contains("there are none"));
    let unknown = of(&tools(), ToolChoice::Function("got".into()));
    assert!(unknown.contains("no tool is \"got\": tools are [\"get-weather\""), "{unknown}");
    let many: Vec<Json> =
        (0..2000).map(|i| function(&format!("f{i}"), object(json!({"a": {"type": "string"}})))).collect();
    let many = Tools::new(&many).unwrap();
    // Either is fine, but not a panic.
    let made = Constraint::tools(&tokenizer, ToolFormat::Hermes, &many, &CallOptions::default());
    assert!(made.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::Invalid), "{made:?}");
}
