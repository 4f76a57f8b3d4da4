// The field for predicates, which completes names, paths, operators and values.

import {find, pathOf} from './api.js'
import {go, link} from './app.js'
import {combobox} from './combobox.js'
import {h} from './dom.js'
import {button, empty} from './parts.js'

/** Words that stand between an attribute and a value, and around comparisons. */
const OPERATORS = ['==', '!=', '<', '<=', '>', '>=', 'BEGINSWITH', 'CONTAINS', 'ENDSWITH', 'LIKE', 'IN', 'BETWEEN']
const JOINTS = ['AND', 'OR']
/** Words before a comparison; the last ones make it one of a path through relationships to many. */
const OPENINGS = ['NOT', 'ANY', 'ALL', 'NONE']

/**
 * The field for the predicate in force.
 *
 * @param entity what it is about; entities are all that paths may lead to.
 * @param shown returns the objects in the list, whose values are completed.
 */
export function predicateField({entity, entities, parameters, shown}) {
  const show = predicate => go(link('objects', [entity.name], {...parameters, predicate, page: ''}))
  // A field for each predicate and order, so that neither is lost with the other.
  const key = JSON.stringify([entity.name, parameters.predicate, parameters.sort])
  return h('div.filters', null, h('div.grow', {'data-key': key}, combobox({
    id: 'predicate', label: `Predicate for ${entity.name}`, value: parameters.predicate ?? '',
    placeholder: 'Predicate: name BEGINSWITH "A" AND age > 30',
    suggest: (text, caret) => completions({entity, entities, shown}, text.slice(0, caret)),
    choose(suggestion, text, caret) {
      if (!suggestion) {
        show(text.trim())
        return text
      }
      const before = text.slice(0, caret)
      // A path goes on behind its point.
      const gap = suggestion.value.endsWith('.') ? '' : ' '
      return before.slice(0, before.length - suggestion.length) + suggestion.value + gap + text.slice(caret).trimStart()
    },
  })), parameters.predicate && button('Clear', () => show('')), entity.attributes.length === 0 && empty('It has no attributes.'))
}

/** What may follow: a name or a path, then an operator, then a value, then what joins comparisons. */
async function completions(scope, before) {
  const word = typed(before)
  const words = before.slice(0, before.length - word.length).trim().split(/[\s(),{}]+/).filter(Boolean)
  const last = words.at(-1) ?? ''
  const offer = (values, hint) => values.filter(value => value.toLowerCase().startsWith(word.toLowerCase()) && value !== word)
    .map(value => ({value, hint: hint?.(value), length: word.length}))
  const path = resolve(scope, last)
  if (path?.attribute) return offer(OPERATORS, () => path.attribute.type)
  if (isOperator(last)) {
    const compared = resolve(scope, words.at(-2) ?? '')
    return compared?.attribute ? offer(await values(scope, compared), () => 'seen here') : []
  }
  if (word.startsWith('"')) return []
  if (!last || [...JOINTS, ...OPENINGS].includes(last.toUpperCase())) return offer(...names(scope, word))
  return offer(JOINTS)
}

/** Operators may say how they compare: `BEGINSWITH[c]`. */
const isOperator = word => OPERATORS.includes(word.replace(/\[\w*\]$/, '').toUpperCase())

/** The word that ends the text, which is a text in quotation marks if one is open. */
function typed(before) {
  const open = /^(?:[^"]|"(?:[^"\\]|\\.)*")*?("(?:[^"\\]|\\.)*)$/.exec(before)
  return open ? open[1] : /[^\s(),{}]*$/.exec(before)[0]
}

/** The attribute at the end of a path with the entity that has it; nothing if there is none. */
function resolve({entity, entities}, path) {
  const [name, ...steps] = path.split('.').reverse()
  const owner = steps.reverse().reduce((one, step) => {
    const next = one?.relationships?.find(relationship => relationship.name === step)
    return next && entities.find(other => other.name === next.destination)
  }, entity)
  return owner && {owner, attribute: owner.attributes.find(attribute => attribute.name === name)}
}

/** What can be named where a path stands, as a list and as hints for its parts. */
function names(scope, word) {
  const begin = word.slice(0, word.lastIndexOf('.') + 1)
  const owner = resolve(scope, word)?.owner
  const known = new Map(begin ? [] : OPENINGS.map(opening => [opening, null]))
  for (const {name, type} of owner?.attributes ?? []) known.set(begin + name, type)
  for (const {name, destination, isToMany} of owner?.relationships ?? []) {
    known.set(`${begin}${name}.`, isToMany ? `several ${destination}, behind ANY` : destination)
  }
  return [[...known.keys()].sort((a, b) => OPENINGS.includes(a) - OPENINGS.includes(b)), value => known.get(value)]
}

/** The first objects of entities that paths led to. */
const sampled = new Map()

/** The values of an attribute that objects in the list have, or the first ones where a path leads, as predicates have them. */
async function values({entity, shown}, {owner, attribute: {name, type}}) {
  if (owner !== entity && !sampled.has(owner.name)) {
    // Without an answer there is nothing to complete, and the next key asks again.
    const reply = await find(pathOf('objects', owner.name), {limit: 50}).catch(() => null)
    if (!reply) return []
    sampled.set(owner.name, reply.objects)
  }
  const objects = owner === entity ? shown() : sampled.get(owner.name)
  const found = objects.map(object => object.values[name]).filter(value => value !== null && value !== undefined && !value.href)
  const isPlain = /^(Integer|Double|Float|Decimal|Boolean)/.test(type)
  const text = value => isPlain ? String(value) : `"${String(value).replace(/["\\]/g, '\\$&')}"`
  return [...new Set(found.map(text))].filter(value => value.length <= 100).sort()
}
