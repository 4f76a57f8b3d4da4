// Elements, and how a tree that is shown becomes like a new one.
//
// Texts become text nodes only: nothing here, or anywhere on the page, reads HTML out of a text.

const HANDLERS = Symbol('handlers')
const SVG = 'http://www.w3.org/2000/svg'

/**
 * Makes an element: h('a.button', {href: '#/jobs', onclick: open}, 'Jobs').
 *
 * Attributes that are null, undefined or false are left out; those that begin with "on" are handlers of events. Children are
 * nodes, texts, numbers and lists of these; null and false are none.
 */
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.')
  return build(document.createElement(tag), classes, attributes, children)
}

/** Makes an element of a drawing in the same way. */
export function svg(name, attributes, ...children) {
  const [tag, ...classes] = name.split('.')
  return build(document.createElementNS(SVG, tag), classes, attributes, children)
}

function build(element, classes, attributes, children) {
  if (classes.length) element.setAttribute('class', classes.join(' '))
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue
    if (key.startsWith('on')) {
      element[key] = value
      ;(element[HANDLERS] ??= new Set()).add(key)
    } else if (key === 'class') {
      element.setAttribute('class', [...classes, value].join(' '))
    } else {
      element.setAttribute(key, value === true ? '' : value)
    }
  }
  add(element, children)
  return element
}

function add(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) add(element, child)
    else if (child instanceof Node) element.append(child)
    else if (child !== null && child !== undefined && child !== false) element.append(String(child))
  }
}

/**
 * Makes the children of an element like those of another one, which is used up.
 *
 * What is there stays as far as it can, with its focus, its selection and its place in a list that scrolls. Elements with
 * the attribute data-key are found again wherever they have moved; one with data-own looks after its children itself.
 */
export function patch(current, next) {
  const keyed = new Map()
  for (const child of current.childNodes) {
    const key = keyOf(child)
    if (key !== null) keyed.set(key, child)
  }
  const staying = new Set([...next.childNodes].map(keyOf))
  let place = current.firstChild
  for (const wanted of [...next.childNodes]) {
    // Gone ones first, so that those behind them need not move, which would cost them the focus.
    while (place && keyOf(place) !== null && !staying.has(keyOf(place))) place = removed(place)
    const key = keyOf(wanted)
    let match = null
    if (key !== null) {
      match = keyed.get(key) ?? null
      keyed.delete(key)
    } else {
      match = place
      while (match && !isSimilar(match, wanted)) match = match.nextSibling
      // What lies before it is not wanted any more.
      while (match && place !== match && keyOf(place) === null) place = removed(place)
    }
    if (match && match.nodeName === wanted.nodeName) {
      if (match === place) place = place.nextSibling
      else current.insertBefore(match, place)
      patchNode(match, wanted)
    } else {
      current.insertBefore(wanted, place)
    }
  }
  while (place) place = removed(place)
}

function removed(node) {
  const next = node.nextSibling
  node.remove()
  return next
}

/** True if a node without a key can become another one: of the same kind, by its name and its first class. */
const isSimilar = (node, wanted) => node.nodeName === wanted.nodeName && keyOf(node) === null
  && node.classList?.item(0) === wanted.classList?.item(0)

const keyOf = node => node.nodeType === Node.ELEMENT_NODE ? node.getAttribute('data-key') : null

function patchNode(current, next) {
  if (current.nodeType !== Node.ELEMENT_NODE) {
    if (current.data !== next.data) current.data = next.data
    return
  }
  for (const {name} of [...current.attributes]) {
    if (!next.hasAttribute(name) && !isKept(current, name)) current.removeAttribute(name)
  }
  for (const {name, value} of next.attributes) {
    if (isKept(current, name) || current.getAttribute(name) === value) continue
    // The policy of the page forbids the attribute and allows the property.
    if (name === 'style') current.style.cssText = value
    else current.setAttribute(name, value)
  }
  for (const name of current[HANDLERS] ?? []) if (!next[HANDLERS]?.has(name)) current[name] = null
  for (const name of next[HANDLERS] ?? []) current[name] = next[name]
  current[HANDLERS] = next[HANDLERS]
  if (current.matches('input[type=checkbox]')) {
    current.checked = next.checked
    current.indeterminate = next.hasAttribute('data-some')
  }
  if (!current.hasAttribute('data-own')) patch(current, next)
}

/** True for what the reader has set and not the view. */
function isKept(element, name) {
  return name === 'open' && (element.nodeName === 'DETAILS' || element.nodeName === 'DIALOG')
}
