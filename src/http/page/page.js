"use strict";
// The page: a command box, the steps of each task as they happen, approvals, and the house.
//
// Everything that is shown is put in as text, never as markup: names come from devices and may be anything. The token
// lives in this tab's session storage and travels in a header alone. The page decides nothing; it shows what the
// server says and sends back the hash of the plan that a person saw.

const TEXT = {
  en: {
    token: "Access token", enter: "Enter", leave: "Leave",
    hint: "The first start of the daemon printed the path of the file that holds it.",
    refused: "This token is not accepted.", forbidden: "This token may not do that.",
    connected: "connected", connecting: "connecting…", lost: "no connection; trying again…",
    command: "What should happen at home?", send: "Send", stop: "Stop",
    home: "Home", elsewhere: "No area", unknown: "unknown", offline: "offline", never: "never reported",
    now: "now", ago: "{} ago", s: "{} s", min: "{} min", h: "{} h", d: "{} d",
    turn: "Turn {}", failed: "The model failed", calls: "calls", sends: "Sends",
    allow: "allowed", ask: "needs a person", deny: "not allowed",
    waits: "Waits for approval, code {}", running: "running…", untold: "no reply",
    approved: "approved", denied: "denied", expired: "expired", cancelled: "cancelled", invalidated: "no longer valid",
    confirmed: "confirmed", already: "already so", unconfirmed: "not confirmed", contradicted: "did not happen",
    not_sent: "not sent", refusedOutcome: "refused",
    asked: "Asked {} by {}", heard: "(heard, not verified)", state: "now: {}", code: "Code", expiresIn: "expires in {}",
    denyButton: "Deny", approveButton: "Approve", sending: "…", targets: "{} targets",
  },
  zh: {
    token: "访问令牌", enter: "进入", leave: "退出",
    hint: "守护进程第一次启动时打印了存放令牌的文件路径。",
    refused: "此令牌无效。", forbidden: "此令牌无权这样做。",
    connected: "已连接", connecting: "正在连接…", lost: "连接中断，正在重试…",
    command: "家里要做什么？", send: "发送", stop: "停止",
    home: "家", elsewhere: "未分区域", unknown: "未知", offline: "离线", never: "尚无上报",
    now: "刚刚", ago: "{}前", s: "{} 秒", min: "{} 分钟", h: "{} 小时", d: "{} 天",
    turn: "第 {} 轮", failed: "模型出错", calls: "调用", sends: "发送",
    allow: "允许", ask: "需要人确认", deny: "不允许",
    waits: "等待批准，核对码 {}", running: "进行中…", untold: "没有回复",
    approved: "已批准", denied: "已拒绝", expired: "已过期", cancelled: "已取消", invalidated: "已失效",
    confirmed: "已确认", already: "本来如此", unconfirmed: "未确认", contradicted: "未发生",
    not_sent: "未发送", refusedOutcome: "被拒绝",
    asked: "{} 由 {} 请求", heard: "（所听到的，未经核实）", state: "现在：{}", code: "核对码", expiresIn: "{}后过期",
    denyButton: "拒绝", approveButton: "批准", sending: "…", targets: "{} 个目标",
  },
};
const WORDS_ZH = {
  on: "开", off: "关", open: "打开", closed: "关闭", opening: "正在打开", closing: "正在关闭", locked: "已上锁",
  unlocked: "未上锁", locking: "正在上锁", unlocking: "正在开锁", jammed: "卡住", disarmed: "已撤防",
  armed_away: "外出布防", armed_home: "在家布防", armed_night: "夜间布防", arming: "正在布防", triggered: "报警",
  cool: "制冷", heat: "制热", auto: "自动", home: "在家", not_home: "外出", unlock: "开锁", lock: "上锁",
  turn_on: "打开", turn_off: "关闭", disarm: "撤防", close: "关闭", stop: "停止", set_position: "调整位置",
};
const OUTCOMES = {
  confirmed: "good", already: "good", unconfirmed: "warn", contradicted: "bad", not_sent: "warn", refused: "bad",
};
const ZH = (navigator.language || "en").toLowerCase().startsWith("zh");
const T = ZH ? TEXT.zh : TEXT.en;
const KEEP_TASKS = 20;
/** A card that appears under a finger must not be approved by it. */
const SETTLE_MS = 700;

