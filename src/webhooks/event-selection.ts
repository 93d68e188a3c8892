/** Parses the event types of an endpoint: a list, or a text with commas; `*` for all. */
import { ALL_TYPES, EVENT_TYPE_NAMES, isEventType } from '#src/events/catalogue.ts'

export type EventSelection =
  | { readonly ok: true; readonly types: readonly string[] }
  | { readonly ok: false; readonly reason: string }

/** Each type once, in the given order; `*` replaces all others. */
export function readEventSelection(given: string | readonly string[]): EventSelection {
  const names = new Set(
    (typeof given === 'string' ? given.split(',') : given).map((name) => name.trim()).filter((name) => name !== ''),
  )
  if (names.size === 0) return { ok: false, reason: 'must name at least one event type, or * for all' }
  if (names.has(ALL_TYPES)) return { ok: true, types: [ALL_TYPES] }
  const unknown = [...names].find((name) => !isEventType(name))
  if (unknown === undefined) return { ok: true, types: [...names] }
  const known = EVENT_TYPE_NAMES.join(', ')
  return {
    ok: false,
    reason: `${JSON.stringify(unknown.slice(0, 100))} is not an event type; there are ${known} and *`,
  }
}
