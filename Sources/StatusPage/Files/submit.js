// A form that submits a job, made from the schema of its type's arguments (https://json-schema.org/draft/2020-12).

import {exact, get, parse, post, Refusal} from './api.js'
import {go, link, redraw} from './app.js'
import {note} from './dialog.js'
import {h} from './dom.js'
import {button, empty, heading, problem} from './parts.js'

async function load(_, memory) {
  // The types don't change while the form is filled in.
  memory.types ??= (await get('/v1/types')).types
  return {types: memory.types}
}

function render({types}, {parts: [name]}, memory) {
  const type = types.find(one => one.name === name)
  return [
    heading('Submit a job'),
    h('form.card.form', {onsubmit: event => { event.preventDefault(); submit(event.target, type, memory) }},
      h('label.field', {for: 'type'}, h('span', null, 'Type'), h('select', {
        id: 'type', onchange: event => go(link('submit', [event.target.value])),
      }, h('option', {value: '', disabled: true, selected: !type}, 'Choose a type'),
      types.map(one => h('option', {value: one.name, selected: one === type}, one.name)))),
      type ? [
        type.description && h('p.intro', null, type.description),
        h('div', {'data-key': type.name, 'data-own': true}, argumentFields(type), settings()),
        memory.failure && problem(memory.failure.message, memory.failure.hint && h('span.hint', null, memory.failure.hint)),
        h('div.buttons', null, h('button.primary', {type: 'submit', disabled: memory.isSending}, 'Submit')),
      ] : empty('Its arguments are asked for then.')),
  ]
}

function argumentFields(type) {
  const {schema} = type
  if (!schema) return rawField()
  if (!Object.keys(schema.properties ?? {}).length) return schema.additionalProperties === false ? h('p.intro', null, 'It takes no arguments.') : rawField()
  return h('fieldset', null, h('legend', null, 'Arguments'), group(schema, 'argument'),
    schema.additionalProperties !== false && h('p.hint', null, 'Other arguments can be given as JSON in a job file.'))
}

/** All arguments as JSON, for a type that does not say which it takes. */
const rawField = () => h('label.field', {for: 'raw'}, h('span', null, 'Arguments, as JSON'), h('textarea', {id: 'raw', rows: 6}, '{}'))

/** The fields of an object: those that must be there first, the others behind a line that opens them. */
function group(schema, path) {
  const required = new Set(schema.required ?? [])
  const entries = Object.entries(schema.properties ?? {})
  const make = ([name, inner]) => field(name, inner, `${path}-${name}`, required.has(name))
  const others = entries.filter(([name]) => !required.has(name))
  return h('div', {'data-group': true}, entries.filter(([name]) => required.has(name)).map(make),
    others.length > 4 && required.size
      ? h('details', null, h('summary', null, `${others.length} more`), others.map(make))
      : others.map(make))
}

function field(name, schema, id, isRequired) {
  const title = h('span', null, name, isRequired && h('span.required', {'aria-hidden': 'true'}, ' *'))
  const isLines = schema.type === 'array' && schema.items?.type === 'string'
  const description = [schema.description, isLines && 'One on each line.'].filter(Boolean).join(' ')
  const hint = description ? h('span.hint', {id: `${id}-hint`}, description) : null
  const common = {id, 'data-name': name, required: isRequired, 'aria-describedby': hint ? `${id}-hint` : null}
  if (schema.type === 'boolean') {
    const choice = h('select', {...common, 'data-kind': 'boolean'}, h('option', {value: ''}, 'as usual'),
      h('option', {value: 'true'}, 'yes'), h('option', {value: 'false'}, 'no'))
    return h('label.field', {for: id}, title, choice, hint)
  }
  if (schema.enum) {
    const choice = h('select', {...common, 'data-kind': 'string'}, !isRequired && h('option', {value: ''}, 'as usual'),
      schema.enum.map(value => h('option', {value}, value)))
    return h('label.field', {for: id}, title, choice, hint)
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    return h('label.field', {for: id}, title, h('input', {
      ...common, type: 'number', 'data-kind': 'number', step: schema.type === 'integer' ? 1 : 'any', min: schema.minimum, max: schema.maximum,
    }), hint)
  }
  if (schema.type === 'array' && schema.items?.type === 'object') return list(name, schema, id, isRequired)
  if (schema.type === 'string') {
    return h('label.field', {for: id}, title, h('input', {
      ...common, type: 'text', 'data-kind': 'string', spellcheck: 'false',
      placeholder: schema.format === 'path' ? '/path/of/a/file' : null,
    }), hint)
  }
  if (isLines) return h('label.field', {for: id}, title, h('textarea', {...common, 'data-kind': 'lines', rows: 2, spellcheck: 'false'}), hint)
  return h('label.field', {for: id}, title, h('textarea', {
    ...common, 'data-kind': 'json', rows: 2, placeholder: schema.type === 'array' ? '[ ]' : schema.type === 'object' ? '{ }' : 'JSON',
  }), hint)
}

