// Filters of jobs: what they are called in addresses, how they are typed, and what completes them.

import {find, pathOf} from './api.js'
import {combobox} from './combobox.js'
import {h} from './dom.js'
import {STATES} from './parts.js'

/** The filters by name, each with what it means. */
export const FILTERS = {
  state: 'how it is: running, held, ...',
  type: 'what it does',
  queue: 'where it waits',
  batch: 'what it belongs to',
  submitter: 'the number of the user',
  since: 'accepted then or later: 2h, or 2026-11-21T10:00:00Z',
  until: 'accepted before: 30min, or 2026-11-21T10:00:00Z',
  text: 'part of its ID, of its error or of the name of its file',
}

/** What the filters by arguments begin with: `argument.preset:web` are the jobs whose argument `preset` is `web`. */
const ARGUMENT = 'argument.'

const isFilter = name => Object.hasOwn(FILTERS, name) || (name.startsWith(ARGUMENT) && name.length > ARGUMENT.length)

/** The names of the filters in force. */
const inForce = parameters => [
  ...Object.keys(FILTERS), ...Object.keys(parameters).filter(name => name.startsWith(ARGUMENT) && isFilter(name)),
].filter(name => parameters[name])

/** The filters in an address, as the daemon is asked for them. */
export function query(parameters) {
  return Object.fromEntries(inForce(parameters).map(name =>
    [name, name === 'since' || name === 'until' ? moment(parameters[name]) : parameters[name]]))
}

/** The filters of a query as the body of a command has them. */
export function condition(query) {
  const result = {}
  for (const [name, value] of Object.entries(query)) {
    if (name.startsWith(ARGUMENT)) (result.argument ??= {})[name.slice(ARGUMENT.length)] = value
    else result[name] = value
  }
  return result
}

const UNITS = {s: 1, min: 60, m: 60, h: 3600, d: 86400}

/** A moment as the daemon takes it; "2h" is two hours ago. */
function moment(text) {
  const match = /^(\d+)\s*(s|min|m|h|d)$/.exec(text.trim())
  if (!match) return text
  // To the minute, so that the next look asks for the same and not for a little less.
  const time = Date.now() - match[1] * UNITS[match[2]] * 1000
  return new Date(Math.floor(time / 1000) * 1000).toISOString()
}

/**
 * The field where filters are typed, with those in force before it.
 *
 * @param parameters the filters in force.
 * @param values returns the values that are known of each filter; given what was typed.
 * @param change called with the filters that are to be in force.
 */
export function filterField(parameters, values, change) {
  const names = inForce(parameters)
  const without = name => Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== name && key !== 'page'))
  const set = (name, value) => change({...without(name), [name]: value})
  const chips = names.map(name => h('li.chip', null,
    h('span', null, h('b', null, name), ' ', parameters[name]),
    h('button.quiet', {type: 'button', 'aria-label': `Remove the filter ${name}`, onclick: () => change(without(name))}, '×')))
  return h('div.filters', null,
    h('ul.chips', {'aria-label': 'Filters in force'}, chips),
    // A field for each set of filters, so that it completes with what is in force.
    h('div.grow', {'data-key': JSON.stringify(without('page'))}, combobox({
      id: 'filter', label: 'Filter jobs', placeholder: 'Filter: type:import, batch:…, or any text',
      suggest: async text => suggestions(text, await values(text)),
      choose(suggestion, text) {
        if (suggestion?.isName) return suggestion.value
        const typed = suggestion?.value ?? text.trim()
        if (!typed) return ''
        const [name, ...rest] = typed.split(':')
        if (isFilter(name) && rest.length) {
          if (!rest.join(':').trim()) return typed
          set(name, rest.join(':').trim())
        } else {
          set('text', typed)
        }
        return ''
      },
      erase: () => names.length && change(without(names.at(-1))),
    })))
}

