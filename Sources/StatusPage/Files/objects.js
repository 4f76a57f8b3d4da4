// Objects: what jobs have written, by entity, with predicates.

import {address, find, get, pathOf, Refusal, send} from './api.js'
import {go, link} from './app.js'
import {combobox} from './combobox.js'
import {attempt} from './dialog.js'
import {h} from './dom.js'
import * as format from './format.js'
import {button, card, empty, heading, problem, table} from './parts.js'
import {thumbnail} from './pictures.js'

const PAGE = 50

async function load({parts: [name], parameters}) {
  const {entities: imported, readOnly = []} = await get('/v1/entities')
  const entities = [...imported, ...readOnly]
  if (!name) return {entities}
  const entity = entities.find(one => one.name === name)
  if (!entity) return {entities, name, failure: {message: `There is no entity ${name}.`}}
  try {
    const reply = await find(pathOf('objects', name), {
      predicate: parameters.predicate, sort: parameters.sort, cursor: parameters.page, limit: PAGE, count: 'true',
    })
    return {entities, name, entity, reply}
  } catch (error) {
    // A predicate with a mistake is for whoever writes it, with the list of entities still there.
    if (error instanceof Refusal && error.status === 400) return {entities, name, entity, failure: error}
    throw error
  }
}

function render({entities, name, entity, reply, failure}, {parameters}) {
  return [
    heading('Objects', entity && reply && exports(name, parameters)),
    h('div.entities', null,
      h('nav', {'aria-label': 'Entities'}, entities.length
        ? h('ul', null, entities.map(one => h('li', null, h('a', {
          href: link('objects', [one.name]), 'aria-current': one.name === name ? 'true' : null,
        }, one.name))))
        : empty('No model defines an entity.')),
      h('div.rows', null, entity ? [
        predicateField(entity, parameters),
        failure && problem(failure.message, hint(failure) && h('span.hint', null, hint(failure))),
        reply ? rows(entity, reply, parameters) : !failure && empty('This daemon does not answer queries for objects.'),
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
  const response = await send(address(pathOf('objects', name), {predicate, sort}), {headers: {Accept: FORMS[form]}})
  if (!response.ok) throw new Refusal(response.status, (await response.json()).error)
  const made = URL.createObjectURL(await response.blob())
  h('a', {href: made, download: `${name}.${form.toLowerCase()}`}).click()
  URL.revokeObjectURL(made)
}

/** Words that stand between an attribute and a value, and around comparisons. */
const OPERATORS = ['==', '!=', '<', '<=', '>', '>=', 'BEGINSWITH', 'CONTAINS', 'ENDSWITH', 'LIKE', 'IN', 'BETWEEN']
const JOINTS = ['AND', 'OR']

function predicateField(entity, parameters) {
  const names = entity.attributes.map(attribute => attribute.name)
  const show = predicate => go(link('objects', [entity.name], {...parameters, predicate, page: ''}))
  return h('div.filters', null, h('div.grow', {'data-key': `${entity.name}\n${parameters.predicate ?? ''}`}, combobox({
    id: 'predicate', label: `Predicate for ${entity.name}`, value: parameters.predicate ?? '',
    placeholder: 'Predicate: name BEGINSWITH "A" AND age > 30',
    suggest: async (text, caret) => completions(entity, text.slice(0, caret)),
    choose(suggestion, text, caret) {
      if (!suggestion) {
        show(text.trim())
        return text
      }
      const before = text.slice(0, caret)
      return before.slice(0, before.length - suggestion.length) + suggestion.value + ' ' + text.slice(caret).trimStart()
    },
  })), parameters.predicate && button('Clear', () => show('')), names.length === 0 && empty('It has no attributes.'))
}

/** What may follow: a name, then an operator, then a value, then what joins comparisons. */
function completions(entity, before) {
  // In a text nothing is completed.
  if ((before.match(/"/g) ?? []).length % 2) return []
  const word = /[^\s()]*$/.exec(before)[0]
  const last = before.slice(0, before.length - word.length).trim().split(/[\s()]+/).pop()
  const attribute = entity.attributes.find(one => one.name === last)
  const offer = (values, hint) => values.filter(value => value.toLowerCase().startsWith(word.toLowerCase()) && value !== word)
    .map(value => ({value, hint: hint?.(value), length: word.length}))
  if (attribute) return offer(OPERATORS, () => attribute.type)
  if (!last || JOINTS.includes(last.toUpperCase()) || last.toUpperCase() === 'NOT') {
    return offer([...entity.attributes.map(one => one.name), 'NOT'], value => entity.attributes.find(one => one.name === value)?.type)
  }
  return OPERATORS.includes(last.toUpperCase()) ? [] : offer(JOINTS)
}

function rows(entity, reply, parameters) {
  if (!reply.objects.length) return empty('No object matches.')
  const names = [...new Set(reply.objects.flatMap(object => Object.keys(object.values)))]
  const order = [...entity.attributes.map(one => one.name), ...names].filter((name, index, all) => all.indexOf(name) === index && names.includes(name))
  const columns = ['ID', ...order.map(name => sortable(entity, name, parameters))]
  return [
    card(null, null, table(`Objects of ${entity.name}`, columns, reply.objects.map(object => ({
      key: object.id, cells: [object.id, ...order.map(name => cell(entity, object, name))],
    })))),
    h('nav.pages', {'aria-label': 'Pages'},
      parameters.page && button('Back', () => history.back()),
      h('span', null, reply.count === undefined ? '' : format.plural(reply.count, 'object')),
      reply.next && h('a.button', {href: link('objects', [entity.name], {...parameters, page: reply.next})}, 'More')),
  ]
}

function sortable(entity, name, parameters) {
  if (!entity.attributes.some(one => one.name === name)) return name
  const direction = parameters.sort === name ? '↑' : parameters.sort === `-${name}` ? '↓' : ''
  return h('a', {href: link('objects', [entity.name], {...parameters, page: '', sort: direction === '↑' ? `-${name}` : name})},
    name, direction && ` ${direction}`)
}

function cell(entity, object, name) {
  const value = object.values[name]
  if (value === null || value === undefined) return h('span.none', null, 'nil')
  if (typeof value !== 'object') return h('span.value-text', {title: String(value)}, String(value))
  if (value.href) {
    return [entity.name === 'ImageBlob' && thumbnail({address: value.href, title: `${entity.name} ${object.id}`}),
      h('span.hint', null, format.bytes(value.bytes))]
  }
  if (value.entity) return h('a', {href: link('objects', [value.entity])}, `${value.entity} ${value.id}`)
  return h('code', null, JSON.stringify(value))
}

export default {load, render, wants: ['reset']}
