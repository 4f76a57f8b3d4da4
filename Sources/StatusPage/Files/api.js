// Requests to the daemon. Documentation/StatusAPI.md tells what there is.

/** A refusal in the one form that all errors of the interface have. */
export class Refusal extends Error {
  constructor(status, error) {
    super(error.message)
    this.status = status
    this.code = error.code
    this.hint = error.hint ?? null
    this.column = error.column ?? null
  }
}

/** No answer, or none that came to its end. Browsers throw a TypeError then, each with words of its own. */
export class NoAnswer extends TypeError {
  constructor(cause) { super('the daemon does not answer', {cause}) }
}

/** Waits for what comes from the daemon. */
export async function arrival(promise) {
  try {
    return await promise
  } catch (error) {
    throw error instanceof TypeError ? new NoAnswer(error) : error
  }
}

// In memory only: closing the page forgets it.
let token = null
let asking = null
/** True once the reader has given no token: asking again would be every other second. */
let isDeclined = false
let askForToken = async () => null
let noteToken = () => {}

/**
 * Sets how the token is asked for.
 *
 * @param ask given the reason; the token, or null if the reader gives none.
 * @param given called after each new token, which may be another one's.
 */
export function onMissingToken(ask, given) { [askForToken, noteToken] = [ask, given] }

/** Has the next request ask for a token, though the reader has given none before. */
export function askAgain() { isDeclined = false }

/** Builds the address of a request; parameters that are empty are left out. */
export function address(path, parameters = {}) {
  const query = new URLSearchParams()
  for (const [key, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== '') query.set(key, value)
  }
  const text = query.toString()
  return text ? `${path}?${text}` : path
}

/** The path of something whose name may have any characters. */
export const pathOf = (...parts) => '/v1/' + parts.map(encodeURIComponent).join('/')

/** How many requests were sent. */
export let requests = 0

/** Sends a request with the token, and asks for one if the daemon wants it. */
export async function send(path, options = {}) {
  for (;;) {
    requests += 1
    const used = token
    const headers = {...options.headers}
    if (used) headers.Authorization = `Bearer ${used}`
    const response = await arrival(fetch(path, {...options, headers, cache: 'no-store', credentials: 'omit'}))
    if (response.status !== 401 || isDeclined) return response
    if (token === used) {
      const reason = used ? 'This token is not known.' : null
      asking ??= askForToken(reason).then(takeToken).finally(() => { asking = null })
      await asking
    }
    isDeclined = !token
    if (isDeclined) return response
  }
}

function takeToken(given) {
  token = given
  if (token) noteToken()
}

/** A whole number of more digits than JavaScript's numbers have: it counts roughly, and is shown exactly. */
class LongNumber extends Number {
  #source
  constructor(source) {
    super(source)
    this.#source = source
  }
  toString() { return this.#source }
  toJSON() { return JSON.rawJSON(this.#source) }
}

/** A number as it is written, where the browser can do that; https://tc39.es/proposal-json-parse-with-source/ */
export const exact = (value, source) =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && JSON.rawJSON && /^-?[1-9]\d*$/.test(source) ? new LongNumber(source) : value

/** Reads JSON, with its numbers as they are written. */
export const parse = text => JSON.parse(text, (_, value, context) => exact(value, context?.source))

async function answer(response) {
  const isJSON = response.headers.get('Content-Type')?.startsWith('application/json')
  const body = isJSON ? parse(await arrival(response.text())) : null
  if (response.ok) return body
  throw new Refusal(response.status, body?.error ?? {code: 'unknown', message: `status ${response.status}`})
}

/** The bytes at an address, in the form that is asked for. */
export async function bytes(path, headers) {
  const response = await send(path, {headers})
  return response.ok ? arrival(response.blob()) : answer(response)
}

export const get = async (path, parameters) => answer(await send(address(path, parameters)))

/** The answer, or null if the daemon has no such thing. */
export async function find(path, parameters) {
  try {
    return await get(path, parameters)
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return null
    throw error
  }
}

export async function post(path, body = {}, parameters = {}) {
  return answer(await send(address(path, parameters), {
    method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: {'Content-Type': 'application/json'},
  }))
}

/** Who is asked for here: the user, what the role may do, and whose jobs may be changed and edited, all, the user's, or none. */
export async function whoAmI() {
  const {user, role, changes, edits} = await find('/v1/whoami') ?? {role: 'control', changes: 'all', edits: 'all'}
  return {user, maySubmit: role !== 'read', mayControl: role === 'control', changes, edits}
}
