// Pictures that jobs have kept in the store, as thumbnails.

import {bytes, find, pathOf, Refusal} from './api.js'
import {redraw} from './app.js'
import {h} from './dom.js'
import * as format from './format.js'
import {button, card, problem} from './parts.js'

/** What became of each picture that was asked for, {address} or {failure}, so that a change does not load it again. */
const loaded = new Map()
const LIMIT = 60
/** The largest picture that is loaded for a thumbnail without being asked for, in bytes. */
const SMALL = 512 << 10
/** The most pictures of a job that are shown. */
const MOST = 24

/** Finds the pictures that a job has kept, which its result names; {pictures, failure}. */
export async function keptPictures(job) {
  const outputs = job.type === 'image.encode' && job.result?.outputs
  const kept = (outputs || []).map(output => output.object).filter(Boolean)
  try {
    const found = await Promise.all(kept.slice(0, MOST).map(({entity, id}) => find(pathOf('objects', entity, id), {expand: 'blob'})))
    const pictures = found.filter(Boolean).map(({id, values}) => ({id, ...values, data: values.blob?.values?.data}))
    return {pictures: pictures.filter(picture => picture.data), failure: null}
  } catch (error) {
    // Who may see jobs may not see what is in the store; the rest of the job is still for them.
    if (error instanceof Refusal) return {pictures: [], failure: error}
    throw error
  }
}

/** A card with pictures; null without any. */
export function pictureCard({pictures, failure}) {
  if (failure) return card('Pictures', null, problem(`They can’t be shown: ${failure.message}`, failure.hint && h('span.hint', null, failure.hint)))
  if (!pictures.length) return null
  return card('Pictures', null, h('ul.thumbnails', null, pictures.map(picture => h('li', {'data-key': picture.id},
    thumbnail(picture.data, picture.title || `Picture ${picture.id}`),
    h('span', null, `${picture.title ? `${picture.title} · ` : ''}${picture.width} × ${picture.height}`)))))
}

/** An image that is loaded with the token, which its own address could not carry; if it is large, or could not be loaded, on request. */
export function thumbnail({href, bytes: size}, title) {
  const onRequest = (label, more) => button(label, () => { load(href); redraw() }, {'aria-label': `${label}: ${title}`, ...more})
  if (size > SMALL && !loaded.has(href)) return onRequest(`Show ${format.bytes(size)}`, {class: 'thumbnail'})
  if (!loaded.has(href)) load(href)
  const {address, failure} = loaded.get(href)
  if (failure) return h('div.thumbnail', null, h('p.error-text', null, failure), onRequest('Try again'))
  return h('img.thumbnail', {alt: title, src: address, onerror: () => {
    URL.revokeObjectURL(address)
    loaded.set(href, {failure: 'It is none that this browser can show.'})
    redraw()
  }})
}

async function load(href) {
  // Asked for once, however often it is drawn until it is there.
  loaded.set(href, {})
  try {
    loaded.set(href, {address: URL.createObjectURL(await bytes(href))})
  } catch (error) {
    loaded.set(href, {failure: `It can’t be loaded: ${error.message}`})
  }
  if (loaded.size > LIMIT) {
    const [oldest, {address}] = loaded.entries().next().value
    if (address) URL.revokeObjectURL(address)
    loaded.delete(oldest)
  }
  redraw()
}
