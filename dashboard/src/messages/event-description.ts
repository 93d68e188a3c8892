/** What an event says beside its type. Texts in it come from other servers and are only ever shown as text. */
import type { Tone } from '#dashboard/src/ui/tone.ts'

export const EVENT_TONES = {
  'email.queued': 'info',
  'email.scheduled': 'info',
  'email.sent': 'accent',
  'email.delivered': 'success',
  'email.deferred': 'warning',
  'email.bounced': 'danger',
  'email.failed': 'danger',
  'email.opened': 'accent',
  'email.clicked': 'accent',
  'email.complained': 'danger',
  'email.unsubscribed': 'warning',
  'email.cancelled': 'neutral',
} as const satisfies Record<string, Tone>
type KnownEvent = keyof typeof EVENT_TONES

export function isKnownEvent(type: string): type is KnownEvent {
  return Object.hasOwn(EVENT_TONES, type)
}

/** The first of these fields that an event has says the most about it. */
const SAYING = ['url', 'bounce_message', 'reply', 'message', 'reason', 'cause', 'feedback_type'] as const
const CODE = ['code', 'bounce_code'] as const

/** Null if there is nothing to add. */
export function describeEvent(data: Readonly<Record<string, unknown>> | null): string | null {
  if (data === null) return null
  const said = SAYING.map((name) => textOf(data[name])).find((text) => text !== '') ?? ''
  const code = CODE.map((name) => textOf(data[name])).find((text) => text !== '') ?? ''
  const parts = [
    said.includes(code) ? '' : code,
    said,
    textOf(data['bounce_type']) === ''
      ? ''
      : `(${[data['bounce_type'], data['bounce_class']]
          .map(textOf)
          .filter((text) => text !== '')
          .join(', ')})`,
  ]
  const text = parts.filter((part) => part !== '').join(' ')
  return text === '' ? null : text
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
}
