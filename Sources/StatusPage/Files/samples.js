// How it was: samples that the daemon keeps for a week, or those that the page has seen itself.

import {find} from './api.js'

/** The spans that can be shown, in seconds. */
export const SPANS = {hour: 3600, day: 86_400, week: 604_800}

const DEPTH = ['available', 'scheduled', 'waiting', 'held', 'retryable']
const FAILED = ['discarded', 'quarantined']

/** False once the daemon has said that it keeps none. */
let isKept = true

/**
 * Columns of samples, the oldest first: times in milliseconds, rates per second, seconds of waiting, and depth.
 *
 * @param status the present status, which is a sample for a page of a daemon that keeps none.
 */
export async function history(span, status) {
  if (isKept) {
    // The last hour is the daemon's, whose clock may differ: it has fine samples of no more than that.
    const since = span === 'hour' ? null : new Date(Date.now() - SPANS[span] * 1000).toISOString()
    const reply = await find('/v1/samples', {since})
    if (reply) return kept(reply)
    isKept = false
  }
  return seen(status)
}

function kept({stepSeconds, start, samples}) {
  const length = Math.max(0, ...Object.values(samples).map(column => column.length))
  const first = Date.parse(start)
  const each = make => Array.from({length}, (_, index) => make(name => samples[name]?.[index] ?? null))
  const times = Array.from({length}, (_, index) => first + index * stepSeconds * 1000)
  const per = names => each(at => sum(names.map(at))).map((total, index) =>
    // The last span is not over yet: what there is of it would look like a fall.
    total === null || index === length - 1 ? null : total / stepSeconds)
  return {
    isKept: true, times,
    completed: per(['completed']), cancelled: per(['cancelled']), failed: per(FAILED), depth: each(at => sum(DEPTH.map(at))),
    waiting: each(at => seconds(at('waitingP50'))), longWaiting: each(at => seconds(at('waitingP95'))),
    diskFree: samples.diskFree?.findLast(bytes => bytes !== null) ?? null,
  }
}

const seconds = milliseconds => milliseconds === null ? null : milliseconds / 1000

/** The sum of what is known; null if nothing is. */
const sum = values => values.every(value => value === null) ? null : values.reduce((total, value) => total + (value ?? 0), 0)

const own = []
const LIMIT = 900

function seen({jobs}) {
  own.push({time: Date.now(), jobs})
  if (own.length > LIMIT) own.shift()
  return {
    isKept: false, times: own.map(one => one.time), completed: own.map((_, index) => rate(index, ['completed'])),
    cancelled: own.map((_, index) => rate(index, ['cancelled'])), failed: own.map((_, index) => rate(index, FAILED)),
    depth: own.map(one => sum(DEPTH.map(state => one.jobs[state] ?? 0))),
    waiting: [], longWaiting: [], diskFree: null,
  }
}

/** How many jobs came to a state per second since the sample before; null across a restart, where counts begin anew. */
function rate(index, states) {
  if (index === 0) return null
  const [before, now] = [own[index - 1], own[index]]
  const more = states.reduce((total, state) => total + (now.jobs[state] ?? 0) - (before.jobs[state] ?? 0), 0)
  return more < 0 || now.time === before.time ? null : more / (now.time - before.time) * 1000
}
