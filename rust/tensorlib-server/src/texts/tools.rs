//! `tools`: functions that the model may call.

use crate::error::{ApiError, Result};
use crate::fields::{shortened, Fields};
use serde_json::Value;
use tensorlib_models::{Tool, ToolChoice, Tools};

/// The most functions of a request.
const TOOLS: usize = 256;

/// The functions of a request, and how they are called.
pub struct Wanted {
    /// Empty if the model is to call none.
    pub tools: Tools,
    pub choice: ToolChoice,
    /// Whether an answer may have several calls.
    pub parallel: bool,
}

/// Takes `tools`, `tool_choice` and `parallel_tool_calls`.
pub fn read(fields: &mut Fields) -> Result<Wanted> {
    let listed = fields.list("tools", TOOLS)?.unwrap_or_default();
    for (i, tool) in listed.iter().enumerate() {
        check(tool.clone(), i)?;
    }
    let tools = Tools::new(&listed).map_err(|e| ApiError::about("tools", &e))?;
    let parallel = fields.flag("parallel_tool_calls")?.unwrap_or(true);
    let Some(choice) = choice(fields)? else {
        return Ok(Wanted { tools: Tools::default(), choice: ToolChoice::Auto, parallel });
    };
    if let ToolChoice::Function(name) = &choice {
        if tools.get(name).is_none() {
            let names = tools.iter().map(Tool::name).collect::<Vec<_>>().join(", ");
            let name = shortened(name);
            return Err(fields.wrong("tool_choice", format!("'{name}' is none of the tools: {names} are valid")));
        }
    }
    if tools.is_empty() && choice == ToolChoice::Required {
        return Err(fields.wrong("tool_choice", "a call is required, and there are no tools"));
    }
    Ok(Wanted { tools, choice, parallel })
}

/// Refuses a tool with fields that are not known.
fn check(tool: Value, i: usize) -> Result<()> {
    let mut tool = Fields::new(tool, &format!("tools[{i}]"))?;
    tool.one_of("type", &["function"])?;
    let function = tool.object("function")?;
    let mut function = function.ok_or_else(|| tool.wrong("function", "is missing: an object is valid"))?;
    // Arguments always follow their schema.
    function.ignore(&["name", "description", "parameters", "strict"]);
    function.end()?;
    tool.end()
}

/// Which calls an answer has; none if the model is to call nothing.
fn choice(fields: &mut Fields) -> Result<Option<ToolChoice>> {
    let valid = "auto, none, required and {\"type\": \"function\", \"function\": {\"name\": NAME}} are valid";
    match fields.take("tool_choice") {
        None => Ok(Some(ToolChoice::Auto)),
        Some(Value::String(text)) => match &text[..] {
            "auto" => Ok(Some(ToolChoice::Auto)),
            "none" => Ok(None),
            "required" => Ok(Some(ToolChoice::Required)),
            other => Err(fields.wrong("tool_choice", format!("is '{}': {valid}", shortened(other)))),
        },
        Some(value @ Value::Object(_)) => {
            let mut choice = Fields::new(value, "tool_choice")?;
            choice.one_of("type", &["function"])?;
            let function = choice.object("function")?;
            let mut function = function.ok_or_else(|| choice.wrong("function", "is missing: an object is valid"))?;
            let name = function.needed_text("name")?;
            function.end()?;
            choice.end()?;
            Ok(Some(ToolChoice::Function(name)))
        }
        Some(_) => Err(fields.wrong("tool_choice", valid)),
    }
}
