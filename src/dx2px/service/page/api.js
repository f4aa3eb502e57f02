// Requests to the server: JSON in and out, one kind of error, the token, and waiting while it is busy.

/**
 * @typedef {{code: string, dotted: string, system: string, title: string, known: boolean,
 *   other_version: boolean}} Code
 * @typedef {{code: string, share: number}} Reason
 * @typedef {{code: string, title: string, significance: number, status: "known" | "backed-off" | "unknown",
 *   stand_in?: {code: string, title: string, codes: number}, principal?: true, mapped_from?: string[]}} Diagnosis
 * @typedef {{from: string, title: string, to: string[], via?: string,
 *   kind: "exact" | "approximate" | "parent" | "no-map" | "not-listed"}} Mapped
 * @typedef {{code: string, kind: "coded" | "background" | "principal" | "person" | "admission", title: string,
 *   significance: number, status: "known" | "unknown"}} Evidence
 * @typedef {{complete_by: string[], codes: number, listed: string[], side?: string, narrowed?: string}} Family
 * @typedef {{code: string, text: string, instead?: string}} Remark
 * @typedef {{rank: number, code: string, title: string, probability: number | null, because: Reason[],
 *   rests_on?: number | null, family?: Family}} Procedure
 * @typedef {{diagnoses: string[], evidence?: string[], procedures: string[], mass: number[][], kind?: string,
 *   reading?: string, faithfulness?: string, converged?: boolean | null}} Plan
 * @typedef {{schema: string, scope: string, diagnoses: Diagnosis[], procedures: Procedure[], plan: Plan,
 *   evidence?: Evidence[], mapping?: Mapped[], alternatives?: string[][], remarks?: Remark[],
 *   with_reasons?: number}} Explanation
 * @typedef {{kind: "unsupported" | "omitted" | "swap" | "companion" | "diagnosis", code: string, title: string,
 *   other: string | null, strength: number, probability: number, rank: number, because: Reason[],
 *   suggested: Reason[]}} Finding
 * @typedef {{id: string, findings: Finding[], unknown: string[],
 *   evidence?: {code: string, kind: string, title: string}[]}} Audited
 */

const TOKEN = "dx2px-token";
const BUSY_TRIES = 3;
const LONGEST_WAIT = 5; // seconds

/** What went wrong, as a sentence for the user. */
export class Problem extends Error {
  /**
   * @param {"away" | "busy" | "refused" | "fault"} kind
   * @param {string} message
   * @param {number} [status]
   */
  constructor(kind, message, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** @type {(state: "ok" | "busy" | "away") => void} */
let report = () => {};
/** @type {(wrong: boolean) => Promise<string | null>} */
let askForToken = async () => null;
/** @type {Promise<string | null> | null} */
let asking = null;
let token = remembered();
let waiting = 0; // requests that wait because the server is busy

/**
 * Call a function whenever it is known whether the server answers.
 * @param {(state: "ok" | "busy" | "away") => void} listener
 */
export function onHealth(listener) {
  report = listener;
}

/**
 * Set how the user is asked for a token.
 * @param {(wrong: boolean) => Promise<string | null>} question
 */
export function onTokenNeeded(question) {
  askForToken = question;
}

/**
 * Ask the server. The address is relative, so the page works under any prefix of a proxy.
 * @param {string} path such as "api/explain"
 * @param {object} [body] sent as JSON; without one the request is a GET
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function ask(path, body, signal) {
  for (let tries = 1; ; tries += 1) {
    const used = token;
    const response = await send(path, body, signal);
    if (response.status === 401 && (token !== used || (await renewToken(used)))) continue;
    if (response.status === 503 && tries < BUSY_TRIES) {
      await waitForPlace(waitOf(response), signal);
      continue;
    }
    report(response.status === 503 || waiting ? "busy" : "ok");
    return response.ok ? read(response) : refuse(response);
  }
}

/** The answer to another request must not say that all is well meanwhile. */
async function waitForPlace(milliseconds, signal) {
  waiting += 1;
  report("busy");
  try {
    await pause(milliseconds, signal);
  } finally {
    waiting -= 1;
  }
}

async function send(path, body, signal) {
  const headers = { Accept: "application/json" };
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const text = body && JSON.stringify(body);
  try {
    return await fetch(path, {
      method: body ? "POST" : "GET",
      headers,
      body: text,
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    report("away");
    throw new Problem("away", "The server is not responding. What you entered is kept.");
  }
}

async function read(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error instanceof DOMException) throw error;
    throw new Problem("fault", "The server's answer cannot be read.", response.status);
  }
}

/** Errors are problem documents (RFC 9457), but a proxy in between may send anything. */
async function refuse(response) {
  const problem = await response.json().catch(() => ({}));
  const kind = response.status === 503 ? "busy" : response.status >= 500 ? "fault" : "refused";
  const flaws = (problem.errors ?? []).slice(0, 3).map((one) => `${one.pointer} ${one.detail}`);
  const said = problem.detail || problem.title || `The server answered with an error (${response.status}).`;
  throw new Problem(kind, [said, ...flaws].join(" "), response.status);
}

/** The user is asked once, however many requests were refused. */
async function renewToken(refused) {
  asking ??= askForToken(Boolean(refused)).finally(() => (asking = null));
  const given = await asking;
  if (given === null) return false;
  token = given;
  remember(given);
  return true;
}

function waitOf(response) {
  const seconds = Number(response.headers.get("Retry-After"));
  return 1000 * Math.min(LONGEST_WAIT, seconds > 0 ? seconds : 1);
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

function remembered() {
  try {
    return sessionStorage.getItem(TOKEN) ?? "";
  } catch {
    return ""; // storage may be forbidden; then the token lives as long as the page
  }
}

function remember(text) {
  try {
    sessionStorage.setItem(TOKEN, text);
  } catch {
    // see remembered()
  }
}