/** A list of objects, with a button that adds one. */
function list(name, schema, id, isRequired) {
  const items = h('div', {'data-name': name, 'data-kind': 'list'})
  let count = 0
  const add = () => {
    const number = count += 1
    const item = h('fieldset', null, h('legend', null, `${name} ${number}`), group(schema.items, `${id}-${number}`),
      button('Remove', () => item.remove(), {class: 'danger-quiet'}))
    items.append(item)
  }
  if (isRequired) add()
  return h('div.field', null, h('span', null, name), items, h('div', null, button(`Add to ${name}`, add)))
}

/** What else a job file may say, as a schema; Documentation/JobFile.md has all of it. */
const SETTINGS = {properties: {
  id: {type: 'string', description: 'One that the daemon has seen runs once.'},
  queue: {type: 'string'},
  batch: {type: 'string'},
  priority: {type: 'integer', minimum: -100, maximum: 100, description: 'From -100 to 100; higher goes first.'},
  delay: {type: 'string', description: 'Such as 30min or 2h.'},
  timeout: {type: 'string', description: 'Such as 30s or 2min: an attempt that works for longer has failed.'},
  maxAttempts: {type: 'integer', minimum: 1, maximum: 1000, description: 'How often it may be started, from 1 to 1000.'},
  unique: {type: 'string', description: 'It is cancelled at once if an unfinished job has the same text.'},
  after: {type: 'array', items: {type: 'string'}, description: 'Jobs by ID: it starts when all of them are completed, and is cancelled if one fails.'},
}}

const settings = () => h('details', {'data-settings': true}, h('summary', null, 'More about the job'), group(SETTINGS, 'job'))

/** The value of a group of fields; what was left empty is left out. */
function read(element) {
  const value = {}
  for (const one of element.querySelectorAll('[data-name]')) {
    if (one.parentElement.closest('[data-group]') !== element) continue
    const found = one.dataset.kind === 'list'
      ? [...one.children].map(item => read(item.querySelector('[data-group]')))
      : single(one)
    if (found !== undefined && !(Array.isArray(found) && one.dataset.kind !== 'json' && !found.length)) value[one.dataset.name] = found
  }
  return value
}

function single(input) {
  if (input.value === '') return undefined
  switch (input.dataset.kind) {
    case 'boolean': return input.value === 'true'
    case 'number': return exact(Number(input.value), input.value)
    case 'json': return parsed(input)
    case 'lines': return input.value.split('\n').map(line => line.trim()).filter(Boolean)
    default: return input.value
  }
}

/** JSON that was typed; the field says what is wrong with it. */
function parsed(input) {
  try {
    return parse(input.value)
  } catch (error) {
    throw new Refusal(400, {code: 'bad-request', message: `${input.dataset.name ?? 'The arguments'}: ${error.message}`})
  }
}

async function submit(form, type, memory) {
  memory.isSending = true
  memory.failure = null
  redraw()
  try {
    const raw = form.querySelector('#raw')
    const fields = form.querySelector('fieldset > [data-group]')
    const job = {
      ...read(form.querySelector('[data-settings] > [data-group]')), type: type.name, arguments: raw ? parsed(raw) : fields ? read(fields) : {},
    }
    const {jobs} = await post('/v1/jobs', job)
    memory.isSending = false
    note(jobs[0].repeated ? `${jobs[0].id} is known already` : `${jobs[0].id} is accepted`)
    go(link('jobs', [jobs[0].id]))
  } catch (error) {
    memory.isSending = false
    memory.failure = error
    redraw()
  }
}

export default {load, render, wants: ['reset']}
