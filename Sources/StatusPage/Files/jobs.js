// Jobs: a list that lives, with filters in the address and commands for a selection.

import {get} from './api.js'
import {commandButtons} from './actions.js'
import {go, link, mayChange, redraw, session} from './app.js'
import {h} from './dom.js'
import {filterField, knownValues, query} from './filters.js'
import * as format from './format.js'
import {button, empty, heading, jobCell, named, outcome, stateBadge, STATES, table, time, updated} from './parts.js'

const PAGE = 50
/** How long is looked for jobs before those that were found are shown, in milliseconds. */
const PATIENCE = 1000

/** Asks for one page; the address of a later page has its cursor. */
async function load({parameters}, memory, isShown) {
  const filters = query(parameters)
  // The counts tell how many jobs each state has under the other filters, unless that means to read all of them.
  const isRead = Object.keys(filters).some(name => name === 'text' || name.startsWith('argument.'))
  const reply = await page({...filters, cursor: parameters.page, counts: isRead ? null : 'true'}, isShown)
  return {...reply, ...exactly(reply, parameters)}
}

/**
 * A page of jobs: the daemon looks at some records for each request, so where few match, it is asked to go on.
 *
 * @param isShown tells whether somebody still waits for it.
 */
async function page(asked, isShown) {
  const end = performance.now() + PATIENCE
  const jobs = []
  let counted = null
  for (let {cursor, counts} = asked; ;) {
    const reply = await get('/v1/jobs', {...asked, cursor, counts, limit: PAGE - jobs.length})
    jobs.push(...reply.jobs)
    counted ??= {counts: reply.counts ?? null, countsAtLeast: reply.countsAtLeast}
    cursor = reply.next
    counts = null
    if (cursor && jobs.length < PAGE && performance.now() < end && isShown()) continue
    // The replies behind the first one tell its count, which is none of what was found since.
    const isAll = !cursor && !asked.cursor
    return {...counted, jobs, next: cursor, total: isAll ? jobs.length : Math.max(reply.count, jobs.length), atLeast: reply.atLeast && !isAll}
  }
}

/** The number of jobs as the counts have it, where a page only tells that they are no less; nothing where the counts don't know either. */
const exactly = ({atLeast, counts, countsAtLeast}, {state}) => atLeast && counts && !countsAtLeast
  ? {total: sum(counts, state ? state.split(',') : undefined), atLeast: false} : {}

const sum = (counts, states = Object.keys(counts)) => states.reduce((total, state) => total + (counts[state] ?? 0), 0)

function render({jobs, total, atLeast, next, counts, countsAtLeast}, {parameters}, memory) {
  memory.selected ??= new Set()
  // "All that match" is never more than what was shown when it was chosen.
  const filters = JSON.stringify({...parameters, page: ''})
  if (memory.filters !== filters) clear(memory)
  memory.filters = filters
  // The field stays while the list goes on, and completes what the list has then.
  memory.jobs = jobs
  const change = filters => go(link('jobs', [], filters))
  const here = new Set(jobs.map(job => job.id))
  for (const id of memory.selected) if (!here.has(id) && !memory.isAll) memory.selected.delete(id)
  return [
    heading('Jobs', session.maySubmit && h('a.button.primary', {href: link('submit')}, 'Submit a job')),
    tabs(parameters, counts, countsAtLeast),
    filterField(parameters, text => knownValues(memory.jobs, parameters, text), change),
    mayChange() && commandBar({jobs, total, atLeast, counts}, parameters, memory),
    jobs.length ? list(jobs, memory) : next ? empty('No job matches among those looked at so far. “Older jobs” looks on.')
      : empty('No job matches. ', Object.keys(query(parameters)).length > 0
      && h('a', {href: link('jobs')}, 'Show all jobs')),
    h('nav.pages', {'aria-label': 'Pages'},
      parameters.page && button('Back', () => history.back()),
      h('span', null, format.least(format.plural(total, 'job'), atLeast)),
      next && h('a.button', {href: link('jobs', [], {...parameters, page: next})}, 'Older jobs')),
  ]
}

