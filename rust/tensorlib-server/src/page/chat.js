"use strict";

// The chat page: conversations are kept in this browser, and answers are streamed from /v1/chat/completions.

const DEFAULTS = { system: "", temperature: 0.8, top_p: 0.95, min_p: 0.05, max_tokens: "", seed: "", key: "" };
const STORE = "tensorlib.chat";

const element = (id) => document.getElementById(id);
const [messages, input, status] = ["messages", "input", "status"].map(element);

/** What is kept: settings, and conversations, the newest first. */
let kept = load();
/** The answer that is being generated. */
let running = null;

function load() {
  const fresh = { settings: { ...DEFAULTS }, conversations: [], current: null, model: "" };
  try {
    const found = JSON.parse(localStorage.getItem(STORE));
    if (!found || !Array.isArray(found.conversations)) return fresh;
    return { ...fresh, ...found, settings: { ...DEFAULTS, ...found.settings } };
  } catch {
    return fresh;
  }
}

function save() {
  try {
    localStorage.setItem(STORE, JSON.stringify(kept));
  } catch (error) {
    say(`The browser does not keep this conversation: ${error.message}`, true);
  }
}

function say(text, isWrong = false) {
  status.textContent = text;
  status.classList.toggle("wrong", isWrong);
}

const current = () => kept.conversations.find((c) => c.id === kept.current);

/** The conversation on the page; a new one if there is none. */
function conversation() {
  let found = current();
  if (!found) {
    found = { id: Date.now().toString(36) + Math.random().toString(36).slice(2), turns: [] };
    kept.conversations.unshift(found);
    kept.current = found.id;
  }
  return found;
}

/** An element with attributes, text or children. */
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  Object.assign(made, attributes);
  made.append(...children);
  return made;
}

const title = (c) => (c.turns[0]?.content ?? "").trim().split("\n")[0].slice(0, 60) || "Empty conversation";

function showConversations() {
  const items = kept.conversations.map((c) => {
    const open = make("button", { type: "button", className: "open quiet", textContent: title(c) });
    open.addEventListener("click", () => select(c.id));
    const remove = make("button", { type: "button", className: "remove quiet", textContent: "✕", title: "Delete" });
    remove.setAttribute("aria-label", `Delete ${title(c)}`);
    remove.addEventListener("click", () => forget(c.id));
    return make("li", { className: c.id === kept.current ? "current" : "" }, open, remove);
  });
  element("conversations").replaceChildren(...items);
}

function select(id) {
  stop();
  kept.current = id;
  document.body.classList.remove("menu");
  save();
  show();
}

function forget(id) {
  if (id === kept.current) stop();
  kept.conversations = kept.conversations.filter((c) => c.id !== id);
  if (id === kept.current) kept.current = kept.conversations[0]?.id ?? null;
  save();
  show();
}

