// The console's pages. Everything that is shown goes into the page as text, never as HTML.

const page = document.getElementById("page");
const message = document.getElementById("message");
const who = document.getElementById("who");
const SVG = "http://www.w3.org/2000/svg";
const CATEGORIES = ["people", "finance", "schedule", "project", "preference", "interest", "habit", "fact"];
const CHANGES = ["MemoryFormed", "MemoryReinforced", "MemoryRevised", "MemorySuperseded", "MemoryDecayed", "MemoryExpired",
  "MemoryForgotten", "MemoryRestored", "MemoryImported", "MemoryErased", "UserErased"];
let shown = 0; // counts pages, so that an answer that comes late changes nothing

// --- asking ---------------------------------------------------------------------------------------------------------

async function ask(method, path, { query = {}, body } = {}) {
  const url = new URL(path, location.origin);
  for (const [name, value] of Object.entries(query)) if (value !== "" && value != null) url.searchParams.set(name, value);
  const headers = {};
  if (who.key.value) headers.Authorization = `Bearer ${who.key.value}`;
  if (method !== "GET") headers["Idempotency-Key"] = crypto.randomUUID();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(url, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const told = await answer.json().catch(() => ({ detail: `${answer.status} without a reason` }));
  if (answer.status === 401) throw new Error("This server asks for an API key: enter one above.");
  if (!answer.ok) throw new Error(told.detail ?? `${answer.status}`);
  return told;
}

function say(text, bad = false) {
  message.textContent = text;
  message.className = bad ? "bad" : "";
}

const user = () => who.user.value || "owner";
const agent = () => who.agent.value;
const ofUser = (path) => `/v1/users/${encodeURIComponent(user())}${path}`;
const ofMemory = (id, path = "") => `/v1/memories/${encodeURIComponent(id)}${path}`;

// --- making elements ------------------------------------------------------------------------------------------------

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value != null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function table(id, titles, rows, none = "Nothing here.") {
  if (!rows.length) return make("p", { id, class: "muted" }, none);
  const head = make("tr", {}, ...titles.map((title) => make("th", {}, title)));
  return make("table", { id }, make("thead", {}, head), make("tbody", {}, ...rows));
}

const cell = (value, kind) => make("td", { class: kind }, value ?? "");
const when = (instant) => (instant ? instant.slice(0, 16).replace("T", " ") : "");
const number = (value) => (value == null ? "" : Number(value).toFixed(2));
const choice = (name, values, chosen) =>
  make("select", { name }, ...values.map((value) => make("option", { value, selected: value === chosen }, value || "every")));
function objectOf(text, field) {
  let found;
  try { found = JSON.parse(text); } catch { found = null; }
  if (!found || typeof found !== "object" || Array.isArray(found)) throw new Error(`${field}: write a JSON object, such as {"shelf": 2}`);
  return found;
}

const labelled = (text, ...inputs) => make("label", {}, text, ...inputs);
const button = (text, act, id) =>
  make("button", { type: "button", id, onclick: () => doing(act) }, text);

// --- pages ----------------------------------------------------------------------------------------------------------

const filters = { text: "", status: "active", category: "", condition: "", asOf: "", page: 1 };
const PAGE_SIZE = 50;

async function memories() {
  const form = make("form", { id: "filters", onsubmit: (event) => { event.preventDefault(); read(); say(""); show(); } },
    labelled("Search", make("input", { name: "text", value: filters.text })),
    labelled("Status", choice("status", ["active", "superseded", "forgotten", "expired"], filters.status)),
    labelled("Category", choice("category", ["", ...CATEGORIES], filters.category)),
    labelled("Filter", make("input", { name: "condition", value: filters.condition, size: 40, placeholder: '{"metadata.shelf": {"gte": 2}}', autocomplete: "off" })),
    make("button", {}, "Filter"));
  const read = () => Object.assign(filters, { text: form.text.value, status: form.status.value, category: form.category.value, condition: form.condition.value, page: 1 });
  let found;
  try {
    found = await remembered();
  } catch (error) {
    if (!filters.condition) throw error;
    say(error.message, true); // most likely of the filter, which stays to be corrected
    return [form];
  }
  const [items, first] = found;
  const rows = items.map((memory) => make("tr", { class: memory.status },
    cell(make("a", { href: `#memory/${memory.memory_id}` }, memory.content), "words"),
    cell(memory.category), cell(memory.memory_type === "long_term" ? "long" : "short"),
    cell(make("meter", { min: 0, max: 1, value: memory.strength, title: `strength ${number(memory.strength)}` })),
    cell(number(memory.importance), "number"), cell(when(memory.occurred_at)), cell(memory.provenance)));
  return [form, timeline(first.items), make("p", { id: "total", class: "muted" }, isSearch() ? `${items.length} found` : `${first.total} memories`),
    table("memories", ["Memory", "Category", "Term", "Strength", "Importance", "Happened (UTC)", "From"], rows, "Nothing is remembered."),
    ...(isSearch() ? [] : pages(first.total)), adding()];
}

const isSearch = () => filters.text && filters.status === "active"; // a search finds active memories; among others, words are looked for

function pages(total) {
  const last = Math.max(1, Math.ceil(total / PAGE_SIZE));
  if (last === 1) return [];
  const turn = (text, to, id) => make("button", { type: "button", id, disabled: to < 1 || to > last, onclick: () => { filters.page = to; show(); } }, text);
  return [make("p", { id: "pages" }, turn("Previous", filters.page - 1, "previous"), ` page ${filters.page} of ${last} `, turn("Next", filters.page + 1, "next"))];
}

async function remembered() { // the memories to show, and the first page of those that pass the filters
  const whose = { user_id: user(), ...(agent() && { agent_id: agent() }), ...(filters.asOf && { as_of: filters.asOf }) };
  const wanted = [filters.condition ? objectOf(filters.condition, "Filter") : {}, filters.category ? { category: filters.category } : {}];
  if (filters.text && !isSearch()) wanted.push({ content: { icontains: filters.text } });
  const first = await ask("POST", "/v1/memories/query", { body: { ...whose, status: filters.status, filters: { AND: wanted }, page: filters.page, page_size: PAGE_SIZE } });
  if (!isSearch()) return [first.items, first];
  const best = await ask("POST", "/v1/search", { body: { ...whose, query: filters.text, include: ["memories"], limit: 50, recall: false, filters: { AND: wanted } } });
  return [best.results, first];
}

function timeline(items) {
  const formed = items.map((memory) => Date.parse(memory.formed_at));
  const now = Date.now();
  timeline.first = Math.min(timeline.first ?? now, ...formed, now - 86_400_000);
  const at = filters.asOf ? Date.parse(filters.asOf) : now;
  const text = make("output", { id: "as-of-text" }, filters.asOf ? when(filters.asOf) : "now");
  const slider = make("input", { type: "range", id: "as-of", min: timeline.first, max: now, step: 1000, value: at,
    oninput: () => { text.textContent = Number(slider.value) >= now - 1000 ? "now" : when(new Date(Number(slider.value)).toISOString()); },
    onchange: () => { filters.asOf = Number(slider.value) >= now - 1000 ? "" : new Date(Number(slider.value)).toISOString(); show(); } });
  return make("p", {}, labelled("As of", slider), " ", text);
}

function adding() {
  const form = make("form", { id: "add", onsubmit: (event) => { event.preventDefault(); doing(add); } },
    labelled("Remember", make("textarea", { name: "content", rows: 2, required: true })),
    labelled("Category", choice("category", CATEGORIES, "fact")), make("button", {}, "Add"));
  const add = async () => {
    const body = { user_id: user(), content: form.content.value, category: form.category.value };
    if (agent()) body.agent_id = agent();
    await ask("POST", "/v1/memories", { body });
    return "Remembered.";
  };
  return form;
}

async function memory(id) {
  const query = { user_id: user() };
  const [one, curve, past] = await Promise.all([
    ask("GET", ofMemory(id), { query }), ask("GET", ofMemory(id, "/importance"), { query: { ...query, points: 61 } }),
    ask("GET", ofMemory(id, "/history"), { query })]);
  const chain = await chainOf(one);
  const form = make("form", { id: "revise", onsubmit: (event) => { event.preventDefault(); doing(revise); } },
    labelled("Memory", make("textarea", { name: "content", rows: 3 }, one.content)),
    labelled("Category", choice("category", [...new Set([one.category, ...CATEGORIES])], one.category)),
    labelled("Importance", make("input", { name: "importance", type: "number", min: 0, max: 1, step: 0.01, value: one.importance })),
    labelled("Term", choice("memory_type", ["long_term", "short_term"], one.memory_type)),
    labelled("Expires", make("input", { name: "expires_at", value: one.expires_at ?? "", placeholder: "never", size: 24, autocomplete: "off" })),
    labelled("Metadata", make("textarea", { name: "metadata", rows: 3 }, JSON.stringify(one.metadata, null, 1))),
    make("button", { id: "save" }, "Save"));
  const revise = async () => {
    const given = { content: form.content.value, category: form.category.value, importance: Number(form.importance.value), memory_type: form.memory_type.value };
    const body = Object.fromEntries(Object.entries(given).filter(([name, value]) => value !== one[name]));
    if (form.expires_at.value !== (one.expires_at ?? "")) body.expires_at = form.expires_at.value || null;
    const metadata = changed(one.metadata, objectOf(form.metadata.value, "Metadata"));
    if (Object.keys(metadata).length) body.metadata = metadata;
    if (!Object.keys(body).length) return "Nothing was changed.";
    await ask("PATCH", ofMemory(id), { query, body: { ...body, expected_version: one.version } });
    return "Saved.";
  };
  const change = one.status === "active"
    ? button("Forget", async () => { await ask("DELETE", ofMemory(id), { query }); return "Forgotten. It can be restored."; }, "forget")
    : button("Restore", async () => { await ask("POST", ofMemory(id, "/restore"), { query }); return "Remembered again."; }, "restore");
  const slot = one.attribute ? `${one.attribute}: ${one.value}` : "";
  const facts = [["Status", one.status], ["Strength", number(one.strength)], ["Slot", slot], ["Happened", when(one.occurred_at)],
    ["True from", when(one.valid_from)], ["True until", when(one.valid_to)], ["Expires", when(one.expires_at)], ["Recalled", one.recall_count],
    ["From", one.provenance], ["Agent", one.agent_id ?? "every"], ["Session", one.session_id ?? ""], ["Version", one.version]];
  return [make("h2", {}, "Memory"), form, change,
    table("fields", [], facts.filter(([, value]) => value !== "").map(([name, value]) => make("tr", {}, make("th", {}, name), cell(String(value))))),
    make("h2", {}, "Importance"), curveOf(curve.points),
    make("h2", {}, "Who superseded whom"), graphOf(chain, id),
    make("h2", {}, "History"), historyOf(past)];
}

function changed(before, after) { // members that are null are taken away
  const same = (name) => JSON.stringify(before[name]) === JSON.stringify(after[name]);
  const gone = Object.keys(before).filter((name) => !(name in after)).map((name) => [name, null]);
  return Object.fromEntries([...gone, ...Object.entries(after).filter(([name]) => !same(name))]);
}

function curveOf(points) {
  const [width, height, left] = [800, 180, 40];
  const times = points.map((point) => Date.parse(point.at));
  const [first, last] = [times[0], times.at(-1)];
  const x = (time) => left + ((time - first) / Math.max(1, last - first)) * (width - left - 10);
  const y = (value) => height - 25 - value * (height - 40);
  const path = (name) => points.map((point, i) => `${i ? "L" : "M"}${x(times[i]).toFixed(1)} ${y(point[name] ?? 0).toFixed(1)}`).join("");
  return draw("svg", { id: "curve", viewBox: `0 0 ${width} ${height}`, role: "img" },
    ...[0, 0.5, 1].flatMap((value) => [draw("line", { class: "axis", x1: left, x2: width, y1: y(value), y2: y(value) }), text(8, y(value) + 4, value.toFixed(1))]),
    draw("path", { class: "curve", d: path("importance") }), draw("path", { class: "curve other", d: path("strength") }),
    text(left, height - 6, when(points[0]?.at)), text(width - 150, height - 6, when(points.at(-1)?.at)), text(left + 10, 14, "— importance   - - strength"));
}

const text = (x, y, words) => { const element = draw("text", { x, y }); element.textContent = words; return element; };

async function chainOf(one) {
  const known = new Map([[one.memory_id, one]]);
  for (let next = one.superseded_by; next && !known.has(next) && known.size < 50;) {
    const later = await ask("GET", ofMemory(next), { query: { user_id: user() } }).catch(() => null);
    if (!later) break;
    known.set(next, later);
    next = later.superseded_by;
  }
  const former = (await ask("GET", "/v1/memories", { query: { user_id: user(), status: "superseded", page_size: 200 } })).items;
  for (let found = true; found;) {
    found = false;
    for (const each of former) if (!known.has(each.memory_id) && known.has(each.superseded_by)) { known.set(each.memory_id, each); found = true; }
  }
  return [...known.values()].sort((a, b) => a.formed_at.localeCompare(b.formed_at));
}

function graphOf(chain, id) {
  const place = new Map(chain.map((each, i) => [each.memory_id, i]));
  const [height, width] = [46, 620];
  const svg = draw("svg", { id: "graph", viewBox: `0 0 ${width + 160} ${chain.length * (height + 20) + 10}`, role: "img" },
    draw("defs", {}, draw("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 8, markerHeight: 8, orient: "auto" }, draw("path", { d: "M0 0L10 5L0 10z" }))));
  chain.forEach((each, i) => {
    const y = 10 + i * (height + 20);
    const node = draw("a", { href: `#memory/${each.memory_id}` },
      draw("rect", { class: each.memory_id === id ? "node here" : "node", x: 10, y, width, height, rx: 5 }),
      text(20, y + 19, each.content.length > 85 ? `${each.content.slice(0, 84)}…` : each.content),
      text(20, y + 37, `${when(each.formed_at)}  ${each.status}`));
    svg.append(node);
    const next = place.get(each.superseded_by);
    if (next !== undefined) {
      const to = 10 + next * (height + 20) + height / 2;
      svg.append(draw("path", { class: "link", d: `M${width + 10} ${y + height / 2}C${width + 110} ${y + height / 2} ${width + 110} ${to} ${width + 12} ${to}` }));
    }
  });
  return svg;
}

function historyOf(past) {
  const events = past.events.map((event) => make("li", {}, make("b", {}, event.type), ` ${when(event.recorded_at)}${event.reason ? `, ${event.reason}` : ""}`,
    event.before?.content && event.after?.content !== event.before.content ? make("div", { class: "muted" }, `before: ${event.before.content}`) : null,
    event.after?.content ? make("div", {}, event.after.content) : null));
  const words = past.lineage.observations.map((each) => make("tr", {}, cell(when(each.occurred_at ?? each.recorded_at)), cell(each.role ?? each.type),
    make("td", { class: "words" }, make("pre", {}, wordsOf(each)))));
  return make("div", {}, make("ol", { class: "history", id: "history" }, ...events), make("h2", {}, "The words that it came from"),
    table("words", ["When", "Who", "Words"], words, "It was told directly."));
}

const wordsOf = (observation) => observation.content ?? observation.text ?? JSON.stringify(observation, null, 1);

async function feelings() {
  const felt = await ask("GET", ofUser("/emotions"), { query: { agent_id: agent(), as_of: filters.asOf, page_size: 200 } });
  const rows = felt.items.map((each) => make("tr", {}, cell(when(each.occurred_at)), cell(each.emotion), cell(number(each.emotion_intensity), "number"),
    cell(make("a", { href: `#memory/${each.memory_id}` }, each.content), "words")));
  const counts = Object.entries(felt.by_emotion).map(([name, of]) => make("tr", {}, cell(name), cell(String(of.count), "number"), cell(number(of.mean_intensity), "number")));
  const at = filters.asOf ? [make("p", { class: "muted" }, `As of ${when(filters.asOf)}, as the slider of Memories says.`)] : [];
  return [make("h2", {}, "Feelings over time"), ...at, feltOf(felt.items), table("counts", ["Feeling", "Times", "Mean intensity"], counts, "Nothing was felt."),
    table("felt", ["When", "Feeling", "Intensity", "Memory"], rows)];
}

function feltOf(items) {
  const [width, height, left] = [800, 220, 90];
  const names = [...new Set(items.map((each) => each.emotion))];
  const times = items.map((each) => Date.parse(each.occurred_at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const x = (time) => left + ((time - first) / Math.max(1, last - first)) * (width - left - 30);
  const y = (name) => 25 + (names.indexOf(name) + 0.5) * ((height - 50) / Math.max(1, names.length));
  return draw("svg", { id: "feelings", viewBox: `0 0 ${width} ${height}`, role: "img" },
    ...names.map((name) => text(8, y(name) + 4, name)),
    ...items.map((each, i) => draw("circle", { cx: x(times[i]), cy: y(each.emotion), r: 4 + 8 * (each.emotion_intensity ?? 0.5) })),
    ...(items.length ? [text(left, height - 6, when(items[0].occurred_at)), text(width - 130, height - 6, when(items.at(-1).occurred_at))] : []));
}

async function wakes() {
  const [raised, waiting, configured] = await Promise.all([
    ask("GET", ofUser("/wakes"), { query: { agent_id: agent(), limit: 200 } }), ask("GET", ofUser("/reminders"), { query: { agent_id: agent() } }),
    ask("GET", ofUser("/wake"), { query: { agent_id: agent() } }).catch(() => null)]);
  const reminders = waiting.items.map((each) => make("tr", {}, cell(when(each.due_at)), cell(each.content, "words"), cell(each.channel),
    cell(button("Cancel", async () => { await ask("DELETE", ofUser(`/reminders/${encodeURIComponent(each.reminder_id)}`)); return "Cancelled."; }))));
  const rows = raised.items.map((each) => make("tr", {}, cell(when(each.raised_at)), cell(each.kind), cell(each.text, "words")));
  return [make("h2", {}, "Periodic wake"), make("p", { id: "periodic" }, configured?.every_seconds ? `every ${configured.every_seconds} s, next ${when(configured.next_at)}` : "none"),
    make("h2", {}, "Reminders that wait"), table("reminders", ["Due", "Words", "Channel", ""], reminders, "None."),
    make("h2", {}, "Wakes that were raised"), table("wakes", ["When", "Why", "Words"], rows, "None.")];
}

async function webhooks() {
  const held = await ask("GET", "/v1/webhooks");
  const rows = held.items.map((each) => {
    const path = `/v1/webhooks/${encodeURIComponent(each.webhook_id)}`;
    return make("tr", {}, cell(each.url, "words"), cell(each.user_id ?? "every"), cell(each.agent_id ?? "every"), cell(each.types?.join(", ") || "all"),
      cell(String(each.deliveries), "number"), cell(String(each.given_up), "number"), cell(each.failing_since ? `since ${when(each.failing_since)}: ${each.failure}` : "no", "words"),
      make("td", {},
        button("Replay", async () => { await ask("POST", `${path}/replay`, { body: { after: null } }); return "All changes since the first are posted again."; }), " ",
        button("New secret", async () => { const changed = await ask("POST", `${path}/secret`, { body: {} }); return `The new secret, shown only here: ${changed.secret}. The former one signs for one more day.`; }), " ",
        button("Remove", async () => { await ask("DELETE", path); return "Removed."; })));
  });
  const form = make("form", { id: "register", onsubmit: (event) => { event.preventDefault(); doing(register); } },
    labelled("Address", make("input", { name: "url", type: "url", required: true, size: 50, placeholder: "https://…" })),
    labelled("User", make("input", { name: "user", placeholder: "every" })), labelled("Agent", make("input", { name: "agent", placeholder: "every" })),
    labelled("Changes", make("select", { name: "types", multiple: true, size: 4, title: "none chosen: all" }, ...CHANGES.map((type) => make("option", { value: type }, type)))),
    make("button", {}, "Add"));
  const register = async () => {
    const body = { url: form.url.value, types: [...form.types.selectedOptions].map((option) => option.value) };
    if (form.user.value) body.user_id = form.user.value;
    if (form.agent.value) body.agent_id = form.agent.value;
    const made = await ask("POST", "/v1/webhooks", { body });
    return `The secret that signs what is posted, shown only here: ${made.secret}`;
  };
  return [make("h2", {}, "Webhooks"), table("webhooks", ["Address", "User", "Agent", "Changes", "Delivered", "Given up", "Fails", ""], rows, "Nobody is told of changes."), form];
}

async function operations() {
  const [ready, lag, letters, generations] = await Promise.all([
    ask("GET", "/health/ready").then((told) => [told.status, ...told.conditions].join("; "), (error) => error.message), ask("GET", "/v1/admin/lag"),
    ask("GET", "/v1/admin/dead-letters"), ask("GET", "/v1/admin/rebuild")]);
  const clocks = (await ask("GET", "/v1/admin/clock")).workers.map((each) => make("tr", {}, cell(each.worker), cell(when(each.now)), cell(when(each.machine)), cell(each.conditions.join("; ") || "believed", "words")));
  const behind = lag.items.reduce((sum, each) => sum + each.items, 0);
  const lags = lag.items.toSorted((a, b) => b.items - a.items).map((each) => make("tr", {}, cell(each.topic), cell(String(each.partition), "number"), cell(each.step), cell(String(each.items), "number"),
    cell(each.seconds.toFixed(1), "number"), cell(each.worker)));
  const dead = letters.items.map((each) => make("tr", {}, cell(when(each.recorded_at)), cell(each.position), cell(each.reason), cell(each.detail, "words"),
    cell(button("Retry", async () => { await ask("POST", "/v1/admin/dead-letters", { body: { ids: [each.id] } }); return "Sent back."; }))));
  const listed = generations.generations.map((each) => make("tr", {}, cell(String(each), "number"),
    cell(each === generations.active ? "active" : button("Switch to it", async () => { await ask("POST", "/v1/admin/rebuild", { body: { activate: each } }); return `Generation ${each} is active.`; }))));
  const checks = make("div", {}, make("p", { class: "muted" }, "Looking …"));
  ask("GET", "/v1/admin/checks").then((found) => checks.replaceChildren(table("checks", ["What", "State", "Detail"], found.checks.map((each) =>
    make("tr", {}, cell(each.name), cell(each.ok ? "ok" : "wrong"), cell(each.ok || !each.advice ? each.detail : `${each.detail}: ${each.advice}`, "words"))))), (error) => checks.replaceChildren(error.message));
  return [make("p", { id: "ready" }, `This worker is ${ready}.`),
    make("h2", {}, "Checks"), checks,
    make("h2", {}, "Generations"), table("generations", ["Generation", ""], listed),
    button("Rebuild from the log", async () => { const built = await ask("POST", "/v1/admin/rebuild", {}); return `Generation ${built.generation} was built, verified and switched to.`; }, "rebuild"),
    make("h2", {}, "Clocks"), table("clocks", ["Worker", "Goes by", "Its machine says", "State"], clocks),
    button("The clocks are right", async () => { const done = await ask("POST", "/v1/admin/clock/confirm", {}); return `It is ${when(done.as_of)}.`; }, "confirm-clock"),
    make("h2", {}, "Dead letters"), table("letters", ["When", "Position", "Reason", "Detail", ""], dead, "None."),
    make("h2", {}, "Lag"), make("p", { id: "behind" }, `${behind} items are not done.`),
    table("lag", ["Topic", "Partition", "Step", "Items", "Oldest, seconds", "Worker"], lags)];
}

// --- showing --------------------------------------------------------------------------------------------------------

const PAGES = { memories, memory, feelings, wakes, webhooks, operations };

async function show() {
  const [name, id] = location.hash.slice(1).split("/");
  const chosen = Object.hasOwn(PAGES, name) ? name : "memories";
  const mine = ++shown;
  for (const link of document.querySelectorAll("nav a")) {
    link.toggleAttribute("aria-current", link.hash === `#${chosen}`);
  }
  try {
    const parts = await PAGES[chosen](id && decodeURIComponent(id));
    if (mine === shown) page.replaceChildren(...parts);
  } catch (error) {
    if (mine !== shown) return;
    page.replaceChildren();
    say(error.message, true);
  }
  if (mine === shown) document.body.dataset.shown = `${location.hash} ${mine}`;
}

async function doing(act) {
  try {
    const done = await act();
    await show();
    say(done);
  } catch (error) {
    say(error.message, true);
  }
}

async function offerUsers() { // only a key with tenant-admin may ask who has memories
  const told = await ask("GET", "/v1/stats", { query: { by: "user", limit: 1000 } }).catch(() => ({ items: [] }));
  document.getElementById("users").replaceChildren(...told.items.map((each) => make("option", { value: each.name }, `${each.memories} memories`)));
}

function keepInAddress() { // a reload shows the same user
  const address = new URL(location);
  for (const [name, value] of [["user", who.user.value], ["agent", who.agent.value]]) {
    if (value) address.searchParams.set(name, value); else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
}

who.addEventListener("submit", (event) => {
  event.preventDefault();
  say("");
  timeline.first = undefined;
  Object.assign(filters, { asOf: "", page: 1 });
  keepInAddress();
  offerUsers();
  show();
});
window.addEventListener("hashchange", () => { say(""); show(); });
const asked = new URLSearchParams(location.search);
who.user.value = asked.get("user") ?? who.user.value;
who.agent.value = asked.get("agent") ?? "";
offerUsers();
show();
