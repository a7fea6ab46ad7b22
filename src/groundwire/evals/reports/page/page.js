"use strict";
// Lists the trials and shows one of them. Whatever a record says goes into the page as text, never as markup.
(() => {
  const PAGE = 100;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const find = (id) => document.getElementById(id);
  const { combinations, scenarios, trials } = read("data");
  const names = combinations.map((names) => names.join(" · "));
  trials.forEach((trial, place) => (trial.id = place + 1));
  const bad = (trial) => trial.status !== "passed";
  const filters = { combination: "", scenario: "", status: trials.some(bad) ? "bad" : "", code: "" };
  let listed = [];
  let shown = 0;
  let current = -1;

  function make(name, { text, className, ...attributes } = {}, ...children) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.filter((child) => child));
    return element;
  }

  const duration = (ms) => (ms < 1000 ? `${ms < 10 ? ms : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
  const pretty = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  const where = (trial) => `all of it is in trials.jsonl beside this file, in the line with "seed":${trial.seed}`;
  const badge = (status) => make("span", { text: status, className: `status ${status}` });

  function matches(trial) {
    return (
      (filters.combination === "" || trial.combination === Number(filters.combination)) &&
      (filters.scenario === "" || trial.scenario === Number(filters.scenario)) &&
      (filters.code === "" || trial.code === filters.code) &&
      (filters.status === "" || (filters.status === "bad" ? bad(trial) : trial.status === filters.status))
    );
  }

  function list() {
    for (const [key, value] of Object.entries(filters)) find(`filter-${key}`).value = value;
    listed = trials.filter(matches);
    shown = 0;
    find("trial-rows").replaceChildren();
    more();
    find("trial-count").textContent = `${listed.length} of ${trials.length}`;
  }

  function more() {
    const rows = listed.slice(shown, shown + PAGE).map((trial, place) => row(trial, shown + place));
    find("trial-rows").append(...rows);
    shown += rows.length;
    const left = listed.length - shown;
    find("trial-more").hidden = left === 0;
    find("trial-more").textContent = `Show ${Math.min(PAGE, left)} more of ${left}`;
  }

  function row(trial, place) {
    const cell = (text, className = "") => make("td", { text, className });
    const open = make("button", { type: "button", text: `${scenarios[trial.scenario]} · ${trial.number}` });
    const element = make(
      "tr",
      {},
      make("td", {}, badge(trial.status)),
      make("td", {}, open),
      cell(names[trial.combination]),
      cell(trial.blame && trial.blame !== "model" ? `${trial.code} (${trial.blame})` : trial.code),
      cell(duration(trial.latency), "number"),
      cell(String(trial.calls), "number"),
      cell((trial.input + trial.output).toLocaleString("en"), "number"),
    );
    element.addEventListener("click", () => show(place));
    return element;
  }

  const unpacked = new Map();
  async function unpack(number) {
    if (!unpacked.has(number)) {
      const bytes = Uint8Array.from(atob(find(`chunk-${number}`).textContent), (char) => char.charCodeAt(0));
      const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      unpacked.set(number, new Response(stream).json());
    }
    return unpacked.get(number);
  }

  async function show(place) {
    current = place;
    const trial = listed[place];
    find("trial-title").textContent = `${scenarios[trial.scenario]} · ${trial.number}`;
    find("trial-previous").disabled = place === 0;
    find("trial-next").disabled = place === listed.length - 1;
    if (!find("trial").open) find("trial").showModal();
    history.replaceState(null, "", `#trial-${trial.id}`);
    const body = find("trial-body");
    let detail = null;
    let problem = `It is too long for this page: ${where(trial)}.`;
    try {
      if (trial.place) detail = (await unpack(trial.place[0]))[trial.place[1]];
    } catch (error) {
      problem = `This browser cannot unpack it (${error}): ${where(trial)}.`;
    }
    if (current !== place) return;
    body.replaceChildren(...head(trial, detail ?? {}), ...(detail ? content(trial, detail) : [make("p", { text: problem, className: "said" })]));
    body.scrollTop = 0;
  }

  function head(trial, detail) {
    const [model, profile, strategy] = combinations[trial.combination];
    const facts = {
      Model: model, Profile: profile, Strategy: strategy, Outcome: detail.outcome, Steps: detail.steps,
      Latency: duration(trial.latency), Tokens: `${trial.input} read, ${trial.output} written`,
      Cost: trial.cost === null ? "" : `$${Number(trial.cost.toPrecision(3))}`, Seed: trial.seed, Attempts: detail.attempts > 1 ? detail.attempts : "",
      Started: detail.startedAt, Runs: (detail.runIds ?? []).join(", "),
    };
    const meta = make("dl", { className: "meta" });
    for (const [name, value] of Object.entries(facts)) {
      if (value !== undefined && value !== "") meta.append(make("div", {}, make("dt", { text: name }), make("dd", { text: String(value) })));
    }
    const why = [trial.code, trial.blame && `blame: ${trial.blame}`].filter(Boolean).join(" · ");
    const said = bad(trial) ? make("p", { className: "said", text: [why, detail.message].filter(Boolean).join("\n") }) : null;
    return [badge(trial.status), said, meta].filter(Boolean);
  }

  function content(trial, detail) {
    const parts = [];
    if (detail.cut) parts.push(make("p", { className: "quiet", text: `Long texts are cut here: ${where(trial)}.` }));
    section(parts, "Findings", detail.findings, finding);
    section(parts, "Conversation", detail.conversation, item);
    section(parts, "Calls", detail.calls, call);
    if (detail.state !== null && detail.state !== undefined) parts.push(make("h3", { text: "State that was left" }), make("pre", { text: pretty(detail.state) }));
    return parts;
  }

  function section(parts, title, entries, render) {
    if (entries && entries.length) parts.push(make("h3", { text: title }), make("div", {}, ...entries.map(render)));
  }

  function line(label, className, ...children) {
    return make("div", { className: `item ${className}` }, make("div", { text: label }), make("div", {}, ...children));
  }

  function finding(one) {
    const text = [one.code, one.message].filter(Boolean).join(": ") || "as it should be";
    const counts = Object.entries(one.counts ?? {}).map(([name, count]) => `${name} ${count}`).join(", ");
    const detail = Object.keys(one.detail ?? {}).length ? folded("detail", one.detail) : null;
    return line(one.check, one.passed ? "" : "bad", make("p", { text: one.passed ? text : `✗ ${text}` }), counts ? make("small", { text: counts }) : null, detail);
  }

  function call(one) {
    const gave = one.ok ? one.data : one.error || one.data;
    return line(one.ok ? "ok" : "failed", one.ok ? "" : "bad", make("p", {}, make("b", { text: one.name })), make("pre", { text: pretty(one.arguments) }), gave === undefined || gave === null ? null : folded("gave", gave));
  }

  function folded(name, value) {
    return make("details", {}, make("summary", { text: name }), make("pre", { text: pretty(value) }));
  }

  function item(one) {
    const parts = (one.parts ?? []).map(part);
    if (one.kind === "message") return line(one.role, one.role === "assistant" ? "assistant" : "", ...(parts.length ? parts : [make("p", { className: "thought", text: "(nothing)" })]));
    if (one.kind === "reasoning") return line("thinks", "", make("p", { className: "thought", text: one.text || "(not told)" }));
    if (one.kind === "call") {
      const asked = one.call ?? {};
      return line("calls", "assistant", make("p", {}, make("b", { text: asked.name ?? "" })), make("pre", { text: pretty(asked.arguments ?? asked) }));
    }
    if (one.kind === "result") return line(`${one.name || "tool"} gave`, one.failed ? "bad" : "", ...parts);
    return line(one.kind ?? "item", "", make("pre", { text: pretty(one) }));
  }

  function part(one) {
    if (one.kind === "text") return looksLikeJson(one.text) ? make("pre", { text: indent(one.text) }) : make("p", { text: one.text });
    if (one.kind === "refusal") return make("p", { className: "thought", text: one.text });
    return make("pre", { text: pretty(one) });
  }

  const looksLikeJson = (text) => /^\s*[[{]/.test(text);
  function indent(text) {
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }

  function choose(changes) {
    Object.assign(filters, { combination: "", scenario: "", status: "", code: "" }, changes);
    list();
    find("trials").scrollIntoView();
    find("trial-rows").querySelector("button")?.focus({ preventScroll: true });
  }

  function fill(key, entries) {
    const select = find(`filter-${key}`);
    select.append(...[["", "all"], ...entries].map(([value, text]) => make("option", { value, text })));
    select.addEventListener("change", () => {
      filters[key] = select.value;
      list();
    });
  }

  function sortBy(header) {
    const table = header.closest("table");
    const column = header.cellIndex;
    const numeric = header.classList.contains("number");
    const order = header.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? (numeric ? "ascending" : "descending") : numeric ? "descending" : "ascending";
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", order);
    const key = (row) => (numeric ? Number(row.cells[column].dataset.value) : row.cells[column].textContent);
    const compare = (a, b) => (numeric ? key(a) - key(b) : key(a).localeCompare(key(b)));
    const sorted = [...table.tBodies[0].rows].sort((a, b) => (order === "ascending" ? compare(a, b) : compare(b, a)));
    table.tBodies[0].append(...sorted);
  }

  fill("combination", names.map((name, number) => [String(number), name]));
  fill("scenario", scenarios.map((name, number) => [String(number), name]));
  fill("status", [["bad", "not passed"], ["passed", "passed"], ["failed", "failed"], ["invalid", "invalid"]]);
  fill("code", [...new Set(trials.map((trial) => trial.code).filter(Boolean))].sort().map((code) => [code, code]));
  list();

  find("filter-clear").addEventListener("click", () => choose({}));
  find("trial-more").addEventListener("click", more);
  find("trial-close").addEventListener("click", () => find("trial").close());
  find("trial-previous").addEventListener("click", () => show(current - 1));
  find("trial-next").addEventListener("click", () => show(current + 1));
  find("trial").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
  find("trial").addEventListener("click", (event) => {
    if (event.target === find("trial")) find("trial").close();
  });
  find("trial").addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft" && current > 0) show(current - 1);
    if (event.key === "ArrowRight" && current < listed.length - 1) show(current + 1);
  });
  document.querySelectorAll("[data-combination], [data-code]").forEach((button) => {
    if (button.tagName !== "BUTTON") return;
    const { combination = "", scenario = "", code = "", status = "" } = button.dataset;
    button.addEventListener("click", () => choose({ combination, scenario, code, status }));
  });
  document.querySelectorAll(".results th button").forEach((button) => button.addEventListener("click", () => sortBy(button.closest("th"))));

  function openLinked() {
    const wanted = /^#trial-(\d+)$/.exec(location.hash);
    const trial = wanted && trials[Number(wanted[1]) - 1];
    if (!trial) return;
    if (!listed.includes(trial)) {
      Object.assign(filters, { combination: "", scenario: "", status: "", code: "" });
      list();
    }
    show(listed.indexOf(trial));
  }
  addEventListener("hashchange", openLinked);
  openLinked();
})();