/** The states with the numbers of their jobs, as links. */
function tabs(parameters, counts, isAtLeast) {
  const chosen = new Set((parameters.state ?? '').split(',').filter(Boolean))
  const tab = (label, state, number) => h('li', null, h('a', {
    href: link('jobs', [], {...parameters, state, page: ''}), class: state ? `state-${state}` : null,
    'aria-current': (state ? chosen.has(state) : !chosen.size) ? 'true' : null,
  }, label, ' ', counts && h('span.number', null, isAtLeast && h('abbr', {title: 'at least'}, '≥ '), format.short(number))))
  return h('nav.tabs', {'aria-label': 'States'}, h('ul', null, tab('all', '', sum(counts ?? {})),
    STATES.filter(state => !counts || counts[state] || chosen.has(state)).map(state => tab(state, state, counts?.[state] ?? 0))))
}

/** What can be done to the selection, or to all that match. */
function commandBar({jobs, total, atLeast, counts}, parameters, memory) {
  const {selected} = memory
  if (!selected.size && !memory.isAll) return null
  const states = memory.isAll
    ? (parameters.state ? parameters.state.split(',') : STATES.filter(state => !counts || counts[state]))
    : [...new Set(jobs.filter(job => selected.has(job.id)).map(job => job.state))]
  const {state, ...where} = query(parameters)
  const target = () => memory.isAll ? {where, states} : {ids: [...selected]}
  return h('div.command-bar', {role: 'region', 'aria-label': 'Selected jobs'},
    h('span', null, memory.isAll ? `All ${format.least(format.plural(total, 'job'), atLeast)} that match` : `${format.plural(selected.size, 'job')} selected`),
    !memory.isAll && (atLeast || total > jobs.length) && jobs.every(job => selected.has(job.id))
      && button(atLeast ? 'Select all that match' : `Select all ${format.count(total)} that match`, () => { memory.isAll = true; redraw() }, {class: 'link'}),
    commandButtons(states, target, {done: () => clear(memory)}),
    button('Clear', () => { clear(memory); redraw() }, {class: 'quiet'}))
}

function clear(memory) {
  memory.selected.clear()
  memory.isAll = false
}

function list(jobs, memory) {
  const {selected} = memory
  const chosen = jobs.filter(job => selected.has(job.id)).length
  const everyone = h('input', {
    type: 'checkbox', 'aria-label': 'Select all on this page', checked: chosen > 0 && chosen === jobs.length,
    'data-some': chosen > 0 && chosen < jobs.length,
    onchange: event => {
      clear(memory)
      if (event.target.checked) for (const job of jobs) selected.add(job.id)
      redraw()
    },
  })
  const columns = [
    ...(mayChange() ? [{title: everyone, class: 'check'}] : []),
    {title: 'Job', class: 'job'}, {title: 'State', class: 'state'}, {title: 'Queue', class: 'minor'},
    {title: 'Attempt', class: 'number minor'}, {title: 'Progress or outcome', class: 'outcome'}, {title: 'Accepted', class: 'number when'},
  ]
  return table('Jobs', columns, jobs.map(job => ({
    key: job.id, class: selected.has(job.id) ? 'selected' : null,
    cells: [...(mayChange() ? [checkbox(job, memory)] : []), ...cells(job)],
  })), 'jobs')
}

function checkbox(job, memory) {
  return h('input', {
    type: 'checkbox', 'aria-label': `Select ${job.id}`, checked: memory.selected.has(job.id),
    onclick: event => {
      memory.isAll = false
      const isOn = event.target.checked
      // With the shift key, everything since the last one.
      for (const id of event.shiftKey ? between(memory.last, job.id) : [job.id]) {
        if (isOn) memory.selected.add(id)
        else memory.selected.delete(id)
      }
      memory.last = job.id
      redraw()
    },
  })
}

function between(first, last) {
  const ids = [...document.querySelectorAll('#main tbody tr')].map(row => row.dataset.key)
  const places = [ids.indexOf(first), ids.indexOf(last)].toSorted((a, b) => a - b)
  return places[0] < 0 ? [last] : ids.slice(places[0], places[1] + 1)
}

function cells(job) {
  return [
    jobCell(job),
    stateBadge(job.state),
    named(h('a', {href: link('jobs', [], {queue: job.queue})}, job.queue)),
    job.attempt ? `${job.attempt} of ${job.maxAttempts}` : h('span.none', null, '–'),
    outcome(job),
    time(job.createdAt),
  ]
}

const hear = (data, changes) => ({...data, jobs: updated(data.jobs, changes)})

export default {load, render, hear, wants: ['job', 'removed']}