const byId = (id) => document.getElementById(id);
const fill = (template, ...values) => values.reduce((text, value) => text.replace("{}", () => value), template);
/** Without control, zero-width and direction characters: they could make a name look like another. */
const clean = (text) => String(text ?? "").replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu, "");
const word = (text) => clean((ZH && WORDS_ZH[text]) || text);

/** An element with a class and children; strings become text. */
function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
/** Text from outside, kept apart from the direction of what stands around it. */
const data = (text, className) => {
  const element = make("bdi", className);
  element.textContent = clean(text);
  return element;
};

// ---- token ---------------------------------------------------------------------------------------------------

let token = sessionStorage.getItem("token") || "";

function takeTokenFromFragment() {
  const match = /(?:^#|&)token=([^&]+)/.exec(location.hash);
  if (!match) return;
  token = decodeURIComponent(match[1]);
  sessionStorage.setItem("token", token);
  history.replaceState(null, "", location.pathname);
}

function forgetToken(fault) {
  token = "";
  sessionStorage.removeItem("token");
  streaming?.abort();
  show(fault);
}

// ---- server --------------------------------------------------------------------------------------------------

class Refused extends Error {}

async function call(path, options = {}) {
  const headers = { Authorization: `Bearer ${token}` };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(path, {
    method: options.body === undefined ? "GET" : "POST",
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    headers, signal: options.signal, cache: "no-store", credentials: "omit", redirect: "error",
  });
  if (response.status === 401) {
    forgetToken(T.refused);
    throw new Refused(T.refused);
  }
  if (!response.ok) {
    const fault = await response.json().catch(() => null);
    if (response.status === 403) throw new Refused(T.forbidden);
    throw new Refused(fault?.error?.message || `HTTP ${response.status}`);
  }
  return options.stream ? response : response.json();
}

let streaming = null;
let generation = 0;

/** Follows all events for as long as there is a token; reads the lists again after each gap. */
async function follow() {
  const mine = ++generation;
  let wait = 500;
  while (token && mine === generation) {
    streaming = new AbortController();
    try {
      setLink(T.connecting, false);
      const response = await call("/api/events", { stream: true, signal: streaming.signal });
      await readLists();
      setLink(T.connected, false);
      wait = 500;
      await readEvents(response.body, onEvent);
    } catch (fault) {
      if (fault instanceof Refused && token) byId("command-fault").textContent = fault.message;
    }
    if (!token || mine !== generation) return;
    setLink(T.lost, true);
    await new Promise((resolve) => setTimeout(resolve, wait * (0.75 + Math.random() / 2)));
    wait = Math.min(wait * 2, 15000);
  }
}

async function readEvents(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let name = "message";
      let text = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        if (line.startsWith("data: ")) text += line.slice(6);
      }
      if (text) take(name, JSON.parse(text));
    }
  }
}

async function readLists() {
  const [list, waiting, recent] = await Promise.all([
    call("/api/entities"), call("/api/approvals"), call("/api/tasks?limit=5"),
  ]);
  entities.clear();
  list.forEach((view) => entities.set(view.entity, { view, at: performance.now() }));
  drawAreas();
  const known = new Set(waiting.map((approval) => approval.approval_id));
  [...approvals.keys()].filter((id) => !known.has(id)).forEach(removeApproval);
  waiting.forEach(addApproval);
  for (const view of recent.reverse()) {
    const whole = view.state === "finished" ? view : await call(`/api/tasks/${encodeURIComponent(view.task_id)}`);
    takeTask(whole);
  }
}

function onEvent(name, value) {
  if (name === "state") takeEntity(value);
  if (name === "task") takeTaskEvent(value);
  if (name === "lost") readLists().catch(() => {});
  if (name === "approval") {
    if (value.verdict) removeApproval(value.approval.approval_id);
    else addApproval(value.approval);
  }
}

// ---- house ---------------------------------------------------------------------------------------------------

const entities = new Map();
const rows = new Map();

