// Questions, and what became of things.

import {h} from './dom.js'
import {problem} from './parts.js'

/**
 * Shows a dialog until it is answered.
 *
 * @param content nodes between title and buttons; inputs in it are read by the caller afterwards.
 * @param confirm the label of the button that agrees; none if there is nothing to agree to.
 * @param act what an answer of yes has done: if it fails, the dialog says why and stays, with what was typed; an error may have
 *   nodes as more that help then.
 * @returns true if the answer is yes, and that is done.
 */
export function ask({title, content = [], confirm = null, isDangerous = false, dismiss = 'Cancel', isWide = false, act = null}) {
  return new Promise(resolve => {
    const failure = h('div', {role: 'alert'})
    const dialog = h('dialog.dialog', {'aria-labelledby': 'dialog-title', class: isWide ? 'wide' : null},
      h('form', {method: 'dialog', onsubmit: act && done},
        h('h2', {id: 'dialog-title'}, title),
        content, failure,
        h('div.buttons', null,
          h('button.quiet', {type: 'button', onclick: () => dialog.close('')}, dismiss),
          confirm && h('button', {type: 'submit', value: 'yes', class: isDangerous ? 'danger' : 'primary'}, confirm))))
    dialog.onclose = () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    }
    document.body.append(dialog)
    dialog.showModal()

    let isAtWork = false
    async function done(event) {
      event.preventDefault()
      // The button stays as it is, for the focus's sake.
      if (isAtWork) return
      isAtWork = true
      try {
        await act()
        dialog.close('yes')
      } catch (error) {
        failure.replaceChildren(problem(error.message, error.hint && h('span.hint', null, error.hint)), ...error.more ?? [])
      }
      isAtWork = false
    }
  })
}

/** Says briefly what happened; a failure stays until it is closed. */
export function note(text, {isFailure = false, hint = null} = {}) {
  const close = () => box.remove()
  const box = h('div.note', {class: isFailure ? 'failure' : null},
    h('p', null, text, hint && h('span.hint', null, hint)),
    h('button.quiet', {type: 'button', 'aria-label': 'Close the message', onclick: close}, '×'))
  document.getElementById('notes').append(box)
  if (!isFailure) setTimeout(close, 6000)
}

/** Says why something could not be done. */
export const noteFailure = error => note(error.message, {isFailure: true, hint: error.hint})

/** Does something for which a button was pressed, and says why if it fails. */
export async function attempt(action) {
  try {
    return await action()
  } catch (error) {
    noteFailure(error)
    return null
  }
}

/** Asks for a token; null if the reader gives none. */
export async function askForToken(reason) {
  const input = h('input', {type: 'password', autocomplete: 'off', required: true, id: 'token', spellcheck: 'false'})
  const isGiven = await ask({
    title: 'This daemon asks for a token', confirm: 'Go on',
    content: [
      reason && h('p.warning', null, reason),
      h('p', null, 'An administrator makes tokens. The page keeps it in memory, until it is closed or loaded again.'),
      h('label.field', {for: 'token'}, h('span', null, 'Token'), input),
    ],
  })
  return isGiven ? input.value.trim() || null : null
}
