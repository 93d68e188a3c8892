/** Bodies of POST /public/webhooks: what they register, and which field is refused. */

export const URL_A = 'https://hooks.example.com/a'

/** A body, and the events that it registers. */
export const ALIASES: readonly (readonly [object, readonly string[]])[] = [
  [{ url: URL_A }, ['*']],
  [{ endpoint: URL_A, events: '*' }, ['*']],
  [{ url: URL_A, events: ['*'] }, ['*']],
  [{ url: URL_A, event_types: ['email.sent'] }, ['email.sent']],
  [{ url: ` ${URL_A} `, types: 'email.sent, email.opened' }, ['email.sent', 'email.opened']],
  [{ url: URL_A, events: null, description: null, unknown: 1 }, ['*']],
]

/** A body, and the field that the response names. */
export const REFUSED: readonly (readonly [unknown, string])[] = [
  [{}, 'url'],
  [{ events: ['email.sent'] }, 'url'],
  [{ url: 5 }, 'url'],
  [{ url: '' }, 'url'],
  [{ url: 'example.com' }, 'url'],
  [{ url: 'ftp://example.com/' }, 'url'],
  [{ url: 'http://127.0.0.1/' }, 'url'],
  [{ url: 'http://0x7f.1/' }, 'url'],
  [{ url: 'http://[::ffff:10.0.0.1]/' }, 'url'],
  [{ url: 'http://localhost:3000/' }, 'url'],
  [{ url: 'https://u:p@example.com/' }, 'url'],
  [{ url: URL_A, events: [] }, 'events'],
  [{ url: URL_A, events: '' }, 'events'],
  [{ url: URL_A, events: ['email.eaten'] }, 'events'],
  [{ url: URL_A, events: [5] }, 'events'],
  [{ url: URL_A, events: 5 }, 'events'],
  [{ url: URL_A, types: 'nonsense' }, 'types'],
  [{ url: URL_A, description: 'x'.repeat(501) }, 'description'],
  [{ url: URL_A, is_active: 'yes' }, 'is_active'],
  ['[]', ''],
  ['{"url":', ''],
]