const nameOf = (view) => (ZH && view.names?.zh) || view.name;

function drawAreas() {
  rows.clear();
  const areas = new Map();
  for (const { view } of entities.values()) {
    const area = view.area_name || view.area || "";
    if (!areas.has(area)) areas.set(area, []);
    areas.get(area).push(view);
  }
  const sorted = [...areas].sort(([a], [b]) => (a === "") - (b === "") || a.localeCompare(b));
  byId("areas").replaceChildren(...sorted.flatMap(([area, views]) => {
    const card = make("div", "card", ...views.map(makeRow));
    return [make("h3", "", data(area || T.elsewhere)), card];
  }));
}

function makeRow(view) {
  const row = {
    line: make("div", "entity"), value: make("span", "value"), age: make("span", "age quiet"),
  };
  const id = make("span", "id quiet code", data(view.entity));
  row.line.append(make("span", "name", data(nameOf(view))), row.value, id, row.age);
  rows.set(view.entity, row);
  fillRow(view.entity);
  return row.line;
}

function fillRow(id) {
  const row = rows.get(id);
  const { view, at } = entities.get(id);
  const offline = view.availability === "offline";
  row.line.classList.toggle("offline", offline);
  const value = view.value === undefined ? T.unknown : `${word(view.value)}${view.unit ? ` ${view.unit}` : ""}`;
  row.value.replaceChildren(data(offline ? T.offline : value));
  const known = view.age_s !== undefined;
  row.age.textContent = known ? ago(view.age_s + (performance.now() - at) / 1000) : T.never;
}

function takeEntity(view) {
  const known = entities.get(view.entity);
  entities.set(view.entity, { view, at: performance.now() });
  const moved = !known || known.view.area !== view.area || known.view.name !== view.name;
  if (moved) drawAreas();
  else fillRow(view.entity);
}

function span(seconds) {
  if (seconds < 90) return fill(T.s, Math.floor(seconds));
  if (seconds < 5400) return fill(T.min, Math.round(seconds / 60));
  if (seconds < 129600) return fill(T.h, Math.round(seconds / 3600));
  return fill(T.d, Math.round(seconds / 86400));
}
const ago = (seconds) => (seconds < 2 ? T.now : fill(T.ago, span(seconds)));

// ---- tasks ---------------------------------------------------------------------------------------------------

const tasks = new Map();

/** The card of a task; the newest stands first. */
function taskCard(id) {
  if (tasks.has(id)) return tasks.get(id);
  const task = {
    said: make("span", "said"), mark: make("span", "quiet"), steps: make("ol", "steps"),
    reply: make("div", "reply"), seen: new Set(),
  };
  task.mark.textContent = T.running;
  task.card = make("article", "card", make("header", "", task.said, task.mark), task.steps, task.reply);
  tasks.set(id, task);
  byId("tasks").prepend(task.card);
  if (tasks.size > KEEP_TASKS) {
    const [oldest, { card }] = tasks.entries().next().value;
    card.remove();
    tasks.delete(oldest);
  }
  return task;
}

function takeTask(view) {
  const task = taskCard(view.task_id);
  task.said.replaceChildren(data(view.text));
  (view.events || []).forEach(takeTaskEvent);
  if (view.state === "finished" && !task.finished) finish(task, view.exit, view.reply, view.outcomes);
}

function takeTaskEvent(event) {
  const task = taskCard(event.task_id);
  if (task.seen.has(event.sequence)) return;
  task.seen.add(event.sequence);
  const step = (...children) => task.steps.append(make("li", "", ...children));
  const show = STEPS[event.event];
  if (show) show(event, step, task);
}

const actionText = (action) => {
  const args = Object.entries(action.args || {}).map(([name, value]) => ` ${name} ${JSON.stringify(value)}`).join("");
  const known = entities.get(action.entity);
  return `${known ? nameOf(known.view) : action.entity} · ${word(action.verb)}${args}`;
};
const mark = (className, text) => make("span", `mark ${className}`, text);

