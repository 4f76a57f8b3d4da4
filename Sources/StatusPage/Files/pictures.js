// Pictures that jobs have kept in the store, as thumbnails.

import {find, pathOf, send} from './api.js'
import {h} from './dom.js'
import {card} from './parts.js'

/** The addresses of pictures that were loaded, so that a change does not load them again. */
const loaded = new Map()
const LIMIT = 60

/** Finds the pictures that a job has kept: by their titles, and as large as its result says. */
export async function keptPictures(job) {
  if (job.type !== 'image.encode' || job.state !== 'completed') return []
  const titles = [job.arguments?.store?.title, ...(job.arguments?.outputs ?? []).map(output => output.store?.title)]
    .filter(title => typeof title === 'string')
  if (!titles.length) return []
  const texts = titles.map(title => `"${title.replace(/["\\]/g, '\\$&')}"`)
  const reply = await find(pathOf('objects', 'Image'), {
    predicate: `title IN {${texts.join(', ')}}`, expand: 'blob', limit: 50,
  })
  const outputs = job.result?.outputs ?? []
  return (reply?.objects ?? []).map(({id, values}) => ({id, ...values, address: values.blob?.values?.data?.href}))
    .filter(picture => picture.address
      && outputs.some(output => output.width === picture.width && output.height === picture.height))
}

/** A card with pictures; null without any. */
export function pictureCard(kept) {
  if (!kept.length) return null
  return card('Pictures', null, h('ul.thumbnails', null, kept.map(picture => h('li', {'data-key': picture.id},
    thumbnail(picture), h('span', null, `${picture.title} · ${picture.width} × ${picture.height}`)))))
}

/** An image that is loaded with the token, which its own address could not carry. */
export function thumbnail({address, title}) {
  const image = h('img', {alt: title, width: 160, height: 160, 'data-picture': address, src: loaded.get(address)})
  if (!loaded.has(address)) {
    load(address).then(made => {
      for (const one of document.querySelectorAll('img[data-picture]')) if (made && one.dataset.picture === address) one.src = made
    })
  }
  return image
}

async function load(address) {
  // Asked for once, however often it is drawn until it is there.
  loaded.set(address, null)
  const response = await send(address)
  if (!response.ok) return null
  if (loaded.size > LIMIT) {
    const [oldest, made] = loaded.entries().next().value
    if (made) URL.revokeObjectURL(made)
    loaded.delete(oldest)
  }
  const made = URL.createObjectURL(await response.blob())
  loaded.set(address, made)
  return made
}
