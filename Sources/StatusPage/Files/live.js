// What changes: events that the daemon sends, or looks every other second if it sends none; nothing while the tab is hidden.

import {parse, Refusal, send} from './api.js'

/** The time between looks, and between attempts to hear events again, in milliseconds. */
const LOOK = 2000
/** The shortest time between two calls of the listener. */
const PAUSE = 500

let listener = () => {}
let onLink = () => {}
let stream = null
let timer = null
let due = null
let lastCall = 0
let lastEvent = null

/**
 * Calls back when something may have changed, at most every half second.
 *
 * @param changed called with the kinds of what changed, a set of status, job, progress of a job that goes on running, removed,
 *   and reset, which is everything; and with what is known of it: the jobs by ID and the status, as far as events have them.
 * @param link called with "live", "looking", "refused", "lost" or "asleep".
 */
export function watch(changed, link) {
  listener = changed
  onLink = link
  document.addEventListener('visibilitychange', () => document.hidden ? sleep() : listen())
  if (!document.hidden) listen()
}

function sleep() {
  stream?.abort()
  stream = null
  clearTimeout(timer)
  clearTimeout(due)
  due = null
  changes = nothing()
  onLink('asleep')
}

/** Reads events until they end; falls back to looking. */
async function listen() {
  const control = new AbortController()
  stream = control
  try {
    const headers = lastEvent ? {'Last-Event-ID': lastEvent, Accept: 'text/event-stream'} : {Accept: 'text/event-stream'}
    const response = await send('/v1/events', {headers, signal: control.signal})
    if (!response.ok || !response.body) throw new Refusal(response.status, {message: `status ${response.status}`})
    onLink('live')
    tell('reset')
    await read(response.body)
  } catch (error) {
    if (control.signal.aborted) return
    onLink(error instanceof TypeError ? 'lost' : [401, 403].includes(error.status) ? 'refused' : 'looking')
    tell('reset')
  }
  if (control.signal.aborted) return
  timer = setTimeout(listen, LOOK)
}

/** Reads server-sent events; https://html.spec.whatwg.org/multipage/server-sent-events.html */
async function read(body) {
  let rest = ''
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const {done, value} = await reader.read()
    if (done) return
    const events = (rest + value).split(/\n\n|\r\n\r\n/)
    rest = events.pop()
    for (const event of events) {
      let kind = null
      let data = null
      for (const line of event.split(/\r?\n/)) {
        if (line.startsWith('event:')) kind = line.slice(6).trim()
        if (line.startsWith('data:')) data = parse(line.slice(5))
        if (line.startsWith('id:')) lastEvent = line.slice(3).trim()
      }
      if (kind) tell(kind, data)
    }
  }
}

const nothing = () => ({kinds: new Set(), jobs: new Map(), status: null})
let changes = nothing()
/** The jobs of which the last event has told that they run. */
let running = new Set()

/** Gathers what has changed; a burst of a thousand events is one call. */
function tell(kind, data) {
  if (kind === 'reset') running = new Set()
  if (kind === 'status') changes.status = data
  if (kind === 'job') {
    changes.jobs.set(data.id, data)
    if (data.state !== 'running') running.delete(data.id)
    else if (running.has(data.id)) kind = 'progress'
    else running.add(data.id)
  }
  changes.kinds.add(kind)
  due ??= setTimeout(() => {
    lastCall = performance.now()
    listener(takeGathered())
  }, Math.max(0, lastCall + PAUSE - performance.now()))
}

/** Hands out what has been gathered; the listener is not called with it any more. */
export function takeGathered() {
  clearTimeout(due)
  due = null
  const told = changes
  changes = nothing()
  return told
}