const STEPS = {
  accepted: (event, step, task) => task.said.replaceChildren(data(event.command.text)),
  turn_started: (event, step) => step(make("strong", "", fill(T.turn, event.turn)), " · ", data(event.model, "quiet")),
  model_said: (event, step) => event.calls.forEach(([, toolCall]) => {
    step(`${T.calls} `, data(toolCall.name, "code"), " ", data(toolCall.arguments, "code quiet"));
  }),
  model_failed: (event, step) => step(mark("bad", T.failed), " ", data(event.error)),
  decided: (event, step) => {
    const kind = { allow: "good", ask: "warn", deny: "bad" }[event.decision];
    const reasons = event.decision === "allow" ? "" : event.reasons.join("; ");
    step(mark(kind, T[event.decision]), " ", ...event.actions.flatMap((action) => [data(actionText(action)), " "]), data(reasons, "quiet"));
  },
  interim: (event, step) => step(data(event.text)),
  approval_asked: (event, step) => step(mark("warn", fill(T.waits, clean(event.match_code)))),
  approval_ended: (event, step) => step(mark(event.verdict === "approved" ? "good" : "bad", T[event.verdict]), " ", data(event.by || "", "quiet")),
  sending: (event, step) => step(`${T.sends} `, data(actionText(event.action))),
  outcome: (event, step) => step(...outcomeText(event.entry, event.entry.action)),
  finished: (event, step, task) => finish(task, event.exit, event.reply, []),
};

function outcomeText(entry, action) {
  const text = entry.outcome === "refused" ? T.refusedOutcome : T[entry.outcome];
  const more = [entry.cause, ...(entry.details || [])].filter(Boolean).join(", ");
  return [mark(OUTCOMES[entry.outcome] || "warn", text), " ", data(actionText(action)), " ", data(more, "quiet")];
}

function finish(task, exit, reply, outcomes) {
  task.finished = true;
  task.mark.textContent = exit === "done" ? "" : clean(exit);
  task.reply.replaceChildren(data(reply || T.untold));
  const shown = task.seen.size > 0;
  if (!shown) (outcomes || []).forEach((entry) => task.steps.append(make("li", "", ...outcomeText(entry, entry))));
}

async function sendCommand(event) {
  event.preventDefault();
  const input = byId("command");
  const text = input.value.trim();
  if (!text) return;
  byId("command-fault").textContent = "";
  byId("send").disabled = true;
  try {
    const view = await call("/api/commands", { body: { text, id: crypto.randomUUID?.(), wait_s: 0 } });
    takeTask(view);
    input.value = "";
  } catch (fault) {
    byId("command-fault").textContent = clean(fault.message);
  } finally {
    byId("send").disabled = false;
    input.focus();
  }
}

async function stopAll() {
  byId("command-fault").textContent = "";
  try {
    await call("/api/stop", { body: {} });
  } catch (fault) {
    byId("command-fault").textContent = clean(fault.message);
  }
}

// ---- approvals -----------------------------------------------------------------------------------------------

const approvals = new Map();

function addApproval(approval) {
  if (approvals.has(approval.approval_id)) return;
  const deny = make("button", "deny", T.denyButton);
  const approve = make("button", "approve", T.approveButton);
  const clock = make("span", "quiet");
  const fault = make("p", "fault");
  deny.type = approve.type = "button";
  const entry = { ends: performance.now() + approval.expires_in_ms, shownAt: performance.now(), clock, deny, approve, fault };
  deny.addEventListener("click", () => decide(approval, entry, "deny"));
  approve.addEventListener("click", () => {
    if (performance.now() - entry.shownAt > SETTLE_MS) decide(approval, entry, "approve");
  });
  const asked = new Date(approval.created_at).toLocaleTimeString();
  entry.card = make("article", "card ask",
    approvalTitle(approval),
    make("ul", "targets", ...approval.targets.map(targetLine)),
    make("p", "", ...split(T.asked, asked, approval.requested_by), ": “", data(approval.utterance), "” ", make("span", "quiet", T.heard)),
    ...approval.warnings.map((text) => make("p", "warn", "⚠ ", data(text))),
    make("p", "quiet", data([approval.tier, ...approval.reasons].join(" · "))),
    make("p", "", `${T.code} `, make("span", "match", data(approval.match_code)), " · ", clock),
    make("div", "choice", deny, approve), fault);
  approvals.set(approval.approval_id, entry);
  byId("approvals").append(entry.card);
  tick();
  if (location.hash === `#approval=${approval.approval_id}`) entry.card.scrollIntoView({ block: "center" });
  // Deny has the focus, unless a person is in the middle of typing.
  if (!(document.activeElement === byId("command") && byId("command").value)) deny.focus();
}