/** Text with blocks between lines of three backticks as code. */
function formatted(text) {
  const parts = text.split(/^```[^\n]*\n?/m);
  return parts.flatMap((part, i) => {
    if (i % 2 === 0) return part ? [part] : [];
    return [make("pre", {}, make("code", { textContent: part.replace(/\n$/, "") }))];
  });
}

function view(turn, i) {
  const made = make("article", { className: `message ${turn.role}` });
  made.setAttribute("aria-label", turn.role === "user" ? "You" : "Model");
  fill(made, turn, i);
  return made;
}

function fill(made, turn, i) {
  const children = [];
  if (turn.reasoning) {
    const isOpen = made.querySelector("details")?.open ?? false;
    const reasoning = make("div", { textContent: turn.reasoning });
    children.push(make("details", { open: isOpen }, make("summary", { textContent: "Reasoning" }), reasoning));
  }
  children.push(make("div", { className: "body" }, ...(turn.role === "user" ? [turn.content] : formatted(turn.content))));
  if (turn.error) children.push(make("p", { className: "error", textContent: turn.error }));
  if (running?.turn !== turn) children.push(tools(turn, i));
  made.replaceChildren(...children);
}

function tools(turn, i) {
  const button = (label, act) => {
    const made = make("button", { type: "button", className: "quiet", textContent: label });
    made.addEventListener("click", act);
    return made;
  };
  const copy = button("Copy", () => navigator.clipboard?.writeText(turn.content));
  const again = turn.role === "user" ? button("Edit", () => edit(i)) : button("Retry", () => retry(i));
  const made = make("div", { className: "tools" }, copy, again);
  if (turn.note) made.append(make("span", { textContent: turn.note }));
  return made;
}

function show() {
  showConversations();
  const turns = current()?.turns ?? [];
  const empty = make("p", { className: "empty", textContent: "Write a message to begin." });
  messages.replaceChildren(...(turns.length ? turns.map(view) : [empty]));
  messages.scrollTop = messages.scrollHeight;
  element("send").hidden = running !== null;
  element("stop").hidden = running === null;
}

/** Shows the end of an answer that grows, unless the reader has scrolled away from it. */
function showRunning() {
  const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 40;
  const i = current()?.turns.indexOf(running.turn) ?? -1;
  if (i >= 0 && messages.children[i]) fill(messages.children[i], running.turn, i);
  if (isAtEnd) messages.scrollTop = messages.scrollHeight;
}

function edit(i) {
  stop();
  const c = conversation();
  input.value = c.turns[i].content;
  c.turns.length = i;
  save();
  show();
  grow();
  input.focus();
}

function retry(i) {
  stop();
  const c = conversation();
  c.turns.length = i;
  answer(c);
}

function stop() {
  running?.abort.abort();
}

const headers = () => {
  const made = { "Content-Type": "application/json" };
  if (kept.settings.key) made.Authorization = `Bearer ${kept.settings.key}`;
  return made;
};

/** The message of an answer that says why a request failed. */
async function failure(response) {
  try {
    return (await response.json()).error.message;
  } catch {
    return `The server answered ${response.status}.`;
  }
}

function request(c) {
  const { system, temperature, top_p, min_p, max_tokens, seed } = kept.settings;
  const turns = c.turns.filter((turn) => !(turn.role === "assistant" && !turn.content));
  const made = {
    model: kept.model,
    messages: turns.map(({ role, content }) => ({ role, content })),
    stream: true,
    stream_options: { include_usage: true },
  };
  if (system.trim()) made.messages.unshift({ role: "system", content: system });
  for (const [name, value] of Object.entries({ temperature, top_p, min_p, max_tokens, seed })) {
    if (value !== "") made[name] = Number(value);
  }
  return made;
}

/** Has the model write the next turn. */
async function answer(c) {
  const body = JSON.stringify(request(c));
  const turn = { role: "assistant", content: "", reasoning: "" };
  c.turns.push(turn);
  const mine = { turn, abort: new AbortController() };
  running = mine;
  say("");
  show();
  const begin = performance.now();
  try {
    const options = { method: "POST", headers: headers(), body, signal: mine.abort.signal };
    const response = await fetch("v1/chat/completions", options);
    if (!response.ok) throw new Error(await failure(response));
    const ended = await read(response.body, (chunk) => take(turn, chunk, begin));
    if (!ended) turn.error = "The connection ended before the answer.";
  } catch (error) {
    if (mine.abort.signal.aborted) turn.note = "stopped";
    else turn.error = error instanceof TypeError ? "The server cannot be reached." : error.message;
  }
  if (running === mine) running = null;
  const isEmpty = !turn.content && !turn.reasoning && !turn.error;
  if (isEmpty) c.turns = c.turns.filter((other) => other !== turn);
  save();
  show();
}

/** Adds a chunk to a turn. */
function take(turn, chunk, begin) {
  if (chunk.error) throw new Error(chunk.error.message);
  const choice = chunk.choices?.[0];
  turn.content += choice?.delta?.content ?? "";
  turn.reasoning += choice?.delta?.reasoning_content ?? "";
  if (choice?.finish_reason === "length") turn.error = "The answer ends at the limit of tokens.";
  if (chunk.usage) {
    const { completion_tokens: n, prompt_tokens_details: prompt } = chunk.usage;
    const seconds = (performance.now() - begin) / 1000;
    turn.note = `${n} tokens, ${(n / seconds).toFixed(1)} tokens/s, ${prompt?.cached_tokens ?? 0} cached`;
  }
  if (running?.turn === turn) showRunning();
}

/** Calls `take` with the data of each event of a stream; true if the stream's mark for the end came. */
async function read(stream, take) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ; ) {
    const { done, value } = await reader.read();
    if (done) return false;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      if (!event.startsWith("data: ")) continue;
      const data = event.slice("data: ".length);
      if (data === "[DONE]") return true;
      take(JSON.parse(data));
    }
  }
}

async function showModels() {
  try {
    const response = await fetch("v1/models", { headers: headers() });
    if (!response.ok) throw new Error(await failure(response));
    const { data } = await response.json();
    const names = data.filter((model) => model.kind === "text").map((model) => model.id);
    element("model").replaceChildren(...names.map((name) => make("option", { textContent: name })));
    if (!names.includes(kept.model)) kept.model = names[0] ?? "";
    element("model").value = kept.model;
    say(names.length ? "" : "The server has no model that generates text.", names.length === 0);
  } catch (error) {
    say(error instanceof TypeError ? "The server cannot be reached." : error.message, true);
  }
}

function showSettings() {
  for (const name of Object.keys(DEFAULTS)) element(name).value = kept.settings[name];
}

function grow() {
  input.style.height = "auto";
  input.style.height = `${input.scrollHeight + 2}px`;
}

function send(event) {
  event.preventDefault();
  const text = input.value;
  if (!text.trim() || running) return;
  const c = conversation();
  c.turns.push({ role: "user", content: text });
  input.value = "";
  grow();
  save();
  answer(c);
}

element("composer").addEventListener("submit", send);
input.addEventListener("input", grow);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
});
element("stop").addEventListener("click", stop);
element("new").addEventListener("click", () => select(null));
element("clear").addEventListener("click", () => {
  if (!confirm("Delete all conversations from this browser?")) return;
  stop();
  kept.conversations = [];
  kept.current = null;
  save();
  show();
});
element("menu").addEventListener("click", () => document.body.classList.toggle("menu"));
element("model").addEventListener("change", (event) => {
  kept.model = event.target.value;
  save();
});
element("open-settings").addEventListener("click", () => {
  showSettings();
  element("settings").showModal();
});
element("reset").addEventListener("click", () => {
  kept.settings = { ...DEFAULTS };
  showSettings();
  save();
});
for (const name of Object.keys(DEFAULTS)) {
  element(name).addEventListener("input", (event) => {
    if (!event.target.checkValidity()) return;
    kept.settings[name] = event.target.value;
    save();
    if (name === "key") showModels();
  });
}

show();
showModels();
