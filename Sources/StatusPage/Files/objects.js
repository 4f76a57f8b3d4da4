// Objects: what jobs have written, by entity, with predicates.

import {address, bytes, find, get, pathOf, Refusal} from './api.js'
import {link, redraw} from './app.js'
import {attempt} from './dialog.js'
import {h} from './dom.js'
import * as format from './format.js'
import {button, empty, heading, problem, table} from './parts.js'
import {thumbnail} from './pictures.js'
import {predicateField} from './predicates.js'

const PAGE = 50

async function load({parts: [name], parameters}, memory) {
  const {entities: imported, readOnly = []} = await get('/v1/entities')
  const entities = [...imported, ...readOnly]
  if (!name) return {entities}
  const entity = entities.find(one => one.name === name)
  if (!entity) return {entities, name, failure: {message: `There is no entity ${name}.`}}
  try {
    const reply = await find(pathOf('objects', name), {
      predicate: parameters.predicate, sort: parameters.sort, cursor: parameters.page, limit: PAGE,
    })
    if (reply) count(name, parameters.predicate, memory)
    return {entities, name, entity, reply}
  } catch (error) {
    // A predicate with a mistake is for whoever writes it, with the list of entities still there.
    if (error instanceof Refusal && error.status === 400) return {entities, name, entity, failure: error}
    throw error
  }
}

/** Counts the objects that match, for which their rows need not wait: it may take long, or too long. */
async function count(name, predicate, memory) {
  const key = predicate ?? ''
  if (memory.counted?.key !== key) memory.counted = {key, text: 'counting …'}
  const {counted} = memory
  if (counted.isAsked) return
  counted.isAsked = true
  try {
    const reply = await get(pathOf('objects', name), {predicate, limit: 1, count: 'true'})
    counted.text = format.plural(reply.count, 'object')
  } catch (error) {
    counted.text = `not counted: ${error.message}`
  }
  counted.isAsked = false
  redraw()
}

function render({entities, name, entity, reply, failure}, {parameters}, memory) {
  memory.objects = reply?.objects ?? []
  return [
    heading('Objects', entity && reply && exports(name, parameters)),
    h('div.entities', null,
      h('nav', {'aria-label': 'Entities'}, entities.length
        ? h('ul', null, entities.map(one => h('li', null, h('a', {
          href: link('objects', [one.name]), 'aria-current': one.name === name ? 'true' : null,
        }, one.name))))
        : empty('No model defines an entity.')),
      h('div.rows', null, entity ? [
        predicateField({entity, entities, parameters, shown: () => memory.objects}),
        failure && problem(failure.message, hint(failure) && h('span.hint', null, hint(failure))),
        reply ? rows(entity, reply, parameters, memory) : !failure && empty('This daemon does not answer queries for objects.'),
      ] : failure ? problem(failure.message) : entities.length > 0 && empty('Choose an entity to see its objects.'))),
  ]
}

/** What helps to mend a predicate. */
const hint = ({hint, column}) => [column && `It is at character ${column}.`, hint].filter(Boolean).join(' ')

const FORMS = {CSV: 'text/csv', NDJSON: 'application/x-ndjson'}

const exports = (name, filters) => Object.keys(FORMS).map(form =>
  button(form, () => attempt(() => download(name, filters, form)), {'aria-label': `Download all that match as ${form}`}))

/** Saves all objects that match; a plain link could carry neither the form nor the token. */
async function download(name, {predicate, sort}, form) {
  const made = URL.createObjectURL(await bytes(address(pathOf('objects', name), {predicate, sort}), {Accept: FORMS[form]}))
  h('a', {href: made, download: `${name}.${form.toLowerCase()}`}).click()
  URL.revokeObjectURL(made)
}

function rows(entity, reply, parameters, memory) {
  if (!reply.objects.length) return empty('No object matches.')
  const names = [...new Set(reply.objects.flatMap(object => Object.keys(object.values)))]
  const order = [...entity.attributes.map(one => one.name), ...names].filter((name, index, all) => all.indexOf(name) === index && names.includes(name))
  const types = Object.fromEntries(entity.attributes.map(({name, type}) => [name, type]))
  const columns = [{title: 'ID', class: 'number'},
    ...order.map(name => ({title: sortable(entity, name, parameters), class: NUMBERS.test(types[name]) ? 'number' : null}))]
  return [
    table(`Objects of ${entity.name}`, columns, reply.objects.map(object => ({
      key: object.id, cells: [object.id, ...order.map(name => cell(entity, object, name, types[name]))],
    })), 'grid'),
    h('nav.pages', {'aria-label': 'Pages'},
      parameters.page && button('Back', () => history.back()),
      h('span', null, memory.counted?.text),
      reply.next && h('a.button', {href: link('objects', [entity.name], {...parameters, page: reply.next})}, 'More')),
  ]
}

/** The types of attributes whose values are aligned at their ends. */
const NUMBERS = /^(Integer|Double|Float|Decimal)/

/** A moment without what most of them do not have. */
const moment = text => String(text).replace('T', ' ').replace(/(\.000)?Z$/, '')

function sortable(entity, name, parameters) {
  if (!entity.attributes.some(one => one.name === name)) return name
  const direction = parameters.sort === name ? '↑' : parameters.sort === `-${name}` ? '↓' : ''
  return h('a', {href: link('objects', [entity.name], {...parameters, page: '', sort: direction === '↑' ? `-${name}` : name})},
    name, direction && ` ${direction}`)
}

function cell(entity, object, name, type) {
  const value = object.values[name]
  if (value === null || value === undefined) return h('span.none', null, 'nil')
  // A number of many digits is an object, too.
  if (typeof value !== 'object' || value instanceof Number) return h('span.value-text', {title: String(value)}, type === 'Date' ? moment(value) : String(value))
  if (value.href) {
    return [entity.name === 'ImageBlob' && thumbnail(value, `${entity.name} ${object.id}`),
      h('span.hint', null, format.bytes(value.bytes))]
  }
  if (value.entity) return h('a', {href: link('objects', [value.entity])}, `${value.entity} ${value.id}`)
  return h('code', null, JSON.stringify(value))
}

export default {load, render, wants: ['reset']}
