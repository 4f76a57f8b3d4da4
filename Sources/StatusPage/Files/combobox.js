// A text field that completes, as https://www.w3.org/WAI/ARIA/apg/patterns/combobox/ describes it.

import {h} from './dom.js'

/**
 * Makes a field with a list of suggestions below it.
 *
 * @param suggest finds suggestions for the text, each {value, label, hint}; may take its time.
 * @param choose called with the value of the chosen suggestion, or with the text and no suggestion at Enter; returns the text
 *   that the field has afterwards.
 * @param erase called for a Backspace in an empty field.
 */
export function combobox({id, label, placeholder = '', value = '', suggest, choose, erase = () => {}}) {
  let shown = []
  let active = -1
  let turn = 0
  const list = h('ul.suggestions', {role: 'listbox', id: `${id}-list`, 'aria-label': `Suggestions for ${label}`, hidden: true})
  const input = h('input', {
    type: 'text', id, role: 'combobox', autocomplete: 'off', spellcheck: 'false', 'aria-label': label, placeholder, value,
    'aria-expanded': 'false', 'aria-controls': `${id}-list`, 'aria-autocomplete': 'list',
  })

  function close() {
    turn += 1
    shown = []
    draw()
  }

  function draw() {
    list.hidden = !shown.length
    input.setAttribute('aria-expanded', String(shown.length > 0))
    list.replaceChildren(...shown.map((suggestion, index) => h('li', {
      role: 'option', id: `${id}-${index}`, 'aria-selected': String(index === active),
      // Before the field loses the focus, which closes the list.
      onpointerdown: event => { event.preventDefault(); take(suggestion) },
    }, h('span', null, suggestion.label ?? suggestion.value), suggestion.hint && h('span.hint', null, suggestion.hint))))
    if (active >= 0 && shown.length) {
      input.setAttribute('aria-activedescendant', `${id}-${active}`)
      list.children[active].scrollIntoView({block: 'nearest'})
    } else {
      input.removeAttribute('aria-activedescendant')
    }
  }

  async function complete() {
    const mine = ++turn
    const found = await suggest(input.value, input.selectionStart)
    if (mine !== turn || document.activeElement !== input) return
    shown = found.slice(0, 50)
    active = -1
    draw()
  }

  function take(suggestion) {
    const text = choose(suggestion, input.value, input.selectionStart)
    input.value = text ?? ''
    close()
    if (text) complete()
  }

  input.oninput = complete
  input.onfocus = complete
  input.onblur = close
  input.onkeydown = event => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault()
      if (!shown.length) return complete()
      const step = event.key === 'ArrowDown' ? 1 : -1
      active = active < 0 && step < 0 ? shown.length - 1 : (active + step + shown.length) % shown.length
      draw()
    } else if (event.key === 'Enter') {
      event.preventDefault()
      take(active >= 0 ? shown[active] : null)
    } else if (event.key === 'Tab' && active >= 0) {
      event.preventDefault()
      take(shown[active])
    } else if (event.key === 'Escape' && shown.length) {
      event.preventDefault()
      close()
    } else if (event.key === 'Backspace' && !input.value) {
      erase()
    }
  }
  return h('div.combobox', {'data-own': true}, input, list)
}