/** Names while a name is typed, values behind its colon, and values of any name that have the text in them. */
function suggestions(text, values) {
  const [name, ...rest] = text.split(':')
  if (rest.length && isFilter(name)) {
    const part = rest.join(':').trim().toLowerCase()
    return (values[name] ?? []).filter(value => value.toLowerCase().includes(part))
      .map(value => ({value: `${name}:${value}`, label: value, hint: name}))
  }
  const part = text.trim().toLowerCase()
  const named = Object.entries(FILTERS)
  // One name for all arguments, of which those of the jobs in the list are only known once it is typed.
  if (part !== ARGUMENT) named.push([ARGUMENT, 'what it was given: argument.preset:web'])
  // An argument is also found by its own name.
  if (part) named.push(...Object.keys(values).filter(key => key.startsWith(ARGUMENT)).map(key => [key, 'an argument']))
  const names = named.filter(([key]) => key.startsWith(part) || (key.startsWith(ARGUMENT) && key.slice(ARGUMENT.length).startsWith(part)))
    .map(([key, hint]) => key === ARGUMENT
      ? {value: key, label: `${key}NAME:`, hint, isName: true} : {value: `${key}:`, label: `${key}:`, hint, isName: true})
  if (!part) return names
  const found = Object.entries(values).flatMap(([key, known]) => known.filter(value => value.toLowerCase().includes(part))
    .map(value => ({value: `${key}:${value}`, label: `${key}:${value}`})))
  return [...names, ...found, {value: `text:${text.trim()}`, label: text.trim(), hint: 'anywhere in the text'}]
}

let known = null

/**
 * The values that filters may have: those that the daemon tells, asked for once a minute at most, and those of the jobs in the list.
 *
 * @param text what was typed: the arguments of jobs are asked for once an argument is.
 */
export async function knownValues(jobs, parameters, text) {
  if (!known || Date.now() - known.time > 60_000) {
    // Where one is not answered, others still complete.
    const [queues, types, batches] = await Promise.all([
      find('/v1/queues').catch(() => null), find('/v1/types').catch(() => null), find('/v1/batches').catch(() => null),
    ])
    known = {
      time: Date.now(),
      queue: queues?.queues.map(queue => queue.name) ?? [],
      types: types?.types ?? [],
      type: [...(types?.types ?? []), ...(queues?.types ?? [])].map(type => type.name),
      batch: batches?.batches.map(batch => batch.name) ?? [],
    }
  }
  const listed = key => jobs.map(job => job[key]).filter(value => value !== null && value !== undefined).map(String)
  const merge = (...lists) => [...new Set(lists.flat())].sort()
  return {
    state: STATES, type: merge(known.type, listed('type')), queue: merge(known.queue, listed('queue')),
    batch: merge(known.batch, listed('batch')), submitter: merge(listed('submitter')), since: ['10min', '1h', '1d', '7d'],
    until: ['10min', '1h', '1d', '7d'],
    ...argumentValues(known.types.filter(type => !parameters.type || type.name === parameters.type),
      text.startsWith(ARGUMENT) ? await seenArguments(jobs) : []),
  }
}

/** The arguments of jobs by ID, which do not change. */
const seen = new Map()
const LIMIT = 500
/** The most jobs whose arguments are asked for at once. */
const MOST = 25

/** The arguments of the first jobs in the list, which does not tell them. */
async function seenArguments(jobs) {
  const wanted = jobs.slice(0, MOST).map(job => job.id)
  if (seen.size > LIMIT) seen.clear()
  // What one job has is a help, and its absence no harm.
  await Promise.all(wanted.filter(id => !seen.has(id)).map(async id => {
    const job = await find(pathOf('jobs', id)).catch(() => null)
    if (job) seen.set(id, job.arguments ?? {})
  }))
  return wanted.map(id => seen.get(id)).filter(Boolean)
}

/** The filters by arguments, with the values that the schemas of types list and those that jobs have. */
function argumentValues(types, given) {
  const result = {}
  const add = (key, values) => { result[ARGUMENT + key] = [...new Set([...result[ARGUMENT + key] ?? [], ...values.map(String)])] }
  for (const [key, schema] of types.flatMap(type => Object.entries(type.schema?.properties ?? {}))) {
    const values = schema.enum ?? (schema.type === 'boolean' ? [true, false] : [])
    // What is no single value can't be typed.
    if (schema.type === 'object' || schema.type === 'array') continue
    add(key, values)
  }
  for (const [key, value] of given.flatMap(Object.entries)) {
    if (value !== null && (typeof value !== 'object' || value instanceof Number) && String(value).length <= 100) add(key, [value])
  }
  return result
}
