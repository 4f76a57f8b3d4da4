// What changes: events that the daemon sends, or looks every other second if it sends none; nothing while the tab is hidden.

import {Refusal, send} from './api.js'

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
 * @param changed called with the set of what changed: status, job, removed, reset; everything if that is not known.
 * @param link called with "live", "looking", "refused", "lost" or "asleep".
 */
export function watch(changed, link) {
  listener = changed
  onLink = link
  document.addEventListener('visibilitychange', () => document.hidden ? sleep() : wake())
  if (!document.hidden) listen()
}

function sleep() {
  stream?.abort()
  stream = null
  clearTimeout(timer)
  clearTimeout(due)
  due = null
  onLink('asleep')
}

function wake() {
  tell('reset')
  listen()
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
      for (const line of event.split(/\r?\n/)) {
        if (line.startsWith('event:')) kind = line.slice(6).trim()
        if (line.startsWith('id:')) lastEvent = line.slice(3).trim()
      }
      if (kind) tell(kind)
    }
  }
}

let changes = new Set()

/** Gathers what has changed; a burst of a thousand events is one call. */
function tell(kind) {
  changes.add(kind)
  if (due !== null) return
  due = setTimeout(() => {
    due = null
    lastCall = performance.now()
    const told = changes
    changes = new Set()
    listener(told)
  }, Math.max(0, lastCall + PAUSE - performance.now()))
}
