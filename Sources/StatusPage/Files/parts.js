// Pieces that several views show.

import {link, session} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'

/** The states of jobs, in the order in which they are shown. */
export const STATES = [
  'running', 'available', 'scheduled', 'retryable', 'waiting', 'held', 'completed', 'cancelled', 'discarded', 'quarantined',
]
export const UNFINISHED = STATES.slice(0, 6)
export const FINAL = STATES.slice(6)

export const heading = (title, ...beside) => h('div.heading', null, h('h1', null, title), h('div.beside', null, beside))

export const card = (title, attributes, ...content) =>
  h('section.card', attributes, title && h('h2', null, title), content)

export const stateBadge = state => h('span.badge', {class: `state-${state}`}, state)

export const empty = (...text) => h('p.empty', null, text)

export const button = (label, onclick, attributes = {}) => h('button', {type: 'button', onclick, ...attributes}, label)

/** A button that changes something; null for who may only read. */
export const control = (label, onclick, attributes) => session.mayControl ? button(label, onclick, attributes) : null

export const time = value => value
  ? h('time', {datetime: value, title: format.dateTime(value)}, format.relative(value))
  : h('span.none', null, '–')

export const jobLink = (id, text = id) => h('a.mono', {href: link('jobs', [id])}, text)

/** Pairs of names and values; those without a value are left out. */
export const facts = pairs => h('dl.facts', null, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '')
  .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))))

/** A name, and beside it what is the matter with it. */
export const named = (name, ...beside) => h('span.named', null, h('span', null, name), beside)

/**
 * A table with what it is about as its caption. On a narrow page rows are blocks, with the titles before the values.
 *
 * @param columns each a title, as a text or an element, or {title, class}.
 * @param rows each {key, cells, class}; by the key a row is found again after a change.
 * @param form "stacked", "jobs" for rows that begin with a job, or "grid" for one that scrolls sideways instead.
 */
export function table(caption, columns, rows, form = 'stacked') {
  const titled = columns.map(column => typeof column === 'object' && !(column instanceof Node) ? column : {title: column})
  // The roles are those of the elements, which some browsers forget of blocks.
  return h('div.scroll', {tabindex: 0, role: 'region', 'aria-label': caption},
    h('table', {class: form, role: 'table'},
      h('caption.unseen', null, caption),
      h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'},
        titled.map(column => h('th', {scope: 'col', role: 'columnheader', class: column.class}, column.title)))),
      h('tbody', {role: 'rowgroup'}, rows.map(row => h('tr', {'data-key': row.key, class: row.class, role: 'row'},
        row.cells.map((cell, index) => h('td', {
          class: titled[index].class, role: 'cell', 'data-title': typeof titled[index].title === 'string' ? titled[index].title : null,
        }, cell)))))))
}

/** A list of jobs with what events have told of them; which jobs are in it, and in which order, the daemon tells. */
export const updated = (list, {jobs}) => list.map(job => jobs.get(job.id) ?? job)

/** A job's name above its type. */
export const jobCell = job => h('div.job-name', null, jobLink(job.id), h('span.type', null, job.type))

/** How a job goes, or went, in a few words. */
export function outcome(job) {
  if (job.state === 'running') return progress(job) ?? h('span.none', null, 'no progress told')
  if (job.error) return h('span.error-text', {title: job.error}, job.error)
  if (job.state === 'scheduled' || job.state === 'retryable') return h('span', null, 'due ', time(job.notBefore))
  if (job.finishedAt) {
    return h('span', null, job.startedAt && `took ${format.duration(format.secondsBetween(job.startedAt, job.finishedAt))}`,
      !job.durable && ', not on disk yet')
  }
  return h('span.none', null, '–')
}

/** How far a job is, with its rate and the time that is left. */
export function progress(job) {
  const made = job.progress
  if (!made) return null
  const rate = made.ratePerSecond === null || made.ratePerSecond === undefined ? null : speed(made)
  const left = made.secondsLeft === null || made.secondsLeft === undefined ? null : `${format.duration(made.secondsLeft)} left`
  const amount = made.fraction === null || made.fraction === undefined
    ? quantity(made.done, made.unit)
    : `${Math.floor(made.fraction * 100)} %`
  return h('div.progress', null,
    h('progress', {max: 1, value: made.fraction ?? null, 'aria-label': `Progress of ${job.id}`}),
    h('span.figures', null, [amount, rate, left].filter(Boolean).join(' · ')),
    made.message && h('span.message', null, made.message))
}

const quantity = (number, unit) => unit === 'bytes' ? format.bytes(number) : `${format.count(number ?? 0)} ${unit ?? ''}`.trim()

const speed = made =>
  (made.unit === 'bytes' ? format.bytes(made.ratePerSecond) : `${format.short(made.ratePerSecond)} ${made.unit ?? ''}`.trim()) + '/s'

/** The order of shares: what is over fills the bar from its beginning. */
const SHARES = [...FINAL, ...UNFINISHED]

/** The numbers of jobs by state in words. */
export const tally = (counts, isAtLeast = false) => format.least(
  SHARES.filter(state => counts[state] > 0).map(state => `${format.count(counts[state])} ${state}`).join(', ') || 'no job', isAtLeast)

/** A bar in shares by state, with the numbers below it. */
export function shares(counts, {of = null, isAtLeast = false} = {}) {
  const known = SHARES.filter(state => counts[state] > 0)
  if (!known.length) return h('span.none', null, 'none')
  const text = tally(counts, isAtLeast)
  const bar = h('div.shares', {role: 'img', 'aria-label': of ? `Jobs of ${of}: ${text}` : text, title: text})
  for (const state of known) {
    const share = h('span', {class: `state-${state}`})
    share.style.flexGrow = counts[state]
    bar.append(share)
  }
  return h('div.shares-line', null, bar, h('span.figures', null, text))
}

/** A message that something is wrong, with what to do about it. */
export const problem = (text, ...more) => h('p.problem', null, text, more)

/** A value of any form as text with indentation. */
export const json = value => h('pre.code', {tabindex: 0}, JSON.stringify(value, null, 2))