/** A template with data in its places. */
function split(template, ...values) {
  return template.split("{}").flatMap((part, index) => (index === 0 ? [part] : [data(values[index - 1]), part]));
}

function approvalTitle(approval) {
  const [first] = approval.targets;
  const many = approval.targets.length > 1;
  return make("h2", "", data(word(first?.verb ?? "").toUpperCase()), " – ",
    many ? fill(T.targets, approval.targets.length) : data(first?.name ?? ""));
}

function targetLine(target) {
  const ids = [target.entity, target.device].filter(Boolean).join(", ");
  const age = target.age_s === undefined ? "" : `, ${ago(target.age_s)}`;
  const state = target.now === undefined ? T.unknown : word(target.now) + age;
  return make("li", "", make("strong", "", data(`${word(target.verb)} `), data(target.name)), " ",
    make("span", "code quiet", "(", data(ids), ")"), " – ", ...split(T.state, state),
    data(Object.keys(target.args || {}).length ? ` ${JSON.stringify(target.args)}` : "", "code"));
}

function removeApproval(id) {
  approvals.get(id)?.card.remove();
  approvals.delete(id);
}

async function decide(approval, entry, decision) {
  entry.deny.disabled = entry.approve.disabled = true;
  try {
    const body = { v: 1, plan_hash: approval.plan_hash, decision };
    await call(`/api/approvals/${encodeURIComponent(approval.approval_id)}`, { body });
    removeApproval(approval.approval_id);
  } catch (fault) {
    entry.fault.textContent = clean(fault.message);
    entry.deny.disabled = entry.approve.disabled = false;
  }
}

/** Countdowns every second; ages every five. */
let ticks = 0;
function tick() {
  for (const [id, entry] of approvals) {
    const left = Math.max(0, Math.ceil((entry.ends - performance.now()) / 1000));
    entry.clock.textContent = left ? fill(T.expiresIn, `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`) : T.expired;
    if (!left) entry.deny.disabled = entry.approve.disabled = true;
    if (performance.now() > entry.ends + 10000) removeApproval(id);
  }
  if (++ticks % 5 === 0) rows.forEach((_, id) => fillRow(id));
}

// ---- start ---------------------------------------------------------------------------------------------------

function setLink(text, lost) {
  byId("link").textContent = text;
  byId("link").classList.toggle("lost", lost);
}

function show(fault) {
  byId("enter").hidden = Boolean(token);
  byId("home").hidden = byId("leave").hidden = !token;
  byId("enter-fault").textContent = fault || "";
  if (token) {
    follow();
  } else {
    setLink("", false);
    [...approvals.keys()].forEach(removeApproval);
    tasks.clear();
    entities.clear();
    byId("tasks").replaceChildren();
    drawAreas();
    byId("token").focus();
  }
}

function start() {
  document.documentElement.lang = ZH ? "zh" : "en";
  for (const [id, text] of [
    ["token-label", T.token], ["enter-button", T.enter], ["enter-hint", T.hint], ["leave", T.leave],
    ["command-label", T.command], ["send", T.send], ["stop", T.stop], ["entities-title", T.home],
  ]) byId(id).textContent = text;
  byId("command").placeholder = T.command;
  byId("enter-form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = byId("token").value.trim();
    byId("token").value = "";
    sessionStorage.setItem("token", token);
    show();
  });
  byId("leave").addEventListener("click", () => forgetToken());
  byId("command-form").addEventListener("submit", sendCommand);
  byId("stop").addEventListener("click", stopAll);
  addEventListener("hashchange", () => {
    takeTokenFromFragment();
    if (token) show();
  });
  takeTokenFromFragment();
  setInterval(tick, 1000);
  show();
}
start();
